//! What is wrong with a command line, and how that is said.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn an_unknown_command_gets_a_suggestion() {
    assert_snapshot!(TestEnv::new().call(&["rum"]), @r"
    code: 2
    --- stderr
    error: unrecognized subcommand 'rum'
    hint: a similar subcommand exists: 'run'
    hint: `sandboxctl --help` lists the commands, `sandboxctl COMMAND --help` what one takes
    ");
}

#[test]
fn a_command_that_is_missing_is_a_usage_error() {
    assert_snapshot!(TestEnv::new().call(&[]), @r"
    code: 2
    --- stderr
    error: a command is missing
    hint: `sandboxctl --help` lists the commands, `sandboxctl COMMAND --help` what one takes
    ");
}

#[test]
fn errors_are_json_when_json_was_asked_for_even_on_a_line_that_cannot_be_read() {
    let answer = TestEnv::new().call(&["run", "--format=json", "--nonsense"]);
    assert_snapshot!(answer, @r#"
    code: 2
    --- stdout
    {
      "error": {
        "code": "usage.invalid",
        "details": null,
        "hint": "to pass '--nonsense' as a value, use '-- --nonsense'\n`sandboxctl run --help` says what it takes",
        "message": "unexpected argument '--nonsense' found",
        "retryable": false
      }
    }
    "#);
}

#[test]
fn an_argument_where_none_can_be_gets_a_hint_that_fits_the_command() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["shell", "box", "ls"]), @r"
    code: 2
    --- stderr
    error: unexpected argument 'ls' found
    hint: `shell` takes no command; `sandboxctl exec NAME -- ls` runs one in a persistent sandbox, `sandboxctl run -- ls` in a fresh one
    hint: `sandboxctl shell --help` says what it takes
    ");
    assert_snapshot!(env.call(&["man", "run"]), @r"
    code: 2
    --- stderr
    error: unexpected argument 'run' found
    hint: this prints one page about all of it; `--output-dir DIR` writes one for every command
    hint: `sandboxctl man --help` says what it takes
    ");
    assert_snapshot!(env.call(&["doctor", "all"]), @r"
    code: 2
    --- stderr
    error: unexpected argument 'all' found
    hint: `sandboxctl doctor --help` says what it takes
    ");
    assert_snapshot!(env.call(&["policy", "check"]), @r"
    code: 2
    --- stderr
    error: a command is missing
    hint: `sandboxctl policy check --help` says what it takes
    ");
}

#[test]
fn a_file_of_variables_that_cannot_be_read_is_named_beside_every_other_mistake() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["run", "--env-file", "missing", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --env-file missing: cannot be read: No such file or directory (os error 2)
    ");
    assert_snapshot!(env.call(&["run", "--env-file", ".", "-m", "1x", "--", "true"]), @r"
    code: 2
    --- stderr
    error: 2 problems:
      --env-file .: cannot be read: not a regular file
      --memory: limits.memory: `1x` is not a size; expected digits and a unit of k, m, g or t, such as `512m`, `1g` or `10_000_000`
    ");
}

#[test]
fn help_and_version_are_data() {
    let env = TestEnv::new();
    for flag in ["--help", "--version"] {
        let answer = env.call(&[flag]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        assert!(answer.stdout.contains("sandboxctl"));
    }
}

#[test]
fn what_is_not_built_yet_says_so() {
    let env = TestEnv::new();
    let answer = env.call(&["run", "--user", "root"]);
    assert_eq!(answer.code, 2, "{answer}");
    assert!(answer.stderr.contains("not supported yet"), "{answer}");
}
