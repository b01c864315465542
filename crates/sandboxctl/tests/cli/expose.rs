//! Programs that the caller has outside of the system: what shows them to a native sandbox, and that an error says so.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;

use crate::env::TestEnv;

/// Makes a caller whose `PATH` begins with these directories of their home.
fn caller(path: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    let bins: Vec<_> = path.iter().map(|bin| env.home().join(bin).display().to_string()).collect();
    for bin in &bins {
        fs::create_dir_all(bin).expect("a directory of the caller's");
    }
    let path = format!("{}:/usr/bin:/bin", bins.join(":"));
    env.set("PATH", &path)
}

/// Links a program of the caller's to where it is installed.
fn link(env: &TestEnv, name: &str, target: &str) {
    let link = env.home().join(name);
    fs::create_dir_all(link.parent().expect("it lies in the home")).expect("a directory of the caller's");
    symlink(Path::new(target), link).expect("a link of the caller's");
}

#[test]
fn a_program_that_is_not_there_is_named_with_what_shows_it() {
    let env = caller(&[".local/bin"]);
    // As an own installer does.
    env.program("home/.local/share/claude/versions/2.1", "#!/bin/sh\necho \"claude $1\"");
    link(&env, ".local/bin/claude", "../share/claude/versions/2.1");
    fs::write(env.home().join(".local/share/secret"), "").unwrap();
    assert_snapshot!(env.call(&["run", "--", "claude"]), @r"
    code: 127
    --- stderr
    error: claude: no such command in the sandbox
    hint: it is `[TEMP]/home/.local/bin/claude` on this host, which `--expose [TEMP]/home/.local/share/claude/versions --expose [TEMP]/home/.local/bin/claude` shows, or the same in `[native] expose`
    ");
    let versions = env.home().join(".local/share/claude/versions").display().to_string();
    let bin = env.home().join(".local/bin/claude").display().to_string();
    let shown = env.call(&["run", "--expose", &versions, "--expose", &bin, "--", &bin, "x"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, "claude x\n"), "{shown}");
    let secret = env.home().join(".local/share/secret").display().to_string();
    let beside = env.call(&["run", "--expose", &versions, "--expose", &bin, "--", "cat", &secret]);
    assert_eq!(beside.code, 1, "{beside}");
    assert_snapshot!(env.call(&["run", "--", "no-such-program"]), @r"
    code: 127
    --- stderr
    error: no-such-program: no such command in the sandbox
    hint: only what lies in /usr, in shared directories and in `[native] expose` is there
    ");
    let answer = env.call(&["run", "--", "goose"]);
    assert!(
        answer.stderr.contains("it is not on this host either")
            && answer.stderr.contains("goose is installed by `"),
        "{answer}"
    );
}

#[test]
fn a_profile_shows_the_program_of_its_agent() {
    let env = caller(&[".npm-global/bin", ".local/bin"]);
    env.program(
        "home/.npm-global/lib/node_modules/@openai/codex/bin/codex.js",
        "#!/bin/sh\necho \"codex $*\"",
    );
    link(&env, ".npm-global/bin/codex", "../lib/node_modules/@openai/codex/bin/codex.js");
    fs::write(env.home().join(".npmrc"), "//registry.example.org/:_authToken=secret").unwrap();
    let ran = env.call(&["run", "--agent", "codex", "--", "codex", "exec", "x"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "codex -c sandbox_mode=\"danger-full-access\" exec x\n"),
        "{ran}"
    );
    let npmrc = env.home().join(".npmrc").display().to_string();
    assert_eq!(env.call(&["run", "--agent", "codex", "--", "cat", &npmrc]).code, 1);
    // A project that names the profile has that shown, and listed.
    env.write("sandbox.toml", "agent.profile = \"codex\"\n");
    let refused = env.call(&["run", "--", "true"]);
    assert!(
        refused.stderr.contains("agent.profile shows the agent [TEMP]/home/.npm-global/bin"),
        "{refused}"
    );
    // In a container the image has it.
    let plan = env.call(&["plan", "--agent", "codex", "--provider", "docker", "--trust"]);
    assert!(plan.code == 0 && !plan.stdout.contains(".npm-global"), "{plan}");
}

#[test]
fn what_an_agent_may_write_is_never_shown_as_a_program() {
    let env = TestEnv::new();
    let bin = env.project().join("bin").display().to_string();
    env.write("bin/claude", "#!/bin/sh\necho mine\n");
    fs::set_permissions(
        env.project().join("bin/claude"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let env = env.set("PATH", &format!("{bin}:/usr/bin:/bin"));
    let answer = env.call(&["run", "--", "claude"]);
    assert_eq!(answer.code, 127, "{answer}");
    assert!(
        answer.stderr.contains("[TEMP]/project/bin/claude") && !answer.stderr.contains("--expose"),
        "{answer}"
    );
    let shown = env.call(&["agent", "show", "claude-code"]);
    assert!(!shown.stdout.contains("expose"), "{shown}");
}

#[test]
fn a_typed_path_means_nothing_in_a_container() {
    let env = TestEnv::new();
    let answer = env.call(&["plan", "--provider", "docker", "--expose", "node", "--", "true"]);
    assert!(
        answer.code == 2 && answer.stderr.contains("only native sandboxes show programs of the host"),
        "{answer}"
    );
}

#[test]
fn a_tool_of_uv_is_shown_by_its_preset_and_in_addition_to_what_the_file_shows() {
    let env = caller(&[".local/bin"]);
    env.program("home/.local/bin/uv", "#!/bin/sh\necho uv");
    let tool = "home/.local/share/uv/tools/inkish";
    env.program(&format!("{tool}/bin/inkish"), "#!/bin/sh\necho inkish $1");
    fs::write(env.home().join(".local/share/uv/tools/inkish/pyvenv.cfg"), "").unwrap();
    fs::write(env.home().join(".local/share/uv/tools/inkish/uv-receipt.toml"), "secret").unwrap();
    // The shell stands for an interpreter of the system.
    link(&env, ".local/share/uv/tools/inkish/bin/python", "/bin/sh");
    link(&env, ".local/bin/inkish", "../share/uv/tools/inkish/bin/inkish");
    env.program("home/.local/bin/private", "#!/bin/sh\necho secret");
    let answer = env.call(&["run", "--", "inkish"]);
    assert!(
        answer.stderr.contains("is `[TEMP]/home/.local/bin/inkish` on this host, which `--expose uv` shows"),
        "{answer}"
    );
    let answer = env.call(&["run", "--expose", "uv", "--", "inkish", "x"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "inkish x\n"), "{answer}");
    let find = "find \"$1\" ! -type d | sort; readlink \"$1/.local/bin/inkish\"";
    let home = env.home().display().to_string();
    let answer = env.call(&["run", "--expose", "uv", "--", "sh", "-c", find, "sh", &home]);
    assert_snapshot!(answer.stdout, @r"
    [TEMP]/home/.local/bin/inkish
    [TEMP]/home/.local/bin/uv
    [TEMP]/home/.local/share/uv/tools/inkish/bin/inkish
    [TEMP]/home/.local/share/uv/tools/inkish/bin/python
    [TEMP]/home/.local/share/uv/tools/inkish/pyvenv.cfg
    ../share/uv/tools/inkish/bin/inkish
    ");
    // What is typed is one more.
    env.program("other/bin/tool", "#!/bin/sh\necho tool");
    env.write(
        "sandbox.toml",
        &format!("native.expose = [\"{}\"]\n", env.home().join("../other").canonicalize().unwrap().display()),
    );
    let answer = env.call(&["run", "--trust", "--expose", "uv", "--", "sh", "-c", "tool; inkish x"]);
    assert_eq!(answer.stdout, "tool\ninkish x\n", "{answer}");
}
