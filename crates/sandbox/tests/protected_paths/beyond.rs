//! Repositories in directories that the walk does not enter at the start: the last look finds them, because git enters them
//! as soon as an index lists them.

use super::repositories::{OBEYED, committed, committed_in, git};
use super::*;

/// Places that the walk does not enter.
const PLACES: [&str; 4] = ["node_modules/s", "target/s", "a/b/c/d/e", ".sandboxctl-quarantine/s"];

/// What the last look says of each path.
fn last(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, FindingOrigin)> {
    let one = |finding: Finding| (finding.path.display().to_string(), finding.origin);
    boundary.last_look(baseline).into_iter().map(one).collect()
}

/// Makes a repository with a commit.
fn init(boundary: &Boundary, place: &str) {
    let host = &boundary.host;
    git(host, &["init", "-q", place]);
    git(&host.join(place), &["commit", "-q", "--allow-empty", "-m", "first"]);
}

/// Whether git obeys a configuration there when it asks each submodule for its state.
fn is_obeyed(boundary: &Boundary, place: &str) -> bool {
    git(&boundary.host, &["status"]);
    let traces = ["obeyed", &format!("{place}/obeyed")].map(|trace| boundary.host.join(trace));
    traces.iter().any(|trace| fs::remove_file(trace).is_ok())
}

#[test]
fn a_repository_that_an_index_lists_later_is_found_in_the_last_look() {
    for place in PLACES {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        init(&boundary, place);
        let commit = git(&boundary.host.join(place), &["rev-parse", "HEAD"]);
        boundary.write(&format!("{place}/.git/config"), OBEYED);
        assert_eq!(boundary.compare(&baseline), [], "the control: a glance does not enter {place}");
        let mut findings = boundary.last_look(&baseline);
        let config = format!("{place}/.git/config");
        assert_eq!(findings.iter().map(|one| one.path.to_str().unwrap()).collect::<Vec<_>>(), [config]);
        let info = format!("160000,{},{place}", commit.trim());
        git(&boundary.host, &["update-index", "--add", "--cacheinfo", &info]);
        assert!(is_obeyed(&boundary, place), "the control: git obeys {place}");
        assert!(quarantine(boundary.root().enter().unwrap(), &mut findings[0], now()).unwrap());
        assert!(!is_obeyed(&boundary, place), "{place}");
    }
}

#[test]
fn ordinary_repositories_beyond_the_bound_are_no_news() {
    let Some(boundary) = Boundary::on_disk("ordinary repositories beyond the bound") else { return };
    let (boundary, _) = committed_in(boundary);
    let host = &boundary.host;
    // The owner's, with hooks and more, in which an agent works.
    for place in ["node_modules/old", "a/b/c/d/old"] {
        init(&boundary, place);
        init(&boundary, &format!("{place}/sub"));
        git(&host.join(place), &["add", "."]);
        git(&host.join(place), &["commit", "-q", "-m", "sub"]);
        let programs = "[core]\n\thooksPath = .husky\n\tfsmonitor = true\n[alias]\n\tx = !ls\n";
        boundary.write(&format!("{place}/.git/config"), programs);
        boundary.write(&format!("{place}/.husky/pre-commit"), "exit 0");
        boundary.write(&format!("{place}/sub/.git/hooks/post-checkout"), "exit 0");
        boundary.link("objects", &format!("{place}/sub/.git/alias"));
    }
    boundary.bare("target/bare").write("target/bare/hooks/update", "exit 0");
    boundary.write("target/HEAD", "").write("target/hooks/useX.ts", "");
    boundary.write("node_modules/gone/.git", "gitdir: /nowhere/at/all");
    boundary.write("node_modules/odd/.git/index", "none of git's").repository("node_modules/odd");
    boundary.bare("node_modules/closed").mode("node_modules/closed", 0o000);
    let baseline = boundary.baseline_of_old();
    assert_eq!(last(&boundary, &baseline), [], "what was there");
    git(host, &["clone", "-q", ".", "node_modules/clone"]);
    git(host, &["clone", "-q", "--bare", ".", "target/clone"]);
    for place in ["node_modules/old", "a/b/c/d/old"] {
        let here = host.join(place);
        git(&here, &["checkout", "-q", "-b", "side"]);
        boundary.write(&format!("{place}/new"), "1");
        git(&here, &["add", "new"]);
        git(&here, &["commit", "-q", "--no-verify", "-m", "new"]);
        git(&here, &["worktree", "add", "-q", "tree"]);
        git(&here, &["rebase", "-q", "side~1"]);
        git(&here, &["gc", "-q"]);
        git(&here.join("sub"), &["commit", "-q", "--no-verify", "--allow-empty", "-m", "more"]);
    }
    boundary.mode("node_modules/closed", 0o755);
    assert_eq!(last(&boundary, &baseline), [], "what became of it");
}

#[test]
fn what_an_earlier_run_left_in_parts_is_found_when_they_are_put_together() {
    let is = |path: &str, origin| vec![(path.to_owned(), origin)];
    let none = Vec::new();
    let n = "node_modules";
    // What lacks one name counts already in the run that makes it.
    for (parts, first) in [
        (&["HEAD", "objects/x", "refs/x"][..], is("node_modules/s/config", FindingOrigin::Created)),
        (&["HEAD"], is("node_modules/s/config", FindingOrigin::Created)),
        (&["objects/x", "refs/x"], is("node_modules/s/config", FindingOrigin::Created)),
        // And each beside what git obeys: it may lie where the next run only adds the rest.
        (&["objects/x"], is("node_modules/s/config", FindingOrigin::Created)),
        (&["refs/x"], is("node_modules/s/config", FindingOrigin::Created)),
        (
            &["commondir"],
            ["commondir", "config"].map(|name| (format!("{n}/s/{name}"), FindingOrigin::Created)).into(),
        ),
        (&["other"], none.clone()),
    ] {
        let boundary = Boundary::new();
        let baseline = boundary.baseline();
        boundary.write("node_modules/s/config", OBEYED);
        for part in parts {
            let content = if *part == "HEAD" { "ref: refs/heads/main" } else { &"0".repeat(40) };
            boundary.write(&format!("node_modules/s/{part}"), &format!("{content}\n"));
        }
        assert_eq!(last(&boundary, &baseline), first, "{parts:?}");
    }
    // And what lacks more, in the next one.
    let Some(boundary) = Boundary::on_disk("parts that a later run puts together") else { return };
    boundary.write(&format!("{n}/s/config"), OBEYED).directory(&format!("{n}/s/refs"));
    boundary.write(&format!("{n}/t/config"), OBEYED).directory(&format!("{n}/parts/objects"));
    boundary.directory(&format!("{n}/parts/refs")).write(&format!("{n}/hooks/post-checkout"), "evil");
    boundary.repository(&format!("{n}/u")).rename(&format!("{n}/u/.git/hooks"), "gone");
    let baseline = boundary.baseline_of_old();
    assert_eq!(last(&boundary, &baseline), [], "the control");
    boundary.write(&format!("{n}/s/HEAD"), "ref: refs/heads/main\n").directory(&format!("{n}/s/objects"));
    boundary.write(&format!("{n}/t/HEAD"), "ref: refs/heads/main\n");
    boundary.rename(&format!("{n}/parts/objects"), &format!("{n}/t/objects"));
    boundary.rename(&format!("{n}/parts/refs"), &format!("{n}/t/refs"));
    boundary.rename(&format!("{n}/hooks"), &format!("{n}/u/.git/hooks"));
    let mut found = last(&boundary, &baseline);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted = [
        ("node_modules/s/objects", FindingOrigin::Created),
        ("node_modules/t/config", FindingOrigin::Earlier),
        ("node_modules/u/.git/hooks/post-checkout", FindingOrigin::Earlier),
    ];
    assert_eq!(found, wanted.map(|(path, origin)| (path.to_owned(), origin)));
}

/// Where a run may leave the parts of a repository, or a whole one, for the next run: in a directory that is skipped, in one within
/// the bound, and among git's data.
const HIDING: [&str; 5] = [
    "node_modules/p/g", "lib/g", "node_modules/r/.git/objects/ab/e/g", ".git/objects/ab/e/g",
    ".git/refs/heads/g",
];

#[test]
fn what_the_next_run_could_move_to_a_repository_is_found_in_the_run_that_makes_it() {
    for place in HIDING {
        for left_out in [&[][..], &["HEAD", "refs"], &["HEAD", "objects"], &["HEAD", "refs", "config"]] {
            let (boundary, _) = committed();
            boundary.repository("node_modules/r");
            let baseline = boundary.baseline_of_old();
            init(&boundary, "w");
            boundary.write("w/.git/config", OBEYED).write("w/.git/hooks/post-checkout", "evil");
            boundary.directory(Path::new(place).parent().unwrap().to_str().unwrap());
            boundary.rename("w/.git", place).directory("parts");
            for part in left_out {
                boundary.rename(&format!("{place}/{part}"), &format!("parts/{part}"));
            }
            let found = last(&boundary, &baseline);
            let wanted = if left_out.contains(&"config") { "hooks/post-checkout" } else { "config" };
            let wanted = format!("{place}/{wanted}");
            let is_in = |path: &String| wanted.starts_with(path.as_str());
            assert!(found.iter().any(|(path, _)| is_in(path)), "{place} without {left_out:?}: {found:?}");
            // The control: what is left is obeyed as soon as it is put together, and the look after that run takes it for old.
            let later = boundary.baseline_of_old();
            boundary.directory("src/main/java/org/app").rename(place, "src/main/java/org/app/.git");
            for part in left_out {
                boundary.rename(&format!("parts/{part}"), &format!("src/main/java/org/app/.git/{part}"));
            }
            git(&boundary.host, &["add", "src"]);
            if !left_out.contains(&"config") {
                assert!(is_obeyed(&boundary, "src/main/java/org/app"), "{place} without {left_out:?}");
            }
            drop(later);
        }
    }
}

#[test]
fn old_repositories_to_which_parts_are_added_one_run_after_another_are_reported() {
    let n = "node_modules/s";
    let boundary = Boundary::new();
    boundary.write(&format!("{n}/config"), OBEYED).directory("parts/objects").directory("parts/refs");
    assert_eq!(
        last(&boundary, &boundary.baseline_of_old()),
        [],
        "the control: nothing makes it a repository"
    );
    let baseline = boundary.baseline_of_old();
    boundary.rename("parts/objects", &format!("{n}/objects"));
    assert_eq!(last(&boundary, &baseline), [(format!("{n}/config"), FindingOrigin::Earlier)]);
}

#[test]
fn branches_named_like_what_git_obeys_are_no_parts_of_a_repository() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline_of_old();
    for branch in ["config", "objects/x", "a/HEAD", "a/config", "a/hooks/post-checkout"] {
        git(&boundary.host, &["branch", branch]);
    }
    git(&boundary.host, &["update-ref", "--create-reflog", "refs/remotes/origin/config", "HEAD"]);
    git(&boundary.host, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/config"]);
    for names in ["src", "src/a/b/c/d"] {
        boundary.write(&format!("{names}/hooks/useX.ts"), "").write(&format!("{names}/config/x.ts"), "");
        boundary.directory(&format!("{names}/objects")).directory(&format!("{names}/refs.d"));
    }
    assert_eq!(last(&boundary, &baseline), []);
}

#[test]
fn what_is_closed_beyond_the_bound_is_given_no_benefit_of_the_doubt() {
    // Root may enter every directory, so somebody else has to do it.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("beyond::what_is_closed_beyond_the_bound_is_given_no_benefit_of_the_doubt");
    }
    let boundary = Boundary::new();
    boundary.repository("node_modules/old").mode("node_modules/old", 0o000);
    boundary.repository("node_modules/open");
    let baseline = boundary.baseline_of_old();
    boundary.repository("node_modules/new").mode("node_modules/new", 0o000);
    boundary.mode("node_modules/open", 0o000);
    let wanted =
        [("node_modules/new", FindingOrigin::Created), ("node_modules/open", FindingOrigin::Earlier)];
    assert_eq!(last(&boundary, &baseline), wanted.map(|(path, origin)| (path.to_owned(), origin)));
    for path in ["node_modules/old", "node_modules/new", "node_modules/open"] {
        boundary.mode(path, 0o755);
    }
}

#[test]
fn however_deep_it_is_the_last_look_ends_and_says_that_it_is_not_whole() {
    let boundary = Boundary::new();
    boundary.directory("node_modules");
    let mut at = fs::File::open(boundary.host.join("node_modules")).unwrap();
    let name = "n".repeat(255);
    for level in 0..20 {
        let walk = || {
            walk_everywhere(&boundary.root().enter().unwrap(), 3, Deadline::NEVER, &Known::default()).unwrap()
        };
        assert_eq!(walk().is_whole, level < 16, "at {level}");
        rustix::fs::mkdirat(&at, &*name, rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &*name, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())
            .unwrap()
            .into();
    }
}
