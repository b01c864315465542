//! What is quarantined, and what is not done on the way.

use super::*;
use std::borrow::Cow;

#[test]
fn what_was_created_is_moved_to_where_nothing_obeys_it() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.write("sub/.git/hooks/pre-commit", "evil").write(".bashrc", "evil");
    let mut findings = boundary.compare(&baseline);
    for finding in &mut findings {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap());
    }
    assert!(!boundary.host.join(".bashrc").exists());
    let quarantined: Vec<_> =
        findings.iter().map(|one| one.quarantined.as_ref().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        quarantined,
        [
            format!("{QUARANTINE}/1700000000-0/dot-bashrc"),
            format!("{QUARANTINE}/1700000000-1/sub/dot-git/hooks/pre-commit")
        ]
    );
    assert_eq!(fs::read_to_string(boundary.host.join(quarantined[1])).unwrap(), "evil");
    assert_eq!(boundary.compare(&baseline), [], "and it is not found again");
}

/// As a run does that shares the repository of a linked work tree.
#[test]
fn what_was_quarantined_in_the_data_of_git_is_not_found_again_by_another_run() {
    let (boundary, _) = repositories::committed();
    repositories::git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    let baseline = boundary.baseline();
    boundary
        .write(".git/tool.yml", "evil")
        .write(".git/worktrees/tree/config.worktree", "[core]\n\tfsmonitor = x\n");
    boundary.write(".git/tool/run", "#!/bin/sh\n").mode(".git/tool/run", 0o755);
    boundary.link("/tmp", ".git/BISECT_LOG");
    let mut moved = boundary.last_look(&baseline);
    moved.retain(|one| !one.path.ends_with("tool/run"));
    assert_eq!(moved.len(), 4, "the control: {moved:?}");
    let git = root(&boundary.host.join(".git"));
    for finding in &mut moved {
        finding.path = finding.path.strip_prefix(".git").unwrap().to_owned();
        assert!(quarantine(git.enter().unwrap(), finding, now()).unwrap(), "{finding}");
        assert!(finding.quarantined.as_ref().unwrap().starts_with(QUARANTINE), "{finding}");
    }
    assert_eq!(boundary.last_look(&baseline), []);
    // A repository that is made there is found, and so is what has the name and is no directory.
    boundary
        .bare(&format!(".git/{QUARANTINE}/bare"))
        .write(&format!(".git/{QUARANTINE}/bare/config"), repositories::OBEYED);
    let found = boundary.last_look(&baseline);
    assert!(found.iter().any(|one| one.path.ends_with("bare/config")), "{found:?}");
    fs::remove_dir_all(boundary.host.join(".git").join(QUARANTINE)).unwrap();
    boundary.write(&format!(".git/{QUARANTINE}"), "");
    assert_eq!(boundary.paths(&baseline), [format!(".git/{QUARANTINE}")]);
}

#[test]
fn what_is_gone_already_is_no_error() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.write("sub/.git/hooks/pre-commit", "evil");
    let mut finding = boundary.compare(&baseline).remove(0);
    fs::remove_dir_all(boundary.host.join("sub")).unwrap();
    assert!(!quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    boundary.directory("sub/.git/hooks");
    assert!(!quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    assert_eq!(finding.quarantined, None);
    assert!(!boundary.host.join(QUARANTINE).exists());
}

#[test]
fn a_link_on_the_way_is_not_followed() {
    let boundary = Boundary::new();
    let outside = boundary.host.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join(".git/hooks")).unwrap();
    fs::write(outside.join(".git/hooks/pre-commit"), "the user's own").unwrap();
    let baseline = boundary.baseline();
    boundary.write("sub/.git/hooks/pre-commit", "evil");
    let mut finding = boundary.compare(&baseline).remove(0);
    // The agent swaps the directory for a link after it was classified.
    fs::remove_dir_all(boundary.host.join("sub")).unwrap();
    boundary.link(&outside, "sub");
    assert!(!quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    assert!(outside.join(".git/hooks/pre-commit").exists());
}

#[test]
fn a_quarantine_that_is_a_link_is_not_written_through() {
    let boundary = Boundary::new();
    let outside = boundary.host.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    let baseline = boundary.baseline();
    boundary.link(&outside, QUARANTINE).write(".bashrc", "evil");
    let mut finding = boundary.compare(&baseline).remove(0);
    assert!(quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(fs::symlink_metadata(boundary.host.join(QUARANTINE)).unwrap().is_dir());
}

#[test]
fn closed_directories_do_not_stand_in_the_way() {
    // Root may enter every directory, so somebody else has to do it.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("quarantine::closed_directories_do_not_stand_in_the_way");
    }
    for (closed, mode) in [
        (QUARANTINE, 0o000),
        (QUARANTINE, 0o500),
        (QUARANTINE, 0o111),
        ("sub/.git/hooks", 0o555),
        ("", 0o555),
    ] {
        let boundary = Boundary::new();
        let baseline = boundary.baseline();
        boundary.directory(QUARANTINE).write("sub/.git/hooks/pre-commit", "evil").mode(closed, mode);
        let mut finding = boundary.compare(&baseline).remove(0);
        assert!(
            quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap(),
            "{closed} {mode:o}"
        );
        assert!(!boundary.host.join("sub/.git/hooks/pre-commit").exists(), "{closed} {mode:o}");
    }
}

#[test]
fn a_quarantine_that_cannot_be_searched_does_not_go_into_itself() {
    if rustix::process::getuid().is_root() {
        return as_somebody_else("quarantine::a_quarantine_that_cannot_be_searched_does_not_go_into_itself");
    }
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.write(&format!("{QUARANTINE}/x/.git/hooks/pre-commit"), "evil").mode(QUARANTINE, 0o000);
    let mut finding = boundary.last_look(&baseline).remove(0);
    assert_eq!(finding.path, Path::new(QUARANTINE));
    assert!(quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    assert!(!boundary.host.join(QUARANTINE).exists());
    assert_eq!(boundary.last_look(&baseline), [], "and it is not found again");
}

#[test]
fn a_quarantine_that_is_a_file_is_put_out_of_the_way_though_names_are_taken() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.write(QUARANTINE, "").write(&format!("{QUARANTINE}-1700000000-0"), "").write(".bashrc", "evil");
    let mut finding = boundary.compare(&baseline).remove(0);
    assert!(quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    assert!(boundary.host.join(format!("{QUARANTINE}-1700000000-1")).is_file());
}

#[test]
fn while_the_agent_swaps_directories_and_links_nothing_outside_is_touched() {
    let boundary = Boundary::new();
    let outside = boundary.host.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join("hooks")).unwrap();
    fs::write(outside.join("hooks/pre-commit"), "the user's own").unwrap();
    let baseline = boundary.baseline();
    boundary.write("a/.git/hooks/pre-commit", "evil");
    let finding = boundary.compare(&baseline).remove(0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let git = boundary.host.join("a/.git");
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&git, boundary.host.join("hidden"));
                let _ = symlink(&outside, &git);
                let _ = fs::remove_file(&git);
                let _ = fs::rename(boundary.host.join("hidden"), &git);
            }
        });
        for _ in 0..2000 {
            let mut finding = finding.clone();
            let _ = quarantine(boundary.root().enter().unwrap(), &mut finding, now());
            if finding.quarantined.is_some() {
                boundary.write("again", "evil");
                let _ =
                    fs::rename(boundary.host.join("again"), boundary.host.join("hidden/hooks/pre-commit"));
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(outside.join("hooks/pre-commit")).unwrap(), "the user's own");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn what_is_moved_as_a_whole_holds_no_repository_for_git() {
    use super::repositories::{OBEYED, committed, git};

    let (boundary, _) = committed();
    let outside = boundary.host.with_file_name("another");
    git(&boundary.host, &["init", "-q", outside.to_str().unwrap()]);
    let mut list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
    list.push("asked".into());
    let look =
        || mounts(&boundary.root().enter().unwrap(), &boundary.host, &boundary.walk(3), &list).unwrap();
    let baseline = Baseline::take(boundary.root().enter().unwrap(), &look()).unwrap().0;
    let inner = ["asked/r", "asked/a/b/c/d/e/f/r"];
    for place in inner {
        git(&boundary.host, &["init", "-q", place]);
        git(&boundary.host.join(place), &["commit", "-q", "--allow-empty", "-m", "first"]);
        boundary.write(&format!("{place}/.git/config"), OBEYED);
    }
    boundary.bare("asked/bare").bare("asked").write("asked/bare/config", OBEYED);
    boundary.repository("asked/case").rename("asked/case/.git", "asked/case/.Git");
    boundary.write("asked/r/dot-git", "taken").link(&outside, "asked/link").mode("asked/case", 0o500);
    let findings = baseline
        .compare(boundary.root().enter().unwrap(), &look(), Deadline::NEVER, SearchKind::Quick)
        .unwrap()
        .findings;
    let mut finding = findings.into_iter().find(|one| one.path == Path::new("asked")).unwrap();
    let commits = inner.map(|place| git(&boundary.host.join(place), &["rev-parse", "HEAD"]));
    // Of each place, whether git obeys what lies there.
    let obeyed = |top: &str| {
        let mut all = Vec::new();
        for (place, commit) in inner.iter().zip(&commits) {
            let place = place.replacen("asked", top, 1);
            let info = format!("160000,{},{place}", commit.trim());
            git(&boundary.host, &["update-index", "--add", "--cacheinfo", &info]);
            git(&boundary.host, &["status"]);
            all.push(boundary.host.join(&place).join("obeyed").exists());
        }
        let top_of = |place: &str| git(&boundary.host.join(place), &["rev-parse", "--absolute-git-dir"]);
        all.push(top_of(&format!("{top}/bare")) != top_of(""));
        all
    };
    assert_eq!(obeyed("asked"), [true; 3], "the control");
    for place in inner {
        fs::remove_file(boundary.host.join(place).join("obeyed")).unwrap();
    }
    assert!(quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap());
    let quarantined = finding.quarantined.unwrap();
    assert_eq!(obeyed(quarantined.to_str().unwrap()), [false; 3]);
    assert!(boundary.host.join(&quarantined).join("r/dot-git-/config").exists(), "nothing is lost");
    assert!(boundary.host.join(&quarantined).join("case/dot-Git").exists(), "whatever its case");
    assert!(outside.join(".git/HEAD").exists(), "and no link is followed");
}

#[test]
fn a_name_as_long_as_any_is_moved_too() {
    for length in [200, 201, 252, 253, 254, 255] {
        let boundary = Boundary::new();
        let baseline = boundary.baseline();
        let name = format!(".{}", "a".repeat(length - 1));
        boundary.directory(&name);
        repositories::git(&boundary.host.join(&name), &["init", "-q", "."]);
        fs::write(boundary.host.join(&name).join(".git/config"), repositories::OBEYED).unwrap();
        let found = repositories::move_all(&boundary, &baseline);
        assert!(!found.is_empty(), "{length}");
        assert!(!boundary.host.join(&name).join(".git/config").exists(), "{length}: {found:?}");
        assert_eq!(boundary.compare(&baseline), [], "{length}: and it is not found again");
    }
    // And where it gets its name in its own directory.
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    let name = format!(".mise.{}.toml", "a".repeat(244));
    boundary.write(&name, "evil").write(QUARANTINE, "in the way");
    let _ = repositories::move_all(&boundary, &baseline);
    assert!(!boundary.host.join(&name).exists());
}
