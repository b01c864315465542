//! Standard streams that give access to more than a stream: a directory to walk out by, a device to talk to.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::machine::{Caller, callers};
use crate::place::Place;

#[test]
fn a_directory_or_a_device_as_a_stream_is_refused() {
    for caller in callers("streams") {
        let place = Place::new(caller);
        place.write("secret", "a secret");
        let read = ["cat", "/proc/self/fd/0/secret"];
        let directory = || Stdio::from(File::open(place.path("")).unwrap());
        assert!(
            place.outside(&read).stdin(directory()).status().unwrap().success(),
            "the control, by {caller:?}: a directory as standard input leads to what lies in it"
        );
        for (name, stream) in
            [("a directory", directory()), ("a device", File::open("/dev/random").unwrap().into())]
        {
            let output = place.inside(&["--format=text"], &read).stdin(stream).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(77), "{name}, by {caller:?}: {stderr}");
            assert!(stderr.contains("standard input"), "{name}, by {caller:?}: {stderr}");
        }
        for allowed in ["/dev/null", "/dev/zero", "/dev/full"] {
            let stream = File::open(allowed).unwrap();
            let status = place.inside(&["--quiet"], &["true"]).stdin(stream).status().unwrap();
            assert!(status.success(), "{allowed}, by {caller:?}");
        }
    }
}

/// Writes what it can do to standard input and standard output to standard error.
const FILES: &str = r#"
import errno, os, sys

def attempt(name, action):
    try:
        action()
        answer = "ok"
    except OSError as error:
        answer = errno.errorcode[error.errno]
    print(f"{name}: {answer}", file=sys.stderr)

attempt("write to the input", lambda: os.write(0, b"x"))
attempt("open the input for writing", lambda: os.open("/proc/self/fd/0", os.O_WRONLY))
attempt("open the output for reading", lambda: os.open("/proc/self/fd/1", os.O_RDONLY))
attempt("make the output set-uid", lambda: os.fchmod(1, 0o4755))
attempt("change who may write the input", lambda: os.fchmod(0, 0o666))
attempt("change who may write the output", lambda: os.fchmod(1, 0o666))
attempt("cut the output", lambda: os.ftruncate(1, 0))
os.write(1, b"said")
"#;

/// A file as a stream is that file, as it is in a shell. What its owner may do, the agent of its owner may do. What
/// nobody may do who holds a stream, it may not either.
#[test]
fn a_file_as_a_stream_is_no_more_than_that_file_and_a_pipe_is_less() {
    for caller in callers("files as streams") {
        let owned = if caller == Caller::Normal { "ok" } else { "EPERM" };
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        let cases = [("< \"$in\" >> \"$out\"", true), ("cat \"$in\" | \"$@\" | cat >> \"$out\"", false)];
        for (script, is_file) in cases {
            let place = Place::new(caller);
            let [input, output] = ["in", "out"].map(|name| place.write(&format!("home/{name}"), "earlier "));
            for file in [&input, &output] {
                fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
            }
            let script = if is_file { format!("\"$@\" {script}") } else { script.to_owned() };
            let flags: [&str; 0] = [];
            let run = place.run(&flags, &["python3", "-c", FILES]);
            let words = ["sh", "-c", &script, "sh"].map(Into::into).into_iter().chain(run);
            let mut command = place.outside(&words.collect::<Vec<_>>());
            let answer = command.env("in", &input).env("out", &output).output().unwrap();
            let said = String::from_utf8_lossy(&answer.stderr);
            assert!(answer.status.success(), "`{script}`, by {caller:?}: {said}");
            let got = |name: &str| {
                said.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or("nothing")
            };
            assert_eq!(got("make the output set-uid"), "EPERM", "`{script}`, by {caller:?}");
            assert_eq!(got("write to the input"), "EBADF", "`{script}`, by {caller:?}");
            if is_file {
                assert_eq!(got("open the input for writing"), "EACCES", "by {caller:?}");
                assert_eq!(got("open the output for reading"), "EACCES", "by {caller:?}");
                // These three are said in SECURITY.md: the file was passed on.
                assert_eq!(got("change who may write the input"), owned, "by {caller:?}");
                assert_eq!(got("change who may write the output"), owned, "by {caller:?}");
                assert_eq!(got("cut the output"), "ok", "by {caller:?}");
                let expected = if caller == Caller::Normal { 0o666 } else { 0o600 };
                assert_eq!((mode(&input), mode(&output)), (expected, expected), "by {caller:?}");
                assert_eq!(fs::read_to_string(&output).unwrap(), "said", "by {caller:?}");
            } else {
                // It is a pipe of the agent's own, and what it does there stays there.
                assert_eq!(got("open the input for writing"), "ok", "by {caller:?}");
                assert_eq!(got("open the output for reading"), "ok", "by {caller:?}");
                assert_eq!(got("change who may write the input"), "ok", "by {caller:?}");
                // This is said in SECURITY.md: a pipe keeps the files out of reach.
                assert_eq!((mode(&input), mode(&output)), (0o600, 0o600), "by {caller:?}");
                assert_eq!(fs::read_to_string(&output).unwrap(), "earlier said", "by {caller:?}");
            }
        }
    }
}
