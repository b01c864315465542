//! `plan`, and `run --dry-run`, which is the same.

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
    hint: share a directory that does not hold them, or share this one read-only
    ");
}

#[test]
fn mistakes_in_flags_are_usage_errors_all_at_once() {
    assert_snapshot!(TestEnv::new().call(&["plan", "-m", "1x", "--timeout", "5", "-v", "nonsense", "--network", "on"]), @r#"
    code: 2
    --- stderr
    error: 4 problems:
      --memory: limits.memory: `1x` is not a size; expected digits and a unit of k, m, g or t, such as `512m`, `1g` or `10_000_000`
      --network: network.mode: "on" is not known; expected "none", "allowlist" or "open"
      --timeout: limits.timeout: this cannot be its value; expected a duration such as "90s", "30m" or "1h30m", or "unlimited"
      --volume: shared_dirs: "nonsense" is not a volume; expected HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw
    "#);
}

#[test]
fn a_provider_that_is_not_built_yet_has_its_own_code() {
    assert_snapshot!(TestEnv::new().call(&["run", "--provider", "docker", "--", "true"]), @r#"
    code: 69
    --- stderr
    error: --provider: provider: "docker" is not supported yet; expected "auto", "native" or "local"
    "#);
}
