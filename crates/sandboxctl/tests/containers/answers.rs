//! Exit codes, streams, terminals and signals: the same as in a native sandbox.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::everywhere;
use crate::place::Place;

#[test]
fn a_command_answers_as_in_a_native_sandbox() {
    for (caller, runner) in everywhere("exit codes") {
        let place = Place::on(caller, runner);
        let code = |flags: &[&str], argv: &[&str]| place.inside(flags, argv).output().unwrap().status.code();
        let cases: [(&[&str], &[&str], i32); 6] = [
            (&[], &["sh", "-c", "exit 7"], 7),
            (&[], &["sh", "-c", "kill -9 $$"], 137),
            (&[], &["no-such-command"], 127),
            (&[], &["/etc/passwd"], 126),
            (&["--timeout", "300ms"], &["sleep", "60"], 124),
            (&["-w", "/nonexistent"], &["true"], 125),
        ];
        for (flags, argv, wanted) in cases {
            assert_eq!(code(flags, argv), Some(wanted), "{flags:?} {argv:?} in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn streams_are_byte_exact() {
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(1 << 20).collect();
    for (caller, runner) in everywhere("streams") {
        let place = Place::on(caller, runner);
        let mut child = place
            .inside(&["--quiet"], &["sh", "-c", "cat; printf problem >&2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn({
            let bytes = bytes.clone();
            move || stdin.write_all(&bytes).unwrap()
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.stdout == bytes, "in {runner:?} by {caller:?}: {} bytes", output.stdout.len());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "problem", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn a_terminal_is_relayed() {
    for (caller, runner) in everywhere("terminals") {
        let place = Place::on(caller, runner);
        let words =
            place.run(&["--quiet"], &["sh", "-c", "test -t 0 && test -t 1 && stty size && echo x >/dev/tty"]);
        let words: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let line = format!("stty rows 33 cols 99; {}", words.join(" "));
        let mut script = place
            .outside(&["script", "--quiet", "--return", "--command", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Open until it is over: `script` passes the end of its input on as Ctrl-D, which would be shown.
        let keyboard = script.stdin.take();
        let output = script.wait_with_output().unwrap();
        drop(keyboard);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "in {runner:?} by {caller:?}: {said}");
        assert!(said.contains("33 99\r\nx"), "in {runner:?} by {caller:?}: {said}");
    }
}

#[test]
fn a_signal_is_the_agents() {
    for (caller, runner) in everywhere("signals") {
        let place = Place::on(caller, runner);
        // It waits for nothing: a shell that hears of the signal just before it starts to read, reads all the same.
        let script = "trap 'echo heard; exit 3' TERM; echo ready; while :; do :; done";
        let mut child =
            place.inside(&["--quiet"], &["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready", "in {runner:?} by {caller:?}");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "heard", "in {runner:?} by {caller:?}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "in {runner:?} by {caller:?}");
    }
}

#[test]
fn programs_learn_which_engine_has_run_it() {
    for (caller, runner) in everywhere("JSON") {
        let place = Place::on(caller, runner);
        let output =
            place.inside(&["--format", "json"], &["sh", "-c", "echo out; echo err >&2"]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["stdout"]["text"], "out\n", "{answer:#}");
        assert_eq!(answer["stderr"]["text"], "err\n", "{answer:#}");
    }
}

#[test]
fn two_sandboxes_of_one_name_are_one_too_many() {
    for (caller, runner) in everywhere("names") {
        let place = Place::on(caller, runner);
        let name = format!("n{}", std::process::id());
        let mut first = place
            .inside(&["--name", &name], &["sh", "-c", "echo ready; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let error = error(&mut place.inside(&["--name", &name, "--format", "json"], &["true"]));
        assert_eq!(error, "sandbox.name_in_use", "in {runner:?} by {caller:?}");
        // And the first has not noticed.
        first.stdin.as_mut().unwrap().write_all(b"more\n").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "more", "in {runner:?} by {caller:?}");
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success());
        assert!(place.inside(&["--name", &name], &["true"]).status().unwrap().success());
    }
}

/// The code of the error that a call ends with.
pub(crate) fn error(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
    answer["error"]["code"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}
