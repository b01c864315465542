//! `init`

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn what_it_writes_is_valid_and_needs_no_trust() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["init"]), @r"
    code: 0
    --- stderr
    wrote sandbox.toml; next: `sandboxctl run -- COMMAND`
    ");
    let validated = env.call(&["config", "validate"]);
    assert_eq!(validated.code, 0, "{validated}");
    let plan = env.call(&["plan", "--format", "json", "--", "true"]);
    assert_eq!(plan.code, 0, "{plan}");
    assert_eq!(plan.json()["boundaries"][0]["host"], "[TEMP]/project");
}

#[test]
fn every_line_that_is_commented_out_is_a_line_that_may_stand_there() {
    let env = TestEnv::new();
    assert_eq!(env.call(&["init"]).code, 0);
    let text = env.read("sandbox.toml");
    // A comment has a blank after its `#`, a key that is commented out has none.
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(key) if !key.starts_with(' ') => format!("{key}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    env.write("sandbox.toml", &uncommented);
    let answer = env.call(&["config", "validate", "--format", "json"]);
    let refused = &answer.json()["error"]["details"]["problems"];
    for problem in refused.as_array().into_iter().flatten() {
        let code = problem["code"].as_str().unwrap();
        assert!(["not_supported_yet", "conflict"].contains(&code), "{problem}");
    }
}

#[test]
fn never_overwrites() {
    let env = TestEnv::with_config("version = 1\n");
    assert_snapshot!(env.call(&["init"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml exists, and `init` never overwrites
    hint: `sandboxctl config validate sandbox.toml` checks the file that is there
    hint: to start over, name another file or move this one away
    ");
    assert_eq!(env.read("sandbox.toml"), "version = 1\n");
}

#[test]
fn never_writes_through_a_link() {
    let env = TestEnv::new();
    std::os::unix::fs::symlink("elsewhere", env.project().join("sandbox.toml")).unwrap();
    assert_eq!(env.call(&["init"]).code, 2);
    assert!(!env.project().join("elsewhere").exists());
}

#[test]
fn programs_get_the_path() {
    let env = TestEnv::new();
    let answer = env.call(&["init", "--format", "json", "mine.toml"]);
    assert_eq!(answer.json()["file"], "[TEMP]/project/mine.toml");
    assert_eq!(answer.stderr, "");
    let answer = env.call(&["init", "--format", "json", "./conf/.././other.toml"]);
    assert_eq!(answer.json()["error"]["code"], "tool.failed", "{answer}");
    assert_eq!(
        env.call(&["init", "--format", "json", "././its.toml"]).json()["file"],
        "[TEMP]/project/its.toml"
    );
}
