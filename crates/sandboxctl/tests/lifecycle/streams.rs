//! Streams: byte-exact, and nobody waits for a reader that is gone.

use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;

use crate::machine::callers;
use crate::place::Place;

const NO_FLAGS: [&str; 0] = [];

#[test]
fn a_mebibyte_of_noise_passes_unchanged() {
    for caller in callers("streams") {
        let place = Place::new(caller);
        let mut noise = vec![0; 1 << 20];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut noise).unwrap();
        let script = "mkfifo copy; cat copy >&2 & tee copy; wait";
        let mut run = place
            .inside(&NO_FLAGS, &["sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = run.stdin.take().unwrap();
        let sent = noise.clone();
        let writer = thread::spawn(move || stdin.write_all(&sent));
        let output = run.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "by {caller:?}");
        assert!(output.stdout == noise, "by {caller:?}: {} bytes came back on stdout", output.stdout.len());
        assert!(output.stderr == noise, "by {caller:?}: {} bytes came back on stderr", output.stderr.len());
    }
}

#[test]
fn a_reader_that_goes_early_ends_the_writer() {
    for caller in callers("readers that go early") {
        let place = Place::new(caller);
        let mut run =
            place.inside(&NO_FLAGS, &["yes"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut some = [0; 4];
        run.stdout.take().unwrap().read_exact(&mut some).unwrap();
        // As for every program whose reader is gone: SIGPIPE, 128+13.
        assert_eq!(run.wait().unwrap().code(), Some(128 + 13), "by {caller:?}");
    }
}

#[test]
fn closed_streams_are_no_hole() {
    for caller in callers("closed streams") {
        let place = Place::new(caller);
        let run = place.run(&NO_FLAGS, &["sh", "-c", "ls /proc/self/fd; echo said"]);
        let mut words: Vec<_> = ["sh", "-c", "exec \"$@\" <&- 2>&-", "sh"].map(Into::into).to_vec();
        words.extend(run);
        let output = place.outside(&words).output().unwrap();
        // Either it is refused, or the streams are there; never does a descriptor of ours take their place.
        if output.status.success() {
            assert_eq!(output.stdout, b"0\n1\n2\n3\nsaid\n", "by {caller:?}");
        }
    }
}
