//! Which `sandbox.toml` decides: what an agent leaves nearer than the one that was in force does not take its place.

use std::fs;
use std::process::Output;

use crate::machine::callers;
use crate::place::Place;
use crate::{error, said};

/// The file of a project, in which people work in `app`.
const PROJECT: &str = "[shared_dirs]\nwork = { host = \".\", guest = \"/workspace\", hide = [\"secrets/\"] }\n[limits]\ntmp_size = \"1m\"\n";

/// What decides nothing but what is in none of its keys.
const NEARER: &str = "version = 1\n";

fn project(caller: crate::machine::Caller) -> Place {
    let place = Place::new(caller);
    place.write("workspace/sandbox.toml", PROJECT);
    place.write("workspace/.git/info/exclude", "");
    place.write("workspace/app/secrets/db", "KEY=1");
    place
}

/// Runs a script where people work.
fn in_app(place: &Place, flags: &[&str], script: &str) -> Output {
    let flags = [&["--quiet"], flags].concat();
    place.inside(&flags, &["sh", "-c", script]).current_dir(place.path("workspace/app")).output().unwrap()
}

fn trust(place: &Place) -> Output {
    let program = place.path("sandboxctl");
    let words = [program.as_os_str(), "trust".as_ref(), "--yes".as_ref()];
    place.outside(&words).current_dir(place.path("workspace/app")).output().unwrap()
}

const LOOK: &str = "cat secrets/db app/secrets/db 2>/dev/null; true";

#[test]
fn a_nearer_file_takes_the_place_of_one_that_was_in_force_only_with_its_owners_word() {
    for caller in callers("files in force") {
        let place = project(caller);
        place.write("workspace/app/sandbox.toml", NEARER);
        let output = in_app(&place, &[], LOOK);
        assert_eq!(
            said(&output),
            "KEY=1",
            "the control, where it was there first, by {caller:?}: {output:?}"
        );

        let place = project(caller);
        let output = in_app(&place, &[], LOOK);
        assert!(output.status.success() && said(&output).is_empty(), "by {caller:?}: {output:?}");
        let output = in_app(&place, &[], "printf 'version = 1\\n' >/workspace/app/sandbox.toml");
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        for _ in 0..2 {
            let output = in_app(&place, &[], LOOK);
            assert_eq!(output.status.code(), Some(2), "by {caller:?}: {output:?}");
            assert!(error(&output).contains("app/sandbox.toml would take the place of"), "{output:?}");
        }
        // Both ways that the error names.
        let output = in_app(&place, &["--config", "../sandbox.toml"], LOOK);
        assert!(output.status.success() && said(&output).is_empty(), "by {caller:?}: {output:?}");
        let output = trust(&place);
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        let output = in_app(&place, &[], LOOK);
        assert_eq!(said(&output), "KEY=1", "by {caller:?}: {output:?}");
    }
}

/// The file was in force by another path.
#[test]
fn a_file_that_was_in_force_stays_so_when_its_directory_is_moved() {
    for caller in callers("files in force that are moved") {
        let place = Place::new(caller);
        place.write("workspace/top/sandbox.toml", PROJECT);
        place.write("workspace/top/.git/info/exclude", "");
        place.write("workspace/top/app/secrets/db", "KEY=1");
        let inside = |directory: &str, script: &str| {
            let mut command = place.inside(&["--quiet"], &["sh", "-c", script]);
            command.current_dir(place.workspace().join(directory)).output().unwrap()
        };
        let output = inside("top/app", "printf 'version = 1\\n' >/workspace/app/sandbox.toml");
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        let act = |action: &str| {
            let mut command = place.outside(&["sh", "-c", action]);
            assert!(
                command.current_dir(place.workspace()).status().unwrap().success(),
                "{action} by {caller:?}"
            );
        };
        act("mkdir other; mv top other/moved; cp -r other/moved copied");
        let output = inside("other/moved/app", LOOK);
        assert_eq!(output.status.code(), Some(2), "by {caller:?}: {output:?}");
        assert!(
            error(&output).contains("app/sandbox.toml would take the place of"),
            "by {caller:?}: {output:?}"
        );
        // The control, and what the documentation says of it: a copy is another directory.
        let output = inside("copied/app", LOOK);
        assert_eq!(said(&output), "KEY=1", "by {caller:?}: {output:?}");
    }
}

/// Whoever works in the directory takes the file in it, whatever the path was when that was in force.
#[test]
fn a_file_that_was_in_force_cannot_be_changed_when_it_is_moved_with_a_directory_above() {
    const ATTACK: &str = "echo >>app/sandbox.toml; rm -f app/sandbox.toml; echo done";
    for caller in callers("files in force below a directory that is moved") {
        let place = Place::new(caller);
        place.write("workspace/top/app/sandbox.toml", NEARER);
        let inside = |directory: &str, script: &str| {
            let mut command = place.inside(&["--quiet"], &["sh", "-c", script]);
            command.current_dir(place.workspace().join(directory)).output().unwrap()
        };
        let in_place = || fs::read_to_string(place.path("workspace/moved/app/sandbox.toml")).ok();
        for is_noted in [false, true] {
            if is_noted {
                assert!(inside("top/app", "true").status.success(), "by {caller:?}");
            }
            fs::rename(place.path("workspace/top"), place.path("workspace/moved")).unwrap();
            let output = inside("moved", ATTACK);
            assert_eq!(said(&output), "done\n", "by {caller:?}: {output:?}");
            assert_eq!(in_place().is_some(), is_noted, "by {caller:?}: {output:?}");
            fs::rename(place.path("workspace/moved"), place.path("workspace/top")).unwrap();
            place.write("workspace/top/app/sandbox.toml", NEARER);
        }
    }
}

#[test]
fn a_new_repository_does_not_end_the_search_below_a_file_that_was_in_force() {
    for caller in callers("repositories below a file in force") {
        for attack in
            ["mkdir /workspace/app/.git", "touch /workspace/app/.git", "ln -s nothing /workspace/app/.git"]
        {
            let place = project(caller);
            let output = in_app(&place, &[], attack);
            assert!(output.status.success(), "{attack} by {caller:?}: {output:?}");
            if fs::symlink_metadata(place.path("workspace/app/.git")).is_err() {
                // It was quarantined, which is as good.
                continue;
            }
            let output = in_app(&place, &[], LOOK);
            assert_eq!(output.status.code(), Some(2), "{attack} by {caller:?}: {output:?}");
            assert!(error(&output).contains("is a repository of its own, in which"), "{output:?}");
            let output = trust(&place);
            assert!(error(&output).contains("none from above counts in it"), "by {caller:?}: {output:?}");
            let output = in_app(&place, &[], LOOK);
            assert_eq!(said(&output), "KEY=1", "{attack} by {caller:?}: {output:?}");
        }
        let place = project(caller);
        fs::remove_file(place.path("workspace/sandbox.toml")).unwrap();
        fs::create_dir(place.path("workspace/app/.git")).unwrap();
        let output = in_app(&place, &[], LOOK);
        assert_eq!(said(&output), "KEY=1", "the control, without a file, by {caller:?}: {output:?}");
    }
}

#[test]
fn a_file_that_was_in_force_cannot_be_changed_from_a_directory_above() {
    for caller in callers("files in force below a shared directory") {
        let place = project(caller);
        let attack = "echo >>app/sandbox.toml; rm -f app/sandbox.toml; mv app other; echo >>app/other.toml && echo done";
        place.write("workspace/app/sandbox.toml", NEARER);
        let from_above = |flags: &[&str]| {
            place.inside(&[&["--quiet"], flags].concat(), &["sh", "-c", attack]).output().unwrap()
        };
        let in_place = || fs::read_to_string(place.path("workspace/app/sandbox.toml")).ok();
        let output = from_above(&[]);
        assert!(in_place().is_none(), "the control, by {caller:?}: {output:?}");
        let _ = fs::rename(place.path("workspace/other"), place.path("workspace/app"));
        place.write("workspace/app/sandbox.toml", NEARER);
        assert!(trust(&place).status.success(), "by {caller:?}");
        let output = from_above(&[]);
        assert_eq!(said(&output), "done\n", "by {caller:?}: {output:?}");
        assert_eq!(in_place().as_deref(), Some(NEARER), "by {caller:?}: {output:?}");
    }
}

/// The next agent runs without the file that was named, which hides a key and names the file of a worker.
#[test]
fn a_file_that_was_named_cannot_be_changed_by_the_next_agent() {
    const SHARED: &str = "[shared_dirs]\nwork = { host = \"HERE\", guest = \"/workspace\", hide = [\"*.key\"] }\n[limits]\ntmp_size = \"1m\"\n";
    const WORKER: &str = "[shared_dirs]\n[agent]\ncommand = [\"true\"]\n";
    const NAMED: [&str; 4] = ["ci.toml", "ci/other.toml", "worker.toml", "ci/worker.toml"];
    for caller in callers("files that were named") {
        let place = Place::new(caller);
        for (file, here, worker) in [(NAMED[0], ".", NAMED[2]), (NAMED[1], "..", "worker.toml")] {
            let text = SHARED.replace("HERE", here) + &format!("[workers.w]\nconfig = {worker:?}\n");
            place.write(&format!("workspace/{file}"), &text);
        }
        for file in [NAMED[2], NAMED[3]] {
            place.write(&format!("workspace/{file}"), WORKER);
        }
        place.write("workspace/a.key", "SECRET");
        place.write("workspace/ci/unnamed.toml", WORKER);
        let run = |flags: &[&str], script: &str| {
            let flags = [&["--quiet"], flags].concat();
            place.inside(&flags, &["sh", "-c", script]).current_dir(place.workspace()).output().unwrap()
        };
        for file in [NAMED[0], NAMED[1]] {
            let output = run(&["--trust", "--config", file], "cat a.key; true");
            assert!(output.status.success() && said(&output).is_empty(), "{file} by {caller:?}: {output:?}");
        }
        let attack = "for file in *.toml ci/*.toml; do printf 'version = 1\\n' >$file; done; cat a.key";
        let output = run(&[], attack);
        assert_eq!(said(&output), "SECRET", "without the file, by {caller:?}: {output:?}");
        let content = |file: &str| fs::read_to_string(place.path(&format!("workspace/{file}"))).unwrap();
        assert_eq!(content("ci/unnamed.toml"), NEARER, "the control, by {caller:?}: {output:?}");
        for file in NAMED {
            assert_ne!(content(file), NEARER, "{file} by {caller:?}: {output:?}");
        }
    }
}

/// The user shares a directory read-only and without its keys; a project in it says otherwise.
#[test]
fn a_projects_file_is_no_wider_than_what_the_user_shares() {
    const HIDDEN: &str = "cat /code/a.key 2>/dev/null; touch /code/made 2>/dev/null; true";
    for caller in callers("directories of the user's own") {
        let place = Place::new(caller);
        let code = place.workspace().display().to_string();
        place.configure(&format!(
            "[shared_dirs.code]\nhost = {code:?}\nguest = \"/code\"\nmode = \"ro\"\nhide = [\"*.key\"]\n"
        ));
        place.write("workspace/a.key", "SECRET");
        let run = |flags: &[&str]| {
            let flags = [&["--quiet"], flags].concat();
            place.inside(&flags, &["sh", "-c", HIDDEN]).current_dir(place.workspace()).output().unwrap()
        };
        let output = run(&[]);
        assert!(
            output.status.success() && said(&output).is_empty(),
            "the control, by {caller:?}: {output:?}"
        );

        for (table, keys) in [
            (
                "[shared_dirs.code]\nhost = \".\"\nguest = \"/code\"\n",
                ["shared_dirs.code.mode", "shared_dirs.code.hide"],
            ),
            (
                "[shared_dirs.code]\nhost = \".\"\nguest = \"/code\"\nmode = \"ro\"\n",
                ["shared_dirs.code.hide"; 2],
            ),
        ] {
            place.write("workspace/sandbox.toml", table);
            let output = run(&[]);
            assert!(!output.status.success() && said(&output).is_empty(), "by {caller:?}: {output:?}");
            for key in keys {
                assert!(error(&output).contains(key), "{key}, by {caller:?}: {output:?}");
            }
            assert_eq!(said(&run(&["--trust"])), "SECRET", "with trust, by {caller:?}");
        }
        fs::remove_file(place.workspace().join("made")).unwrap();
    }
}

/// The user has chosen who runs agents, and that no image is fetched for one.
#[test]
fn a_project_chooses_no_other_provider_than_the_users_own() {
    for caller in callers("a provider of the user's own") {
        let place = Place::new(caller);
        place.configure("provider = \"native\"\n[container]\npull = \"never\"\n");
        let run = |flags: &[&str], project: &str| {
            place.write("workspace/sandbox.toml", project);
            let flags = [&["--quiet"], flags].concat();
            place.inside(&flags, &["true"]).current_dir(place.workspace()).output().unwrap()
        };
        let output = run(&[], "provider = \"native\"\n[container]\npull = \"never\"\n");
        assert!(output.status.success(), "the control, by {caller:?}: {output:?}");
        for (project, key, what) in [
            ("provider = \"docker\"\n", "provider", "run by docker, where your own settings say native"),
            ("provider = \"auto\"\n", "provider", "run by auto, where your own settings say native"),
            ("[container]\npull = \"always\"\n", "container.pull", "lets the engine fetch images"),
        ] {
            let output = run(&[], project);
            assert_eq!(output.status.code(), Some(2), "{project} by {caller:?}: {output:?}");
            assert!(error(&output).contains(key) && error(&output).contains(what), "{project}: {output:?}");
        }
        let output = run(&["--trust"], "[container]\npull = \"always\"\n");
        assert!(output.status.success(), "with trust, by {caller:?}: {output:?}");
    }
}
