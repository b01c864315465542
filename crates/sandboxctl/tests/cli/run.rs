//! `run` and `shell`: what a run gives back. What a sandbox keeps in is for the escape battery to show.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Answer, TestEnv};

#[test]
fn the_commands_output_and_status_are_its_own() {
    assert_snapshot!(TestEnv::new().call(&["run", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]), @r"
    code: 3
    --- stdout
    out
    --- stderr
    err
    ");
}

#[test]
fn streams_are_byte_exact() {
    let env = TestEnv::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    std::fs::write(env.project().join("in"), &bytes).unwrap();
    let input = std::fs::File::open(env.project().join("in")).unwrap();
    let output = env.command(&env.project(), &["run", "--", "cat"]).stdin(input).output().unwrap();
    assert!(output.stdout == bytes, "{} bytes came back", output.stdout.len());
    assert_eq!(output.stderr, b"");
}

#[test]
fn files_belong_to_who_owns_the_directory() {
    let env = TestEnv::new();
    let answer = env.call(&["run", "--", "sh", "-c", "echo made > file; id -u"]);
    // A normal caller's own; root's sandbox has one that is nobody's.
    let uid = Some(rustix::process::geteuid().as_raw()).filter(|uid| *uid != 0).unwrap_or(1000);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, format!("{uid}\n").as_str()), "{answer}");
    assert_eq!(env.read("file"), "made\n");
    let owner = |path: std::path::PathBuf| path.metadata().unwrap().uid();
    assert_eq!(owner(env.project().join("file")), owner(env.project()));
}

#[test]
fn a_command_that_is_not_there() {
    assert_snapshot!(TestEnv::new().call(&["run", "--", "no-such-command"]), @r"
    code: 127
    --- stderr
    error: no-such-command: no such command in the sandbox
    hint: only what lies in /usr, in shared directories and in `[native] expose` is there
    ");
}

#[test]
fn a_file_that_cannot_be_executed() {
    let env = TestEnv::new();
    env.write("notes.txt", "not a program\n");
    assert_snapshot!(env.call(&["run", "--", "./notes.txt"]), @r"
    code: 126
    --- stderr
    error: ./notes.txt: cannot be executed: Permission denied (os error 13)
    ");
}

#[test]
fn a_signal_that_ended_the_command() {
    let answer = TestEnv::new().call(&["run", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (137, "", ""));
}

#[test]
fn a_command_that_runs_out_of_time() {
    assert_snapshot!(TestEnv::new().call(&["run", "--timeout", "200ms", "--", "sleep", "60"]), @r"
    code: 124
    --- stderr
    error: the command ran longer than 200ms and was ended
    hint: `--timeout` or `[limits] timeout` allows more time
    ");
}

#[test]
fn programs_get_one_object() {
    let env = TestEnv::new();
    let answer = env.call(&[
        "run", "--format", "json", "--name", "mine", "--", "sh", "-c", "echo out; echo err >&2; exit 3",
    ]);
    assert_eq!((answer.code, answer.stderr.as_str()), (3, ""), "{answer}");
    let mut object = answer.json();
    assert!(object["result"]["duration_ms"].take().is_u64());
    assert_eq!(
        object["result"],
        json!({
            "code": 3, "signal": null, "timed_out": false, "ended_by": "command", "duration_ms": null,
            // Of the command of a `run` nobody counts what it uses.
            "cpu_ms": null, "max_rss": null, "oom_killed": null,
        })
    );
    assert_eq!(object["sandbox"]["name"], "mine");
    assert_eq!(object["sandbox"]["provider"], "native");
    assert_eq!(object["stdout"], json!({ "text": "out\n", "truncated": false, "bytes": 4 }));
    assert_eq!(object["stderr"], json!({ "text": "err\n", "truncated": false, "bytes": 4 }));
    assert_eq!((&object["detected"], &object["warnings"]), (&json!([]), &json!([])));
    let layers = object["report"].as_array().unwrap();
    assert!(
        layers.iter().any(|layer| layer["layer"] == "seccomp" && layer["status"] == "enforced"),
        "{object}"
    );
}

#[test]
fn programs_learn_whose_code_it_is() {
    let env = TestEnv::new();
    let ended_by = |args: &[&str]| {
        let object = env.call(&[&["run", "--format", "json"], args].concat()).json();
        (
            object["result"]["code"].clone(),
            object["result"]["ended_by"].clone(),
            object["error"]["code"].clone(),
        )
    };
    // The same number, and two meanings.
    assert_eq!(ended_by(&["--", "sh", "-c", "exit 127"]), (json!(127), json!("command"), json!(null)));
    assert_eq!(ended_by(&["--", "no-such"]), (json!(127), json!("tool"), json!("command.not_found")));
    assert_eq!(ended_by(&["--", "sh", "-c", "kill -TERM $$"]), (json!(143), json!("signal"), json!(null)));
    assert_eq!(
        ended_by(&["--timeout", "200ms", "--", "sleep", "60"]),
        (json!(124), json!("timeout"), json!("command.timed_out"))
    );
}

#[test]
fn captured_output_is_bounded_and_need_not_be_text() {
    let env = TestEnv::with_config("[limits]\noutput_bytes = 5\n");
    let object = env.call(&["run", "--format", "json", "--", "printf", "123456789"]).json();
    assert_eq!(object["stdout"], json!({ "text": "12345", "truncated": true, "bytes": 9 }));
    let object = env.call(&["run", "--format", "json", "--", "printf", "\\377\\000"]).json();
    assert_eq!(object["stdout"], json!({ "base64": "/wA=", "truncated": false, "bytes": 2 }));
}

#[test]
fn the_report_is_a_table_on_stderr() {
    let answer = TestEnv::new().call(&["run", "--report", "--", "echo", "data"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "data\n"));
    for layer in ["user", "mount", "landlock", "seccomp", "capabilities"] {
        let line = answer.stderr.lines().find(|line| line.starts_with(&format!("{layer} "))).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some("enforced"), "{answer}");
    }
}

#[test]
fn without_isolation_that_is_said_even_to_who_wants_quiet() {
    let env = TestEnv::new();
    let answer = env.call(&["run", "--quiet", "--provider", "local", "--", "echo", "data"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "data\n"));
    assert_eq!(
        answer.stderr,
        "warning: provider local: no isolation, the command runs on this host as you\n"
    );
    let answer = env.call(&["run", "--format", "json", "--provider", "local", "--", "true"]);
    let object = answer.json();
    assert_eq!(answer.to_string().matches("no isolation").count(), 1, "{answer}");
    assert!(
        object["report"].as_array().unwrap().iter().all(|layer| layer["status"] != "enforced"),
        "{object}"
    );
}

#[test]
fn only_variables_that_may_pass_are_seen() {
    let env =
        TestEnv::new().set("AWS_SECRET_ACCESS_KEY", "hidden").set("LANG", "C.UTF-8").set("ASKED", "for");
    let answer = env.call(&["run", "-e", "GIVEN=value", "-e", "ASKED", "--", "env"]);
    assert_eq!(answer.code, 0, "{answer}");
    let names: Vec<&str> = answer.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    for name in ["GIVEN", "ASKED", "LANG", "HOME", "PATH"] {
        assert!(names.contains(&name), "{name}: {answer}");
    }
    assert!(!answer.stdout.contains("hidden"), "{answer}");
}

#[test]
fn variables_of_a_file_enter_and_flags_go_before_them() {
    let env = TestEnv::new();
    env.write("vars", "# a comment\nONE=file\nTWO=a b\n");
    let answer =
        env.call(&["run", "--env-file", "vars", "-e", "ONE=flag", "--", "sh", "-c", "echo $ONE-$TWO"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "flag-a b\n"), "{answer}");
}

#[test]
fn a_secret_is_seen_inside_and_nowhere_else() {
    let env = TestEnv::with_config(
        "[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"env:HOST_TOKEN\"\n",
    )
    .set("HOST_TOKEN", "s3cr3t");
    let seen = env.call(&["run", "--trust", "--", "sh", "-c", "test \"$TOKEN\" = s3cr3t"]);
    assert_eq!(seen.code, 0, "{seen}");
    for args in
        [&["plan", "--trust"][..], &["run", "--trust", "--format", "json", "--", "true"], &["config", "show"]]
    {
        let answer = env.call(args);
        assert!(!answer.to_string().contains("s3cr3t"), "{answer}");
    }
}

#[test]
fn a_secret_that_cannot_be_read_starts_nothing() {
    let env = TestEnv::with_config(
        "[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"env:HOST_TOKEN\"\n",
    );
    assert_snapshot!(env.call(&["run", "--trust", "--", "touch", "started"]), @r"
    code: 125
    --- stderr
    error: secret `token` from env:HOST_TOKEN: the variable is not set; set it, or name another source
    ");
    assert!(!env.project().join("started").exists());
}

#[test]
fn what_is_not_protected_is_said_without_a_report() {
    let env = TestEnv::new();
    env.write(".bashrc", "mine");
    env.write("node_modules/a/b", "");
    env.write("a/b/c/d/e/f", "");
    let answer = env.call(&["run", "--", "true"]);
    assert_eq!(answer.stderr, "", "the control: what is too deep, or of a package manager, is in the report");
    let status = |answer: &Answer| {
        let report = answer.json()["report"].as_array().unwrap().clone();
        report.into_iter().find(|line| line["layer"] == "protect").unwrap()["status"].clone()
    };
    assert_eq!(status(&env.call(&["run", "--format", "json", "--", "true"])), "partly");

    // More than is read of any configuration.
    env.write(".git/HEAD", "ref: refs/heads/main\n");
    env.write(".git/objects/none", "");
    env.write(".git/refs/none", "");
    env.write(".git/config", &"# nothing is set here\n".repeat(60_000));
    let answer = env.call(&["run", "--", "true"]);
    let expected = "warning: layer protect is partly enforced; not protected: ";
    assert!(answer.stderr.starts_with(expected) && answer.stderr.contains(".git/config"), "{answer}");
    assert_eq!(env.call(&["run", "--quiet", "--", "true"]).stderr, "");
}

#[test]
fn what_the_agent_leaves_to_run_later_is_reported() {
    let env = TestEnv::new();
    let plant = |hooks: &str| format!("mkdir -p {hooks} && echo evil > {hooks}/pre-commit");
    let answer = env.call(&["run", "--", "sh", "-c", &plant(".git/hooks")]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(answer.stderr.contains(".git/hooks/pre-commit"), "{answer}");
    assert!(!env.project().join(".git/hooks/pre-commit").exists());
    let object = env.call(&["run", "--format", "json", "--", "sh", "-c", &plant("other/.git/hooks")]).json();
    assert_eq!(object["detected"][0]["reason"]["kind"], "hook", "{object}");
}

#[test]
fn what_was_quarantined_is_nothing_to_commit() {
    let env = TestEnv::new();
    let git = |args: &[&str]| {
        let run =
            std::process::Command::new("git").args(args).current_dir(env.project()).env_clear().output();
        let output = run.unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    env.write(".gitignore", "*.o\n");
    let answer = env.call(&["run", "--quiet", "--", "sh", "-c", "echo evil > .bashrc; echo work > work"]);
    assert_eq!(answer.code, 0, "{answer}");
    let quarantine = env.project().join(".sandboxctl-quarantine");
    assert_eq!(
        std::fs::read_dir(&quarantine).unwrap().count(),
        2,
        "what was moved, and the file that hides it"
    );
    assert_eq!(git(&["status", "--porcelain"]), "?? .gitignore\n?? work\n");
    git(&["add", "--all"]);
    assert_eq!(git(&["ls-files"]), ".gitignore\nwork\n");
    assert_eq!(env.read(".gitignore"), "*.o\n");
    // The control: it is that file which hides it.
    std::fs::remove_file(quarantine.join(".gitignore")).unwrap();
    assert!(git(&["status", "--porcelain"]).contains("?? .sandboxctl-quarantine/"));
}

#[test]
fn pipes_can_be_opened_again_by_their_names() {
    let env = TestEnv::new();
    let script = "cat /dev/stdin | tee /dev/stderr > /dev/stdout; echo more >> /proc/self/fd/1";
    let answer = env.call_with_input(&["run", "--", "sh", "-c", script], b"given\n");
    assert_eq!(
        (answer.code, answer.stdout.as_str(), answer.stderr.as_str()),
        (0, "given\nmore\n", "given\n")
    );
}

#[test]
fn a_name_is_for_people_and_programs_outside() {
    let env = TestEnv::new();
    let object =
        env.call(&["run", "--format", "json", "--name", "mine", "--", "cat", "/etc/hostname"]).json();
    assert_eq!(
        (&object["sandbox"]["name"], &object["stdout"]["text"]),
        (&json!("mine"), &json!("sandbox\n"))
    );
}

#[test]
fn a_file_named_on_the_command_line_is_protected_where_it_lies() {
    let env = TestEnv::new();
    env.write("conf/mine.toml", "version = 1\n");
    let answer =
        env.call(&["run", "--config", "conf/mine.toml", "--", "sh", "-c", "echo '#' >> conf/mine.toml"]);
    assert_ne!(answer.code, 0, "{answer}");
    assert_eq!(env.read("conf/mine.toml"), "version = 1\n");
}

#[test]
fn a_directory_as_a_standard_stream_is_refused_by_rule() {
    let env = TestEnv::new();
    let directory = std::fs::File::open(env.root()).unwrap();
    let output = env.command(&env.project(), &["run", "--", "true"]).stdin(directory).output().unwrap();
    assert_eq!(output.status.code(), Some(77));
    assert!(String::from_utf8(output.stderr).unwrap().contains("trying again changes nothing"));
}

#[test]
fn a_shell_reads_commands_from_a_pipe_as_well() {
    let answer = TestEnv::new().call_with_input(&["shell"], b"echo $((6 * 7))\nexit 5\n");
    assert_eq!((answer.code, answer.stdout.as_str()), (5, "42\n"), "{answer}");
}

#[test]
fn an_interrupt_reaches_the_command_and_its_answer_counts() {
    let env = TestEnv::new();
    let script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done";
    let mut child = env
        .command(&env.project(), &["run", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut rest).unwrap();
    assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(9), "caught\n"));
}

#[test]
fn files_that_are_streams_can_be_opened_again_with_the_rights_they_have() {
    let env = TestEnv::new();
    let (input, output) = (env.root().join("in"), env.root().join("out"));
    std::fs::write(&input, "given\n").unwrap();
    std::fs::write(&output, "").unwrap();
    // Where root calls, the agent is somebody else, whom the permissions of the files bind.
    for path in [&input, &output] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    }
    let run = |script: &str| {
        env.command(&env.project(), &["run", "--", "sh", "-c", script])
            .stdin(std::fs::File::open(&input).unwrap())
            .stderr(std::fs::File::create(&output).unwrap())
            .output()
            .unwrap();
        (std::fs::read_to_string(&input).unwrap(), std::fs::read_to_string(&output).unwrap())
    };
    let given = |text: &str| ("given\n".to_owned(), text.to_owned());
    assert_eq!(run("cat /dev/stdin | tee /dev/stderr"), given("given\n"));
    assert_eq!(run("true < /dev/stderr"), given("sh: 1: cannot open /dev/stderr: Permission denied\n"));
    assert_eq!(run("true > /dev/stdin"), given("sh: 1: cannot create /dev/stdin: Permission denied\n"));
}

#[test]
fn a_working_directory_that_only_the_sandbox_knows_is_named_when_it_is_not_there() {
    let env = TestEnv::new();
    std::os::unix::fs::symlink("/nowhere", env.project().join("link")).unwrap();
    for place in ["/usr/no-such-directory", "/workspace/link"] {
        let answer = env.call(&["run", "-w", place, "--", "true"]);
        let message = format!("changing to the working directory {place}: No such file or directory");
        assert_eq!(answer.code, 125, "{answer}");
        assert!(answer.stderr.contains(&message), "{answer}");
    }
}
