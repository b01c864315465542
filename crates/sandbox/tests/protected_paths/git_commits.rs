//! What the commits hold to which git brings a work tree, and the index does not: `git stash` and `git reset --hard` write it. Git itself is
//! run first, to show that it does.

use super::git_settings::sh;
use super::git_staged::with_hooks;
use super::repositories::{git, move_all};
use super::*;

/// Commits a program at a path on top of `HEAD`, and has neither index nor work tree know of it.
const COMMIT: &str = "export GIT_INDEX_FILE=$TOP/forged; git read-tree HEAD; \
     number=$(printf '#!/bin/sh\\ntouch obeyed\\n' | git hash-object -w --stdin); \
     git update-index --add --cacheinfo 100755,$number,$FILE; \
     commit=$(git commit-tree -p HEAD -m 'fix typo' $(git write-tree)); unset GIT_INDEX_FILE; ";

fn commits(boundary: &Boundary, path: &str, then: &str) {
    assert!(sh(boundary, ".", &format!("FILE={path}; {COMMIT}{then}")), "{path}: {then}");
}

const MOVES_HEAD: &str = "git update-ref HEAD $commit";

fn unindexed(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, Reason)> {
    // An index is compared by itself.
    let found = boundary.compare_commits(baseline).into_iter();
    let is_of_commits = |one: &Finding| {
        ["HEAD", "ORIG_HEAD", "head", "orig-head", "BISECT_START"].iter().any(|name| one.path.ends_with(name))
    };
    let found = found.filter(is_of_commits);
    let found = found.map(|one| {
        assert!(one.stays(), "{one}");
        (one.path.to_str().unwrap().to_owned(), one.reason)
    });
    found.collect()
}

pub(super) fn protected(by: &str, example: &str) -> Vec<(String, Reason)> {
    vec![(by.to_owned(), Reason::CommitsProtected { files: 1, example: example.into() })]
}

#[test]
fn what_the_commit_at_head_would_write_to_a_protected_path_is_reported() {
    for way in ["echo x >>file; git stash", "git reset -q --hard", "git checkout HEAD -- ."] {
        let boundary = with_hooks(&[]);
        commits(&boundary, ".githooks/post-index-change", MOVES_HEAD);
        assert!(sh(&boundary, ".", way), "{way}");
        assert!(boundary.host.join("obeyed").exists(), "the control: {way} writes the hook, and runs it");
    }

    for (flags, before, after) in [
        (&[][..], "true", "true"),
        (&["--object-format=sha256"], "true", "true"),
        (&["--ref-format=reftable"], "true", "true"),
        (&["--ref-format=reftable"], "true", "git pack-refs --all"),
        (&[], "git checkout -q --detach", "true"),
        (&[], "git pack-refs --all", "git pack-refs --all"),
        (&[], "git gc -q", "git gc -q"),
        (&[], "true", "git repack -adq --depth=50 --window=50"),
        (&[], "true", "rm .git/index"),
        (
            &[],
            "git symbolic-ref refs/heads/alias refs/heads/main; git symbolic-ref HEAD refs/heads/alias",
            "true",
        ),
    ] {
        for path in
            [".githooks/post-checkout", ".githooks/pre-commit", ".vscode/tasks.json", "x.code-workspace"]
        {
            let boundary = with_hooks(flags);
            assert!(sh(&boundary, ".", before), "{before}");
            let baseline = boundary.baseline();
            commits(&boundary, path, &format!("{MOVES_HEAD}; {after}"));
            assert_eq!(
                unindexed(&boundary, &baseline),
                protected(".git/HEAD", path),
                "{flags:?} {before} {after}"
            );
        }
    }
}

#[test]
fn a_repository_that_only_the_commit_at_head_has_is_reported() {
    for path in ["deep/er/and/deeper/t/HEAD", "sub/.hg/hgrc", "sub/.sl/config"] {
        let boundary = with_hooks(&[]);
        let baseline = boundary.baseline();
        commits(&boundary, path, MOVES_HEAD);
        assert_eq!(unindexed(&boundary, &baseline), protected(".git/HEAD", path));
    }
}

#[test]
fn a_protected_path_that_only_the_commit_at_head_lacks_is_reported() {
    let lacks = "git rm -q --cached .vscode/settings.json; git commit -q -m x; git add -f .vscode";
    let boundary = with_hooks(&[]);
    assert!(sh(&boundary, ".", &format!("{lacks}; git stash")));
    assert!(!boundary.host.join(".vscode/settings.json").exists(), "the control: git removes it");

    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", lacks));
    let reason = Reason::CommitsNoMore { files: 1, example: ".vscode/settings.json".into() };
    assert_eq!(unindexed(&boundary, &baseline), [(".git/HEAD".to_owned(), reason)]);
}

#[test]
fn files_of_a_commit_beneath_links_of_the_work_tree_are_reported() {
    let with_link = || {
        let boundary = with_hooks(&[]);
        assert!(sh(
            &boundary,
            ".",
            "mkdir $TOP/lib; echo KEY=1 >$TOP/lib/key; ln -s $TOP/lib lib; echo /lib >.git/info/exclude"
        ));
        boundary
    };
    let boundary = with_link();
    commits(&boundary, "lib/key", MOVES_HEAD);
    let records = "git commit -q -m work . && git show HEAD:lib/key | grep -q KEY=1";
    assert!(sh(&boundary, ".", records), "the control: git records what the link leads to");

    let boundary = with_link();
    let baseline = boundary.baseline();
    commits(&boundary, "lib/key", MOVES_HEAD);
    let reason = Reason::CommitsBehindLinks { files: 1, example: "lib/key".into() };
    assert_eq!(unindexed(&boundary, &baseline), [(".git/HEAD".to_owned(), reason)]);
}

#[test]
fn a_commit_with_a_path_that_git_does_not_write_is_reported() {
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    let script = "blob=$(git rev-parse HEAD:file); inner=$(printf \"100644 blob $blob\\tkey\\n\" | git mktree); \
         evil=$(printf \"$(git cat-file -p 'HEAD^{tree}')\\n040000 tree $inner\\txx\\n\" | git mktree); \
         evil=$(git cat-file tree $evil | sed 's/40000 xx/40000 ../' | git hash-object -w --literally -t tree --stdin); \
         git update-ref HEAD $(git commit-tree -p HEAD -m x $evil)";
    assert!(sh(&boundary, ".", script));
    assert!(git(&boundary.host, &["status", "--short"]).contains("../key"), "the control: git takes it");
    let commit = git(&boundary.host, &["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(
        unindexed(&boundary, &baseline),
        [(".git/HEAD".to_owned(), Reason::CommitUnread { commit: Some(commit) })]
    );
}

#[test]
fn a_new_replacement_of_an_object_is_quarantined() {
    let replace = "git replace HEAD $commit";
    let boundary = with_hooks(&[]);
    commits(&boundary, ".githooks/post-index-change", replace);
    assert!(sh(&boundary, ".", "git reset -q --hard"));
    assert!(boundary.host.join("obeyed").exists(), "the control: git writes the hook, and runs it");

    for (flags, after, restored) in [
        (&[][..], "true", false),
        (&[], "git pack-refs --all", true),
        (&["--ref-format=reftable"], "true", true),
    ] {
        let boundary = with_hooks(flags);
        assert!(sh(&boundary, ".", "git replace HEAD:file $(echo 2 | git hash-object -w --stdin)"));
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", &format!("git branch more; {after}")));
        assert_eq!(boundary.compare(&baseline), [], "{after}: what was there is the user's own");
        commits(&boundary, ".githooks/post-checkout", &format!("{replace}; {after}"));
        let found = move_all(&boundary, &baseline);
        assert!(
            found.iter().any(|one| one.to_string().contains("in the place of one")),
            "{after}: {found:?}"
        );
        assert_eq!(found.iter().any(|one| one.restored), restored, "{after}: {found:?}");
        let left = git(&boundary.host, &["replace", "--list"]);
        let commit = git(&boundary.host, &["rev-parse", "HEAD"]);
        assert!(!left.contains(&commit), "{after}: {left}");
    }
}

#[test]
fn a_tag_with_another_name_in_its_object_is_quarantined() {
    const NAME: &str = "$(touch${IFS}obeyed)";
    let attack = format!(
        "printf 'object %s\\ntype commit\\ntag {NAME}\\ntagger x <x@x> 1 +0000\\n\\nm\\n' $(git rev-parse HEAD) >$TOP/tag; \
         git update-ref refs/tags/v1 $(git hash-object -t tag -w --literally $TOP/tag)"
    );
    let boundary = with_hooks(&[]);
    assert!(sh(&boundary, ".", &attack), "{attack}");
    assert!(sh(&boundary, ".", "sh -c \"echo $(git describe)\""), "a build that has its version from there");
    assert!(boundary.host.join("obeyed").exists(), "the control: a shell runs it");

    for (flags, then, by) in [
        (&[][..], "true", ".git/refs/tags/v1"),
        (&[], "git pack-refs --all", ".git/packed-refs"),
        (&["--ref-format=reftable"], "true", ".git/reftable/"),
    ] {
        let boundary = with_hooks(flags);
        assert!(sh(&boundary, ".", "git tag -m own own"));
        let baseline = boundary.baseline();
        let tags = || boundary.hostile_tags(&baseline);
        assert!(sh(&boundary, ".", &format!("git tag -m more more; {then}")));
        assert_eq!(tags(), [], "{by}: the control");
        assert!(sh(&boundary, ".", &format!("{attack}; {then}")));
        let found = tags();
        let [one] = &found[..] else { panic!("{by}: {found:?}") };
        assert!(one.path.to_str().unwrap().starts_with(by), "{by}: {one}");
        assert_eq!(one.reason, Reason::NamesTags { tags: 1, example: NAME.into() });
        assert_eq!(one.origin == FindingOrigin::Created, by.contains("v1"), "{one}");
    }
}

#[test]
fn a_commit_that_the_index_is_of_is_no_news() {
    for script in [
        "echo 2 >file; git commit -qam second",
        "git checkout -q -b other; echo 2 >new; git add new; git commit -qm second; git checkout -q main; git checkout -q other",
        // What the index holds is compared by itself, and what lies there is classified.
        "echo '{ \"a\": 1 }' >.vscode/settings.json; git commit -qam second",
        "ln -s file link; git add link; git commit -qm link",
        "echo 2 >file; git commit -qam second; git reset -q --soft HEAD~",
        "mkdir d; echo 1 >d/file; git add d; git commit -qm d; git sparse-checkout set --sparse-index none; git commit -q --allow-empty -m third",
    ] {
        let boundary = with_hooks(&[]);
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", script), "{script}");
        assert_eq!(unindexed(&boundary, &baseline), [], "{script}");
    }
}

#[test]
fn where_an_operation_goes_back_to_is_compared() {
    let rebase = "mkdir .git/rebase-merge; cd .git/rebase-merge; echo refs/heads/main >head-name; git rev-parse HEAD >onto; \
                  : >git-rebase-todo; : >done; : >interactive; echo $commit >orig-head";
    let boundary = with_hooks(&[]);
    commits(&boundary, ".githooks/post-index-change", rebase);
    assert!(sh(&boundary, ".", "git rebase --abort"), "it can be given up");
    assert!(boundary.host.join("obeyed").exists(), "the control: git writes the hook, and runs it");

    for (by, then) in [
        ("rebase-merge/orig-head", rebase),
        ("rebase-apply/orig-head", "mkdir .git/rebase-apply; echo $commit >.git/rebase-apply/orig-head"),
        ("sequencer/head", "mkdir .git/sequencer; echo $commit >.git/sequencer/head"),
        ("ORIG_HEAD", "mkdir .git/rebase-apply; : >.git/rebase-apply/next; echo $commit >.git/ORIG_HEAD"),
        ("BISECT_START", "echo $commit >.git/BISECT_START"),
        ("BISECT_START", "echo other >.git/BISECT_START; git update-ref refs/heads/other $commit"),
        ("rebase-merge/head", "mkdir .git/rebase-merge; echo $commit >.git/rebase-merge/head"),
        ("rebase-merge/orig-head", "mkdir .git/rebase-merge; echo ${commit}0 >.git/rebase-merge/orig-head"),
    ] {
        let boundary = with_hooks(&[]);
        let baseline = boundary.baseline();
        commits(&boundary, ".githooks/post-checkout", then);
        let found = unindexed(&boundary, &baseline);
        assert_eq!(found, protected(&format!(".git/{by}"), ".githooks/post-checkout"), "{then}");
    }
    // One that began at the commit that was checked out is no news.
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    let script = "git checkout -q -b other; echo 2 >file; git commit -qam 2; git checkout -q main; echo 3 >file; git commit -qam 3; \
                  ! git rebase -q other";
    assert!(sh(&boundary, ".", script));
    assert!(boundary.host.join(".git/rebase-merge").exists(), "the control");
    assert_eq!(unindexed(&boundary, &baseline), []);
}

#[test]
fn a_reference_that_git_alone_reads_does_not_hide_a_commit() {
    let moves_packed = "git pack-refs --all --prune; main=$(git rev-parse main); ";
    for (then, is_read) in [
        ("git update-ref refs/heads/evil $commit; printf 'ref: refs/heads/evil\\0x\\n' >.git/HEAD", true),
        (
            "git update-ref refs/heads/evil $commit; printf 'ref: refs/heads/evil\\0x\\n' >.git/refs/heads/main",
            true,
        ),
        ("sed -i \"s#.* refs/heads/main#$commit\trefs/heads/main#\" .git/packed-refs", true),
        (
            "sed -i \"s#.* refs/heads/main#$main refs/heads/main\\n$commit refs/heads/main#\" .git/packed-refs",
            false,
        ),
        ("mkdir -p .git/reftable; : >.git/reftable/tables.list; git update-ref HEAD $commit", true),
        ("rm -f .git/refs/heads/main; echo $commit >.git/HEAD", true),
        ("git symbolic-ref HEAD refs/heads/none", false),
    ] {
        let boundary = with_hooks(&[]);
        assert!(sh(&boundary, ".", moves_packed));
        let baseline = boundary.baseline();
        commits(&boundary, ".githooks/post-checkout", &format!("main=$(git rev-parse main); {then}"));
        let found = unindexed(&boundary, &baseline);
        let found: Vec<_> = found.into_iter().filter(|(path, _)| path == ".git/HEAD").collect();
        let expected = if is_read {
            protected(".git/HEAD", ".githooks/post-checkout")
        } else {
            vec![(".git/HEAD".to_owned(), Reason::CommitUnread { commit: None })]
        };
        assert_eq!(found, expected, "{then}");
    }
}

#[test]
fn a_link_that_comes_to_lie_above_files_of_a_commit_is_reported() {
    let with_directory = || {
        let boundary = with_hooks(&[]);
        assert!(sh(
            &boundary,
            ".",
            "mkdir lib; echo 1 >lib/key; git add lib; git commit -qm lib; mkdir $TOP/other; echo KEY=1 >$TOP/other/key"
        ));
        boundary
    };
    let attack = "git rm -q --cached -r lib; rm -r lib; ln -s $TOP/other lib";
    let boundary = with_directory();
    assert!(
        sh(
            &boundary,
            ".",
            &format!("{attack}; git commit -qm work .; git show HEAD:lib/key | grep -q KEY=1")
        ),
        "the control"
    );

    let boundary = with_directory();
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", attack));
    let reason = Reason::CommitsBehindLinks { files: 1, example: "lib/key".into() };
    let found = unindexed(&boundary, &baseline);
    assert!(found.contains(&(".git/HEAD".to_owned(), reason)), "{found:?}");
    // Whether the commit has anything there, nobody knows if its tree cannot be read.
    let boundary = with_directory();
    let baseline = boundary.baseline();
    let tree = git(&boundary.host, &["rev-parse", "HEAD^{tree}"]);
    let (directory, name) = tree.trim().split_at(2);
    fs::remove_file(boundary.host.join(".git/objects").join(directory).join(name)).unwrap();
    assert!(sh(&boundary, ".", "rm -r lib; ln -s $TOP/other lib"));
    let found = unindexed(&boundary, &baseline);
    assert!(matches!(found[..], [(_, Reason::CommitUnread { commit: Some(_) })]), "{found:?}");
    // One that was there is the user's own.
    let baseline = boundary.baseline();
    assert_eq!(unindexed(&boundary, &baseline), []);
}

#[test]
fn links_and_submodules_of_a_commit_are_reported() {
    let commits_entry = |boundary: &Boundary, entry: &str| {
        let script = format!(
            "export GIT_INDEX_FILE=$TOP/forged; git read-tree HEAD; number=$(printf ../outside | git hash-object -w --stdin); \
             git update-index --add --cacheinfo {entry}; commit=$(git commit-tree -p HEAD -m x $(git write-tree)); {MOVES_HEAD}"
        );
        assert!(sh(boundary, ".", &script), "{entry}");
    };
    let links = |example: &str| Reason::CommitsLinks { files: 1, example: example.into() };
    let protected = |example: &str| Reason::CommitsProtected { files: 1, example: example.into() };
    for (entry, reason) in [
        ("120000,$number,out", links("out")),
        ("120000,$number,.husky", protected(".husky")),
        ("160000,$(git rev-parse HEAD),.cursor", protected(".cursor")),
    ] {
        let boundary = with_hooks(&[]);
        let baseline = boundary.baseline();
        commits_entry(&boundary, entry);
        assert_eq!(unindexed(&boundary, &baseline), [(".git/HEAD".to_owned(), reason)], "{entry}");
    }
}

#[test]
fn a_commit_that_cannot_be_read_is_reported() {
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    let then = format!(
        "{MOVES_HEAD}; tree=$(git rev-parse HEAD:.githooks); rm -f .git/objects/$(echo $tree | cut -c1-2)/$(echo $tree | cut -c3-)"
    );
    commits(&boundary, ".githooks/post-checkout", &then);
    let commit = git(&boundary.host, &["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(
        unindexed(&boundary, &baseline),
        [(".git/HEAD".to_owned(), Reason::CommitUnread { commit: Some(commit) })]
    );
}

#[test]
fn objects_of_others_are_read_too() {
    // All of the old commit lies in a repository from which this one borrows.
    let boundary = with_hooks(&[]);
    let script = "git clone -q --bare . $TOP/lender.git; rm -rf .git/objects/??; echo $TOP/lender.git/objects >.git/objects/info/alternates";
    assert!(sh(&boundary, ".", script));
    let baseline = boundary.baseline();
    commits(&boundary, ".githooks/post-checkout", MOVES_HEAD);
    assert_eq!(unindexed(&boundary, &baseline), protected(".git/HEAD", ".githooks/post-checkout"));
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_and_has_moved_is_reported() {
    let with_tree = || {
        let boundary = with_hooks(&[]);
        assert!(sh(
            &boundary,
            ".",
            "git worktree add -q -b feature $TOP/elsewhere; echo KEY=1 >$TOP/elsewhere/key"
        ));
        boundary
    };
    let moves = "git update-ref refs/heads/feature $commit";
    let boundary = with_tree();
    commits(&boundary, "key", moves);
    assert!(
        sh(
            &boundary,
            ".",
            "cd $TOP/elsewhere; echo 2 >file; git stash -q; git show stash:key | grep -q KEY=1"
        ),
        "the control"
    );

    let boundary = with_tree();
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", "cd $TOP/elsewhere; echo 2 >file; git commit -qam second"));
    assert_eq!(unindexed(&boundary, &baseline), [], "the user's own commit there");
    assert!(sh(
        &boundary,
        ".",
        "cd $TOP/elsewhere; echo 3 >file; git add file; echo 1 >.vscode/settings.json"
    ));
    assert_eq!(unindexed(&boundary, &baseline), [], "and what comes after that");
    commits(&boundary, "key", moves);
    let [(by, Reason::MovedElsewhere { tree, commit })] = &unindexed(&boundary, &baseline)[..] else {
        panic!()
    };
    assert_eq!(by, ".git/worktrees/elsewhere/HEAD");
    assert!(tree.ends_with("/elsewhere"), "{tree}");
    assert_eq!(commit.as_deref(), Some(git(&boundary.host, &["rev-parse", "feature"]).trim()));

    // A file that the index has as the commit before did: nobody has staged another one.
    let boundary = with_tree();
    let baseline = boundary.baseline();
    commits(&boundary, "file", moves);
    assert!(matches!(&unindexed(&boundary, &baseline)[..], [(_, Reason::MovedElsewhere { .. })]));
}

#[test]
fn a_branch_of_a_main_work_tree_that_is_not_shared_has_moved() {
    let moves = "git update-ref refs/heads/main $commit";
    for (path, directory) in [("key", ".git"), ("file", ".git"), ("file", "../separate")] {
        let boundary = with_hooks(&[]);
        if directory != ".git" {
            assert!(sh(&boundary, ".", &format!("git init -q --separate-git-dir={directory}")));
        }
        let data = Boundary {
            _top: tempfile::tempdir().unwrap(),
            host: boundary.host.join(directory).canonicalize().unwrap(),
        };
        let baseline = data.baseline();
        assert!(sh(&boundary, ".", "echo 2 >file; git commit -qam second; echo 3 >file; git add file"));
        assert_eq!(unindexed(&data, &baseline), [], "the user's own commit, and what comes after that");
        let baseline = data.baseline();
        assert!(sh(&boundary, ".", "git commit -qam third"));
        assert_eq!(unindexed(&data, &baseline), [], "what was staged before the start");
        let baseline = data.baseline();
        commits(&boundary, path, moves);
        let [(by, Reason::MovedElsewhere { tree, .. })] = &unindexed(&data, &baseline)[..] else {
            panic!("{path} {directory}: {:?}", unindexed(&data, &baseline))
        };
        let named = if directory == ".git" { boundary.host.clone() } else { data.host.clone() };
        assert_eq!((by.as_str(), Path::new(tree)), ("HEAD", named.as_path()));
    }
}

#[test]
fn a_bare_repository_has_no_work_tree_for_which_a_branch_would_move() {
    // One that has become bare keeps its index.
    for make in [
        "git clone -q --bare . $TOP/bare.git",
        "cp -r .git $TOP/bare.git; git -C $TOP/bare.git config core.bare true",
    ] {
        let boundary = with_hooks(&[]);
        assert!(sh(&boundary, ".", make));
        let data = Boundary { _top: tempfile::tempdir().unwrap(), host: boundary.host.join("../bare.git") };
        let baseline = data.baseline();
        commits(&boundary, "file", "git push -q ../bare.git $commit:main");
        assert_eq!(unindexed(&data, &baseline), [], "{make}");
    }
}

#[test]
fn what_a_branch_that_has_moved_has_no_more_is_reported_where_the_work_tree_is_not_shared() {
    let boundary = with_hooks(&[]);
    assert!(sh(&boundary, ".", "mkdir d; echo '*' >d/.gitignore; git add -f d; git commit -qm ignored"));
    let data = Boundary { _top: tempfile::tempdir().unwrap(), host: boundary.host.join(".git") };
    let baseline = data.baseline();
    assert!(sh(&boundary, ".", "git rm -q --cached d/.gitignore; git commit -qm mine"));
    assert_eq!(unindexed(&data, &baseline), [], "the user's own commit");
    assert!(sh(&boundary, ".", "git add -f d; git commit -qm again"));
    let baseline = data.baseline();
    let removes = "export GIT_INDEX_FILE=$TOP/forged; git read-tree HEAD; git rm -q --cached d/.gitignore; \
                   commit=$(git commit-tree -p HEAD -m x $(git write-tree)); unset GIT_INDEX_FILE; git update-ref refs/heads/main $commit";
    assert!(
        sh(
            &boundary,
            ".",
            &format!(
                "cp -a . $TOP/control; cd $TOP/control; {removes}; echo x >>file; git stash -q; ! test -e d/.gitignore"
            )
        ),
        "the control"
    );
    assert!(sh(&boundary, ".", removes));
    for script in ["true", "rm .git/index"] {
        assert!(sh(&boundary, ".", script));
        let found = unindexed(&data, &baseline);
        assert!(matches!(&found[..], [(_, Reason::MovedElsewhere { .. })]), "{script}: {found:?}");
    }
}

#[test]
fn a_branch_that_comes_to_be_checked_out_in_two_work_trees_is_reported() {
    let with_trees = |flags: &[&str]| {
        let boundary = with_hooks(flags);
        assert!(sh(
            &boundary,
            ".",
            "git worktree add -q -b feature $TOP/elsewhere; git worktree add -q -b other tree; git branch free"
        ));
        boundary
    };
    let boundary = with_trees(&[]);
    assert!(sh(
        &boundary,
        "tree",
        "git symbolic-ref HEAD refs/heads/feature; git commit -q --allow-empty -m x"
    ));
    assert!(sh(&boundary, ".", "git -C $TOP/elsewhere log -1 --format=%s | grep -q x"), "the control");

    for flags in [&[][..], &["--ref-format=reftable"]] {
        for (attack, with) in [
            ("git symbolic-ref HEAD refs/heads/feature", Some("/elsewhere")),
            ("git symbolic-ref HEAD refs/heads/main", Some("")),
            ("git switch -q free", None),
            ("git checkout -q --detach main", None),
        ] {
            let boundary = with_trees(flags);
            let baseline = boundary.baseline();
            assert!(sh(&boundary, "tree", attack));
            let found = boundary.compare(&baseline);
            let twice: Vec<_> = found
                .iter()
                .filter_map(|one| match &one.reason {
                    Reason::ChecksOutTwice { tree, .. } => {
                        Some((one.path.to_str().unwrap(), tree, one.stays()))
                    }
                    _ => None,
                })
                .collect();
            match (with, twice.as_slice()) {
                (None, []) => {}
                (Some(end), [(".git/worktrees/tree/HEAD", tree, true)]) => {
                    let end = if end.is_empty() { boundary.host.to_str().unwrap() } else { end };
                    assert!(tree.trim_end_matches('/').ends_with(end), "{tree}");
                }
                _ => panic!("{flags:?} {attack}: {found:?}"),
            }
        }
    }
    // What was so at the start, and a bare repository with a work tree of its `HEAD`.
    let boundary = with_trees(&[]);
    let twice = "git checkout -q --ignore-other-worktrees feature; git clone -q --bare . ../bare.git";
    assert!(sh(&boundary, "tree", twice));
    let baseline = boundary.baseline();
    assert!(sh(
        &boundary,
        "tree",
        "git commit -q --allow-empty -m x; git -C ../bare.git worktree add -q $TOP/main main"
    ));
    let found = boundary.compare(&baseline);
    assert!(!found.iter().any(|one| matches!(one.reason, Reason::ChecksOutTwice { .. })), "{found:?}");
}
