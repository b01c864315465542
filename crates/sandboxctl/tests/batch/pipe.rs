//! Tasks from a pipe, which run as they arrive.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{batch, lines, ours, script, until_nothing_is_left};

#[test]
fn a_task_of_a_pipe_runs_before_the_next_one_is_there() {
    for caller in callers("tasks that arrive") {
        let place = Place::new(caller);
        let mut child = ours(&place, &["-"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("by {caller:?}: {line}"))
        };
        writeln!(input, "{}", script("a", "echo a")).unwrap();
        assert_eq!(next()["stdout"]["text"], "a\n");
        // What is wrong is said of its line, and the others run.
        writeln!(input, "\n{{\"id\": \"b\", \"comand\": []}}").unwrap();
        let wrong = next();
        assert_eq!((&wrong["id"], &wrong["line"]), (&"b".into(), &3.into()), "{wrong}");
        assert_eq!(wrong["error"]["code"], "tasks.invalid", "{wrong}");
        assert_eq!(wrong["error"]["details"]["problems"][0]["line"], 3, "{wrong}");
        writeln!(input, "{}", script("a", "echo a")).unwrap();
        let twice = next();
        assert!(
            twice["error"]["message"].as_str().unwrap().contains("line 1 has the id \"a\" already"),
            "{twice}"
        );
        write!(input, "{}", script("c", "echo without a newline")).unwrap();
        drop(input);
        assert_eq!(next()["stdout"]["text"], "without a newline\n");
        assert_eq!(child.wait().unwrap().code(), Some(123), "by {caller:?}");
    }
}

#[test]
fn many_tasks_of_a_pipe_all_have_their_line() {
    for caller in callers("many tasks") {
        let place = Place::new(caller);
        let mut child = ours(&place, &["--jobs=4"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writing = std::thread::spawn(move || {
            for number in 0..60 {
                writeln!(input, "{}", script(&number.to_string(), &format!("echo {number}"))).unwrap();
            }
        });
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {output:?}");
        let mut numbers: Vec<u32> = lines(&output)
            .iter()
            .map(|line| {
                assert_eq!(line["stdout"]["text"], format!("{}\n", line["id"].as_str().unwrap()));
                line["id"].as_str().unwrap().parse().unwrap()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..60).collect::<Vec<_>>(), "by {caller:?}");
        until_nothing_is_left(&place);
    }
}

#[test]
fn a_file_that_is_redirected_is_checked_as_a_whole() {
    for caller in callers("redirected files") {
        let place = Place::new(caller);
        let tasks = [script("a", "touch ran"), script("a", "true")];
        batch(&place, &[], &tasks);
        let file = std::fs::File::open(place.path("home/tasks.jsonl")).unwrap();
        let output = ours(&place, &[]).stdin(file).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "by {caller:?}: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("error: standard input:2: line 1 has the id \"a\" already"), "{stderr}");
        assert!(!place.workspace().join("ran").exists(), "by {caller:?}");
    }
}
