//! What lies among the objects of git-annex, and links that lead there: git-annex keeps the content of files there and nothing else.

use super::repositories::{OBEYED, committed, committed_in, git};
use super::*;
use std::borrow::Cow;

/// What the last look says of each path.
fn last(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, FindingOrigin)> {
    let one = |finding: Finding| (finding.path.display().to_string(), finding.origin);
    boundary.last_look(baseline).into_iter().map(one).collect()
}

/// What a run says that has ended: of repositories, and of links.
fn ended(boundary: &Boundary, baseline: &Baseline) -> Vec<Finding> {
    let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
    let root = boundary.root();
    let walk = walk_everywhere(&root.enter().unwrap(), 3, Deadline::NEVER, &Known::default()).unwrap();
    let mounts = mounts(&root.enter().unwrap(), &boundary.host, &walk, &list).unwrap();
    let compared =
        baseline.compare(root.enter().unwrap(), &mounts, Deadline::NEVER, SearchKind::Quick).unwrap();
    let mut findings = compared.findings;
    findings.extend(baseline.new_links_out(root.enter().unwrap(), &mounts));
    findings
}

/// Makes a repository whose configuration has git run a program in its own directory.
fn hidden(boundary: &Boundary, place: &str) {
    git(&boundary.host, &["init", "-q", "--bare", place]);
    boundary.write(&format!("{place}/config"), &format!("{OBEYED}\tbare = false\n\tworktree = .\n"));
}

/// Whether git obeys that configuration, called in this directory.
fn is_obeyed(boundary: &Boundary, place: &str) -> bool {
    let place = boundary.host.join(place);
    if place.is_dir() {
        git(&place, &["status"]);
    }
    let found = [&place, &boundary.host].map(|directory| fs::remove_file(directory.join("obeyed")).is_ok());
    found.contains(&true)
}

#[test]
fn a_repository_among_the_objects_of_git_annex_is_found_whatever_leads_there() {
    for (place, link, target, entered) in [
        (".git/annex/objects/aaa/guide", "docs", ".git/annex/objects/aaa", "docs/guide"),
        (".git/annex/objects/aaa/guide", "docs", ".git/annex/objects", "docs/aaa/guide"),
        (".git/annex/objects/aaa/guide", "docs", ".git/annex", "docs/objects/aaa/guide"),
        (".git/annex/objects/1/2/3/4/5/6", "docs", ".git/annex/objects/1/2/3", "docs/4/5/6"),
        (
            ".git/annex/objects/k/k", "a/b/c/d/e/docs", "../../../../../.git/annex/objects/k/k",
            "a/b/c/d/e/docs",
        ),
        (".git/annex/objects/k/k", "node_modules/p", "../.git/annex/objects/k/k", "node_modules/p"),
        (".git/modules/m/annex/objects/a/g", "docs", ".git/modules/m/annex/objects/a", "docs/g"),
    ] {
        let (boundary, _) = committed();
        git(&boundary.host, &["init", "-q", "--bare", ".git/modules/m"]);
        let baseline = boundary.baseline();
        hidden(&boundary, place);
        boundary.directory(Path::new(link).parent().unwrap().to_str().unwrap()).link(target, link);
        assert!(is_obeyed(&boundary, entered), "the control: git obeys {place} behind {link} -> {target}");
        let findings = ended(&boundary, &baseline);
        let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
        let config = format!("{place}/config");
        assert!(found.contains(&(config.as_str(), FindingOrigin::Created)), "{found:?}");
        for mut finding in findings {
            let _ = quarantine(boundary.root().enter().unwrap(), &mut finding, now());
        }
        assert!(!is_obeyed(&boundary, entered), "{place} behind {link}");
    }
}

#[test]
fn a_repository_that_a_later_run_completes_among_them_is_found() {
    let Some(boundary) = Boundary::on_disk("a repository that a later run completes") else { return };
    let (boundary, _) = committed_in(boundary);
    let place = ".git/annex/objects/aaa/guide";
    // An earlier run made the link, to nothing.
    boundary.link(".git/annex/objects/aaa", "docs").until_the_clock_is_past("docs");
    let baseline = boundary.baseline();
    hidden(&boundary, place);
    assert!(is_obeyed(&boundary, "docs/guide"), "the control");
    assert!(last(&boundary, &baseline).contains(&(format!("{place}/config"), FindingOrigin::Created)));
    // What lies there since before the start may be the user's own, and nobody has touched it.
    boundary.until_the_clock_is_past(&format!("{place}/config"));
    let baseline = boundary.baseline();
    assert_eq!(last(&boundary, &baseline), []);
}

#[test]
fn a_link_to_a_directory_among_them_is_quarantined() {
    let (boundary, _) = committed();
    boundary.write(".git/annex/objects/aa/bb/KEY/KEY", "content").directory(".git/annex/objects/aa/x/x");
    let baseline = boundary.baseline();
    for (target, link) in [
        (".git/annex/objects", "all"),
        (".git/annex/objects/aa", "some"),
        (".git/annex/objects/aa/bb/KEY", "key"),
        (".git/annex/objects/aa/x/x", "named"),
        (".git/annex/objects/new/directory", "nothing"),
    ] {
        boundary.link(target, link);
    }
    let mut found: Vec<_> = ended(&boundary, &baseline);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = found.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["all", "key", "named", "nothing", "some"]);
    assert!(found.iter().all(|one| !one.stays() && one.origin == FindingOrigin::Created), "{found:?}");
}

/// The links that `git annex add` makes, in a repository and in a submodule, whose `.git` it turns into a link; with content and without.
#[test]
fn files_of_git_annex_pass_untouched() {
    let (boundary, _) = committed();
    git(&boundary.host, &["init", "-q", "--bare", ".git/modules/sub"]);
    boundary.directory("sub").link("../.git/modules/sub", "sub/.git");
    let annexed = |key: &str| {
        let object = format!("annex/objects/Xx/0q/{key}/{key}");
        for (git, tree) in [(".git", ""), (".git/modules/sub", "sub/")] {
            boundary.write(&format!("{git}/{object}"), key).mode(&format!("{git}/{object}"), 0o444);
            boundary.link(format!(".git/{object}"), &format!("{tree}{key}"));
            boundary.directory(&format!("{tree}below"));
            boundary.link(format!("../.git/{object}"), &format!("{tree}below/{key}"));
            // Its content lies elsewhere.
            let absent = object.replace(key, &format!("absent{key}"));
            boundary.link(format!(".git/{absent}"), &format!("{tree}absent{key}"));
        }
    };
    annexed("SHA256E-s4--01.bin");
    git(&boundary.host, &["add", "."]);
    let baseline = boundary.baseline();
    annexed("SHA256E-s4--02.bin");
    git(&boundary.host, &["add", "."]);
    assert_eq!(ended(&boundary, &baseline), []);
}

/// A name with a slash in it leads git-annex to such a directory: in attributes, in the name of a file, or on a branch.
#[test]
fn a_new_directory_in_which_git_annex_looks_for_programs_is_quarantined() {
    let (boundary, _) = committed();
    boundary.write("elsewhere/known/git-annex-remote-mine/run", "mine");
    boundary.write("old/program", "").until_the_clock_is_past("old/program");
    let baseline = boundary.baseline();
    boundary
        .write("git-annex-backend-Xa/run", "#!/bin/sh\n")
        .write("a/b/Git-Annex-Remote-x/run", "#!/bin/sh\n")
        .directory("a/git-annex-compute-c")
        .link("../tools", "a/git-annex-remote-link");
    fs::rename(boundary.host.join("old"), boundary.host.join("git-annex-backend-Xold")).unwrap();
    // The control: git-annex looks for these in `PATH`, and the user had that one.
    boundary
        .write("git-annex-remote-rclone", "#!/bin/sh\n")
        .write("git-annex/remote", "")
        .write("elsewhere/known/git-annex-remote-mine/run", "mine too");
    let mut found = ended(&boundary, &baseline);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = found.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "a/b/Git-Annex-Remote-x", "a/git-annex-compute-c", "a/git-annex-remote-link",
            "git-annex-backend-Xa", "git-annex-backend-Xold",
        ]
    );
    for mut finding in found {
        assert!(!finding.stays() && finding.origin == FindingOrigin::Created, "{finding}");
        quarantine(boundary.root().enter().unwrap(), &mut finding, now()).unwrap();
    }
    assert!(!boundary.host.join("git-annex-backend-Xa").exists());
    assert_eq!(ended(&boundary, &boundary.baseline()), []);
}

#[test]
fn such_a_directory_outside_of_a_repository_stays_and_is_found_in_one() {
    let boundary = Boundary::new();
    boundary.directory("src").until_the_clock_is_past("src");
    let baseline = boundary.baseline();
    // A checkout of the program itself.
    boundary.repository("src/git-annex-remote-rclone");
    assert_eq!(ended(&boundary, &baseline), []);
    boundary.repository("src");
    assert_eq!(last(&boundary, &baseline), [("src/git-annex-remote-rclone".into(), FindingOrigin::Created)]);
    // One that an earlier run has made may be the user's.
    boundary.until_the_clock_is_past("src/git-annex-remote-rclone");
    fs::remove_dir_all(boundary.host.join("src/.git")).unwrap();
    let baseline = boundary.baseline();
    boundary.repository("src");
    assert_eq!(last(&boundary, &baseline), [("src/git-annex-remote-rclone".into(), FindingOrigin::Earlier)]);
}

#[test]
fn what_names_a_program_in_the_work_tree_for_git_annex_is_quarantined() {
    let (boundary, _) = committed();
    boundary.write(".gitattributes", "* text=auto\n").until_the_clock_is_past(".gitattributes");
    let baseline = boundary.baseline();
    boundary
        .write(".gitattributes", "* text=auto annex.backend=SHA256E\n")
        .write(".git/annex/journal/remote.log", "0-1 externaltype=rclone type=external timestamp=1s\n")
        .link(".git/annex/objects/a/b/XFOO-s2--abc/XFOO-s2--abc", "ordinary");
    assert_eq!(ended(&boundary, &baseline), [], "the control");
    boundary
        .write(".gitattributes", "* text=auto annex.backend=Xa/run\n")
        .write(".git/annex/journal/remote.log", "0-1 externaltype=x/run type=external timestamp=1s\n")
        .link(".git/annex/objects/a/b/Xa%run-s2--abc/Xa%run-s2--abc", "named");
    let mut found: Vec<_> = ended(&boundary, &baseline);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = found.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(paths, [".git/annex/journal/remote.log", ".gitattributes", "named"]);
    assert!(found.iter().all(|one| !one.stays()), "{found:?}");
}
