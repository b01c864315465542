//! Root looks through a boundary, and undoes there what an agent did, with the rights that the agent has in it: of the user
//! behind sudo, or for root alone of whoever owns the directory. Whoever may rename things in it gets nothing by root's.
//!
//! The control of each attack is root in a directory of its own, where these rights are root's.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::traces;

/// Root, for whom.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum For {
    /// In a directory of its own: the control.
    Itself,
    /// In a directory of a user's.
    Owner,
    /// For the user who called it by sudo.
    Sudo,
}

/// Who clears up.
#[derive(Clone, Copy, Debug)]
enum Cleared {
    ByTheRun,
    ByTheNext,
}

/// A place whose workspace has a directory of root's in it, if root can play a user here.
fn places(test: &str) -> Vec<(For, Place)> {
    if !rustix::process::geteuid().is_root() || !callers(test).contains(&Caller::Normal) {
        return Vec::new();
    }
    let place = |who| {
        let place = Place::new(if who == For::Itself { Caller::Root } else { Caller::Normal });
        fs::create_dir(place.workspace().join("rootdir")).unwrap();
        (who, place)
    };
    [For::Itself, For::Owner, For::Sudo].map(place).into()
}

fn repository(place: &Place, directory: &str) {
    place.write(&format!("workspace/{directory}/HEAD"), "ref: refs/heads/main\n");
    for name in ["objects", "refs"] {
        place.write(&format!("workspace/{directory}/{name}/keep"), "");
    }
}

/// A command of root's, in a sandbox.
fn inside(who: For, place: &Place, argv: &[&str]) -> Command {
    let mut command = place.command(&place.run(&["--report"], argv));
    if who == For::Sudo {
        command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
    }
    command.env("XDG_STATE_HOME", state(who, place));
    command.env("XDG_CONFIG_HOME", place.home().join(".config"));
    command
}

fn state(who: For, place: &Place) -> std::path::PathBuf {
    if who == For::Sudo { place.home().join("state") } else { place.path("state") }
}

/// A sandbox that runs until it is told to end.
fn running(who: For, place: &Place) -> Child {
    let mut client = inside(who, place, &["sh", "-c", "echo ready; read -r go"]);
    let client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line == "ready\n", "{who:?}: {:?}", client.wait_with_output());
    client
}

/// Runs a script on the host while a sandbox runs, as whoever the workspace belongs to. Returns what was said afterwards.
fn meanwhile(who: For, place: &Place, cleared: Cleared, script: &str) -> String {
    let mut client = running(who, place);
    if let Cleared::ByTheNext = cleared {
        traces::kill(client.id(), Signal::KILL);
        client.wait().unwrap();
    }
    let done = place.outside(&["sh", "-ec", script]).status().unwrap();
    assert!(done.success(), "{who:?}: the user may do this");
    let output = match cleared {
        Cleared::ByTheRun => {
            // It may have been ended already, because a protection was taken away.
            let _ = client.stdin.as_mut().unwrap().write_all(b"go\n");
            client.wait_with_output().unwrap()
        }
        Cleared::ByTheNext => inside(who, place, &["true"]).output().unwrap(),
    };
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const BOTH: [Cleared; 2] = [Cleared::ByTheRun, Cleared::ByTheNext];

#[test]
fn what_the_user_cannot_read_is_in_no_record_of_theirs() {
    for (who, place) in places("what only root may read") {
        repository(&place, ".git");
        let config = place.workspace().join(".git/config");
        fs::write(&config, "[user]\n\tname = only root knows\n").unwrap();
        fs::set_permissions(&config, Permissions::from_mode(0o600)).unwrap();
        let client = running(who, &place);
        let records = fs::read_dir(state(who, &place).join("sandboxctl/runs")).unwrap();
        let records = records.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        let records = records.collect::<String>();
        assert!(records.contains(".git/config"), "{who:?}: it is protected all the same: {records}");
        assert_eq!(records.contains("only root knows"), who == For::Itself, "{who:?}: {records}");
        drop(client.wait_with_output());
    }
}

#[test]
fn a_file_of_root_s_is_not_overwritten_with_what_was_at_its_place() {
    for cleared in BOTH {
        for (who, place) in places("what root puts back") {
            place.write("workspace/.husky/pre-commit", "echo the user's\n");
            let of_root = place.workspace().join("rootdir/pre-commit");
            fs::write(&of_root, "echo root's\n").unwrap();
            fs::set_permissions(&of_root, Permissions::from_mode(0o755)).unwrap();
            let said = meanwhile(who, &place, cleared, "mv .husky .h2; mv rootdir .husky");
            let found = fs::read_to_string(place.workspace().join(".husky/pre-commit")).unwrap();
            let wanted = if who == For::Itself { "echo the user's\n" } else { "echo root's\n" };
            assert_eq!(found, wanted, "{who:?}, {cleared:?}: {said}");
        }
    }
}

#[test]
fn no_link_is_put_back_into_a_directory_of_root_s() {
    for cleared in BOTH {
        for (who, place) in places("links that root puts back") {
            repository(&place, "store");
            place.write("workspace/store/config", "");
            place.write("workspace/sub/keep", "");
            let link = place.workspace().join("sub/.git");
            symlink("../store", &link).unwrap();
            let said = meanwhile(who, &place, cleared, "mv sub s2; mv rootdir sub");
            let there = link.symlink_metadata().is_ok();
            assert_eq!(there, who == For::Itself, "{who:?}, {cleared:?}: {said}");
            assert!(said.contains("sub/.git"), "{who:?}, {cleared:?}: {said}");
        }
    }
}

#[test]
fn nothing_is_moved_out_of_a_directory_of_root_s() {
    for cleared in BOTH {
        for (who, place) in places("what root quarantines") {
            let of_root = place.workspace().join("rootdir/pre-commit");
            fs::write(&of_root, "echo root's\n").unwrap();
            fs::set_permissions(&of_root, Permissions::from_mode(0o755)).unwrap();
            let said = meanwhile(who, &place, cleared, "mv rootdir .husky");
            let stays = place.workspace().join(".husky/pre-commit").exists();
            assert_eq!(stays, who != For::Itself, "{who:?}, {cleared:?}: {said}");
            assert!(said.contains(".husky"), "{who:?}, {cleared:?}: {said}");
        }
    }
}

/// The false positive: what the agent could do is undone, and all that comes of it is the user's.
#[test]
fn what_the_agent_could_do_is_undone_as_its_user() {
    for cleared in BOTH {
        for (who, place) in places("what is undone") {
            let owner = if who == For::Itself { 0 } else { NORMAL };
            repository(&place, "store");
            place.write("workspace/store/config", "");
            place.write("workspace/sub/keep", "");
            symlink("../store", place.workspace().join("sub/.git")).unwrap();
            place.write("workspace/.husky/pre-commit", "echo the user's\n");
            // It closes what it made, which its user can open again.
            let script = "rm sub/.git; mv .husky .h2; mkdir -p .husky .cursor; echo evil > .husky/pre-commit; \
                          echo '{}' > .envrc; chmod 0 .cursor";
            let said = meanwhile(who, &place, cleared, script);
            let found = |name: &str| place.workspace().join(name).symlink_metadata().map(|found| found.uid());
            assert_eq!(found("sub/.git").unwrap(), owner, "{who:?}, {cleared:?}: {said}");
            assert!(found(".envrc").is_err(), "{who:?}, {cleared:?}: {said}");
            let husky = fs::read_to_string(place.workspace().join(".husky/pre-commit")).unwrap();
            assert_eq!(husky, "echo the user's\n", "{who:?}, {cleared:?}: {said}");
            all_belongs_to(owner, &place.workspace(), &["rootdir"]);
        }
    }
}

fn all_belongs_to(owner: u32, directory: &Path, without: &[&str]) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if without.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        assert_eq!(metadata.uid(), owner, "{}", entry.path().display());
        if metadata.is_dir() {
            all_belongs_to(owner, &entry.path(), &[]);
        }
    }
}

#[test]
fn the_working_directory_does_not_tell_which_names_only_root_may_see() {
    for (who, place) in places("the working directory inside") {
        let closed = place.workspace().join("rootdir");
        fs::create_dir(closed.join("inner")).unwrap();
        fs::write(closed.join("plain"), "").unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        let answers = ["inner", "plain", "nothing"].map(|name| {
            let workdir = format!("/workspace/rootdir/{name}");
            let mut command = place.command(&place.run(&["--workdir", &workdir], &["true"]));
            if who == For::Sudo {
                command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
            }
            let output = command.env("XDG_STATE_HOME", state(who, &place)).output().unwrap();
            String::from_utf8_lossy(&output.stderr).replace(&workdir, "").replace(name, "")
        });
        let [first, second, third] = &answers;
        let are_alike = first == second && second == third;
        assert_eq!(are_alike, who == For::Sudo, "{who:?}: {answers:#?}");
    }
}

#[test]
fn the_doctor_tries_a_directory_of_the_caller() {
    for (who, place) in places("the doctor under sudo") {
        if who == For::Owner {
            continue;
        }
        let mut doctor = place.command(&place.words("doctor", &["--format", "json"], &[] as &[&str]));
        if who == For::Sudo {
            doctor.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
        }
        let output = doctor.env("XDG_STATE_HOME", state(who, &place)).output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && found.contains("\"healthy\": true"), "{who:?}: {found}");
    }
}

#[test]
fn a_question_about_a_path_does_not_tell_what_only_root_may_see() {
    for (who, place) in places("policy check under sudo") {
        repository(&place, "rootdir/inner/.git");
        place.write(
            "workspace/sandbox.toml",
            "version = 1\n[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n",
        );
        fs::set_permissions(place.workspace().join("rootdir"), Permissions::from_mode(0o700)).unwrap();
        let answers = ["inner", "nothing"].map(|name| {
            let path = format!("/workspace/rootdir/{name}/.git/hooks");
            let words = place.words("policy", &["check", "path", &path, "--access", "write"], &[] as &[&str]);
            let mut command = place.command(&words);
            if who == For::Sudo {
                command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
            }
            let output = command.env("XDG_STATE_HOME", state(who, &place)).output().unwrap();
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).replace(name, "")
        });
        let [there, not_there] = &answers;
        assert_eq!(there == not_there, who != For::Itself, "{who:?}: {answers:#?}");
    }
}
