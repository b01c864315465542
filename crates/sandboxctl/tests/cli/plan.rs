//! `plan`, and `run --dry-run`, which is the same.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use insta::assert_snapshot;

use crate::env::TestEnv;

/// The plan without what differs from run to run and is long.
fn lines(stdout: &str) -> String {
    let shown = |line: &&str| !line.starts_with("name ") && !line.starts_with("protected ");
    stdout.lines().filter(shown).map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn without_a_file_the_working_directory_is_the_workspace() {
    let answer = TestEnv::new().call(&["plan", "--", "ls", "-l", "a b"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert_snapshot!(lines(&answer.stdout), @r#"
    provider    native (no [image] is asked for, so no engine is needed)
    command     "ls" "-l" "a b"
    workdir     /workspace
    directory   /workspace is [TEMP]/project, read-write
    variable    HOME=/home/agent
    variable    LOGNAME=agent
    variable    PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
    variable    SHELL=/bin/bash
    variable    USER=agent
    network     none
    memory      unlimited
    cpus        unlimited
    processes   1024
    timeout     none
    tmpfs       512m
    required    user mount pid net ipc landlock seccomp capabilities
    preferred   uts cgroup groups memory cpu pids protect sockets disk
    "#);
}

#[test]
fn flags_go_before_the_file() {
    let env = TestEnv::with_config("[limits]\nmemory = \"1g\"\npids = 100\n");
    let answer =
        env.call(&["plan", "--format", "json", "-m", "64m", "--name", "mine", "-e", "A=b", "-e", "LANG"]);
    assert_eq!(answer.code, 0, "{answer}");
    let plan = answer.json();
    assert_eq!(plan["name"], "mine");
    assert_eq!(plan["limits"]["memory"], 64 << 20);
    assert_eq!(plan["limits"]["pids"], 100);
    assert!(plan["env"].as_array().unwrap().contains(&serde_json::json!({ "name": "A", "value": "b" })));
}

#[test]
fn run_with_dry_run_is_the_plan() {
    let env = TestEnv::new();
    let plan = env.call(&["plan", "--name", "same", "--", "true"]);
    let dry = env.call(&["run", "--dry-run", "--name", "same", "--", "true"]);
    assert_eq!((dry.code, &dry.stdout), (0, &plan.stdout));
}

#[test]
fn a_shell_is_a_login_shell() {
    let answer = TestEnv::new().call(&["shell", "--dry-run", "--format", "json"]);
    assert_eq!(answer.json()["agent"]["argv"], serde_json::json!(["bash", "-l"]));
}

#[test]
fn a_directory_that_is_not_there_is_named_with_the_flag_that_makes_it() {
    let env = TestEnv::with_config("[shared_dirs]\noutput = { host = \"out\", guest = \"/output\" }\n");
    assert_snapshot!(env.call(&["plan"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml:2:1: shared_dirs.output: `[TEMP]/project/out` does not exist
    hint: create it, or let `--create-dirs` do that
    ");
    assert!(!env.project().join("out").exists());
    let answer = env.call(&["plan", "--create-dirs"]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(env.project().join("out").is_dir());
}

#[test]
fn nothing_is_created_while_anything_else_is_wrong() {
    let out = "shared_dirs.out = { host = \"out\", guest = \"/out\" }\n";
    let cases: [(&str, &[&str]); 7] = [
        // Each of two directories to be created is fine by itself.
        ("shared_dirs.inner = { host = \"out/inner\", guest = \"/inner\" }\n", &[]),
        ("shared_dirs.etc = { host = \"/etc/sandboxctl-test\", guest = \"/etc-test\" }\n", &["--trust"]),
        ("shared_dirs.up = { host = \"out/../../up\", guest = \"/up\" }\n", &["--trust"]),
        (
            "shared_dirs.config = { host = \"../home/.config/sandboxctl\", guest = \"/config\" }\n",
            &["--trust"],
        ),
        ("native.expose = [\"./nothing\"]\n", &["--trust"]),
        ("limits.pids = \"many\"\n", &[]),
        ("", &["-w", "/out/nothing"]),
    ];
    for (more, flags) in cases {
        let env = TestEnv::with_config(&format!("{out}{more}"));
        std::fs::create_dir_all(env.home().join(".config/sandboxctl")).unwrap();
        let answer = env.call(&[&["run", "--create-dirs"], flags, &["--", "true"]].concat());
        assert_eq!(answer.code, 2, "{more} {flags:?}: {answer}");
        assert!(!env.project().join("out").exists(), "{more} {flags:?}: {answer}");
    }
    // The control: nothing else stands against it.
    let env = TestEnv::with_config(out);
    assert_eq!(env.call(&["run", "--create-dirs", "-w", "/out", "--", "true"]).code, 0);
    assert!(env.project().join("out").is_dir());
}

#[test]
fn the_error_beside_the_default_workspace_says_how_to_replace_it() {
    let env = TestEnv::new();
    env.write("in/file", "");
    assert_snapshot!(env.call(&["run", "-v", "in:/data", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --volume: shared_dirs.data: `data` lies within `workspace`, which is writable; make `workspace` read-only, or share directories beside each other
    hint: the working directory becomes `/workspace` unless you say otherwise; `-v DIR:/workspace` shares DIR in its place, `-v .:/workspace:ro` makes it read-only
    ");
    assert_snapshot!(env.call_in(&env.home(), &["run", "--", "true"]), @r"
    code: 2
    --- stderr
    error: shared_dirs.workspace: `[TEMP]/home` cannot be shared: it is your home, with everything you may do in it; share a directory within it
    hint: the working directory becomes `/workspace` unless you say otherwise; `-v DIR:/workspace` shares DIR in its place
    ");
    // What the hints say is so.
    for flags in [&["-v", ".:/workspace:ro", "-v", "in:/data"][..], &["-v", "in:/workspace"]] {
        assert_eq!(env.call(&[&["plan"], flags].concat()).code, 0, "{flags:?}");
    }
    let in_home = env.call_in(&env.home(), &["plan", "-v", "../project:/workspace"]);
    assert_eq!(in_home.code, 0, "{in_home}");
}

#[test]
fn a_working_directory_that_cannot_be_there_is_named_before_anything_starts() {
    let env = TestEnv::new();
    env.write("file", "");
    assert_snapshot!(env.call(&["run", "-w", "/nope", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: `/nope` does not exist in the sandbox; expected a directory in `/workspace`
    hint: `-v DIR:/nope` shares a directory there
    ");
    assert_snapshot!(env.call(&["run", "-w", "/workspace/nope/x", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: `/workspace/nope/x` does not exist; expected a directory in `/workspace`
    hint: on this machine it is [TEMP]/project/nope
    ");
    assert_snapshot!(env.call(&["run", "-w", "/workspace/file", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: `/workspace/file` is no directory; expected a directory in `/workspace`
    hint: on this machine it is [TEMP]/project/file
    ");
    assert_snapshot!(env.call(&["run", "--provider", "local", "-w", "/tmp", "--", "true"]), @r"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: `/tmp` is in no shared directory, and provider local shows nothing else; expected a directory in `/workspace`
    ");
    let env = TestEnv::with_config("agent.workdir = \"/data/x\"\n");
    assert_snapshot!(env.call(&["run", "--", "true"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml:1:17: agent.workdir: `/data/x` does not exist in the sandbox; expected a directory in `/workspace`
    hint: `-v DIR:/data/x` shares a directory there
    ");
}

#[test]
fn a_working_directory_may_be_anywhere_that_is_there() {
    let env = TestEnv::new();
    env.write("sub/dir/file", "");
    std::os::unix::fs::symlink("sub", env.project().join("link")).unwrap();
    std::fs::create_dir(env.root().join("data")).unwrap();
    let run = |flags: &[&str], place: &str| {
        let answer = env.call(&[&["run", "-w", place], flags, &["--", "pwd", "-L"]].concat());
        assert_eq!(answer.code, 0, "{place}: {answer}");
    };
    let own = ["/", "/home", "/home/agent", "/run", "/tmp", "/dev/shm"];
    let host = ["/usr", "/usr/bin", "/bin", "/etc", "/proc", "/dev"];
    for place in own.into_iter().chain(host) {
        run(&[], place);
    }
    for place in ["/workspace", "/workspace/sub/dir", "/workspace/link/dir"] {
        run(&[], place);
    }
    // The parents of a shared directory are there too.
    for place in ["/srv/a", "/srv", "/srv/a/b"] {
        run(&["-v", "../data:/srv/a/b"], place);
    }
    let local = env.call(&["run", "--provider", "local", "-w", "/workspace/sub", "--", "pwd"]);
    assert_eq!(local.stdout, "[TEMP]/project/sub\n", "{local}");
}

#[test]
fn a_dot_in_a_path_is_not_shown() {
    let env = TestEnv::new();
    let answer = env.call(&["plan", "-v", "./a/./b:/b"]);
    assert!(answer.stderr.contains("`[TEMP]/project/a/b` does not exist"), "{answer}");
    env.write("conf/./wrong.toml", "nonsense = 1\n");
    let answer = env.call(&["plan", "--config", "././conf/./wrong.toml"]);
    assert!(answer.stderr.starts_with("error: conf/wrong.toml:1:1: "), "{answer}");
    let answer = env.call(&["untrust", "./conf/./wrong.toml"]);
    assert_eq!(answer.stdout, "[TEMP]/project/conf/wrong.toml was not trusted\n");
    let local = env.call(&["plan", "--provider", "local", "--format", "json"]);
    assert_eq!(local.json()["agent"]["workdir"], "[TEMP]/project");
}

#[test]
fn what_the_system_needs_is_not_created_or_shared() {
    let env = TestEnv::new();
    let answer = env.call(&["plan", "--create-dirs", "-v", "/etc/sandboxctl-test:/x"]);
    assert_eq!(answer.code, 2, "{answer}");
    assert!(!std::path::Path::new("/etc/sandboxctl-test").exists());
}

#[test]
fn the_callers_own_records_are_not_shared_writable() {
    let env = TestEnv::new();
    let state = env.home().join(".local/state/sandboxctl");
    std::fs::create_dir_all(&state).unwrap();
    assert_snapshot!(env.call(&["plan", "-v", &format!("{}:/x", env.home().join(".local/state").display())]), @r"
    code: 2
    --- stderr
    error: --volume: shared_dirs.x: `[TEMP]/home/.local/state` gives the agent the records of sandboxctl in `[TEMP]/home/.local/state/sandboxctl` to change
    hint: share a directory that does not hold them
    ");
}

#[test]
fn records_and_settings_are_not_shared_where_variables_lead_elsewhere() {
    let env = TestEnv::new();
    let (state, settings) = (env.home().join(".local/state"), env.home().join(".config/sandboxctl"));
    for directory in [&state, &settings, &env.home().join("elsewhere")] {
        std::fs::create_dir_all(directory).unwrap();
    }
    for (variable, directory, what) in
        [("XDG_STATE_HOME", state, "records"), ("XDG_CONFIG_HOME", settings, "settings")]
    {
        let elsewhere = env.home().join("elsewhere");
        let volume = format!("{}:/x", directory.display());
        let mut plan = env.command(&env.project(), &["plan", "-v", &volume]);
        let answer = env.answer(&plan.env(variable, elsewhere).output().unwrap());
        assert_eq!(answer.code, 2, "{answer}");
        assert!(answer.stderr.contains(&format!("the {what} of sandboxctl in `[TEMP]/home/.")), "{answer}");
    }
}

#[test]
fn mistakes_in_flags_are_usage_errors_all_at_once() {
    assert_snapshot!(TestEnv::new().call(&["plan", "-m", "1x", "--timeout", "5x", "-v", "nonsense", "--network", "on"]), @r#"
    code: 2
    --- stderr
    error: 4 problems:
      --memory: limits.memory: `1x` is not a size; expected digits and a unit of k, m, g or t, such as `512m`, `1g` or `10_000_000`
      --network: network.mode: "on" is not known; expected "none", "allowlist" or "open"
      --timeout: limits.timeout: `5x` is not a duration; expected numbers with the units d, h, m, s or ms, largest first, such as `30m`, `1h30m` or `500ms`
      --volume: shared_dirs: "nonsense" is not a volume; expected HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw, or more options after a comma: noexec, optional
    "#);
}

#[test]
fn an_argument_need_not_be_text() {
    let env = TestEnv::new();
    let args = ["plan", "--format", "json", "--", "printf", "a\\n"].map(OsStr::new).into_iter();
    let args: Vec<&OsStr> = args.chain([OsStr::from_bytes(b"\xff")]).collect();
    let output = env.command(&env.project(), &args).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        plan["agent"]["argv"],
        serde_json::json!(["printf", "a\\n", { "base64": "/w==" }]),
        "{plan:#}"
    );
}

#[test]
fn a_path_cannot_draw_over_what_is_shown() {
    // One turns the direction of writing; the others move the cursor and begin a line.
    let env = TestEnv::with_config(
        "shared_dirs.workspace = { host = \".\", guest = \"/workspace\", mode = \"ro\" }\n\
         shared_dirs.x = { host = \"./a\u{202e}b\", guest = \"/w/a\u{202e}\\u001b[2K\\nb\" }\n",
    );
    std::fs::create_dir(env.project().join("a\u{202e}b")).unwrap();
    for (args, guest) in [
        (&["plan"][..], "/w/a\\u{202e}\\u{1b}[2K\\u{a}b"),
        (&["config", "show"], "/w/a\\u202E\\u001B[2K\\nb"),
    ] {
        let answer = env.call(args).to_string();
        assert!(answer.contains(guest), "{answer}");
        assert!(!answer.contains(['\u{1b}', '\u{202e}']), "{answer}");
    }
}
