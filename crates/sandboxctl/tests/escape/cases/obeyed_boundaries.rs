//! A shared directory that is itself what programs outside obey: hooks of the enclosing repository, whose next commit
//! would run what the agent writes there.

use std::process::Stdio;

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

const HOOK: &str = "printf '#!/bin/sh\\ntouch owned\\n' > /x/pre-commit && chmod +x /x/pre-commit";

fn repository(place: &Place) {
    for words in [
        &["git", "init", "-q"][..],
        &["git", "config", "user.name", "me"],
        &["git", "config", "user.email", "me@example.org"],
    ] {
        assert!(place.outside(words).status().unwrap().success(), "{words:?}");
    }
    std::os::unix::fs::symlink(".git/hooks", place.workspace().join("link")).unwrap();
}

fn commits(place: &Place) -> bool {
    let commit = ["git", "commit", "-q", "--allow-empty", "-m", "x"];
    place.outside(&commit).stdout(Stdio::null()).status().unwrap();
    place.workspace().join("owned").exists()
}

#[test]
fn hooks_are_not_shared_for_writing_without_a_word_and_never_in_silence() {
    for caller in callers("boundaries that are obeyed") {
        for host in ["./.git/hooks", "./link", "./.git"] {
            let place = Place::new(caller);
            repository(&place);
            let config = format!("[shared_dirs]\nx = {{ host = \"{host}\", guest = \"/x\" }}\n");
            place.write("workspace/sandbox.toml", &config);
            let hook = if host == "./.git" { HOOK.replace("/x/", "/x/hooks/") } else { HOOK.to_owned() };
            let run = |flags: &[&str]| place.inside(flags, &["sh", "-c", &hook]).output().unwrap();
            let refused = run(&[]);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(2), "by {caller:?}, {host}: {said}");
            assert!(said.contains("which programs outside obey"), "by {caller:?}, {host}: {said}");
            assert!(!commits(&place), "by {caller:?}, {host}");
            if host == "./.git" {
                continue;
            }

            // The control: with trust the hook is there, and the owner knows it.
            let trusted = run(&["--trust", "--format", "json"]);
            let answer: Value = serde_json::from_slice(&trusted.stdout).unwrap();
            assert!(answer.to_string().contains("`.git/hooks` of "), "by {caller:?}, {host}: {answer}");
            let report = answer["report"].to_string();
            assert!(report.contains("where programs outside obey what is written"), "{report}");
            let said = place.inside(&["--trust"], &["true"]).output().unwrap().stderr;
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(said.contains("warning: ") && said.contains("`.git/hooks` of "), "{said}");
            assert!(commits(&place), "the control, by {caller:?}, {host}");
        }
    }
}
