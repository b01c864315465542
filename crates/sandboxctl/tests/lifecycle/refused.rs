//! What is not started, and what is said instead.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Output, Stdio};

use confine::landlock::{self, ABI};

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;

const NO_FLAGS: [&str; 0] = [];

#[test]
fn a_layer_that_is_required_and_not_to_be_had_starts_nothing() {
    let whole = landlock::abi() >= Some(ABI::V9);
    for caller in callers("layers that are required") {
        let place = Place::new(caller);
        let config = |layer: &str| {
            let defaults = r#""user", "mount", "pid", "net", "ipc", "landlock", "seccomp", "capabilities""#;
            format!(
                "[shared_dirs]\nworkspace = {{ host = \".\", guest = \"/workspace\" }}\n\
                 [native]\nrequire = [{defaults}, \"{layer}\"]\n"
            )
        };
        place.write("workspace/sandbox.toml", &config("sockets"));
        let Output { status, stderr, .. } = place.inside(&NO_FLAGS, &["touch", "started"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        if whole {
            assert_eq!(status.code(), Some(0), "by {caller:?}: {stderr}");
        } else {
            assert_eq!(status.code(), Some(69), "by {caller:?}: {stderr}");
            for word in ["layer sockets is required", "landlock ABI 9", "hint:", "native.require"] {
                assert!(stderr.contains(word), "by {caller:?}: {word} is not in {stderr}");
            }
        }
        assert_eq!(place.workspace().join("started").exists(), whole, "by {caller:?}");
        // The control: a layer that every kernel has.
        place.write("workspace/sandbox.toml", &config("uts"));
        let Output { status, stderr, .. } = place.inside(&NO_FLAGS, &["touch", "started"]).output().unwrap();
        assert!(status.success(), "the control, by {caller:?}: {}", String::from_utf8_lossy(&stderr));
    }
}

/// Service managers and CI start programs without it.
#[test]
fn without_a_home_in_the_environment_the_one_in_passwd_counts_and_else_that_is_said() {
    for caller in callers("no HOME") {
        let place = Place::new(caller);
        let uid = match caller {
            Caller::Root => 0,
            Caller::Normal if rustix::process::geteuid().is_root() => NORMAL,
            Caller::Normal => rustix::process::geteuid().as_raw(),
        };
        let passwd = fs::read_to_string("/etc/passwd").unwrap();
        let is_known = passwd.lines().any(|line| line.split(':').nth(2) == Some(&uid.to_string()));
        for home in [None, Some(""), Some("relative")] {
            let mut command = place.inside(&NO_FLAGS, &["true"]);
            // What is written must not go to the home of whoever runs the tests.
            command
                .env("XDG_STATE_HOME", place.home())
                .env("XDG_CONFIG_HOME", place.home())
                .env_remove("HOME");
            if let Some(home) = home {
                command.env("HOME", home);
            }
            let Output { status, stderr, .. } = command.output().unwrap();
            let stderr = String::from_utf8_lossy(&stderr);
            if is_known {
                assert_eq!(status.code(), Some(0), "by {caller:?}, {home:?}: {stderr}");
                assert!(place.home().join("sandboxctl").exists(), "by {caller:?}: where is the state?");
            } else {
                assert_eq!(status.code(), Some(125), "by {caller:?}, {home:?}: {stderr}");
                assert!(stderr.contains("HOME is not set"), "by {caller:?}, {home:?}: {stderr}");
                assert!(stderr.contains(&uid.to_string()), "by {caller:?}, {home:?}: {stderr}");
            }
        }
    }
}

/// PID 1 is started before the configuration is read where the provider was typed.
#[test]
fn a_mistake_in_the_configuration_is_reported_as_ever_and_leaves_no_pid_1() {
    for caller in callers("starts that fail early") {
        let place = Place::new(caller);
        // PID 1 has the caller's streams. A socket ends when nobody has it any more.
        let run = |flags: &[&str], stdin: Stdio| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            let mut command = place.inside(flags, &["cat"]);
            command.stdin(stdin).stdout(OwnedFd::from(theirs)).stderr(Stdio::piped());
            (command.spawn().unwrap(), ours)
        };
        let typed = ["--provider", "native"];
        let (mut living, mut held) = run(&typed, Stdio::piped());
        living.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        while held.read(&mut [0; 2]).map_err(|error| error.kind()) != Ok(1) {
            assert_eq!(living.try_wait().unwrap(), None, "the control, by {caller:?}");
        }
        let left = held.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(left, Err(ErrorKind::WouldBlock), "the control, by {caller:?}");
        drop(living.stdin.take());
        assert!(living.wait().unwrap().success(), "the control, by {caller:?}");

        place.write("workspace/sandbox.toml", "[limits]\npids = \"many\"\n");
        let mut told = Vec::new();
        for flags in [&typed[..], &[], &["--provider", "native", "--dry-run"]] {
            let (client, mut held) = run(flags, Stdio::null());
            let Output { status, stderr, .. } = client.wait_with_output().unwrap();
            assert_eq!(held.read(&mut [0]).ok(), Some(0), "by {caller:?}, {flags:?}: something is left");
            told.push((status.code(), String::from_utf8_lossy(&stderr).into_owned()));
        }
        assert!(told[0].1.contains("limits.pids"), "by {caller:?}: {told:?}");
        assert!(told.iter().all(|one| *one == told[0]), "by {caller:?}: {told:#?}");
    }
}

/// What a secret is read with runs between the check of a directory and its use.
#[test]
fn a_directory_that_was_swapped_after_it_was_checked_is_not_shared() {
    for caller in callers("swapped directories") {
        for swap in ["mv other shared", "ln -s other shared", "ln -s away shared", "true"] {
            let place = Place::new(caller);
            place.write("home/top/shared/mine", "");
            place.write("home/top/other/theirs", "");
            let top = place.path("home/top");
            let script = format!("cd {} && mv shared away && {swap} && echo value", top.display());
            let script = place.write("home/swap", &script);
            let run = |source: &str| {
                let config = format!(
                    "[shared_dirs]\nx = {{ host = \"{}\", guest = \"/workspace\" }}\n\
                     [secrets.x]\nmode = \"inject\"\nenv_var = \"X\"\nsource = \"command:{source}\"\n",
                    top.join("shared").display()
                );
                let file = place.write("home/sandbox.toml", &config);
                let flags = ["--trust", "--config", file.to_str().unwrap()];
                place.inside(&flags, &["touch", "started"]).output().unwrap()
            };
            let Output { status, stderr, .. } = run("echo value");
            assert!(status.success(), "the control, by {caller:?}: {}", String::from_utf8_lossy(&stderr));
            fs::remove_file(top.join("shared/started")).unwrap();

            let Output { status, stderr, .. } = run(&format!("sh {}", script.display()));
            let stderr = String::from_utf8_lossy(&stderr);
            assert_eq!(status.code(), Some(125), "by {caller:?}, `{swap}`: {stderr}");
            let said = if swap == "true" { "does not exist" } else { "exchanged after it was validated" };
            assert!(stderr.contains(said), "by {caller:?}, `{swap}`: {stderr}");
            for directory in ["away", "other", "shared"] {
                let started = top.join(directory).join("started");
                assert!(!started.exists(), "by {caller:?}, `{swap}`: {}", started.display());
            }
        }
    }
}
