//! What protects a boundary after the run that shared it: records, the quarantine, and what is put back.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use rustix::process::Signal;

use crate::elsewhere::MemoryMount;
use crate::machine::{Caller, Feature, callers, is_there};
use crate::place::Place;
use crate::{ready, traces};

const NO_FLAGS: [&str; 0] = [];

/// A command in a sandbox that waits before it acts: `ready` is what it says then.
pub(super) fn waiting(place: &Place, flags: &[&str], script: &str) -> Child {
    let script = format!("echo ready; read -r go; {script}");
    ready::start(&mut place.inside(flags, &["sh", "-c", &script]))
}

pub(super) fn go_on(client: &mut Child) {
    client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
}

fn killed(mut client: Child) {
    traces::kill(client.id(), Signal::KILL);
    client.wait().unwrap();
}

pub(super) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn next(place: &Place, flags: &[&str]) -> String {
    let output = place.inside(flags, &["true"]).output().unwrap();
    assert!(output.status.success(), "by {:?}: {}", place.caller, said(&output));
    said(&output)
}

fn runs(place: &Place) -> PathBuf {
    place.home().join(".local/state/sandboxctl/runs")
}

/// Everything beneath the quarantine of a directory.
fn quarantined(workspace: &Path) -> Vec<String> {
    let output = Command::new("find").arg(workspace.join(".sandboxctl-quarantine")).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_link_that_was_protected_is_put_back() {
    for caller in callers("links that are replaced") {
        for (attack, leaves_something) in [
            ("rm .mcp.json; echo '{}' > .mcp.json", true),
            ("ln -sf other .mcp.json", true),
            ("rm .mcp.json", false),
            // The control: a link that stays is not touched.
            ("true", false),
        ] {
            let place = Place::new(caller);
            place.write("workspace/mine", "{}");
            symlink("mine", place.workspace().join(".mcp.json")).unwrap();
            let output = place.inside(&NO_FLAGS, &["sh", "-c", attack]).output().unwrap();
            let said = said(&output);
            let link = fs::read_link(place.workspace().join(".mcp.json"));
            assert_eq!(link.unwrap(), Path::new("mine"), "{attack} by {caller:?}: {said}");
            assert_eq!(said.contains("put back"), attack != "true", "{attack} by {caller:?}: {said}");
            let found = quarantined(&place.workspace());
            let is_there = found.iter().any(|path| path.ends_with("/dot-mcp.json"));
            assert_eq!(is_there, leaves_something, "{attack} by {caller:?}: {found:?}");
        }
    }
}

#[test]
fn a_killed_run_is_looked_through_by_its_own_rules() {
    for caller in callers("rules of killed runs") {
        for (rules, is_found) in [("[protect]\ndepth = 6\n", true), ("", false)] {
            let place = Place::new(caller);
            place.write("home/.config/sandboxctl/sandbox.toml", rules);
            // git's own data is searched at every depth in the end, and a work tree is not.
            let script = "mkdir -p a/b/c/d/e/.git; echo evil > a/b/c/d/e/.bashrc; \
                          echo made; exec sleep 1000";
            let mut client = waiting(&place, &[], script);
            go_on(&mut client);
            assert_eq!(ready::next_line(&mut client), "made\n");
            killed(client);
            place.write("home/.config/sandboxctl/sandbox.toml", "");
            let said = next(&place, &[]);
            let start_up = place.workspace().join("a/b/c/d/e/.bashrc");
            assert_eq!(start_up.exists(), !is_found, "by {caller:?}, {rules:?}: {said}");
        }
    }
}

#[test]
fn a_boundary_that_was_renamed_is_looked_through_where_it_is() {
    for caller in callers("boundaries that are renamed") {
        for kills in [false, true] {
            let place = Place::new(caller);
            place.write("shared/file", "");
            let shared = place.path("shared");
            let volume = format!("{}:/shared", shared.display());
            let mut client =
                waiting(&place, &["-v", &volume], "echo evil > /shared/.bashrc; echo made; read -r end");
            go_on(&mut client);
            assert_eq!(ready::next_line(&mut client), "made\n");
            fs::rename(&shared, place.path("renamed")).unwrap();
            // Whatever is at the old place is not what was shared.
            place.write("shared/.bashrc", "mine");
            let said = if kills {
                killed(client);
                next(&place, &[])
            } else {
                go_on(&mut client);
                said(&client.wait_with_output().unwrap())
            };
            assert!(!place.path("renamed/.bashrc").exists(), "by {caller:?}, killed {kills}: {said}");
            assert!(shared.join(".bashrc").exists(), "the control, by {caller:?}: {said}");
            assert!(said.contains(".bashrc"), "by {caller:?}: {said}");
        }
    }
}

#[test]
fn a_boundary_that_cannot_be_found_is_said_to_be_unguarded() {
    for caller in callers("boundaries that are gone") {
        let place = Place::new(caller);
        place.write("shared/file", "");
        let volume = format!("{}:/shared", place.path("shared").display());
        killed(waiting(&place, &["-v", &volume], "true"));
        place.write("elsewhere/file", "");
        fs::rename(place.path("shared"), place.path("elsewhere/shared")).unwrap();
        let first = next(&place, &[]);
        assert!(first.contains("nothing guards it"), "by {caller:?}: {first}");
        assert_eq!(next(&place, &[]), "", "by {caller:?}");
    }
}

#[test]
fn a_record_that_cannot_be_read_is_said_until_somebody_has_looked() {
    for caller in callers("records that cannot be read") {
        for torn in [false, true] {
            let place = Place::new(caller);
            let client = waiting(&place, &[], "true");
            let record = fs::read_dir(runs(&place)).unwrap().next().unwrap().unwrap().path();
            let name = record.file_name().unwrap().to_owned();
            let text = fs::read_to_string(&record).unwrap();
            let other =
                if torn { text[..40].to_owned() } else { text.replacen("\"version\":", "\"version\":9", 1) };
            // While its client lives nobody touches it.
            fs::write(&record, other).unwrap();
            let beside = next(&place, &[]);
            assert!(beside.contains("protect is partly enforced"), "by {caller:?}: {beside}");
            assert!(beside.contains("stop it"), "by {caller:?}, the client lives: {beside}");
            assert!(record.exists(), "by {caller:?}");
            killed(client);
            for _ in 0..2 {
                let output = place.inside(&["--report"], &["true"]).output().unwrap();
                let said = said(&output);
                assert!(output.status.success(), "by {caller:?}: {said}");
                assert!(said.contains("cannot be used") && said.contains("review "), "by {caller:?}: {said}");
                let protect = said.lines().find(|line| line.starts_with("protect ")).unwrap();
                assert!(protect.contains("partly"), "by {caller:?}: {protect}");
            }
            let aside = runs(&place).join("unread").join(&name);
            fs::remove_file(aside).unwrap();
            assert_eq!(next(&place, &[]), "", "by {caller:?}: somebody has looked");
        }
    }
}

#[test]
fn an_odd_entry_among_the_records_keeps_no_run_from_starting() {
    for caller in callers("odd records") {
        let place = Place::new(caller);
        next(&place, &[]);
        place.write("home/.local/state/sandboxctl/runs/directory.json/file", "");
        place.write("home/.local/state/sandboxctl/runs/0123456789abcdef.json/file", "");
        let odd = place.write("home/.local/state/sandboxctl/runs/0123456789abcdee.json", "{}");
        fs::set_permissions(odd, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        let said = next(&place, &[]);
        assert!(said.contains("cannot be used"), "by {caller:?}: {said}");
    }
}

#[test]
fn a_run_in_another_time_keeps_its_record() {
    if !is_there(Feature::Root, "a time namespace") {
        return;
    }
    let place = Place::new(Caller::Root);
    let client = waiting(&place, &[], "true");
    let start = ["unshare", "--time", "--boottime", "100000", "--fork"];
    let words = start.into_iter().map(Into::into).chain(place.run(&["--quiet"], &["true"]));
    let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_dir(runs(&place)).unwrap().count(), 1, "the record of the one that lives");
    killed(client);
    next(&place, &[]);
    assert_eq!(fs::read_dir(runs(&place)).unwrap().count(), 0, "the control");
}

/// Uses up the numbers of files, but for those of the hook and what it lies in.
const USES_UP: &str = r"
mkdir -p n && cd n && git init -q . && echo evil > .git/hooks/pre-commit; cd ..
i=0; while : > fill-$i; do i=$((i+1)); done 2>/dev/null; true
";

#[test]
fn what_cannot_be_moved_for_want_of_files_is_made_inert_where_it_is() {
    if !is_there(Feature::Root, "a file system of its own") {
        return;
    }
    for caller in callers("inodes that are used up") {
        let place = Place::new(caller);
        let small = MemoryMount::at(&place, "nr_inodes=200");
        let volume = format!("{}:/small", small.path().display());
        let script = format!("cd /small; {USES_UP}");
        let output = place.inside(&["-v", &volume], &["sh", "-c", &script]).output().unwrap();
        let told = said(&output);
        assert!(small.path().join("fill-0").exists(), "the control, by {caller:?}: {told}");
        assert!(fs::write(small.path().join("one-more"), "").is_err(), "the control, by {caller:?}: {told}");
        let hooks = small.path().join("n/.git/hooks");
        assert!(!hooks.join("pre-commit").exists(), "by {caller:?}: {told}");
        assert!(hooks.join("pre-commit.sandboxctl-quarantine").exists(), "by {caller:?}: {told}");
        assert!(told.contains("pre-commit.sandboxctl-quarantine"), "by {caller:?}: {told}");
        // And nobody finds it again.
        let told = next(&place, &["-v", &volume]);
        assert!(!told.contains("pre-commit"), "by {caller:?}: {told}");
    }
}

#[test]
fn what_cannot_be_moved_at_all_is_tried_and_said_again() {
    if !is_there(Feature::Root, "a file system of its own") {
        return;
    }
    for caller in callers("what cannot be moved") {
        let place = Place::new(caller);
        let small = MemoryMount::at(&place, "nr_inodes=200");
        let volume = format!("{}:/small", small.path().display());
        let mut client =
            waiting(&place, &["-v", &volume], "echo evil > /small/.bashrc; echo made; read -r end");
        go_on(&mut client);
        assert_eq!(ready::next_line(&mut client), "made\n");
        small.remount("ro");
        go_on(&mut client);
        let told = said(&client.wait_with_output().unwrap());
        assert!(told.contains("could not be quarantined"), "by {caller:?}: {told}");
        for _ in 0..2 {
            let told = next(&place, &[]);
            assert!(
                told.contains("could not be quarantined") && told.contains(".bashrc"),
                "by {caller:?}: {told}"
            );
        }
        small.remount("rw");
        let told = next(&place, &[]);
        assert!(told.contains("moved to"), "by {caller:?}: {told}");
        assert!(!small.path().join(".bashrc").exists(), "by {caller:?}: {told}");
        assert_eq!(next(&place, &[]), "", "by {caller:?}");
    }
}
