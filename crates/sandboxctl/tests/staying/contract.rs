//! What holds for every persistent sandbox, whoever provides it.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::place::Place;
use crate::{PATIENCE, Staying, error_code, name, ours, said, wherever};

#[test]
fn a_command_has_its_own_exit_code_and_streams() {
    for (caller, runner) in wherever("exit codes and streams of an exec") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        for (argv, code) in [
            (&["true"][..], 0),
            (&["sh", "-c", "exit 7"], 7),
            (&["sh", "-c", "kill -9 $$"], 137),
            (&["no-such-command"], 127),
            (&["/etc/passwd"], 126),
        ] {
            let output = sandbox.exec(&[], argv).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{argv:?} in {runner:?} by {caller:?}: {output:?}");
        }
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(1 << 20).collect();
        let mut child = sandbox
            .exec(&[], &["sh", "-c", "cat; printf problem >&2"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, sent) = (child.stdin.take().unwrap(), bytes.clone());
        let writer = std::thread::spawn(move || stdin.write_all(&sent));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.stdout == bytes, "{} bytes in {runner:?} by {caller:?}", output.stdout.len());
        // Where there is no isolation, that is said first.
        assert!(output.stderr.ends_with(b"problem"), "in {runner:?} by {caller:?}: {output:?}");
    }
}

#[test]
fn a_command_has_the_descriptors_that_are_passed_and_no_other() {
    for (caller, runner) in wherever("descriptors of an exec") {
        let place = Place::on(caller, runner);
        place.write("workspace/given", "one\ntwo\nthree\n");
        let sandbox = Staying::create(&place, &[]);
        let by_shell = |script: &str, flags: &[&str], inside: &str| {
            let program = place.path("sandboxctl");
            let exec = [program.to_str().unwrap(), "exec", "--quiet"];
            let of_sandbox = [&sandbox.name, "--", "sh", "-c", inside];
            let words = [&["bash", "-c", script, "bash"][..], &exec, flags, &of_sandbox].concat();
            place.outside(&words).output().unwrap()
        };

        // A file stands where it stands, and is open at the number of the caller's.
        let script = "exec 5<>given; read -r line <&5; echo \"$line\"; \"$@\"; read -r line <&5; echo \"$line\"; cat given";
        let inside = "read -r line <&5; echo \"inside: $line\"; printf THREE >&5";
        let output = by_shell(script, &["--pass-fd=5"], inside);
        assert_eq!(
            said(&output),
            "one\ninside: two\n\none\ntwo\nTHREE\n",
            "in {runner:?} by {caller:?}: {output:?}"
        );

        // A pipe is relayed, in both directions, and ends.
        let script =
            "{ seq 100000 | \"$@\" 7>&1 6<&0 0</dev/null >&2; } | sort -n | md5sum; seq 100000 | md5sum";
        let output = by_shell(script, &["--pass-fd=6", "--pass-fd=7"], "cat <&6 >&7");
        let sums: Vec<_> = said(&output).lines().map(str::to_owned).collect();
        assert!(sums.len() == 2 && sums[0] == sums[1], "in {runner:?} by {caller:?}: {output:?}");

        // What nobody has named is not open.
        if runner.isolates() {
            let script = "exec 5<given 6<given; \"$@\"";
            let output = by_shell(script, &["--pass-fd=5"], "ls /proc/$$/fd");
            assert_eq!(said(&output), "0\n1\n2\n5\n", "in {runner:?} by {caller:?}: {output:?}");
        }

        // What the caller does not have open, and what would end with the caller, is refused.
        for (flags, code) in
            [(&["--pass-fd=9"][..], "usage.invalid"), (&["--detach", "--pass-fd=5"], "usage.invalid")]
        {
            let output = by_shell("exec 5<given; \"$@\"", &[&["--format", "json"], flags].concat(), "true");
            assert_eq!(error_code(&output), code, "{flags:?} in {runner:?} by {caller:?}: {output:?}");
        }
    }
}

#[test]
fn a_command_has_what_the_sandbox_was_made_with_and_what_was_typed() {
    for (caller, runner) in wherever("the environment of an exec") {
        let place = Place::on(caller, runner);
        let secret = place.write("secret", "s3cret\n");
        std::fs::set_permissions(secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        place.configure(
            &format!(
                "[env]\nset = {{ A = \"1\", B = \"1\" }}\n[secrets.t]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"file:{}\"\n",
                place.path("secret").display()
            ),
        );
        let sandbox = Staying::create(&place, &["--env", "C=1"]);
        // What is configured later is nothing to it.
        place.configure("[env]\nset = { A = \"2\" }\n");
        let script = ["sh", "-c", "echo $A $B $C $D $TOKEN; pwd; umask"];
        let mut typed = sandbox.exec(&["-e", "B=2", "-e", "D", "-w", "/tmp"], &script);
        let output = typed.env("D", "passed").output().unwrap();
        assert_eq!(said(&output), "1 2 1 passed s3cret\n/tmp\n0022\n", "in {runner:?} by {caller:?}");
        let output = sandbox.exec(&["--format", "json", "-e", "TOKEN=x"], &["true"]).output().unwrap();
        assert_eq!(error_code(&output), "policy.denied");
        let output = sandbox.exec(&["--format", "json", "-e", "SANDBOX_X=x"], &["true"]).output().unwrap();
        assert_eq!(error_code(&output), "usage.invalid");
        let output = sandbox.exec(&["--format", "json", "--trust"], &["true"]).output().unwrap();
        assert_eq!(error_code(&output), "usage.invalid");
    }
}

#[test]
fn files_and_processes_stay_from_one_command_to_the_next() {
    for (caller, runner) in wherever("what stays") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let kept = format!("/tmp/{}", name(&place));
        let script = format!("echo kept >{kept}; echo shared >file; sleep 1000 >/dev/null 2>&1 &");
        sandbox.prints(&["sh", "-c", &script]);
        assert_eq!(sandbox.prints(&["cat", &kept, "file"]), "kept\nshared\n");
        sandbox.prints(&["rm", &kept]);
        assert_eq!(std::fs::read_to_string(place.workspace().join("file")).unwrap(), "shared\n");
        // One command may end what another has left.
        sandbox.script("kill $(pids 'sleep 1000')");
        sandbox.wait_until("nothing runs", |seen| seen["status"]["commands"] == 0);
    }
}

#[test]
fn many_commands_run_at_once() {
    for (caller, runner) in wherever("many execs") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let start = |number: usize| {
            let script = format!("read line; echo {number} $line");
            sandbox.exec(&[], &["sh", "-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
        };
        let mut all: Vec<_> = (0..20).map(start).collect();
        sandbox.wait_until("all run", |seen| seen["status"]["commands"] == 20);
        for child in &mut all {
            child.stdin.take().unwrap().write_all(b"done\n").unwrap();
        }
        for (number, child) in all.into_iter().enumerate() {
            assert_eq!(said(&child.wait_with_output().unwrap()), format!("{number} done\n"));
        }
    }
}

#[test]
fn a_deadline_ends_all_that_a_command_has_started_and_nothing_else() {
    for (caller, runner) in wherever("the deadline of an exec") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let mut other = sandbox
            .exec(&[], &["sh", "-c", "echo other; read line; echo $line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said_first = [0; 6];
        other.stdout.as_mut().unwrap().read_exact(&mut said_first).unwrap();
        // Twice forked, in sessions of their own, deaf to SIGTERM.
        let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1001' &); echo partial; sleep 1002";
        let output = sandbox
            .exec(&["--format", "json", "--timeout", "300ms"], &["sh", "-c", script])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(124), "{output:?}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["result"]["timed_out"], true);
        assert_eq!(object["stdout"]["text"], "partial\n");
        assert!(
            object["result"]["cpu_ms"].is_u64() && object["result"]["max_rss"].as_u64() > Some(0),
            "{object}"
        );
        assert_eq!(sandbox.script("pids 'sleep 1001'; pids 'sleep 1002'"), "", "in {runner:?} by {caller:?}");
        other.stdin.take().unwrap().write_all(b"lives\n").unwrap();
        assert_eq!(said(&other.wait_with_output().unwrap()), "lives\n");
    }
}

#[test]
fn a_command_ends_with_its_client_unless_it_is_detached() {
    for (caller, runner) in wherever("the client of an exec") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let running = |argv: &str| !sandbox.script(&format!("pids '{argv}'")).is_empty();
        said(&sandbox.exec(&["--detach"], &["sleep", "1003"]).output().unwrap());
        let mut attached =
            sandbox.exec(&[], &["sh", "-c", "setsid sleep 1004 & echo ready; wait"]).spawn().unwrap();
        attached.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        // It is ready when it is forked, and may not be `sleep` yet.
        let until = Instant::now() + PATIENCE;
        while !running("sleep 1004") {
            assert!(Instant::now() < until, "in {runner:?} by {caller:?}");
        }
        attached.kill().unwrap();
        attached.wait().unwrap();
        sandbox.wait_until("one command is left", |seen| seen["status"]["commands"] == 1);
        assert!(!running("sleep 1004") && running("sleep 1003"), "in {runner:?} by {caller:?}");
        let missing = sandbox.exec(&["--detach"], &["no-such-command"]).output().unwrap();
        assert_eq!(missing.status.code(), Some(127), "{missing:?}");
    }
}

#[test]
fn a_terminal_has_a_size_signals_and_a_session_of_its_own() {
    // Nobody inside has a name for it: the commands of a sandbox are one user.
    let person = r#"
import os, pty, re, sys, termios, fcntl, struct
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
shown = b""
def until(pattern):
    global shown
    while not re.search(pattern, shown):
        shown += os.read(terminal, 4096)
    shown = b""
until(rb"\$ ")
os.write(terminal, b"test -t 0 && test -t 1 && test -t 2 && echo is''atty; stty size\n")
until(rb"isatty\s+33 77")
os.write(terminal, b"sh -c 'trap \"echo cau\"\"ght; exit 4\" INT; echo wai\"\"ting; while :; do sleep 0.01; done'; echo en''ded $?\n")
until(rb"waiting")
os.write(terminal, b"\x03")
until(rb"caught\s+ended 4")
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))
os.write(terminal, b"until test \"$(stty size)\" = '44 88'; do :; done; echo resi''zed\n")
until(rb"resized")
os.write(terminal, b"exit 3\n")
print("ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;
    for (caller, runner) in wherever("the terminal of an exec") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &["--env", "TERM=dumb", "--env", "PS1=$ "]);
        let program = place.path("sandboxctl");
        let bash = ["bash", "--noprofile", "--norc", "-i"];
        let words = [
            "timeout",
            "60",
            "python3",
            "-c",
            person,
            program.to_str().unwrap(),
            "exec",
            &sandbox.name,
            "--",
        ];
        let output = place.outside(&[&words[..], &bash].concat()).env("TERM", "dumb").output().unwrap();
        assert_eq!(said(&output), "ended with 3\n", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn it_is_found_by_its_name_and_its_id_and_by_nothing_else() {
    for (caller, runner) in wherever("names of sandboxes") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let id = sandbox.inspect()["id"].as_str().unwrap().to_owned();
        assert_eq!(said(&ours(&place, &["exec", &id, "--", "echo", "by id"]).output().unwrap()), "by id\n");
        for name in ["t", "s", "", "../s", "s/", "record.json"] {
            let output = ours(&place, &["inspect", "--format", "json", name]).output().unwrap();
            assert_eq!(error_code(&output), "sandbox.not_found", "{name}");
        }
        let again = ours(
            &place,
            &[&["create", "--format", "json", "--name", &name(&place)], place.provider()].concat(),
        )
        .output()
        .unwrap();
        assert_eq!(error_code(&again), "sandbox.name_in_use");
        for name in ["-x", ".x", "a b", "a/b", &"x".repeat(64)] {
            let flag = format!("--name={name}");
            let output = ours(&place, &[&["create", "--format", "json", &flag], place.provider()].concat())
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
        }
    }
}
