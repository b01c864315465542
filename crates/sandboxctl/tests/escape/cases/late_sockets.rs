//! A socket that a program of the host makes in a boundary while the sandbox runs, where no search has seen it.
//! Landlock covers it from ABI 9 on. Below that the report must not claim that sockets are covered.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use crate::machine::callers;
use crate::place::Place;

const CONNECT: &str = r#"
import socket, sys
print("ready", flush=True)
sys.stdin.readline()
try:
    socket.socket(socket.AF_UNIX).connect("late.sock")
    print("connected")
except OSError:
    print("refused")
"#;

#[test]
fn a_socket_that_appears_later_is_refused_or_admitted() {
    for caller in callers("sockets that appear later") {
        let place = Place::new(caller);
        let argv = ["python3", "-c", CONNECT];
        let run = |mut command: std::process::Command| {
            let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = piped.spawn().unwrap();
            let (mut line, mut said) = (String::new(), String::new());
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut line).unwrap();
            let path = place.workspace().join("late.sock");
            let listener = UnixListener::bind(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
            child.stdin.take().unwrap().write_all(b"now\n").unwrap();
            line.clear();
            stdout.read_line(&mut line).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            child.wait().unwrap();
            drop(listener);
            fs::remove_file(path).unwrap();
            (line, said)
        };
        assert_eq!(run(place.outside(&argv)).0, "connected\n", "the control, by {caller:?}");
        let (answer, said) = run(place.inside(&["--report"], &argv));
        let line = said.lines().find(|line| line.starts_with("sockets ")).unwrap_or_else(|| panic!("{said}"));
        let claimed = line.contains(" enforced ");
        assert!(
            answer == "refused\n" || !claimed,
            "by {caller:?}: it was reached, and the report says: {line}"
        );
    }
}
