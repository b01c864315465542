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
                // It was moved aside, which is as good.
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
