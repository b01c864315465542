//! How an exec ends: with its client, with the parent of that, with its time; and everything that it has started.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::exec::{First, isolated};
use crate::machine::Runner;
use crate::place::Place;

const PATIENCE: Duration = Duration::from_secs(60);

/// Leaves its session, its group and its parent, and says so; each that stays says so on and on.
const TREE: &str = "alive() { while :; do touch $1; sleep 0.1; done; }; setsid sh -c 'setsid sleep 98765 &'; \
                    alive 1 & sh -c 'while :; do touch 2; sleep 0.1; done &'; echo ready; wait";

fn name(what: &str) -> String {
    format!("{what}{}", std::process::id())
}

fn ready(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
}

/// Whether anything of [`TREE`] runs. Asked of the sandbox, where nobody can hide from it.
fn lives(place: &Place, name: &str) -> bool {
    // The first letter in brackets: the words of this search are no match.
    let script = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q '[9]8765\\|[t]ouch'";
    place.outside(&place.words("exec", &[name], &["sh", "-c", script])).status().unwrap().success()
}

fn until_nothing_lives(place: &Place, name: &str, what: &str) {
    let asked = Instant::now();
    while lives(place, name) {
        assert!(asked.elapsed() < PATIENCE, "{what}");
    }
}

#[test]
fn an_exec_ends_with_its_time_and_everything_that_it_started() {
    for (caller, runner) in isolated("time limits of execs") {
        let place = Place::on(caller, runner);
        let name = name("time");
        let first = First::named(&place, &name);
        let what = format!("in {runner:?} by {caller:?}");
        let words = place.words("exec", &["--timeout", "3s", &name], &["sh", "-c", TREE]);
        let mut exec = place.outside(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        ready(&mut exec);
        assert!(lives(&place, &name), "the control, {what}");
        assert_eq!(exec.wait().unwrap().code(), Some(124), "{what}");
        until_nothing_lives(&place, &name, &what);
        first.end();
    }
}

#[test]
fn an_exec_whose_own_command_stops_or_kills_our_program_ends_with_its_time() {
    for (caller, runner) in isolated("execs that stop the supervisor") {
        let place = Place::on(caller, runner);
        let name = name("stop");
        let first = First::named(&place, &name);
        for (signal, code) in [("STOP", 124), ("KILL", 137)] {
            let script = format!("exec >/dev/null 2>&1; kill -{signal} $PPID; exec sleep 1000");
            let words = place.words("exec", &["--timeout", "1s", &name], &["sh", "-c", &script]);
            let output = place.outside(&words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{signal} in {runner:?} by {caller:?}: {said}");
        }
        first.end();
    }
}

#[test]
fn an_exec_ends_with_its_client_and_with_the_parent_of_that() {
    // A shell that waits for what its arguments say, so that it is a parent to be killed.
    let parent = ["sh", "-c", "\"$@\" < /dev/null & wait", "sh"];
    for (caller, runner) in isolated("execs whose client dies") {
        let place = Place::on(caller, runner);
        let name = name("end");
        let first = First::named(&place, &name);
        let cases =
            [(&[][..], &[][..], true), (&parent, &["--die-with-parent"], true), (&parent, &[], false)];
        for (before, flags, dies) in cases {
            let what = format!("{before:?} {flags:?} in {runner:?} by {caller:?}");
            let flags = [flags, &[name.as_str()]].concat();
            let words = place.words("exec", &flags, &["sh", "-c", TREE]);
            let words: Vec<_> = before.iter().map(Into::into).chain(words).collect();
            let mut exec =
                place.outside(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            ready(&mut exec);
            kill_process(Pid::from_child(&exec), Signal::KILL).unwrap();
            exec.wait().unwrap();
            if dies {
                until_nothing_lives(&place, &name, &what);
            } else {
                // Its client is there and goes on, until it is ended too.
                assert!(lives(&place, &name), "the control, {what}");
                for client in clients(&name) {
                    kill_process(client, Signal::TERM).unwrap();
                }
            }
        }
        first.end();
    }
}

/// The clients of execs in a sandbox of this name.
fn clients(name: &str) -> Vec<Pid> {
    let is_client = |process: &Path| {
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let words: Vec<_> = words.split(|byte| *byte == 0).collect();
        words.first().is_some_and(|program| program.ends_with(b"/sandboxctl"))
            && words.contains(&&b"exec"[..])
            && words.contains(&name.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let clients = all.filter(|process| is_client(process));
    clients.filter_map(|process| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?)).collect()
}

#[test]
fn an_exec_gets_the_secrets_of_its_sandbox_and_nobody_else_sees_them() {
    for (caller, runner) in isolated("secrets of execs") {
        let place = Place::on(caller, runner);
        let name = name("secret");
        let settings = place.path("home/.config/sandboxctl/sandbox.toml");
        let key = place.write("home/key", "of-the-first");
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let more =
            format!("[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"file:{}\"\n", key.display());
        let text = std::fs::read_to_string(&settings).unwrap_or_default() + &more;
        place.write("home/.config/sandboxctl/sandbox.toml", &text);
        let first = First::named(&place, &name);
        // Its source is read again for each command.
        std::fs::write(&key, "hunter-of-the-exec").unwrap();
        let exec = |script: &str| {
            place
                .outside(&place.words("exec", &["-q", &name], &["sh", "-c", script]))
                .stdout(Stdio::piped())
                .spawn()
        };
        let mut held = exec("echo $S > given; echo ready; exec sleep 1000").unwrap();
        ready(&mut held);
        // What another exec, the same user, sees of it: its command, and nothing of its environment.
        let look = "for p in /proc/[0-9]*; do case $(tr '\\0' ' ' <$p/cmdline) in 'sleep 1000 ') \
                    echo found; cat $p/environ;; esac; done 2>/dev/null";
        let what = format!("in {runner:?} by {caller:?}");
        let asked = Instant::now();
        while std::fs::read_to_string(place.workspace().join("given")).unwrap_or_default().is_empty() {
            assert!(asked.elapsed() < PATIENCE, "{what}");
        }
        let seen = exec(look).unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&seen.stdout), "found\n", "{what}");
        let given = std::fs::read_to_string(place.workspace().join("given")).unwrap();
        assert_eq!(given, "hunter-of-the-exec\n", "{what}");
        if runner == Runner::Docker {
            let log = crate::environment::engine(&place, runner, &["inspect", &format!("sandboxctl-{name}")]);
            assert!(log.contains(&name) && !log.contains("hunter-of-the-exec"), "{what}");
        }
        kill_process(Pid::from_child(&held), Signal::KILL).unwrap();
        held.wait().unwrap();
        first.end();
    }
}
