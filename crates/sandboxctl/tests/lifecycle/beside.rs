//! Two sandboxes at once in one directory: what the agent of the first one has made is not what the second one has found there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Child;

use rustix::process::Signal;

use crate::guarded::{go_on, said, waiting};
use crate::machine::callers;
use crate::place::Place;
use crate::{ready, traces};

/// When the first one ends, and how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Sooner,
    Killed,
    Later,
}

impl End {
    fn end(self, mut client: Child) -> String {
        if self == Self::Killed {
            traces::kill(client.id(), Signal::KILL);
        } else {
            go_on(&mut client);
        }
        said(&client.wait_with_output().unwrap())
    }
}

/// A sandbox whose agent has done something, and waits for its end.
fn first(place: &Place, script: &str) -> Child {
    let mut client = waiting(place, &[], &format!("{script}; echo made; read -r end"));
    go_on(&mut client);
    assert_eq!(ready::next_line(&mut client), "made\n");
    client
}

fn second(place: &Place, directory: &str, script: &str) -> Child {
    let script = format!("echo ready; read -r go; {script}");
    let mut command = place.inside(&[""; 0], &["sh", "-c", &script]);
    ready::start(command.current_dir(place.path(directory)))
}

fn project(caller: crate::machine::Caller) -> Place {
    let place = Place::new(caller);
    for repository in ["workspace", "workspace/sub", "workspace/node_modules/x"] {
        place.write(&format!("{repository}/.git/HEAD"), "ref: refs/heads/main\n");
        place.write(&format!("{repository}/.git/config"), "[core]\n\tbare = false\n");
        place.write(&format!("{repository}/.git/objects/keep"), "");
        place.write(&format!("{repository}/.git/refs/keep"), "");
    }
    place.write("workspace/.profile", "echo mine\n");
    place.write("workspace/plain/.envrc", "echo mine\n");
    place
}

#[test]
fn what_the_agent_of_another_run_has_made_is_quarantined_by_whoever_ends() {
    for caller in callers("what another agent has made") {
        for (directory, made) in [
            ("workspace", ".bashrc"),
            ("workspace", "new/.git/hooks/pre-commit"),
            ("workspace/sub", "sub/.envrc"),
            ("workspace/sub", "sub/.git/hooks/pre-commit"),
        ] {
            for how in [End::Sooner, End::Killed, End::Later] {
                let place = project(caller);
                let make = format!("mkdir -p $(dirname {made}); echo evil > {made}");
                let other = first(&place, &make);
                // Where it was moved meanwhile, the second agent makes the same once more.
                let again = Path::new("workspace").join(made);
                let again = again.strip_prefix(directory).unwrap().display().to_string();
                let again = format!("mkdir -p $(dirname {again}); echo evil > {again} || true");
                let mut client = second(&place, directory, &again);
                let case = format!("{made} in {directory}, {how:?}, by {caller:?}");
                let mut told = String::new();
                let mut other = Some(other);
                if how != End::Later {
                    told += &how.end(other.take().unwrap());
                }
                go_on(&mut client);
                told += &said(&client.wait_with_output().unwrap());
                let file = place.workspace().join(made);
                assert!(!file.exists(), "{case}: {told}");
                assert!(place.workspace().join(".profile").exists(), "{case}: {told}");
                assert!(place.workspace().join("plain/.envrc").exists(), "{case}: {told}");
                if let Some(other) = other {
                    how.end(other);
                }
            }
        }
    }
}

#[test]
fn a_link_that_the_agent_of_another_run_has_made_is_not_put_back() {
    for caller in callers("links of another agent") {
        let place = project(caller);
        let other = first(&place, "ln -s evil .mcp.json");
        let mut client = second(&place, "workspace", "true");
        let mut told = End::Sooner.end(other);
        go_on(&mut client);
        told += &said(&client.wait_with_output().unwrap());
        assert!(fs::read_link(place.workspace().join(".mcp.json")).is_err(), "by {caller:?}: {told}");
        assert!(!told.contains("put back"), "by {caller:?}: {told}");
    }
}

#[test]
fn what_was_there_before_both_stays() {
    for caller in callers("two runs and files of the owner's") {
        // The second one looks where the first one does not.
        for directory in ["workspace", "workspace/plain", "workspace/node_modules/x", "workspace/sub"] {
            let place = project(caller);
            let other = first(&place, "true");
            let mut client = second(&place, directory, "true");
            go_on(&mut client);
            let mut told = said(&client.wait_with_output().unwrap());
            told += &End::Sooner.end(other);
            assert_eq!(told, "", "{directory} by {caller:?}");
            for path in [".profile", "plain/.envrc", "sub/.git/config", "node_modules/x/.git/config"] {
                assert!(place.workspace().join(path).exists(), "{path}, {directory} by {caller:?}");
            }
        }
    }
}

/// A link leads to what is hidden or protected, and is no more itself: it can be removed, and is put back at the end.
#[test]
fn none_starts_where_another_agent_has_changed_a_link_that_hides_or_protects() {
    for caller in callers("links that another agent changes") {
        for (link, target, change, attack) in [
            (".env", "real/config", "rm .env", "cat real/config"),
            (".env", "real/config", "rm .env; ln -s real/config .env", "cat real/config"),
            ("hk", "real", "rm hk", "echo evil >real/pre-commit"),
            ("hk", "real", "mv hk other", "echo evil >real/pre-commit"),
        ] {
            let case = format!("{change}, by {caller:?}");
            let place = project(caller);
            place.configure("[protect]\nhide = [\".env\"]\n");
            place.write("workspace/.git/config", "[core]\n\tbare = false\n\thooksPath = hk\n");
            place.write("workspace/real/config", "TOPSECRET\n");
            place.write("workspace/real/pre-commit", "#!/bin/sh\n");
            std::os::unix::fs::symlink(target, place.workspace().join(link)).unwrap();
            place.give(&place.workspace());
            let attacked = || place.inside(&[""; 0], &["sh", "-c", attack]).output().unwrap();
            let holds = |output: &std::process::Output| {
                assert!(!String::from_utf8_lossy(&output.stdout).contains("TOPSECRET"), "{case}: {output:?}");
                let hook = fs::read_to_string(place.workspace().join("real/pre-commit")).unwrap();
                assert_eq!(hook, "#!/bin/sh\n", "{case}: {output:?}");
            };
            // The control: alone it starts, and is kept from it.
            let alone = attacked();
            assert!(!said(&alone).contains("has changed the link"), "{case}: {alone:?}");
            holds(&alone);
            let client = first(&place, change);
            let beside = attacked();
            assert!(said(&beside).contains("has changed the link"), "{case}: {beside:?}");
            holds(&beside);
            End::Sooner.end(client);
            let after = attacked();
            assert!(!said(&after).contains("has changed the link"), "{case}: {after:?}");
            holds(&after);
        }
    }
}

/// A sandbox looks for sockets only so many directories deep, so none must get further down than that.
#[test]
fn no_directory_with_a_covered_socket_is_moved_out_of_sight_of_the_next_sandbox() {
    const CONNECT: &str = "
import os, socket, sys
for directory, _, names in os.walk('.'):
    if 'agent.sock' in names:
        os.chdir(directory)
        socket.socket(socket.AF_UNIX).connect('agent.sock')
        print('connected')
";
    const MOVE: &str = "mkdir -p a/b/c/d && mv run a/b/c/d/";
    for caller in callers("sockets that another agent moves") {
        let place = project(caller);
        let socket = place.workspace().join("run/agent.sock");
        fs::create_dir(socket.parent().unwrap()).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
        place.give(socket.parent().unwrap());
        place.give(&socket);
        let connected = || {
            let output = place.inside(&[""; 0], &["python3", "-c", CONNECT]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let client = first(&place, &format!("{MOVE} || true"));
        assert_eq!(connected(), "", "beside it, by {caller:?}");
        End::Sooner.end(client);
        assert_eq!(connected(), "", "after it, by {caller:?}");
        // The control: once it is there, nobody finds it, and a mask is all that keeps the agent from a named socket.
        assert!(
            place.outside(&["sh", "-c", MOVE]).current_dir(place.workspace()).status().unwrap().success()
        );
        assert_eq!(connected(), "connected\n", "the control, by {caller:?}");
    }
}
