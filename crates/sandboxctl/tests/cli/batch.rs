//! What `batch` refuses before anything runs.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::TestEnv;

#[test]
fn all_mistakes_of_a_file_are_said_at_once() {
    let env = TestEnv::new();
    let lines = [
        r#"{"id": "a", "command": ["touch", "ran"]}"#,
        r#"{"id": "a", "command": ["true"]}"#,
        "",
        r#"{"id": "b", "comand": ["true"], "provider": "natve"}"#,
        "make test",
        r#"{"id": "c", "command": ["true"}"#,
        r#"{"command": "true", "timeout": "soon"}"#,
    ];
    env.write("tasks.jsonl", &lines.join("\n"));
    assert_snapshot!(env.call(&["batch", "--trust-tasks", "tasks.jsonl"]), @r#"
    code: 2
    --- stderr
    error: 8 problems:
      tasks.jsonl:2: line 1 has the id "a" already; ids tell results apart, so each is there once
      tasks.jsonl:4: unknown key `comand`; did you mean "command"?
      tasks.jsonl:4: there is no provider `natve`; did you mean "native"?
      tasks.jsonl:5: not a JSON object; such as `{"id": "a", "command": ["make", "test"]}`
      tasks.jsonl:6:31: not JSON: expected `,` or `]`; each is one object on one line
      tasks.jsonl:7: `command` must be an array of strings, and is a string
      tasks.jsonl:7: `timeout`: `soon` is not a duration; expected numbers with the units d, h, m, s or ms, largest first, such as `30m`, `1h30m` or `500ms`
      tasks.jsonl:7: `id` is missing; it names the task in the output, and is different for each
    hint: nothing was run
    "#);
    assert!(!env.project().join("ran").exists());
}

#[test]
fn one_mistake_is_said_with_its_hint_and_its_place() {
    let env = TestEnv::new();
    env.write("tasks.jsonl", "{\"id\": \"a\", \"grup\": \"x\"}\n");
    assert_snapshot!(env.call(&["batch", "tasks.jsonl"]), @r#"
    code: 2
    --- stderr
    error: tasks.jsonl:1: unknown key `grup`
    hint: did you mean "group"?
    hint: nothing was run
    "#);
    let error = &env.call(&["--format=json", "batch", "tasks.jsonl"]).json()["error"];
    assert_eq!(error["code"], "tasks.invalid");
    let problem = json!({ "line": 1, "column": null, "message": "unknown key `grup`", "hint": "did you mean \"group\"?" });
    assert_eq!(error["details"], json!({ "problems": [problem], "count": 1 }));
}

#[test]
fn a_file_without_a_task_is_refused() {
    let env = TestEnv::new();
    env.write("empty.jsonl", "\n  \n");
    assert_snapshot!(env.call(&["batch", "empty.jsonl"]), @r#"
    code: 2
    --- stderr
    error: empty.jsonl: there is no task in it
    hint: a task is a line such as `{"id": "a", "command": ["make", "test"]}`
    "#);
    let answer = env.call_with_input(&["batch"], b"");
    assert_snapshot!(answer, @r#"
    code: 2
    --- stderr
    error: standard input: there is no task in it
    hint: a task is a line such as `{"id": "a", "command": ["make", "test"]}`
    "#);
}

#[test]
fn what_is_no_text_is_refused_and_not_printed() {
    let env = TestEnv::new();
    std::fs::write(env.project().join("binary"), b"\x7fELF\x02\x01\0\xff\xfe\n\x1b[31mred\n").unwrap();
    assert_snapshot!(env.call(&["batch", "binary"]), @r#"
    code: 2
    --- stderr
    error: 2 problems:
      binary:1:8: not UTF-8, as JSON must be
      binary:2: not a JSON object; such as `{"id": "a", "command": ["make", "test"]}`
    hint: nothing was run
    "#);
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let env = TestEnv::new();
    let long = format!(
        "{{\"id\": \"a\", \"command\": [\"{}\"]}}\n{{\"id\": \"b\", \"x\": 1}}\n",
        "x".repeat(2 << 20)
    );
    env.write("long.jsonl", &long);
    assert_snapshot!(env.call(&["batch", "long.jsonl"]), @r"
    code: 2
    --- stderr
    error: 2 problems:
      long.jsonl:1: longer than 1048576 bytes; share a directory with what is large, by `volumes`
      long.jsonl:2: unknown key `x`; a task has id, command, config, provider, timeout, env, volumes, group, retries, retry_on
    hint: nothing was run
    ");
}

#[test]
fn many_mistakes_are_counted_and_some_are_listed() {
    let env = TestEnv::new();
    env.write("many.jsonl", &"x\n".repeat(1000));
    let answer = env.call(&["batch", "many.jsonl"]);
    assert_eq!(answer.code, 2);
    assert!(
        answer.stderr.starts_with("error: 1000 problems:\n  many.jsonl:1: not a JSON object"),
        "{answer}"
    );
    assert!(answer.stderr.contains("\n  and 980 more\n"), "{answer}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["batch", "nowhere.jsonl"]), @r"
    code: 2
    --- stderr
    error: cannot read tasks from nowhere.jsonl: No such file or directory (os error 2)
    ");
    assert_snapshot!(env.call(&["batch", "."]), @r"
    code: 2
    --- stderr
    error: cannot read tasks from .: Is a directory (os error 21)
    ");
}

#[test]
fn flags_that_can_mean_nothing_are_refused() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["batch", "--name=x", "-"]), @r"
    code: 2
    --- stderr
    error: --name: a batch makes a sandbox for each task, and no two have one name
    hint: leave it out: `sandbox.name` in each line of the output says what each was called
    ");
    assert_snapshot!(env.call(&["batch", "--jobs=0"]), @r"
    code: 2
    --- stderr
    error: invalid value '0' for '--jobs <N>': number would be zero for non-zero type
    hint: `sandboxctl batch --help` says what it takes
    ");
}
