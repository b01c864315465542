//! Hidden files of persistent sandboxes: what a program of the host replaces has no cover any more, and nothing is begun then.

use std::fs;

use serde_json::Value;

use crate::machine::Caller;
use crate::place::Place;
use crate::{Staying, callers, error_code, everywhere, name, ours, said};

/// Replaces a file as editors do when they save.
fn save(place: &Place, path: &str) {
    place.write("workspace/saved", "KEY=new\n");
    fs::rename(place.workspace().join("saved"), place.workspace().join(path)).unwrap();
}

#[test]
fn nothing_begins_in_one_that_shows_what_it_hid_until_it_is_made_again() {
    for (caller, runner) in everywhere("replaced hidden files") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/sub/.env", "KEY=1\n");
        place.write("workspace/other", "");
        let sandbox = Staying::create(&place, &["--hide", ".env"]);
        let read = ["sh", "-c", "cat sub/.env"];
        assert_eq!(sandbox.prints(&read), "", "{who}");
        // What is not hidden may be replaced, and what is written in its place keeps its cover.
        save(&place, "other");
        place.write("workspace/sub/.env", "KEY=2\n");
        assert_eq!(sandbox.prints(&read), "", "{who}");

        save(&place, "sub/.env");
        let name = name(&place);
        let copy = format!("{name}:/workspace/sub/.env");
        let json = ["--format", "json"];
        for words in [
            &[&["exec"], &json[..], &[&name, "--"], &read].concat()[..],
            &[&["exec", "--detach"], &json[..], &[&name, "--"], &read].concat(),
            &[&["cp"], &json[..], &[&copy, "copied"]].concat(),
            &[&["fs", "list"], &json[..], &[&name, "."]].concat(),
        ] {
            let output = ours(&place, words).output().unwrap();
            assert_eq!(output.status.code(), Some(75), "{words:?} {who}: {output:?}");
            assert_eq!(error_code(&output), "sandbox.shown", "{words:?} {who}");
            let object: Value = serde_json::from_slice(&output.stdout).unwrap();
            let error = &object["error"];
            assert!(error["message"].as_str().unwrap().contains("/workspace/sub/.env"), "{who}: {error}");
            assert!(error["hint"].as_str().unwrap().contains("start"), "{who}: {error}");
        }
        assert!(!place.workspace().join("copied").exists(), "{who}");

        let output = ours(&place, &["stop", &name]).output().unwrap();
        said(&output);
        let warned = String::from_utf8_lossy(&output.stderr);
        assert!(warned.contains("does not hide /workspace/sub/.env any more"), "{who}: {warned}");
        said(&ours(&place, &["start", &name]).output().unwrap());
        assert_eq!(sandbox.prints(&["sh", "-c", "cat sub/.env; echo done"]), "done\n", "{who}");
    }
}

#[test]
fn one_that_is_to_run_on_says_what_it_shows() {
    for caller in callers("replaced hidden files that are warned of") {
        let place = Place::new(caller);
        place.write("workspace/.env", "KEY=1\n");
        place.configure("[protect]\nhide = [\".env\"]\non_replaced = \"warn\"\n");
        let sandbox = Staying::create(&place, &[]);
        save(&place, ".env");
        let output = sandbox.exec(&[], &["cat", ".env"]).output().unwrap();
        assert_eq!(said(&output), "KEY=new\n", "by {caller:?}");
        let warned = String::from_utf8_lossy(&output.stderr);
        assert!(warned.contains("is not hidden inside any more"), "by {caller:?}: {warned}");
    }
}

/// An agent that is quick has read it while it was removed, or what was there in between.
#[test]
fn what_was_hidden_and_is_removed_counts_as_shown() {
    for caller in callers("hidden files of persistent sandboxes that are removed") {
        for action in ["rm sub/.env", "rm -r sub", "rm -r .sandboxctl-quarantine", "chmod 000 sub"] {
            let case = format!("{action}, by {caller:?}");
            let place = Place::new(caller);
            place.write("workspace/sub/.env", "KEY=1\n");
            place.write("workspace/.sandboxctl-quarantine/17-0/dot-env", "KEY=2\n");
            let sandbox = Staying::create(&place, &["--hide", ".env"]);
            assert_eq!(sandbox.prints(&["sh", "-c", "find . -type f -exec cat {} +"]), "", "{case}");
            let done = place.outside(&["sh", "-c", action]).current_dir(place.workspace()).status().unwrap();
            assert!(done.success(), "{case}");
            let output = sandbox.exec(&["--format", "json"], &["true"]).output().unwrap();
            if action.starts_with("chmod") && caller == Caller::Root {
                // The control: root can look, and it is hidden still.
                assert!(output.status.success(), "{case}: {output:?}");
                continue;
            }
            let _ = place.outside(&["chmod", "755", "sub"]).output().unwrap();
            assert_eq!(error_code(&output), "sandbox.shown", "{case}: {output:?}");
        }
    }
}

#[test]
fn what_lies_elsewhere_than_it_was_hidden_is_shown() {
    for caller in callers("hidden files of persistent sandboxes that are moved") {
        for action in ["mv sub sub2", "mv sub/.env .", "mv sub sub2; mkdir sub; mv sub2/.env sub"] {
            let case = format!("{action}, by {caller:?}");
            let place = Place::new(caller);
            place.write("workspace/sub/.env", "KEY=1\n");
            let sandbox = Staying::create(&place, &["--hide", ".env"]);
            assert_eq!(sandbox.prints(&["echo", "the control"]), "the control\n", "{case}");
            let done = place.outside(&["sh", "-c", action]).current_dir(place.workspace()).status().unwrap();
            assert!(done.success(), "{case}");
            let output = sandbox.exec(&["--format", "json"], &["true"]).output().unwrap();
            assert_eq!(error_code(&output), "sandbox.shown", "{case}: {output:?}");
        }
        let place = Place::new(caller);
        place.write("workspace/.env", "KEY=1\n");
        let sandbox = Staying::create(&place, &["--hide", ".env"]);
        let [here, elsewhere] = ["workspace", "elsewhere"].map(|name| place.path(name));
        fs::rename(&here, &elsewhere).unwrap();
        let output = sandbox.exec(&["--format", "json"], &["true"]).current_dir(&elsewhere).output().unwrap();
        fs::rename(&elsewhere, &here).unwrap();
        assert_eq!(error_code(&output), "sandbox.shown", "by {caller:?}: {output:?}");
        assert_eq!(sandbox.prints(&["echo", "again"]), "again\n", "by {caller:?}");
    }
}
