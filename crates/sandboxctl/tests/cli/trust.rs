//! `trust` and `untrust`. Each key that widens stands in the escape battery, see `escape/cases/hostile_config.rs`.

use insta::assert_snapshot;

use crate::env::TestEnv;

const WIDE: &str = "[limits]\npids = 5000\n[env]\npass = [\"AWS_PROFILE\"]\n";

#[test]
fn a_file_that_widens_is_refused_with_the_list_and_the_command_that_trusts_it() {
    assert_snapshot!(TestEnv::with_config(WIDE).call(&["run", "--", "true"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml widens what a sandbox may do, and is not trusted:
      sandbox.toml:2:8: limits.pids raises the limit to 5000; without the file it is 1024
      sandbox.toml:4:9: env.pass shows the agent your variable AWS_PROFILE
    hint: `sandboxctl trust sandbox.toml` shows this list and asks; read the file first
    hint: where nobody can be asked: `--trust=sha256:dbd932bc7ea14f0f08ad81130a337941c649c4f6ca9422cb846a874c927b46f7` trusts just this content and list
    ");
}

#[test]
fn programs_get_the_list_and_the_hash() {
    let answer = TestEnv::with_config(WIDE).call(&["plan", "--format", "json"]);
    assert_eq!(answer.code, 2);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "config.untrusted");
    assert_eq!(error["details"]["widens"][0]["key"], "limits.pids");
    assert!(error["details"]["hash"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn showing_records_nothing() {
    let env = TestEnv::with_config(WIDE);
    assert_snapshot!(env.call(&["trust", "--show"]), @r"
    code: 0
    --- stdout
    sandbox.toml widens what a sandbox may do:
      sandbox.toml:2:8: limits.pids raises the limit to 5000; without the file it is 1024
      sandbox.toml:4:9: env.pass shows the agent your variable AWS_PROFILE
    sha256:dbd932bc7ea14f0f08ad81130a337941c649c4f6ca9422cb846a874c927b46f7 is not trusted
    ");
    assert_eq!(env.call(&["plan"]).code, 2);
}

#[test]
fn without_a_terminal_an_answer_must_be_given_beforehand() {
    let env = TestEnv::with_config(WIDE);
    // What is piped in is not an answer of a person.
    assert_snapshot!(env.call_with_input(&["trust"], b"y\n"), @r"
    code: 2
    --- stderr
    sandbox.toml widens what a sandbox may do:
      sandbox.toml:2:8: limits.pids raises the limit to 5000; without the file it is 1024
      sandbox.toml:4:9: env.pass shows the agent your variable AWS_PROFILE
    error: sandbox.toml stays untrusted: nobody can be asked
    hint: read the file, then say `--yes`
    ");
    assert_eq!(env.call(&["plan"]).code, 2);
}

#[test]
fn on_a_terminal_the_list_is_shown_and_no_is_the_default() {
    for (answer, trusted) in [("\n", false), ("n\n", false), ("y\n", true)] {
        let env = TestEnv::with_config(WIDE);
        let screen = env.call_on_terminal("--quiet trust", answer);
        assert!(screen.contains("limits.pids raises the limit to 5000"), "{screen}");
        assert!(screen.contains("[y/N]"), "{screen}");
        assert_eq!(env.call(&["plan"]).code, if trusted { 0 } else { 2 }, "{answer:?}: {screen}");
    }
}

#[test]
fn a_file_cannot_draw_over_the_list_of_what_it_widens() {
    let env = TestEnv::with_config(
        "shared_dirs.x = { host = \"/srv/\\u001b[1A\\u001b[2K\\nz\", guest = \"/x\" }\n",
    );
    for args in [&["trust", "--show"][..], &["plan"]] {
        let answer = env.call(args);
        assert!(!answer.to_string().contains('\u{1b}'), "{answer}");
        assert!(answer.to_string().contains("\\u{1b}[1A\\u{1b}[2K\\u{a}z"), "{answer}");
    }
}

#[test]
fn a_name_in_a_message_stays_on_one_line() {
    const NAME: &str = "gone\\n\\u001b[2Jerror";
    let explain = ["policy", "explain", "path", "--access", "write", "/x/gone\n\u{1b}[2Jerror"];
    let cases = [
        ("shared_dirs.x = { host = \"./w\", guest = \"/x\" }\n".to_owned(), &explain[..]),
        (format!("[image]\ndockerfile = \"{NAME}\"\n"), &["trust", "--show"]),
        (format!("[native]\nexpose = [\"/opt/{NAME}\"]\n"), &["trust", "--show"]),
    ];
    for (config, args) in cases {
        let env = TestEnv::with_config(&config);
        std::fs::create_dir(env.project().join("w")).unwrap();
        let answer = env.call(args).to_string();
        assert!(answer.contains("gone\\u{a}\\u{1b}[2Jerror"), "{config}: {answer}");
        assert!(!answer.contains("\n\\u{1b}[2Jerror") && !answer.contains('\u{1b}'), "{config}: {answer}");
    }
}

#[test]
fn trust_holds_until_the_content_changes() {
    let env = TestEnv::with_config(WIDE);
    let answer = env.call(&["trust", "--yes", "--format", "json"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert_eq!(env.call(&["plan"]).code, 0);
    env.write("sandbox.toml", &format!("{WIDE}# more\n"));
    let answer = env.call(&["plan"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("has changed since it was trusted"), "{answer}");
}

#[test]
fn trust_is_in_the_list_that_was_shown() {
    let env =
        TestEnv::with_config(&format!("{WIDE}[shared_dirs]\nd = {{ host = \"./d\", guest = \"/d\" }}\n"));
    env.write("d/file", "");
    std::fs::create_dir(env.root().join("outside")).unwrap();
    assert_eq!(env.call(&["trust", "--yes"]).code, 0);
    assert_eq!(env.call(&["plan"]).code, 0);
    let hash = |env: &TestEnv| {
        env.call(&["trust", "--show", "--format", "json"]).json()["hash"].as_str().unwrap().to_owned()
    };
    let before = hash(&env);
    assert_eq!(env.call(&["plan", &format!("--trust={before}")]).code, 0);

    std::fs::remove_dir_all(env.project().join("d")).unwrap();
    std::os::unix::fs::symlink("../outside", env.project().join("d")).unwrap();
    let refused = env.call(&["plan"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("was trusted for another list"), "{refused}");
    assert!(refused.stderr.contains("which leads to [TEMP]/outside"), "{refused}");
    // What was shown then is not what is new.
    assert!(!refused.stderr.contains("limits.pids"), "{refused}");
    let shown = env.call(&["trust", "--show"]);
    assert!(shown.stdout.contains("was trusted for another list; new is:\n  shared_dirs.d.host"), "{shown}");
    let by_hash = env.call(&["plan", &format!("--trust={before}")]);
    assert!(by_hash.stderr.contains("is not what was trusted"), "{by_hash}");

    assert_eq!(env.call(&["trust", "--yes"]).code, 0);
    assert_eq!(env.call(&["plan"]).code, 0);
    assert_eq!(env.call(&["plan", &format!("--trust={}", hash(&env))]).code, 0);
    // Less than what was shown needs no second word.
    std::fs::remove_file(env.project().join("d")).unwrap();
    env.write("d/file", "");
    assert_eq!(env.call(&["plan"]).code, 0);
}

#[test]
fn a_boundary_that_programs_outside_obey_needs_trust_and_is_reported_with_it() {
    for (host, told) in [
        ("./.git/hooks", "`.git/hooks` of [TEMP]/project"),
        ("./link", "`.git/hooks` of [TEMP]/project"),
        ("./sub/.vscode", "`.vscode` of [TEMP]/project/sub"),
        ("./bare/hooks", "part of the repository [TEMP]/project/bare"),
        ("./.cursor", "`.cursor` of [TEMP]/project"),
    ] {
        let shared =
            |more: &str| format!("[shared_dirs]\nx = {{ host = \"{host}\", guest = \"/x\"{more} }}\n");
        let env = TestEnv::with_config(&shared(""));
        for name in [".git/hooks/x", "sub/.vscode/x", "bare/objects/x", "bare/refs/x", "bare/hooks/x"] {
            env.write(name, "");
        }
        env.write("bare/HEAD", "ref: refs/heads/main\n");
        std::os::unix::fs::symlink(".git/hooks", env.project().join("link")).unwrap();
        // One that a tracked link replaces leads elsewhere, and git, an editor or an agent follows it.
        std::fs::create_dir(env.project().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", env.project().join(".cursor")).unwrap();
        let refused = env.call(&["plan"]);
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains(told), "{refused}");
        let planned = env.call(&["plan", "--trust"]);
        assert_eq!(planned.code, 0, "{planned}");
        assert!(planned.stdout.contains(&format!("{told}, which programs outside obey")), "{planned}");
        // The control: what cannot be written is nothing to them.
        env.write("sandbox.toml", &shared(", mode = \"ro\""));
        assert_eq!(env.call(&["plan"]).code, 0, "{host}");
    }
}

#[test]
fn trust_can_be_taken_back() {
    let env = TestEnv::with_config(WIDE);
    assert_eq!(env.call(&["trust", "--yes"]).code, 0);
    assert_snapshot!(env.call(&["untrust"]), @r"
    code: 0
    --- stdout
    [TEMP]/project/sandbox.toml is no longer trusted
    ");
    assert_eq!(env.call(&["plan"]).code, 2);
    assert_snapshot!(env.call(&["untrust"]), @r"
    code: 0
    --- stdout
    [TEMP]/project/sandbox.toml was not trusted
    ");
}

#[test]
fn what_only_narrows_needs_no_trust() {
    let env = TestEnv::with_config("[limits]\npids = 10\nmemory = \"64m\"\n");
    assert_eq!(env.call(&["plan"]).code, 0);
    assert_snapshot!(env.call(&["trust", "--show"]), @r"
    code: 0
    --- stdout
    sandbox.toml widens nothing by itself, and needs no trust for that
    sha256:d9539b6b8915adfa02219022522e52bee7c12f210b9a59caf6a6a16946c2cb12 is not trusted
    ");
}

#[test]
fn without_isolation_the_files_own_command_needs_trust_which_can_be_given() {
    let env = TestEnv::with_config("[agent]\ncommand = [\"true\"]\n");
    assert_eq!(env.call(&["plan"]).code, 0);
    let refused = env.call(&["plan", "--provider", "local", "--format", "json"]);
    assert_eq!(refused.json()["error"]["details"]["widens"][0]["key"], "agent.command", "{refused}");
    let shown = env.call(&["trust", "--show"]);
    assert!(shown.stdout.contains("with `--provider local`, which isolates nothing, it also:\n"), "{shown}");
    assert_eq!(env.call(&["trust", "--yes"]).code, 0);
    assert_eq!(env.call(&["plan", "--provider", "local"]).code, 0);
}

#[test]
fn one_call_can_trust_by_flag_or_by_hash() {
    let env = TestEnv::with_config(WIDE);
    assert_eq!(env.call(&["plan", "--trust"]).code, 0);
    let shown = env.call(&["trust", "--show", "--format", "json"]);
    let hash = shown.json()["hash"].as_str().unwrap().to_owned();
    assert_eq!(env.call(&["plan", &format!("--trust={hash}")]).code, 0);
    // Nothing of it stays.
    assert_eq!(env.call(&["plan"]).code, 2);
}

#[test]
fn a_hash_that_does_not_fit_is_refused_even_where_no_trust_is_needed() {
    let env = TestEnv::with_config("[limits]\npids = 10\n");
    let answer = env.call(&["plan", &format!("--trust=sha256:{}", "0".repeat(64))]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("is not what was trusted"), "{answer}");
}

#[test]
fn an_empty_hash_is_not_trust() {
    let env = TestEnv::with_config(WIDE);
    for flag in ["--trust=", "--trust=md5:0", "--trust=sha256:"] {
        let answer = env.call(&["plan", "--format", "json", flag]);
        assert_eq!(answer.json()["error"]["code"], "usage.invalid", "{flag}: {answer}");
    }
}

#[test]
fn yes_does_not_trust() {
    assert_eq!(TestEnv::with_config(WIDE).call(&["plan", "--yes"]).code, 2);
}

#[test]
fn the_search_ends_at_the_edge_of_the_repository() {
    let env = TestEnv::with_config(WIDE);
    env.write("inner/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(env.call_in(&env.project().join("inner"), &["plan"]).code, 0);
    assert_eq!(env.call_in(&env.project(), &["plan"]).code, 2);
}
