//! Batches from outside: what their lines say, in which order tasks run, and that nothing of them stays.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod cancelled;
mod order;
mod pipe;
mod results;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../lifecycle/traces.rs"]
mod traces;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every caller with everything that isolates its sandboxes here.
fn everywhere(test: &str) -> Vec<(Caller, Runner)> {
    let all = callers(test).into_iter();
    all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner))).collect()
}

/// A task that runs a script.
fn script(id: &str, script: &str) -> Value {
    json!({ "id": id, "command": ["sh", "-c", script] })
}

/// The same with more.
fn with(mut task: Value, more: &Value) -> Value {
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

/// A batch of the tasks in a file.
fn batch(place: &Place, flags: &[&str], tasks: &[Value]) -> Command {
    let lines: Vec<_> = tasks.iter().map(|task| format!("{task}\n")).collect();
    let file = place.write("home/tasks.jsonl", &lines.concat());
    ours(place, &[flags, &[file.to_str().unwrap()]].concat())
}

/// A batch of ours.
fn ours(place: &Place, words: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    let words = [&[program.to_str().unwrap(), "batch"], place.provider(), words].concat();
    let mut command = place.outside(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The lines of an output.
fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}: {output:?}")))
        .collect()
}

/// What each line is about.
fn ids(output: &Output) -> Vec<String> {
    lines(output).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

/// The line about a task, of which there is one.
fn line(output: &Output, id: &str) -> Value {
    let mut of = lines(output);
    of.retain(|line| line["id"] == id);
    assert_eq!(of.len(), 1, "{id} in {output:?}");
    of.swap_remove(0)
}

/// Waits until a task has made a file in the workspace.
fn until_there(place: &Place, name: &str) {
    let asked = Instant::now();
    while !place.workspace().join(name).exists() {
        assert!(asked.elapsed() < PATIENCE, "{name} is not made");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Removes what tasks have made in the workspace.
fn clear(place: &Place) {
    for entry in std::fs::read_dir(place.workspace()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    std::fs::remove_file(place.path("home/tasks.jsonl")).unwrap_or_default();
}

/// Waits until nothing of the place is left; the next command may help.
fn until_nothing_is_left(place: &Place) {
    clear(place);
    let asked = Instant::now();
    loop {
        let run = place.inside(&[""; 0], &["true"]).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        let mut traces = traces::of(place, &[]);
        // The configuration that names the image of containers.
        traces.retain(|trace| !trace.ends_with("home/.config"));
        if traces.is_empty() {
            return;
        }
        assert!(asked.elapsed() < PATIENCE, "by {:?}: {traces:#?}", place.caller);
    }
}
