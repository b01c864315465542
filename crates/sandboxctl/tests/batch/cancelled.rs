//! Batches that are ended before their tasks have: by signals, by a reader who goes, and by what nobody can prepare for.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::Signal;

use crate::machine::callers;
use crate::place::Place;
use crate::{batch, everywhere, line, ours, script, traces, until_nothing_is_left, until_there};

/// Leaves its session and its parent, and only the end of its sandbox ends it.
const RUNS: &str = "setsid sh -c 'sleep 1000 & sleep 1000' & touch runs; exec sleep 1000";

#[test]
fn a_signal_ends_what_runs_and_every_task_has_its_line() {
    for (caller, runner) in everywhere("signals to batches") {
        for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
            let place = Place::on(caller, runner);
            let tasks = [script("done", "echo done"), script("runs", RUNS), script("waits", "touch waited")];
            let child = batch(&place, &["--jobs=1"], &tasks).spawn().unwrap();
            until_there(&place, "runs");
            traces::kill(child.id(), signal);
            let output = child.wait_with_output().unwrap();
            let what = format!("{signal:?} in {runner:?} by {caller:?}: {output:?}");
            assert_eq!(output.status.code(), Some(code), "{what}");
            assert_eq!(line(&output, "done")["stdout"]["text"], "done\n", "{what}");
            let runs = line(&output, "runs");
            assert_eq!(runs["error"]["code"], "task.cancelled", "{what}");
            assert_eq!((&runs["attempt"], &runs["result"]["signal"]), (&1.into(), &15.into()), "{what}");
            let waits = line(&output, "waits");
            assert_eq!(waits["error"]["code"], "task.cancelled", "{what}");
            assert!(waits["attempt"].is_null() && waits["result"].is_null(), "{what}");
            assert!(!place.workspace().join("waited").exists(), "{what}");
            until_nothing_is_left(&place);
        }
    }
}

#[test]
fn a_signal_ends_a_batch_that_waits_for_more_to_read() {
    for caller in callers("batches that wait") {
        let place = Place::new(caller);
        let mut child = ours(&place, &[]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, format!("{}\n", script("a", RUNS)).as_bytes()).unwrap();
        until_there(&place, "runs");
        traces::kill(child.id(), Signal::TERM);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "by {caller:?}: {output:?}");
        assert_eq!(line(&output, "a")["error"]["code"], "task.cancelled", "by {caller:?}: {output:?}");
        drop(input);
        until_nothing_is_left(&place);
    }
}

/// As nohup(1) starts programs. Above is the control: without it, this signal ends a batch.
#[test]
fn a_signal_that_was_ignored_from_the_start_stays_so() {
    for caller in callers("batches by nohup") {
        let place = Place::new(caller);
        let tasks = [script("a", "touch runs; until [ -e go ]; do sleep 0.01; done")];
        let plain = batch(&place, &[], &tasks);
        let plain = std::iter::once(plain.get_program()).chain(plain.get_args()).collect::<Vec<_>>();
        let start = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"].map(std::ffi::OsStr::new);
        let mut command = place.command(&[&start[..], &plain].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until_there(&place, "runs");
        traces::kill(child.id(), Signal::HUP);
        place.write("workspace/go", "");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {output:?}");
        until_nothing_is_left(&place);
    }
}

#[test]
fn another_signal_ends_it_at_once_and_nothing_is_left() {
    for caller in callers("two signals to batches") {
        let place = Place::new(caller);
        let tasks = [script("a", "trap '' TERM; touch runs; while :; do sleep 1; done")];
        let mut child = batch(&place, &[], &tasks).stdout(Stdio::null()).spawn().unwrap();
        until_there(&place, "runs");
        traces::kill(child.id(), Signal::TERM);
        traces::kill(child.id(), Signal::INT);
        let status = child.wait().unwrap();
        assert!(matches!(status.signal(), Some(2 | 15)), "by {caller:?}: {status:?}");
        until_nothing_is_left(&place);
    }
}

#[test]
fn a_killed_batch_leaves_no_sandbox() {
    for (caller, runner) in everywhere("killed batches") {
        let place = Place::on(caller, runner);
        let tasks = ["a", "b", "c"].map(|id| script(id, &RUNS.replace("runs", &format!("runs-{id}"))));
        let mut child =
            batch(&place, &["--jobs=2"], &tasks).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until_there(&place, "runs-a");
        until_there(&place, "runs-b");
        traces::kill(child.id(), Signal::KILL);
        child.wait().unwrap();
        // Without any other command, no process is left.
        traces::until_no_process_is_left(&place, crate::PATIENCE);
        assert!(!place.workspace().join("runs-c").exists(), "in {runner:?} by {caller:?}");
        until_nothing_is_left(&place);
    }
}

#[test]
fn a_batch_killed_at_any_moment_leaves_no_process() {
    for caller in callers("batches killed at any moment") {
        let place = Place::new(caller);
        // Some end by themselves, and two never do: from before the first start to when those run.
        let task =
            |number: u32| script(&number.to_string(), if number % 3 == 2 { RUNS } else { "sleep 0.02" });
        let tasks: Vec<_> = (0..6).map(task).collect();
        for moment in 0..24 {
            let mut child = batch(&place, &["--jobs=2"], &tasks)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // The moment is the attack.
            std::thread::sleep(std::time::Duration::from_millis(moment * 7));
            traces::kill(child.id(), Signal::KILL);
            child.wait().unwrap();
        }
        traces::until_no_process_is_left(&place, crate::PATIENCE);
        until_nothing_is_left(&place);
    }
}

#[test]
fn a_batch_whose_reader_goes_ends_and_leaves_nothing() {
    for caller in callers("readers that go") {
        let place = Place::new(caller);
        let tasks = [
            script("first", "true"),
            script("second", "until [ -e go ]; do sleep 0.01; done"),
            script("runs", RUNS),
        ];
        let mut child = batch(&place, &["--jobs=3"], &tasks).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        assert!(first.starts_with("{\"id\":\"first\""), "by {caller:?}: {first}");
        until_there(&place, "runs");
        drop(output);
        place.write("workspace/go", "");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(141), "by {caller:?}: {output:?}");
        until_nothing_is_left(&place);
    }
}
