//! How a run ends, as its caller sees it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::machine::{Caller, Feature, callers, is_there};
use crate::place::Place;
use crate::traces;

const NO_FLAGS: [&str; 0] = [];

#[test]
fn the_exit_code_says_how_the_command_ended() {
    for caller in callers("exit codes") {
        let place = Place::new(caller);
        place.write("workspace/text", "no program\n");
        let cases: [(&[&str], i32); 9] = [
            (&["true"], 0),
            (&["sh", "-c", "exit 7"], 7),
            (&["sh", "-c", "exit 255"], 255),
            (&["no-such-command"], 127),
            (&["/no/such/command"], 127),
            (&["./text"], 126),
            (&["/usr"], 126),
            (&["sh", "-c", "kill -TERM $$"], 128 + 15),
            (&["sh", "-c", "kill -KILL $$"], 128 + 9),
        ];
        for (argv, code) in cases {
            let output = place.inside(&NO_FLAGS, argv).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{argv:?} by {caller:?}: {stderr}");
        }
    }
}

#[test]
fn the_exit_code_is_the_same_where_the_caller_wants_to_hear_of_no_child() {
    for caller in callers("SIGCHLD that is ignored") {
        let place = Place::new(caller);
        let cases: [(&str, &[&str], i32); 5] = [
            ("60s", &["true"], 0),
            ("60s", &["sh", "-c", "(exit 3); exit $(($? + 4))"], 7),
            ("60s", &["no-such-command"], 127),
            ("60s", &["sh", "-c", "kill -KILL $$"], 128 + 9),
            ("1s", &["sleep", "1000"], 124),
        ];
        for (timeout, argv, code) in cases {
            let run = place.run(&["--timeout", timeout], argv);
            let ignoring = ["env", "--ignore-signal=CHLD"].map(Into::into).into_iter().chain(run);
            let output = place.outside(&ignoring.collect::<Vec<_>>()).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{argv:?} by {caller:?}: {stderr}");
        }
    }
}

#[test]
fn that_memory_has_run_out_is_said() {
    if !is_there(Feature::Cgroup, "a limit of memory") {
        return;
    }
    let place = Place::new(Caller::Root);
    let run = |size: &str| {
        let script = format!("print(len(b'x' * {size}))");
        place.inside(&["--memory", "64m"], &["python3", "-c", &script]).output().unwrap()
    };
    let output = run("500_000_000");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(128 + 9), "{stderr}");
    assert!(stderr.contains("limit of memory of 64m was reached"), "{stderr}");
    // The control: what has enough of it hears nothing.
    let output = run("1_000_000");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("memory"), "{stderr}");
}

#[test]
fn nothing_of_a_sandbox_is_left_to_anybody_when_its_client_has_ended() {
    if !is_there(Feature::Root, "a PID namespace whose PID 1 collects nothing") {
        return;
    }
    let place = Place::new(Caller::Root);
    // While PID 1 of a sandbox is there, so is all that it had mounted.
    let script = "for run in 1 2 3 4 5; do \"$@\" || exit; done; echo /proc/[0-9]*";
    let start = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"];
    let words = start.into_iter().map(Into::into).chain(place.run(&["--quiet"], &["true"]));
    let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "/proc/1\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    for caller in callers("timeouts") {
        let place = Place::new(caller);
        let script = "trap '' TERM INT HUP; setsid sh -c \"trap '' TERM; sleep 1000\" & sleep 1000";
        let began = Instant::now();
        let output = place.inside(&["--timeout", "1s"], &["sh", "-c", script]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(124), "by {caller:?}: {stderr}");
        assert!(began.elapsed() >= Duration::from_secs(1), "by {caller:?}: after {:?}", began.elapsed());
        assert!(stderr.contains("longer than 1s"), "by {caller:?}: {stderr}");
        assert_eq!(traces::of(&place, &[]), Vec::<String>::new(), "by {caller:?}");
    }
}

#[test]
fn a_signal_is_passed_on() {
    for caller in callers("signals") {
        let place = Place::new(caller);
        for (signal, name) in
            [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::USR1, "USR1"), (Signal::INT, "INT")]
        {
            let script = format!("trap 'exit 42' {name}; echo ready; while :; do read -r line; done");
            let run =
                place.inside(&["--timeout", "20s"], &["sh", "-c", &script]).stdout(Stdio::piped()).spawn();
            let mut client = run.unwrap();
            let mut line = String::new();
            BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            traces::kill(client.id(), signal);
            assert_eq!(client.wait().unwrap().code(), Some(42), "{name} by {caller:?}");
        }
    }
}

#[test]
fn a_child_in_the_background_does_not_outlive_the_command() {
    for caller in callers("children in the background") {
        let place = Place::new(caller);
        let output = place.inside(&NO_FLAGS, &["sh", "-c", "echo said; sleep 1000 &"]).output().unwrap();
        assert!(output.status.success(), "by {caller:?}");
        assert_eq!(output.stdout, b"said\n", "by {caller:?}");
        assert_eq!(traces::of(&place, &[]), Vec::<String>::new(), "by {caller:?}");
    }
}

#[test]
fn files_belong_to_the_caller() {
    use std::os::unix::fs::MetadataExt;

    for caller in callers("owners of files") {
        let place = Place::new(caller);
        let script = "echo text > file; mkdir -p a/b; ln -s file link; cp /usr/bin/true program";
        assert!(place.inside(&NO_FLAGS, &["sh", "-c", script]).status().unwrap().success());
        let owner = place.workspace().metadata().unwrap();
        for name in ["file", "a", "a/b", "link", "program"] {
            let made = place.workspace().join(name).symlink_metadata().unwrap();
            assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()), "{name} by {caller:?}");
        }
    }
}

#[test]
fn a_timeout_holds_while_nobody_reads_what_the_client_warns_of() {
    for caller in callers("warnings that nobody reads") {
        let place = Place::new(caller);
        // It fills the pipe, and then the client has something to say.
        let script =
            "exec 9> lock; flock 9; echo ready; while :; do echo line >&2; done & echo evil > .envrc; wait";
        let mut client = place.inside(&["--timeout", "4s"], &["sh", "-c", script]);
        let mut client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let lock = place.workspace().join("lock");
        let freed = Command::new("flock").args(["--timeout", "30"]).arg(&lock).arg("true").status().unwrap();
        // From here on somebody reads.
        let output = client.wait_with_output().unwrap();
        assert!(freed.success(), "by {caller:?}: the agent lives on");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(124) && said.contains(".envrc"),
            "{caller:?}: {:?}",
            output.status
        );
    }
}
