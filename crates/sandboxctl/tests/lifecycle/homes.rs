//! Persistent home directories: what is left in one is there for the next sandbox that has it, and for no other.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// Every caller with every provider that it has here.
fn everywhere(test: &str) -> impl Iterator<Item = (Caller, Runner)> {
    let all = callers(test).into_iter();
    all.flat_map(move |caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)))
}

fn run(place: &Place, flags: &[&str], script: &str) -> Output {
    place.inside(flags, &["sh", "-c", script]).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Calls `sandboxctl` with these words.
fn call(place: &Place, words: &[&str]) -> Output {
    let program = place.path("sandboxctl");
    let words: Vec<_> = std::iter::once(program.to_str().unwrap()).chain(words.iter().copied()).collect();
    place.outside(&words).output().unwrap()
}

#[test]
fn what_is_left_in_one_is_there_for_the_next_that_names_it_and_for_no_other() {
    for (caller, runner) in everywhere("persistent home directories") {
        let place = Place::on(caller, runner);
        let whose = format!("in {runner:?} by {caller:?}");
        // What an agent keeps there is what programs outside obey in a shared directory.
        let script = "mkdir -p ~/.claude ~/.ssh ~/bin && echo login >~/.claude/settings.json && echo mine >~/.bashrc &&
            printf '#!/bin/sh\\necho tool' >~/bin/tool && chmod +x ~/bin/tool && ln -s /etc/passwd ~/link && id -un";
        let made = run(&place, &["--home", "ours"], script);
        assert_eq!(stdout(&made), "agent\n", "{whose}: {}", stderr(&made));
        let said = stderr(&made);
        assert!(!said.contains("has made") && !said.contains("layer protect"), "{whose}: {said}");
        let script = "cat ~/.claude/settings.json ~/.bashrc && ~/bin/tool && echo more >>~/.claude/settings.json && pwd";
        let again = run(&place, &["--home", "ours"], script);
        assert_eq!(stdout(&again), "login\nmine\ntool\n/workspace\n", "{whose}: {}", stderr(&again));
        for flags in [&["--home", "other"][..], &[]] {
            let other = run(&place, flags, "ls -A ~");
            assert_eq!(stdout(&other), "", "{flags:?} {whose}: {}", stderr(&other));
        }
        // The caller's own home has none of it.
        assert!(!place.home().join(".claude").exists());
    }
}

#[test]
fn a_project_has_a_home_directory_of_its_own() {
    for (caller, runner) in everywhere("home directories of projects") {
        let place = Place::on(caller, runner);
        let whose = format!("in {runner:?} by {caller:?}");
        place.write("workspace/sandbox.toml", "home.keep = true\n");
        place.write("workspace/sub/x", "");
        place.write("elsewhere/sandbox.toml", "home.keep = true\n");
        let refused = run(&place, &[], "true");
        assert!(stderr(&refused).contains("home.keep keeps what the agent leaves"), "{}", stderr(&refused));
        let made = run(&place, &["--trust"], "echo kept >~/x");
        assert!(made.status.success(), "{whose}: {}", stderr(&made));
        let mut below = place.inside(&["--trust"], &["sh", "-c", "cat ~/x"]);
        let below = below.current_dir(place.path("workspace/sub")).output().unwrap();
        assert_eq!(stdout(&below), "kept\n", "{whose}: {}", stderr(&below));
        let mut other = place.inside(&["--trust"], &["sh", "-c", "ls -A ~"]);
        let other = other.current_dir(place.path("elsewhere")).output().unwrap();
        assert_eq!(stdout(&other), "", "{whose}: {}", stderr(&other));
        assert!(other.status.success(), "{whose}: {}", stderr(&other));
        let listed = stdout(&call(&place, &["home", "ls"]));
        let workspace = place.workspace();
        assert!(listed.contains(workspace.to_str().unwrap()), "{whose}: {listed}");
    }
}

#[test]
fn a_directory_can_be_shared_within_one_unless_the_agent_has_left_a_link_there() {
    for (caller, runner) in everywhere("directories in home directories") {
        let place = Place::on(caller, runner);
        let whose = format!("in {runner:?} by {caller:?}");
        place.write("shared/file", "shared\n");
        place.write("outside/file", "");
        let volume = format!("{}:/home/agent/a/b", place.path("shared").display());
        let flags = ["--home", "ours", "-v", &volume, "-v", ".:/workspace"];
        let shared = run(&place, &flags, "cat ~/a/b/file && touch ~/a/own");
        assert_eq!(stdout(&shared), "shared\n", "{whose}: {}", stderr(&shared));
        let target = place.path("outside");
        let linked = run(
            &place,
            &["--home", "ours"],
            &format!("ls -A ~/a/b && rm -r ~/a && ln -s {} ~/a", target.display()),
        );
        assert!(linked.status.success() && stdout(&linked).is_empty(), "{whose}: {}", stderr(&linked));
        let refused = run(&place, &flags, "true");
        let said = stderr(&refused);
        assert!(said.contains("a/b in home directory \"ours\" is no directory"), "{whose}: {said}");
        assert!(!target.join("b").exists(), "{whose}");
    }
}

#[test]
fn one_that_a_sandbox_has_is_listed_as_such_and_neither_removed_nor_copied() {
    for (caller, runner) in everywhere("removing home directories") {
        let place = Place::on(caller, runner);
        let whose = format!("in {runner:?} by {caller:?}");
        let mut living = place
            .inside(
                &["--home", "ours"],
                &["sh", "-c", "echo kept >~/file; mkdir ~/closed; chmod 0 ~/closed; echo; cat"],
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        BufReader::new(living.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let listed = stdout(&call(&place, &["home", "ls"]));
        assert!(listed.contains("in use"), "{whose}: {listed}");
        for words in [&["home", "rm", "ours"][..], &["home", "export", "ours"]] {
            let refused = call(&place, words);
            assert_eq!(
                (refused.status.code(), stderr(&refused).lines().next().unwrap()),
                (Some(125), "error: home directory \"ours\" is in use"),
                "{whose}"
            );
        }
        drop(living.stdin.take());
        assert!(living.wait().unwrap().success(), "{whose}");

        let json = stdout(&call(&place, &["home", "ls", "--format", "json"]));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["homes"][0]["name"], &json["homes"][0]["in_use"]), (&"ours".into(), &false.into()));
        if caller == Caller::Root {
            // A normal user cannot read what its mode closes, and is told.
            let archive = call(&place, &["home", "export", "ours", "-o", "ours.tar"]);
            assert!(archive.status.success(), "{}", stderr(&archive));
            let names = place.outside(&["tar", "tf", "ours.tar"]).output().unwrap();
            assert!(stdout(&names).lines().any(|name| name == "file"), "{whose}: {names:?}");
            let again = call(&place, &["home", "export", "ours", "-o", "ours.tar"]);
            assert!(stderr(&again).contains("exists"), "an archive is never overwritten: {}", stderr(&again));
        }
        let removed = call(&place, &["home", "rm", "ours"]);
        assert!(removed.status.success(), "{whose}: {}", stderr(&removed));
        assert_eq!(fs::read_dir(place.home().join(".local/state/sandboxctl/homes")).unwrap().count(), 0);
        let gone = call(&place, &["home", "rm", "ours"]);
        assert!(stderr(&gone).contains("there is no home directory \"ours\""), "{whose}: {}", stderr(&gone));
    }
}

#[test]
fn one_that_cannot_be_had_is_refused() {
    let Some(caller) = callers("home directories that are refused").into_iter().next() else { return };
    let place = Place::new(caller);
    let shared = run(&place, &["--home", "ours", "-v", ".:/home/agent"], "true");
    assert!(stderr(&shared).contains("is already at /home/agent"), "{}", stderr(&shared));
    let local = place
        .inside(&["--home", "ours", "--provider", "local"], &["true"])
        .env("SANDBOXCTL_REQUIRE_OS_SANDBOX", "false")
        .output()
        .unwrap();
    assert!(stderr(&local).contains("the provider \"local\" isolates nothing"), "{}", stderr(&local));
    let named = run(&place, &["--home", "../x"], "true");
    assert!(stderr(&named).contains("\"../x\" cannot be a name"), "{}", stderr(&named));
    // A plan makes nothing.
    let planned = call(&place, &["plan", "--home", "ours"]);
    assert!(stdout(&planned).contains("home        \"ours\""), "{planned:?}");
    assert!(!place.home().join(".local/state/sandboxctl/homes/ours").exists());
}
