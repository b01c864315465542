//! What is the agent's in the end, and what was there: old files that it moved, and files of the owner's that it makes
//! protected.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::time::{ClockId, clock_gettime};

use crate::machine::{Caller, callers};
use crate::place::Place;

/// A repository of the owner's with scripts in it, from long enough ago for the clock of the file system.
fn project(caller: Caller) -> Place {
    let place = Place::new(caller);
    place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
    place.write("workspace/.git/config", "[core]\n\tbare = false\n");
    for directory in [".git/objects", ".git/refs", "modules/x/objects", "modules/x/refs"] {
        place.write(&format!("workspace/{directory}/keep"), "");
    }
    for script in ["scripts/x", "scripts/y", "pkg/.envrc", "src/hooks/useX.ts", "lib/keep"] {
        place.write(&format!("workspace/{script}"), "echo mine\n");
    }
    let last = fs::metadata(place.write("workspace/last", "")).unwrap();
    let now = || clock_gettime(ClockId::RealtimeCoarse);
    while (now().tv_sec, now().tv_nsec) <= (last.ctime(), last.ctime_nsec()) {}
    place
}

/// What a script leaves, and what is said of it.
fn after(caller: Caller, script: &str) -> (Place, String) {
    let place = project(caller);
    let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "by {caller:?}, `{script}`: {said}");
    (place, said)
}

#[test]
fn an_old_file_that_comes_to_a_protected_path_is_quarantined() {
    for caller in callers("old files at protected paths") {
        for (script, moved, stays) in [
            ("mkdir .git/hooks; mv scripts/x .git/hooks/pre-commit", ".git/hooks/pre-commit", "scripts/y"),
            ("echo evil > scripts/x; mv scripts/x .bashrc", ".bashrc", "scripts/y"),
            ("ln scripts/x .envrc", ".envrc", "scripts/x"),
            ("mv scripts .husky", ".husky/x", "src/hooks/useX.ts"),
            ("git init -q n; git -C n config core.hooksPath ../scripts", "n/.git/config", "scripts/x"),
        ] {
            let (place, said) = after(caller, script);
            assert!(!place.workspace().join(moved).exists(), "by {caller:?}, `{script}`: {said}");
            assert!(said.contains(moved), "by {caller:?}, `{script}`: {said}");
            assert!(place.workspace().join(stays).exists(), "by {caller:?}, `{script}`: {said}");
        }
    }
}

#[test]
fn what_the_owner_has_in_a_directory_that_becomes_a_repository_stays() {
    let bare = "cd src; mkdir objects refs; echo ref: refs/heads/main > HEAD";
    for caller in callers("new repositories around old files") {
        let (place, said) = after(caller, "git init -q pkg");
        assert_eq!(said, "", "by {caller:?}");
        assert!(place.workspace().join("pkg/.envrc").exists() && place.workspace().join("pkg/.git").exists());
        let (place, said) = after(caller, bare);
        assert!(place.workspace().join("src/hooks/useX.ts").exists(), "by {caller:?}: {said}");
        assert!(!place.workspace().join("src/HEAD").exists(), "by {caller:?}: {said}");
        assert!(said.contains("makes a program obey src/hooks/useX.ts"), "by {caller:?}: {said}");
    }
}

#[test]
fn a_directory_of_the_owners_that_was_closed_is_opened_and_looked_through() {
    for caller in callers("closed directories of the owner's") {
        let script = "mkdir -p lib/.git/hooks && echo evil > lib/.git/hooks/pre-commit && chmod 311 lib";
        let (place, said) = after(caller, script);
        let lib = place.workspace().join("lib");
        fs::set_permissions(&lib, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(lib.join("keep").exists(), "by {caller:?}: {said}");
        assert!(!lib.join(".git/hooks/pre-commit").exists(), "by {caller:?}: {said}");
        assert!(said.contains("lib/.git/hooks/pre-commit"), "by {caller:?}: {said}");
    }
}

#[test]
fn the_name_of_what_was_quarantined_hides_nothing_from_programs_that_take_every_name() {
    let script = "mkdir .husky .git/hooks; echo evil > .husky/x.sandboxctl-quarantine; \
                  echo evil > .git/hooks/pre-push.sandboxctl-quarantine-1";
    for caller in callers("names of the quarantine") {
        let (place, said) = after(caller, script);
        assert!(!place.workspace().join(".husky/x.sandboxctl-quarantine").exists(), "by {caller:?}: {said}");
        let inert = place.workspace().join(".git/hooks/pre-push.sandboxctl-quarantine-1");
        assert!(inert.exists(), "git runs none of this name, by {caller:?}: {said}");
    }
}

/// `mise` is read-only as a whole because of the link, and `conf` is on the way to what `[protect] paths` names.
#[test]
fn an_agent_that_only_takes_links_away_costs_the_owner_nothing() {
    for caller in callers("links that are taken away") {
        for (script, evil) in [
            ("rm .mise", "mise/config.toml"),
            ("rm conf", "real/d.sh"),
            ("rm conf; mkdir conf; echo evil >conf/d.sh", "real/d.sh"),
            ("rm conf .mise; mkdir conf old; echo evil >old/d.sh; mv old/d.sh conf", "real/d.sh"),
        ] {
            let place = project(caller);
            place.write("workspace/mise/config.toml", "[env]\nA = \"1\"\n[hooks]\nenter = \"mine\"\n");
            place.write("workspace/real/d.sh", "echo mine\n");
            place.write("home/.config/sandboxctl/sandbox.toml", "[protect]\npaths = [\"deploy.sh\"]\n");
            for (target, link) in [("mise", ".mise"), ("real", "conf"), ("conf/d.sh", "deploy.sh")] {
                std::os::unix::fs::symlink(target, place.workspace().join(link)).unwrap();
            }
            let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                said.contains("what was there at the start was put back"),
                "by {caller:?}, `{script}`: {said}"
            );
            assert!(place.workspace().join(evil).exists(), "by {caller:?}, `{script}`: {said}");
            let text = |path: &str| fs::read_to_string(place.workspace().join(path)).unwrap();
            assert_eq!(text("deploy.sh"), "echo mine\n", "by {caller:?}, `{script}`: {said}");
            assert!(text(".mise/config.toml").contains("mine"), "by {caller:?}, `{script}`: {said}");
        }
    }
}
