//! What a line says of its task.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::json;

use crate::machine::callers;
use crate::place::Place;
use crate::{batch, everywhere, ids, line, lines, ours, script, with};

#[test]
fn each_task_has_a_sandbox_of_its_own_and_a_line() {
    for (caller, runner) in everywhere("batches") {
        let place = Place::on(caller, runner);
        let tasks = [
            script("a", "echo of a > /tmp/own; cat /tmp/*; hostname"),
            script("b", "cat /tmp/*; echo said >&2; exit 3"),
            // A signal that the batch blocks for itself.
            script("c", "kill -TERM $$"),
        ];
        let output = batch(&place, &["--jobs=3"], &tasks).output().unwrap();
        let what = format!("in {runner:?} by {caller:?}: {output:?}");
        assert_eq!(output.status.code(), Some(123), "{what}");
        assert_eq!(ids(&output).len(), 3, "{what}");
        let a = line(&output, "a");
        assert_eq!(a["stdout"]["text"], "of a\nsandbox\n", "{what}");
        assert_eq!((&a["attempt"], &a["result"]["code"]), (&json!(1), &json!(0)), "{what}");
        let b = line(&output, "b");
        assert_eq!(b["result"]["code"], 3, "{what}");
        assert!(b["stderr"]["text"].as_str().unwrap().ends_with("said\n"), "{what}");
        assert!(!b["stdout"]["text"].as_str().unwrap().contains("of a"), "{what}");
        assert_eq!(line(&output, "c")["result"]["signal"], 15, "{what}");
        let names: BTreeSet<_> =
            lines(&output).iter().map(|line| line["sandbox"]["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names.len(), 3, "{what}");
    }
}

#[test]
fn the_exit_code_is_0_where_every_command_ended_with_0() {
    for caller in callers("batches without a failure") {
        let place = Place::new(caller);
        let output = batch(&place, &[], &[script("a", "true"), script("b", "true")]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {output:?}");
        assert_eq!(ids(&output).len(), 2, "by {caller:?}: {output:?}");
    }
}

#[test]
fn a_task_has_settings_of_its_own_and_those_of_the_batch() {
    for caller in callers("settings of tasks") {
        let place = Place::new(caller);
        place.write("home/a/file", "of a\n");
        place.write("home/b/file", "of b\n");
        place.write("home/own.toml", "[env]\nset = { FROM = \"own.toml\" }\n");
        let own = place.path("home/own.toml");
        let volume = |name: &str| format!("{}:/data:ro", place.path(&format!("home/{name}")).display());
        let says = "echo $SHARED $OWN $FROM; cat /data/file";
        let tasks = [
            with(script("a", says), &json!({ "env": { "OWN": "x = y" }, "volumes": [volume("a")] })),
            with(
                script("b", says),
                &json!({ "env": { "SHARED": "mine" }, "volumes": [volume("b")], "config": own }),
            ),
            with(script("slow", "sleep 1000"), &json!({ "timeout": "100ms" })),
            with(script("elsewhere", "true"), &json!({ "provider": "local" })),
        ];
        let flags = ["--env=SHARED=everybody's", "--timeout=5m"];
        let output = batch(&place, &flags, &tasks).output().unwrap();
        let said = |id| line(&output, id)["stdout"]["text"].as_str().unwrap_or_default().to_owned();
        assert_eq!(said("a"), "everybody's x = y\nof a\n", "by {caller:?}: {output:?}");
        assert_eq!(said("b"), "mine own.toml\nof b\n", "by {caller:?}: {output:?}");
        let slow = line(&output, "slow");
        assert_eq!(slow["result"]["timed_out"], true, "by {caller:?}: {output:?}");
        assert_eq!(slow["error"]["code"], "command.timed_out", "by {caller:?}: {output:?}");
        let elsewhere = line(&output, "elsewhere");
        assert_eq!(elsewhere["sandbox"]["provider"], "local", "by {caller:?}: {output:?}");
    }
}

#[test]
fn what_cannot_be_started_is_an_error_of_its_task_alone() {
    for caller in callers("tasks that cannot be started") {
        let place = Place::new(caller);
        let tasks = [
            with(script("missing", "true"), &json!({ "config": "nowhere.toml" })),
            script("good", "echo good"),
            with(script("long", "true"), &json!({ "env": { "LONG": "x".repeat(200_000) } })),
        ];
        let output = batch(&place, &[], &tasks).output().unwrap();
        assert_eq!(output.status.code(), Some(123), "by {caller:?}: {output:?}");
        let missing = line(&output, "missing");
        assert_eq!(missing["error"]["code"], "config.not_found", "by {caller:?}: {output:?}");
        assert!(missing["result"].is_null(), "by {caller:?}: {output:?}");
        assert_eq!(line(&output, "good")["stdout"]["text"], "good\n", "by {caller:?}: {output:?}");
        assert_eq!(line(&output, "long")["error"]["code"], "start.failed", "by {caller:?}: {output:?}");
    }
}

#[test]
fn what_tasks_warn_of_alike_is_said_once() {
    for caller in callers("warnings of tasks") {
        let place = Place::new(caller);
        let tasks = ["a", "b", "c"].map(|id| script(id, "true"));
        let output = batch(&place, &["--provider=local"], &tasks).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let warnings: Vec<_> = stderr.lines().filter(|line| line.starts_with("warning:")).collect();
        assert_eq!(warnings.len(), 1, "by {caller:?}: {output:?}");
        assert!(warnings[0].contains("isolation"), "by {caller:?}: {output:?}");
    }
}

/// The first task leaves a name that no list knows, and each another file for programs outside to obey.
#[test]
fn what_agents_have_made_is_said() {
    for (caller, runner) in everywhere("warnings of what tasks have made") {
        let place = Place::on(caller, runner);
        let made = |name: &str| {
            format!("echo id > .envrc; test -e .unknown-name || echo x > .unknown-name; echo {name}")
        };
        let tasks = [script("a", &made("a")), script("b", &made("b"))];
        let output = batch(&place, &["--jobs=1"], &tasks).output().unwrap();
        let what = format!("in {runner:?} by {caller:?}: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = |name: &str| {
            let has_name =
                |line: &&str| line.starts_with("warning: the agent has made") && line.contains(name);
            stderr.lines().filter(has_name).collect::<Vec<_>>()
        };
        let moved = said(".envrc");
        assert_eq!(moved.len(), 2, "{what}");
        assert_eq!(said(".unknown-name").len(), 1, "{what}");
        for id in ["a", "b"] {
            let line = line(&output, id);
            let warnings: Vec<_> =
                line["warnings"].as_array().unwrap().iter().map(|one| one.as_str()).collect();
            let is_in_line = |warning: &&&str| warnings.contains(&warning.strip_prefix("warning: "));
            assert_eq!(moved.iter().filter(is_in_line).count(), 1, "{id}: {what}");
        }
        // The control: whoever wants quiet.
        let output = batch(&place, &["--quiet"], &tasks).output().unwrap();
        assert!(output.stderr.is_empty(), "in {runner:?} by {caller:?}: {output:?}");
    }
}

#[test]
fn progress_is_shown_on_a_terminal_alone() {
    for caller in callers("progress on a terminal") {
        let place = Place::new(caller);
        let tasks = [script("a", "true"), script("b", "exit 1")];
        let plain = batch(&place, &[], &tasks).output().unwrap();
        assert!(!String::from_utf8_lossy(&plain.stderr).contains("done"), "by {caller:?}: {plain:?}");
        let (program, file) = (place.path("sandboxctl"), place.path("home/tasks.jsonl"));
        let command =
            format!("{} batch {} >{}", program.display(), file.display(), place.home().join("out").display());
        let words = ["script", "--quiet", "--return", "--command", &command, "/dev/null"];
        let output = place.outside(&words).stdin(Stdio::null()).output().unwrap();
        let screen = String::from_utf8_lossy(&output.stdout);
        assert!(screen.contains("0 of 2 done"), "by {caller:?}: {screen}");
        assert!(screen.ends_with("2 of 2 done, 1 failed\r\n"), "by {caller:?}: {screen}");
        let written = std::fs::read_to_string(place.home().join("out")).unwrap();
        assert_eq!(written.lines().count(), 2, "by {caller:?}: {written}");
    }
}

#[test]
fn a_list_that_an_agent_may_have_written_says_what_runs_alone() {
    for caller in callers("lists of agents") {
        let place = Place::new(caller);
        place.write("home/private/id", "private\n");
        let volume = format!("{}:/data:ro", place.path("home/private").display());
        let tasks = [
            with(script("local", "echo out > ../home/out; echo ran"), &json!({ "provider": "local" })),
            with(script("volume", "cat /data/id"), &json!({ "volumes": [volume] })),
            with(script("config", "echo ran"), &json!({ "config": "../home/none.toml" })),
        ];
        let lines: Vec<_> = tasks.iter().map(|task| format!("{task}\n")).collect();
        let lines = lines.concat();
        let list = place.write("workspace/tasks.jsonl", &lines);
        place.write("home/tasks.jsonl", &lines);
        let link = ["ln", "-s", "../home/tasks.jsonl", "link.jsonl"];
        assert!(place.outside(&link).status().unwrap().success());
        for (file, is_input) in [("tasks.jsonl", false), ("link.jsonl", false), ("-", true)] {
            let mut command = ours(&place, &[file]);
            if is_input {
                command.stdin(std::fs::File::open(&list).unwrap());
            }
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{file} by {caller:?}: {output:?}");
            assert!(output.stdout.is_empty() && !place.home().join("out").exists(), "{file}: {output:?}");
            for key in [":1: `provider`", ":2: `volumes`", ":3: `config`", "--trust-tasks"] {
                assert!(said.contains(key), "{key} in {file} by {caller:?}: {said}");
            }
        }
        // The controls: a list of the owner's, and the agent's if its owner says so. And what it may say.
        for words in [&["../home/tasks.jsonl"][..], &["--trust-tasks", "tasks.jsonl"]] {
            let output = ours(&place, words).output().unwrap();
            assert_eq!(line(&output, "volume")["stdout"]["text"], "private\n", "{words:?}: {output:?}");
            assert!(std::fs::remove_file(place.home().join("out")).is_ok(), "{words:?}: {output:?}");
        }
        place.write("workspace/tasks.jsonl", &format!("{}\n", script("a", "echo ran")));
        let output = ours(&place, &["tasks.jsonl"]).output().unwrap();
        assert_eq!(line(&output, "a")["stdout"]["text"], "ran\n", "by {caller:?}: {output:?}");
    }
}

/// The list is from an agent that has ended, and this batch shares another directory.
#[test]
fn a_list_that_an_agent_has_left_says_what_runs_alone() {
    for caller in callers("lists of earlier agents") {
        let place = Place::new(caller);
        place.write("workspace/data/x", "");
        place.write("workspace/out/y", "");
        let task = with(script("a", "echo ran"), &json!({ "provider": "local" }));
        let copy = ["sh", "-c", "cp /list/list tasks.jsonl"];
        place.write("workspace/from/list", &format!("{task}\n"));
        let output =
            place.inside(&["-v", "./out:/workspace", "-v", "./from:/list:ro"], &copy).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        let output = ours(&place, &["-v", "./data:/workspace", "out/tasks.jsonl"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "by {caller:?}: {output:?}");
        assert!(said.contains("out, which an earlier sandbox could write to"), "by {caller:?}: {said}");
        // The controls: a list where no agent could write, and one that its owner has read.
        for words in [&["from/list"][..], &["--trust-tasks", "out/tasks.jsonl"]] {
            let words = [&["-v", "./data:/workspace"], words].concat();
            let output = ours(&place, &words).output().unwrap();
            assert_eq!(line(&output, "a")["stdout"]["text"], "ran\n", "{words:?} by {caller:?}: {output:?}");
        }
    }
}

/// The directory is known wherever it is, also by standard input and through a link.
#[test]
fn a_list_that_an_agent_has_left_says_no_more_when_its_directory_has_moved() {
    for caller in callers("lists of earlier agents that were moved") {
        let place = Place::new(caller);
        place.write("workspace/top/out/sub/y", "");
        place.write("workspace/data/x", "");
        let task = with(script("a", "echo ran"), &json!({ "provider": "local" }));
        place.write("workspace/from/list", &format!("{task}\n"));
        let copy = ["sh", "-c", "cp /list/list sub/tasks.jsonl"];
        let flags = ["-v", "./top/out:/workspace", "-v", "./from:/list:ro"];
        let output = place.inside(&flags, &copy).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        let actions = "mv top/out top/out2; mv top other; ln -s other/out2/sub/tasks.jsonl link; cp -r other/out2 copied";
        let done = place.outside(&["sh", "-c", actions]).current_dir(place.workspace()).status().unwrap();
        assert!(done.success(), "by {caller:?}");
        let list = place.path("workspace/other/out2/sub/tasks.jsonl");
        for (list, stdin) in [(Some(list.to_str().unwrap()), None), (Some("link"), None), (None, Some(&list))]
        {
            let words: Vec<_> = ["-v", "./data:/workspace"].into_iter().chain(list).collect();
            let mut command = ours(&place, &words);
            if let Some(list) = stdin {
                command.stdin(std::fs::File::open(list).unwrap());
            }
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{list:?} by {caller:?}: {output:?}");
            assert!(
                said.contains("out2, which an earlier sandbox could write to"),
                "{list:?} by {caller:?}: {said}"
            );
        }
        // The control, and what the documentation says of it: a copy is another directory.
        let output = ours(&place, &["-v", "./data:/workspace", "copied/sub/tasks.jsonl"]).output().unwrap();
        assert_eq!(line(&output, "a")["stdout"]["text"], "ran\n", "by {caller:?}: {output:?}");
    }
}

#[test]
fn a_list_that_an_agent_may_have_written_lets_no_task_run_longer_than_the_batch() {
    for caller in callers("timeouts in lists of agents") {
        let place = Place::new(caller);
        let long = with(script("long", "sleep 3"), &json!({ "timeout": "1h" }));
        let short = with(script("short", "sleep 60"), &json!({ "timeout": "200ms" }));
        place.write("workspace/tasks.jsonl", &format!("{long}\n{short}\n"));
        let run = |words: &[&str]| {
            let output = ours(&place, &[&["--timeout=1s"], words].concat()).output().unwrap();
            ["long", "short"].map(|id| line(&output, id)["result"]["code"].as_i64())
        };
        assert_eq!(run(&["tasks.jsonl"]), [Some(124); 2], "by {caller:?}");
        assert_eq!(
            run(&["--trust-tasks", "tasks.jsonl"]),
            [Some(0), Some(124)],
            "the control, by {caller:?}"
        );
    }
}
