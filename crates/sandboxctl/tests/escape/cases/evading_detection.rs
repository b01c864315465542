//! Hiding from detection what was newly created: from the search, in the place where things are moved to, behind
//! special files, and in what is said of it.
//!
//! The control is the hook that does not hide, in `created.rs`: it is found.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::machine::callers;
use crate::place::Place;

const HOOK: &str =
    "printf '#!/bin/sh\\necho owned\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit";

#[test]
fn what_cannot_be_listed_is_not_passed_over_in_silence() {
    // A directory without the right to list it still lets git find a name in it.
    let cases = [
        format!("git init --quiet .; {HOOK}; chmod 111 .git/hooks"),
        format!("git init --quiet .; {HOOK}; chmod 111 .git"),
        format!("mkdir nested; cd nested; git init --quiet .; {HOOK}; chmod 111 ."),
        format!("mkdir nested; cd nested; git init --quiet .; {HOOK}; chmod 111 .git/hooks"),
    ];
    for caller in callers("hiding from the search") {
        for script in &cases {
            let (place, said) = after(caller, script);
            let hooks = [".git/hooks/pre-commit", "nested/.git/hooks/pre-commit"];
            let left = hooks.iter().any(|hook| place.workspace().join(hook).exists());
            open_again(&place);
            assert!(
                !left || !said.is_empty(),
                "by {caller:?}: nothing is said of the hook that `{script}` leaves"
            );
        }
    }
}

#[test]
fn a_boundary_that_is_closed_is_looked_through_all_the_same() {
    let hook = "mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/pre-commit; echo 'echo owned' > .bashrc";
    for caller in callers("a closed boundary") {
        for mode in ["0", "100", "300", "444", "600", "070"] {
            let (place, said) = after(caller, &format!("{hook}; chmod {mode} ."));
            // Root looks through a closed directory, and leaves it closed.
            let opened = place.workspace().metadata().unwrap().permissions().mode() & 0o700 == 0o700;
            open_again(&place);
            for path in [".bashrc", "sub/.git/hooks/pre-commit"] {
                assert!(said.contains(path), "by {caller:?}, mode {mode}: {said}");
                assert!(!place.workspace().join(path).exists(), "by {caller:?}, mode {mode}: {said}");
            }
            if caller == crate::machine::Caller::Normal {
                assert!(opened, "by {caller:?}, mode {mode}");
            }
            assert!(!said.contains("could not"), "by {caller:?}, mode {mode}: {said}");
        }
    }
}

#[test]
fn nothing_stands_in_the_way_of_quarantining() {
    let cases = [
        "ln -s ../home .sandboxctl-quarantine",
        "ln -s /tmp .sandboxctl-quarantine",
        "echo > .sandboxctl-quarantine",
        "mkdir .sandboxctl-quarantine; chmod 0 .sandboxctl-quarantine",
    ];
    for caller in callers("the way to the quarantine") {
        for script in cases {
            let (place, said) = after(caller, &format!("{script}; echo 'echo owned' > .bashrc"));
            open_again(&place);
            assert!(said.contains(".bashrc"), "by {caller:?}, `{script}`: {said}");
            assert!(!place.workspace().join(".bashrc").exists(), "by {caller:?}, `{script}`: {said}");
            let home: Vec<_> =
                fs::read_dir(place.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(home, [".local"], "by {caller:?}, `{script}`");
        }
    }
}

#[test]
fn special_files_stop_nobody_who_looks() {
    let script = "mkdir .git .git/hooks .vscode; mkfifo .bashrc .mcp.json .git/config .git/hooks/pre-commit \
        .vscode/tasks.json sandbox.toml; ln -s .idea .idea; truncate -s 1T .profile";
    let made =
        [".bashrc", ".mcp.json", ".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", ".profile"];
    for caller in callers("special files") {
        let (place, said) = after(caller, script);
        for path in made {
            assert!(said.contains(path), "{path} by {caller:?}: {said}");
            assert!(!place.workspace().join(path).exists(), "{path} by {caller:?}: {said}");
        }
    }
}

#[test]
fn a_name_says_nothing_to_the_terminal() {
    let script =
        "git init --quiet .; printf '#!/bin/sh\\n' > \".git/hooks/$(printf 'pre-\\033]0;owned\\007push')\"";
    for caller in callers("names for a terminal") {
        let (_, said) = after(caller, script);
        assert!(said.contains("owned"), "by {caller:?}: {said}");
        let control = said.chars().find(|character| character.is_control() && *character != '\n');
        assert_eq!(control, None, "by {caller:?}: {said:?}");
    }
}

/// A place where a script has run inside, and what was said on standard error.
fn after(caller: crate::machine::Caller, script: &str) -> (Place, String) {
    let place = Place::new(caller);
    let Output { status, stderr, .. } = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "by {caller:?}, `{script}`: {said}");
    (place, said)
}

/// What its owner may not list, its owner cannot remove either, and the place has to go.
fn open_again(place: &Place) {
    assert!(place.outside(&["chmod", "-R", "u+rwX", "."]).status().unwrap().success());
}
