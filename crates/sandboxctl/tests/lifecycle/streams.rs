//! Streams: byte-exact, and nobody waits for a reader that is gone.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

const NO_FLAGS: [&str; 0] = [];

/// How many bytes pass.
const NOISE: usize = 50_000_000;

#[test]
fn noise_passes_unchanged() {
    for caller in callers("streams") {
        let place = Place::new(caller);
        let mut noise = vec![0; NOISE];
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

/// Lists the interfaces of the network that a socket is of (`SIOCGIFCONF`, netdevice(7)), by standard input.
const INTERFACES: &str = "
import array, fcntl, struct
names = array.array('B', bytes(40 * 64))
asked = struct.pack('iP', len(names), names.buffer_info()[0])
length = struct.unpack('iP', fcntl.ioctl(0, 0x8912, asked))[0]
print(length // 40)
";

#[test]
fn a_socket_as_a_stream_is_of_the_network_of_the_host_and_the_report_says_so() {
    for caller in callers("sockets as streams") {
        let place = Place::new(caller);
        let run = |input: Stdio| {
            let output =
                place.inside(&["--report"], &["python3", "-c", INTERFACES]).stdin(input).output().unwrap();
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (shows, said) = run(std::os::fd::OwnedFd::from(ours).into());
        assert!(
            shows && said.contains("1 of its streams are sockets of the host's network"),
            "by {caller:?}: {said}"
        );
        // The control: other streams are of no network.
        let (shows, said) = run(Stdio::null());
        assert!(!shows && !said.contains("sockets of the host's network"), "by {caller:?}: {said}");
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

/// How long something may take that is on its way.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn captured_output_is_cut_and_takes_no_more_memory_than_it_may() {
    const WRITTEN: u64 = 16 << 20;
    let script = format!("mkfifo gate; head -c {WRITTEN} /dev/zero | tr '\\0' x; : > written; cat gate");
    for caller in callers("captured output") {
        let run = |limit: &str| {
            let place = Place::new(caller);
            let config = "[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n[limits]\n";
            place.write("workspace/sandbox.toml", &format!("{config}output_bytes = \"{limit}\"\n"));
            let mut client = place
                .inside(&["--trust", "--format", "json"], &["sh", "-c", &script])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            until(&mut client, "everything is written", || {
                place.workspace().join("written").exists().then_some(())
            });
            let status = fs::read_to_string(format!("/proc/{}/status", client.id())).unwrap();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            let peak: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
            // No writer can open a pipe before its reader has: then O_NONBLOCK says ENXIO.
            let gate = place.workspace().join("gate");
            until(&mut client, "the gate is watched", || {
                File::options().write(true).custom_flags(O_NONBLOCK).open(&gate).ok()
            });
            let output = client.wait_with_output().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            (peak << 10, answer["stdout"].clone())
        };
        let (peak, stdout) = run("1k");
        assert_eq!(stdout["truncated"], true, "by {caller:?}: {stdout}");
        assert_eq!(stdout["bytes"], WRITTEN, "by {caller:?}: {stdout}");
        assert_eq!(stdout["text"], "x".repeat(1024), "by {caller:?}");
        // The control: what is kept is seen in the client. How large that is without any output depends on the machine.
        let (with_all, stdout) = run("100m");
        assert_eq!(stdout["truncated"], false, "the control, by {caller:?}");
        assert!(
            with_all > peak + WRITTEN / 2,
            "by {caller:?}: the client took {peak} bytes, and {with_all} with all"
        );
    }
}

/// What a shell of the caller's prints whose script has a sandbox in a pipeline, as `"$@"`.
fn pipeline(place: &Place, script: &str, agent: &[&str]) -> String {
    let run = place.run(&["--quiet"], agent);
    let words = ["bash", "-c", script, "bash"].map(Into::into).into_iter().chain(run);
    let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
    assert!(output.status.success(), "`{script}` by {:?}: {output:?}", place.caller);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_an_agent_has_not_read_is_there_for_whoever_reads_next() {
    // Each says what it has read. The second makes its pipe larger first, as programs do for speed.
    const HALF: &str = "import os; os.write(1, b'<' + os.read(0, 5) + b'>')";
    const ENLARGES: &str = "import fcntl, os; fcntl.fcntl(0, 1031, 1 << 20)
said = b''
while len(said) < 100001: said += os.read(0, 100001 - len(said))
os.write(1, b'<%d>' % len(said))";
    for caller in callers("input that is not read") {
        let place = Place::new(caller);
        let got = |script: &str, agent: &[&str]| pipeline(&place, script, agent);
        let lines = "printf 'one\ntwo\nthree\n' | { \"$@\"; cat; }";
        assert_eq!(got(lines, &["true"]), "one\ntwo\nthree\n", "by {caller:?}");
        assert_eq!(got(lines, &["python3", "-c", HALF]), "<one\nt>wo\nthree\n", "by {caller:?}");
        let many = "head -c 100000 /dev/zero | tr '\\0' x | { cat; printf 'abc'; } | { \"$@\"; cat; }";
        assert_eq!(got(many, &["python3", "-c", ENLARGES]), "<100001>bc", "by {caller:?}");
        let each = "printf 'a\nb\nc\n' | while read -r line; do echo \"$line\"; \"$@\"; done";
        assert_eq!(got(each, &["true"]), "a\nb\nc\n", "by {caller:?}");
        assert_eq!(got(each, &["cat"]), "a\nb\nc\n", "by {caller:?}");
    }
}

#[test]
fn pipelines_end_as_they_do_without_a_sandbox() {
    for caller in callers("pipelines that end") {
        let place = Place::new(caller);
        assert_eq!(pipeline(&place, "yes | \"$@\"", &["head", "-n", "1"]), "y\n", "by {caller:?}");
        assert_eq!(pipeline(&place, "\"$@\" | head -n 1", &["yes"]), "y\n", "by {caller:?}");
        // An agent that wants no input, and one whose input is all there is.
        assert_eq!(
            pipeline(&place, "yes | \"$@\"", &["sh", "-c", "exec <&-; echo on"]),
            "on\n",
            "by {caller:?}"
        );
        assert_eq!(pipeline(&place, ": | \"$@\"", &["cat"]), "", "by {caller:?}");
    }
}

#[test]
fn output_and_errors_in_one_pipe_keep_their_order() {
    const TURNS: &str = "for at in range(2000): __import__('os').write(1 + at % 2, b'%d\\n' % at)";
    let wanted: Vec<_> = (0..2000).map(|at| at.to_string()).collect();
    for caller in callers("output and errors") {
        let place = Place::new(caller);
        let got = pipeline(&place, "\"$@\" 2>&1 | cat", &["python3", "-c", TURNS]);
        assert!(got.lines().eq(&wanted), "by {caller:?}: {got}");
    }
}

/// Writes more than a pipe holds and less than is on its way, and ends.
const LAST_WORDS: [&str; 3] = ["sh", "-c", "head -c 70000 /dev/zero && : > written"];

#[test]
fn what_was_written_last_is_delivered_to_a_late_reader() {
    for caller in callers("late readers") {
        let place = Place::new(caller);
        let script = "\"$@\" | { until [ -e written ]; do sleep 0.1; done; wc -c; }";
        assert_eq!(pipeline(&place, script, &LAST_WORDS), "70000\n", "by {caller:?}");
    }
}

#[test]
fn nobody_waits_for_ever_for_a_reader_that_does_not_read() {
    for caller in callers("readers that do not read") {
        for timeout in [true, false] {
            let place = Place::new(caller);
            let flags: &[&str] = if timeout { &["--timeout=2s"] } else { &[] };
            let mut run = place
                .inside(flags, &LAST_WORDS)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let written = place.workspace().join("written");
            until(&mut run, "everything is written", || written.exists().then_some(()));
            let asked = Instant::now();
            let code = loop {
                if let Some(status) = run.try_wait().unwrap() {
                    break status.code();
                }
                assert!(asked.elapsed() < PATIENCE, "by {caller:?}: still there after {PATIENCE:?}");
                if !timeout {
                    let pid = rustix::process::Pid::from_child(&run);
                    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
                }
                thread::sleep(Duration::from_millis(1));
            };
            assert_eq!(code == Some(124), timeout, "by {caller:?}: {code:?}");
        }
    }
}

/// The same number on every Linux that Rust knows, but for MIPS and SPARC.
const O_NONBLOCK: i32 = 0o4000;

/// Waits until there is something, as long as a client runs.
fn until<T>(client: &mut Child, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let asked = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert_eq!(client.try_wait().unwrap(), None, "it ended before {what}");
        assert!(asked.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}
