//! Which task runs when, how many at once, and how often.

use serde_json::{Value, json};

use crate::machine::callers;
use crate::place::Place;
use crate::{batch, ids, line, lines, script, with};

#[test]
fn lines_come_in_the_order_in_which_tasks_end() {
    for caller in callers("the order of lines") {
        let place = Place::new(caller);
        let tasks = [
            script("slow", "until [ -e go ]; do sleep 0.01; done"),
            script("fast", "true"),
            script("last", "touch go"),
        ];
        // The last one has a place when the fast one has ended.
        let output = batch(&place, &["--jobs=2"], &tasks).output().unwrap();
        let ids = ids(&output);
        assert_eq!(ids[0], "fast", "by {caller:?}: {output:?}");
        assert_eq!(ids.len(), 3, "by {caller:?}: {output:?}");
    }
}

#[test]
fn as_many_run_at_once_as_were_asked_for_and_no_more() {
    for caller in callers("tasks at once") {
        let place = Place::new(caller);
        // Two that can end only together, and others that count who is there.
        let other =
            |own: &str, other: &str| format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done");
        let count = "touch running-$ID; ls running-* | wc -l; sleep 0.05; rm running-$ID";
        let counting = (0..6).map(|number| {
            let id = format!("count-{number}");
            with(script(&id, count), &json!({ "env": { "ID": id } }))
        });
        let together = [script("a", &other("a", "b")), script("b", &other("b", "a"))];
        let tasks: Vec<_> = together.into_iter().chain(counting).collect();
        let output = batch(&place, &["--jobs=2", "--timeout=60s"], &tasks).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {output:?}");
        let counted = lines(&output)
            .into_iter()
            .filter_map(|line| line["stdout"]["text"].as_str().unwrap().trim().parse::<u32>().ok());
        let counted: Vec<_> = counted.collect();
        assert_eq!(counted.len(), 6, "by {caller:?}: {output:?}");
        assert!(counted.iter().all(|running| (1..=2).contains(running)), "by {caller:?}: {counted:?}");
    }
}

#[test]
fn groups_have_turns() {
    for caller in callers("groups") {
        let place = Place::new(caller);
        let of = |id: &str, group: &str| with(script(id, "true"), &json!({ "group": group }));
        let tasks =
            [of("a1", "a"), of("a2", "a"), of("a3", "a"), of("b1", "b"), of("b2", "b"), script("c1", "true")];
        let output = batch(&place, &["--jobs=1"], &tasks).output().unwrap();
        assert_eq!(ids(&output), ["a1", "b1", "c1", "a2", "b2", "a3"], "by {caller:?}: {output:?}");
    }
}

/// Which attempt each line is of, whether another one followed, and the exit code of its command.
fn attempts(lines: &[Value]) -> Vec<(u64, bool, Option<u64>)> {
    let of = |line: &Value| {
        (line["attempt"].as_u64().unwrap(), line["retried"] == true, line["result"]["code"].as_u64())
    };
    lines.iter().map(of).collect()
}

#[test]
fn a_command_that_ran_is_run_again_only_where_its_exit_code_is_named() {
    for caller in callers("commands that are run again") {
        let place = Place::new(caller);
        let task = script("a", "[ -e again ] && exit 0; touch again; exit 75");
        let named = with(task.clone(), &json!({ "retries": 5, "retry_on": [75] }));
        let output = batch(&place, &[], &[named]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {output:?}");
        assert_eq!(attempts(&lines(&output)), [(1, true, Some(75)), (2, false, Some(0))], "by {caller:?}");
        std::fs::remove_file(place.workspace().join("again")).unwrap();
        for more in [json!({ "retries": 5 }), json!({ "retries": 5, "retry_on": [1, 2] }), json!({})] {
            let output = batch(&place, &[], &[with(task.clone(), &more)]).output().unwrap();
            assert_eq!(output.status.code(), Some(123), "by {caller:?}: {output:?}");
            assert_eq!(attempts(&lines(&output)), [(1, false, Some(75))], "{more} by {caller:?}");
            std::fs::remove_file(place.workspace().join("again")).unwrap();
        }
    }
}

#[test]
fn a_start_that_fails_is_tried_again_as_often_as_asked_for() {
    for caller in callers("starts that are tried again") {
        let place = Place::new(caller);
        let tried = place.path("home/tried");
        let tried = tried.display();
        // It fails once, and then always gives a value.
        let once = format!("[ -e {tried} ] && echo value && exit; touch {tried}; exit 1");
        let secret = |source: &str| {
            format!("version = 1\n[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = {source:?}\n")
        };
        let once = place.write("home/once.toml", &secret(&format!("command:{once}")));
        let never = place.write("home/never.toml", &secret("command:exit 1"));
        let tasks = [
            with(script("once", "echo $S"), &json!({ "config": once, "retries": 3 })),
            with(script("never", "true"), &json!({ "config": never, "retries": 1 })),
            // What is refused is refused the next time, too.
            with(script("refused", "true"), &json!({ "config": "nowhere.toml", "retries": 3 })),
        ];
        let output = batch(&place, &["--trust", "--jobs=1"], &tasks).output().unwrap();
        assert_eq!(output.status.code(), Some(123), "by {caller:?}: {output:?}");
        let of = |id: &str| {
            let all = lines(&output);
            attempts(&all.into_iter().filter(|line| line["id"] == id).collect::<Vec<_>>())
        };
        assert_eq!(of("once"), [(1, true, None), (2, false, Some(0))], "by {caller:?}: {output:?}");
        assert_eq!(of("never"), [(1, true, None), (2, false, None)], "by {caller:?}: {output:?}");
        assert_eq!(of("refused"), [(1, false, None)], "by {caller:?}: {output:?}");
    }
}

#[test]
fn fail_fast_cancels_what_has_not_succeeded() {
    for caller in callers("--fail-fast") {
        let place = Place::new(caller);
        let tasks = [script("good", "true"), script("bad", "exit 1"), script("never", "touch never")];
        let output = batch(&place, &["--jobs=1", "--fail-fast"], &tasks).output().unwrap();
        assert_eq!(output.status.code(), Some(123), "by {caller:?}: {output:?}");
        assert_eq!(ids(&output), ["good", "bad", "never"], "by {caller:?}: {output:?}");
        let never = line(&output, "never");
        assert_eq!(never["error"]["code"], "task.cancelled", "by {caller:?}: {output:?}");
        assert!(never["attempt"].is_null(), "by {caller:?}: {output:?}");
        assert!(!place.workspace().join("never").exists(), "by {caller:?}");
        // The control: it runs where nothing is cancelled.
        let output = batch(&place, &["--jobs=1"], &tasks).output().unwrap();
        assert_eq!(output.status.code(), Some(123), "by {caller:?}: {output:?}");
        assert!(place.workspace().join("never").exists(), "by {caller:?}");
        // And what runs is ended.
        let tasks = [
            script("runs", "touch runs; sleep 1000"),
            script("bad", "until [ -e runs ]; do sleep 0.01; done; exit 1"),
        ];
        let output = batch(&place, &["--jobs=2", "--fail-fast"], &tasks).output().unwrap();
        let runs = line(&output, "runs");
        assert_eq!(runs["error"]["code"], "task.cancelled", "by {caller:?}: {output:?}");
        assert_eq!(runs["result"]["signal"], 15, "by {caller:?}: {output:?}");
    }
}
