//! `policy`

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn check_answers_with_its_exit_code() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["policy", "check", "path", "/workspace/a"]), @r"
    code: 0
    --- stdout
    allow: `/workspace/a` lies in `workspace` (default)
    ");
    assert_snapshot!(env.call(&["policy", "check", "path", "/etc/shadow"]), @r"
    code: 77
    --- stdout
    deny: cannot read `/etc/shadow`: it lies in no boundary; allowed: `/workspace` (default)
    ");
    assert_snapshot!(env.call(&["policy", "check", "path", "--access", "write", "/workspace/.git/hooks/post-commit"]), @r"
    code: 77
    --- stdout
    deny: cannot write `/workspace/.git/hooks/post-commit`: `.git/hooks` is protected in `workspace`; `[protect] allow` gives it up by name (default)
    ");
    assert_snapshot!(env.call(&["policy", "check", "host", "example.org"]), @r#"
    code: 77
    --- stdout
    deny: the network is off: `[network] mode = "none"` (default)
    "#);
    assert_snapshot!(env.call(&["policy", "check", "env", "AWS_SECRET_ACCESS_KEY"]), @r"
    code: 77
    --- stdout
    deny: `AWS_SECRET_ACCESS_KEY` is not named; add it to `[env] pass` to let the caller's value in (default)
    ");
}

#[test]
fn explain_says_it_in_words_and_succeeds() {
    let env = TestEnv::with_config("[network]\nmode = \"none\"\n");
    assert_snapshot!(env.call(&["policy", "explain", "host", "example.org:80"]), @r#"
    code: 0
    --- stdout
    the agent may not reach example.org:80
    rule: the network is off: `[network] mode = "none"`
    from: default
    this is a rule, not a fault: trying again changes nothing
    "#);
    assert_snapshot!(env.call(&["policy", "explain", "env", "LANG"]), @r"
    code: 0
    --- stdout
    the agent may see the caller's variable LANG
    rule: `LANG` is harmless and passes
    from: default
    ");
}

#[test]
fn a_path_of_this_machine_can_be_asked_about() {
    let env = TestEnv::new();
    let inside = env.project().join("a").display().to_string();
    assert_eq!(env.call(&["policy", "check", "path", "--host", &inside]).code, 0);
    assert_eq!(env.call(&["policy", "check", "path", "--host", "/etc/passwd"]).code, 77);
}

#[test]
fn programs_get_the_verdict() {
    let answer = TestEnv::new().call(&["policy", "check", "path", "/etc/shadow", "--format", "json"]);
    assert_eq!(answer.code, 77);
    assert_eq!(answer.json()["decision"], "deny");
    assert_eq!(answer.json()["origin"]["kind"], "default");
}

#[test]
fn what_is_no_host_is_a_usage_error() {
    assert_eq!(TestEnv::new().call(&["policy", "check", "host", "https://example.org"]).code, 2);
}
