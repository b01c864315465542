//! What people are used to from container engines and other tools: command lines that mean here what they mean there.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn a_command_needs_no_dashes_in_front_and_what_follows_it_is_its_own() {
    let env = TestEnv::new();
    let answer = env.call(&["run", "--timeout", "1m", "echo", "-n", "--quiet", "--", "-v"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "--quiet -- -v"), "{answer}");
    let answer = env.call(&["run", "--", "echo", "--", "x"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "-- x\n"), "{answer}");
    // A flag that does not exist is no command.
    assert_snapshot!(env.call(&["run", "--timout", "1m", "echo"]), @r"
    code: 2
    --- stderr
    error: unexpected argument '--timout' found
    hint: a similar argument exists: '--timeout'
    hint: to pass '--timout' as a value, use '-- --timout'
    hint: `sandboxctl run --help` says what it takes
    ");
    assert_snapshot!(env.call(&["run", "-W", "echo"]), @r"
    code: 2
    --- stderr
    error: unexpected argument '-W' found
    hint: to pass '-W' as a value, use '-- -W'
    hint: `sandboxctl run --help` says what it takes
    ");
}

#[test]
fn flags_of_engines_for_what_is_so_anyway_are_accepted() {
    let env = TestEnv::new();
    let answer = env.call_with_input(&["run", "-i", "--rm", "cat"], b"through");
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "through"), "{answer}");
    assert_snapshot!(env.call(&["run", "-it", "--rm", "true"]), @r"
    code: 2
    --- stderr
    error: -t, --tty: there is no terminal here to run the command on
    hint: leave it out: a terminal is detected by itself, and without one streams are byte-exact
    ");
    let screen = env.call_on_terminal("run -it --rm tty", "");
    assert!(screen.ends_with("/dev/pts/0\r\n"), "{screen:?}");
}

#[test]
fn a_time_without_a_unit_is_of_seconds() {
    let env = TestEnv::with_config("[limits]\ntimeout = 3600");
    assert_snapshot!(env.call(&["run", "--timeout", "1", "sleep", "60"]), @r"
    code: 124
    --- stderr
    error: the command ran longer than 1s and was ended
    hint: `--timeout` or `[limits] timeout` allows more time
    ");
    let shown = env.call(&["config", "show"]).stdout;
    assert!(shown.contains("limits.timeout = \"1h\""), "{shown}");
}

#[test]
fn a_file_of_variables_may_be_one_that_a_shell_reads() {
    let env = TestEnv::new();
    env.write("vars", "export A=1\nB=export C\n");
    let answer = env.call(&["run", "--env-file", "vars", "sh", "-c", "echo $A,$B"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "1,export C\n"), "{answer}");
}

#[test]
fn a_relative_working_directory_is_below_the_one_that_holds_otherwise() {
    let env = TestEnv::new();
    env.write("sub/deep/file", "");
    let at = |args: &[&str]| env.call(&[&["run"], args, &["--", "pwd"]].concat());
    assert_eq!(at(&["-w", "sub/deep"]).stdout, "/workspace/sub/deep\n");
    assert_eq!(at(&["-w", "."]).stdout, "/workspace\n");
    assert_snapshot!(at(&["-w", "../sub"]), @r#"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: "../sub" has `..`, whose meaning depends on links; write the path it leads to
    "#);
    assert_snapshot!(at(&["-w", "absent"]), @r"
    code: 2
    --- stderr
    error: --workdir: agent.workdir: `/workspace/absent` does not exist; expected a directory in `/workspace`
    hint: on this machine it is [TEMP]/project/absent
    ");
}

#[test]
fn a_volume_of_the_working_directory_stands_in_the_place_of_the_workspace() {
    let env = TestEnv::new();
    env.write("file", "");
    let same = format!("{0}:{0}", env.project().display());
    let run = |volume: &str| env.call(&["run", "-v", volume, "sh", "-c", "pwd; ls; ls -d /workspace 2>&1"]);
    for (volume, inside) in [(same.as_str(), "[TEMP]/project"), (".:/work", "/work")] {
        let answer = run(volume);
        let absent = "ls: cannot access '/workspace': No such file or directory";
        assert_eq!(answer.stdout, format!("{inside}\nfile\n{absent}\n"), "{answer}");
    }
    // One that only contains it, and cannot be written, does not.
    env.write("sub/file", "");
    let arguments = ["run", "-v", "..:/all:ro", "sh", "-c", "pwd; ls /all"];
    let answer = env.call_in(&env.project().join("sub"), &arguments);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "/workspace\nfile\nsub\n"), "{answer}");
}

#[test]
fn a_shared_directory_can_have_the_same_path_on_both_sides() {
    let env = TestEnv::with_config("[shared_dirs]\nproject = { host = \".\", guest = \"same\" }");
    let answer = env.call(&["run", "sh", "-c", "pwd; echo made > file"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "[TEMP]/project\n"), "{answer}");
    assert_eq!(env.read("file"), "made\n");
    // Where the system is inside, nothing can be.
    let system = TestEnv::with_config(
        "[shared_dirs]\nsystem = { host = \"/usr/src\", guest = \"same\", mode = \"ro\" }",
    );
    assert_snapshot!(system.call(&["config", "validate"]), @r#"
    code: 2
    --- stderr
    error: sandbox.toml:2:39: shared_dirs.system.guest: "/usr/src" cannot be a mount point: `/usr` belongs to the system; use one such as `/workspace`
    "#);
}

#[test]
fn the_command_starts_where_the_caller_stands() {
    let env = TestEnv::with_config(
        "[shared_dirs]\nall = { host = \".\", guest = \"/all\", mode = \"ro\" }\ninner = { host = \"sub/inner\", guest = \"/inner\" }\n",
    );
    env.write("sub/inner/below/file", "");
    let from = |directory: &str, args: &[&str]| {
        env.call_in(&env.project().join(directory), &[&["run"], args, &["pwd"]].concat()).stdout
    };
    assert_eq!(from("", &[]), "/all\n");
    assert_eq!(from("sub", &[]), "/all/sub\n");
    assert_eq!(from("sub/inner/below", &[]), "/inner/below\n");
    assert_eq!(from("sub", &["-w", "inner"]), "/all/sub/inner\n");
    assert_eq!(from("sub", &["-w", "/inner"]), "/inner\n");
}

#[test]
fn a_time_is_printed_as_it_is_written() {
    let env = TestEnv::new();
    let plan = env.call(&["plan", "--timeout", "300", "true"]);
    assert!(plan.stdout.contains("timeout     5m\n"), "{plan}");
}

#[test]
fn a_terminal_that_can_do_nothing_gets_no_colour() {
    let env = TestEnv::new();
    for (variables, is_coloured) in
        [("TERM=xterm", true), ("TERM=dumb", false), ("TERM=xterm NO_COLOR=1", false)]
    {
        let program = env!("CARGO_BIN_EXE_sandboxctl");
        let line = format!("--version >/dev/null; {variables} {program} run --no-such-flag");
        let screen = env.call_on_terminal(&line, "");
        assert_eq!(screen.contains("\u{1b}["), is_coloured, "{variables}: {screen:?}");
    }
}
