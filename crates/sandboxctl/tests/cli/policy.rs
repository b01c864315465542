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
    deny: `/workspace/.git/hooks/post-commit` must not be written: `.git/hooks` is protected in `workspace`; `[protect] allow` gives it up by name (default)
    detected, not prevented: nothing is there yet to be made read-only, or its program writes it at every command; what the agent makes is quarantined when the command has ended, if a program outside would obey it or `[protect] paths` names it
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
fn a_request_is_decided_by_its_method_and_its_path() {
    let rules = "[network]\nallow = [\"example.org:80\", \"GET,HEAD http://example.net/pub/*\"]\n\
                 deny = [\"DELETE http://example.org/*\"]\n";
    let env = TestEnv::with_config(rules);
    for (method, url, code) in [
        ("POST", "http://example.org", 0),
        ("DELETE", "http://example.org/a?b", 77),
        ("GET", "http://example.net:80/pub/a", 0),
        ("GET", "http://example.net/pub/../a", 77),
        ("GET", "https://example.net/pub/a", 77),
        ("GET", "example.net/pub/a", 2),
        ("GET", "http://*.example.net/", 2),
    ] {
        let answer = env.call(&["policy", "check", "request", method, url]);
        assert_eq!(answer.code, code, "{method} {url}: {answer}");
    }
    let host = env.call(&["policy", "check", "host", "example.net:80"]).to_string();
    assert!(
        host.contains("is reached for requests alone, of which `[network] allow` has `GET,HEAD"),
        "{host}"
    );
    let untrusted = env.call(&["plan"]).to_string();
    assert!(untrusted.contains("lets the agent send GET,HEAD http://example.net/pub/*"), "{untrusted}");
    assert_eq!(env.call(&["trust", "--yes"]).code, 0);
    let plan = env.call(&["plan"]).to_string();
    assert!(plan.contains("GET,HEAD http://example.net/pub/*; not DELETE http://example.org/*"), "{plan}");
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

/// What a question about writing is answered with, and what really happens.
fn enforcement(env: &TestEnv, path: &str) -> (String, Option<String>, bool) {
    let asked = format!("/workspace/{path}");
    let verdict =
        env.call(&["policy", "check", "path", "--access", "write", "--format", "json", &asked]).json();
    let write = format!("mkdir -p $(dirname {path}); echo x >> {path}");
    let answer = env.call(&["run", "--quiet", "--", "sh", "-c", &write]);
    let text = |key: &str| verdict[key].as_str().map(str::to_owned);
    (text("decision").unwrap_or_default(), text("enforcement"), answer.code == 0)
}

#[test]
fn a_denial_says_how_it_is_carried_out_and_that_is_what_happens() {
    let env = TestEnv::with_config("protect.paths = [\"mine.txt\", \"*.key\", \"ci\"]\n");
    let answer = |decision: &str, enforcement: Option<&str>, written: bool| {
        (decision.to_owned(), enforcement.map(str::to_owned), written)
    };
    let prevented = answer("deny", Some("prevented"), false);
    // What is not there yet.
    assert_eq!(enforcement(&env, ".bashrc"), answer("deny", Some("detected"), true));
    assert!(!env.project().join(".bashrc").exists(), "it was quarantined");
    for path in ["mine.txt", "a.key", "ci/deploy.sh"] {
        assert_eq!(enforcement(&env, path), answer("deny", Some("detected"), true), "{path}");
        assert!(!env.project().join(path).exists(), "{path} was quarantined");
    }
    // In a directory that is neither shared nor a repository nobody looks.
    assert_eq!(enforcement(&env, "docs/mine.txt"), answer("allow", None, true));
    assert!(env.project().join("docs/mine.txt").exists(), "the control");
    assert_eq!(enforcement(&env, "a/b/c/d/.git/config"), answer("deny", Some("none"), true));
    assert_eq!(enforcement(&env, "node_modules/.git/config"), answer("deny", Some("none"), true));
    assert_eq!(enforcement(&env, "file"), answer("allow", None, true));
    // What is, whether or not the rules alone would tell.
    env.write(".profile", "");
    env.write("mine.txt", "");
    env.write("nested/.git/config", "[core]\n\thooksPath = tools\n");
    env.write("nested/.zshrc", "");
    env.write("nested/tools/pre-commit", "");
    for path in
        [".profile", "mine.txt", "nested/.git/config", "nested/.zshrc", "nested/tools/more", "sandbox.toml"]
    {
        assert_eq!(enforcement(&env, path), prevented, "{path}");
    }
    let ask = |env: &TestEnv, subject: &[&str]| {
        env.call(&[&["policy", "check", "--format", "json"], subject].concat()).json()["enforcement"].clone()
    };
    let write = ["path", "--access", "write", "/workspace/../etc/x"];
    let subjects = [&["path", "/etc/shadow"][..], &write, &["host", "example.org"], &["env", "HIDDEN"]];
    assert_eq!(subjects.map(|subject| ask(&env, subject)), ["prevented"; 4]);
    // Without walls there is nothing but the environment to decide about.
    let env = TestEnv::with_config("provider = \"local\"\n");
    assert_eq!(subjects.map(|subject| ask(&env, subject)), ["none", "none", "none", "prevented"]);
}

#[test]
fn a_path_of_this_machine_can_be_asked_about() {
    let env = TestEnv::new();
    let inside = env.project().join("a").display().to_string();
    assert_eq!(env.call(&["policy", "check", "path", "--host", &inside]).code, 0);
    assert_eq!(env.call(&["policy", "check", "path", "--host", "/etc/passwd"]).code, 77);
    assert_eq!(
        env.call(&["policy", "check", "path", "--host", "a"]).code,
        0,
        "as seen from the working directory"
    );
}

#[test]
fn programs_get_the_verdict() {
    let answer = TestEnv::new().call(&["policy", "check", "path", "/etc/shadow", "--format", "json"]);
    assert_eq!(answer.code, 77);
    assert_eq!(answer.json()["decision"], "deny");
    assert_eq!(answer.json()["origin"]["kind"], "default");
}

#[test]
fn a_preset_is_shown_as_the_hosts_that_it_stands_for() {
    let env = TestEnv::with_config("[network]\nallow = [\"preset:npm\"]\n");
    let host = ["policy", "check", "host", "--format", "json"];
    let asked = |host_and_port| env.call(&[&host[..], &[host_and_port]].concat());
    let allowed = asked("registry.npmjs.org");
    assert_eq!(allowed.code, 0);
    assert_eq!(allowed.json()["rule"], "`registry.npmjs.org:443` of `preset:npm` in `[network] allow`");
    assert_eq!(asked("registry.npmjs.org:80").code, 77);
    let shown = env.call(&["trust", "--show"]);
    assert!(
        shown.stdout.contains("lets the agent reach registry.npmjs.org:443, of preset:npm"),
        "{}",
        shown.stdout
    );
    // A flag has them too, and what is none says what was meant.
    let plan = TestEnv::new().call(&["plan", "--allow-host", "preset:pypi"]);
    assert!(
        plan.stdout.contains("files.pythonhosted.org:443 (preset:pypi), pypi.org:443 (preset:pypi)"),
        "{}",
        plan.stdout
    );
    let wrong = TestEnv::new().call(&["plan", "--allow-host", "preset:nmp"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `preset:npm`?"), "{}", wrong.stderr);
}

#[test]
fn what_is_no_host_is_a_usage_error() {
    assert_eq!(TestEnv::new().call(&["policy", "check", "host", "https://example.org"]).code, 2);
}

#[test]
fn what_it_says_of_paths_of_the_system_is_what_holds_inside() {
    let env = TestEnv::new();
    env.write("file", "");
    for path in [
        "/usr/bin/env", "/bin/sh", "/tmp/x", "/run/x", "/dev/shm/x", "/home/agent/x", "/etc/passwd",
        "/etc/shadow", "/dev/null", "/dev/kmsg", "/proc/self/status", "/root/x", "/srv/x", "/workspace/file",
    ] {
        for (access, test) in [("read", "-r"), ("write", "-w")] {
            let script = format!("case {path} in */x) : 2>/dev/null >{path};; esac; test {test} {path}");
            let holds = env.call(&["run", "-q", "--", "sh", "-c", &script]).code == 0;
            let said = env.call(&["policy", "check", "path", "--access", access, path]);
            assert_eq!(said.code == 0, holds, "{access} {path}: {said}");
        }
    }
}

#[test]
fn a_relative_path_is_no_question() {
    let env = TestEnv::new();
    assert_snapshot!(env.call(&["policy", "check", "path", "src/x"]), @r"
    code: 2
    --- stderr
    error: `src/x` is relative, and the sandbox may start anywhere
    hint: name it as the sandbox sees it, such as `/workspace/file`; `--host` asks about a path of this machine
    hint: inside, it is `/workspace/src/x`
    ");
}
