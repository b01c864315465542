//! Programs of the host that a client waits for: they end with it, and with all that they have started, however it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::machine::{Caller, callers};
use crate::place::Place;
use crate::traces;

const NO_FLAGS: [&str; 0] = [];

/// How long after the client everything should have ended is too long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What ends a client. Ctrl-C of a terminal reaches nobody else either: the programs are in groups of their own.
const ENDS: [Signal; 3] = [Signal::KILL, Signal::TERM, Signal::INT];

/// Goes on for long, with a child, whatever it is asked, and says who they are where somebody reads it.
fn forever(pipe: &Path) -> String {
    format!("trap '' TERM INT HUP; sleep 1000 & echo $$ $! >{}; wait", pipe.display())
}

/// A pipe of the caller, at which `forever` calls.
fn pipe(place: &Place) -> PathBuf {
    let pipe = place.path("home/pids");
    assert!(place.outside(&["mkfifo".as_ref(), pipe.as_os_str()]).status().unwrap().success());
    pipe
}

/// Ends a client in the midst of it.
#[track_caller]
fn ends_with_its_client(mut command: Command, pipe: &Path, signal: Signal, caller: Caller) {
    let mut client =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = fs::read_to_string(pipe).unwrap();
    let pids: Vec<&str> = started.split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| runs(pid)), "the control, by {caller:?}: {started}");
    traces::kill(client.id(), signal);
    client.wait().unwrap();
    let asked = Instant::now();
    while pids.iter().any(|pid| runs(pid)) {
        assert!(asked.elapsed() < PATIENCE, "{signal:?} of the client of {caller:?}: {started} goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is there, and is more than the number that nobody has asked for yet.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z' | 'X'))
}

#[test]
fn a_command_that_gives_a_secret_ends_with_its_client() {
    for caller in callers("commands that give secrets") {
        for signal in ENDS {
            let place = Place::new(caller);
            let pipe = pipe(&place);
            let source = format!("command:{}", forever(&pipe));
            let settings = format!("[secrets.x]\nmode = \"inject\"\nenv_var = \"X\"\nsource = {source:?}\n");
            place.write("home/.config/sandboxctl/sandbox.toml", &settings);
            ends_with_its_client(place.inside(&NO_FLAGS, &["true"]), &pipe, signal, caller);
        }
    }
}

#[test]
fn a_pull_ends_with_its_client() {
    for caller in callers("pulls") {
        for signal in ENDS {
            let place = Place::new(caller);
            let pipe = pipe(&place);
            let podman = place.write(
                "home/bin/podman",
                &format!(
                    "#!/bin/sh\ncase $1 in\nversion) echo 5.0.0 ;;\npull) {} ;;\n*) exit 1 ;;\nesac\n",
                    forever(&pipe)
                ),
            );
            fs::set_permissions(&podman, fs::Permissions::from_mode(0o755)).unwrap();
            let image = "registry.example.org/team/image:1";
            let flags = ["--provider", "podman", "--image", image, "--pull", "always"];
            let mut command = place.inside(&flags, &["true"]);
            command.env("PATH", format!("{}:/usr/bin:/bin", place.path("home/bin").display()));
            ends_with_its_client(command, &pipe, signal, caller);
        }
    }
}

/// Where SIGCHLD is ignored, the number of a child that has ended is free at once, and a signal for the child reaches whoever has it next.
#[test]
fn children_that_have_ended_keep_their_numbers_whatever_the_caller_ignores() {
    for caller in callers("SIGCHLD ignored") {
        let place = Place::new(caller);
        let ignores = |argv: &[std::ffi::OsString]| {
            let start = ["env", "--ignore-signal=CHLD"].map(std::ffi::OsString::from);
            let mut running = crate::ready::start(&mut place.outside(&[&start, argv].concat()));
            let pid = running.id();
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
            let mask = u64::from_str_radix(mask, 16).unwrap();
            drop(running.stdin.take());
            running.wait().unwrap();
            mask & 1 << (Signal::CHILD.as_raw() - 1) != 0
        };
        let script = ["sh", "-c", "echo ready; read line"];
        assert!(
            ignores(&["python3", "-c", "print('ready', flush=True); input()"].map(Into::into)),
            "the control by {caller:?}"
        );
        assert!(!ignores(&place.run(&NO_FLAGS, &script)), "by {caller:?}");
    }
}
