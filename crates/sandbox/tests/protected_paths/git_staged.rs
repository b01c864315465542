//! What an index holds for protected paths: git writes it there as soon as somebody throws changes away. Git itself is run first, to
//! show that it does.

use super::git_data::index;
use super::git_settings::sh;
use super::repositories::{committed, git, move_all};
use super::*;

/// A repository with hooks in its work tree, and a setting of an editor, all of it committed.
pub(super) fn with_hooks(flags: &[&str]) -> Boundary {
    let boundary = Boundary::new();
    git(&boundary.host, &[&["init", "-q", "-b", "main"], flags, &["."]].concat());
    boundary
        .write("file", "1")
        .write(".githooks/pre-commit", "#!/bin/sh\n")
        .mode(".githooks/pre-commit", 0o755);
    boundary.write(".vscode/settings.json", "{}\n");
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "first"]);
    git(&boundary.host, &["config", "core.hooksPath", ".githooks"]);
    boundary.until_the_clock_is_past(".git/index");
    boundary
}

/// Puts a program into the index at a path.
fn stage(boundary: &Boundary, path: &str) {
    boundary.write("evil", "#!/bin/sh\ntouch obeyed\n");
    let blob = git(&boundary.host, &["hash-object", "-w", "evil"]);
    fs::remove_file(boundary.host.join("evil")).unwrap();
    let info = format!("100755,{},{path}", blob.trim());
    git(&boundary.host, &["update-index", "--add", "--cacheinfo", &info]);
}

fn staged(boundary: &Boundary, baseline: &Baseline) -> Vec<(usize, String)> {
    let findings = boundary.compare(baseline);
    let staged = findings.into_iter().map(|finding| match finding {
        Finding {
            reason: Reason::StagesProtected { files, example },
            origin: FindingOrigin::Earlier,
            ..
        } => (files, example),
        other => panic!("{other}"),
    });
    staged.collect()
}

#[test]
fn what_an_index_would_write_to_a_protected_path_is_reported() {
    let boundary = with_hooks(&[]);
    stage(&boundary, ".githooks/post-checkout");
    git(&boundary.host, &["checkout", "--", "."]);
    assert!(boundary.host.join("obeyed").exists(), "the control: git writes the hook, and runs it");

    for (flags, prepare) in [
        (&[][..], &[][..]),
        (&["--object-format=sha256"], &[]),
        (&[], &["update-index", "--index-version", "4"]),
        (&[], &["update-index", "--split-index"]),
    ] {
        for path in [
            ".githooks/post-checkout", ".githooks/pre-commit", ".vscode/settings.json", ".vscode/tasks.json",
            ".husky/pre-commit", "lefthook.yml", "x.code-workspace",
        ] {
            let boundary = with_hooks(flags);
            if !prepare.is_empty() {
                git(&boundary.host, prepare);
            }
            let baseline = boundary.baseline();
            stage(&boundary, path);
            assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())], "{prepare:?}");
        }
    }
    // A split index may take all of it from a shared one that is new.
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    stage(&boundary, ".githooks/post-checkout");
    git(&boundary.host, &["update-index", "--split-index"]);
    assert_eq!(staged(&boundary, &baseline), [(1, ".githooks/post-checkout".to_owned())]);
}

#[test]
fn what_an_index_keeps_of_a_resolved_conflict_is_reported() {
    let path = ".githooks/post-checkout";
    let attack = |boundary: &Boundary| {
        let number = |words: &[&str]| git(&boundary.host, words).trim().to_owned();
        boundary.write("evil", "#!/bin/sh\ntouch obeyed\n");
        let evil = number(&["hash-object", "-w", "evil"]);
        fs::remove_file(boundary.host.join("evil")).unwrap();
        let own = number(&["rev-parse", &format!("HEAD:{path}")]);
        // A conflict in which one side has changed nothing, resolved in favour of what the commit has.
        let sides = [(1, &own), (2, &own), (3, &evil)]
            .map(|(side, content)| format!("100755 {content} {side}\t{path}\n"));
        let conflict = format!("0 {} 0\t{path}\n{}", "0".repeat(40), sides.concat());
        boundary.write("conflict", &conflict);
        let mut add = std::process::Command::new("git");
        add.current_dir(&boundary.host).args(["update-index", "--index-info"]);
        assert!(
            add.stdin(fs::File::open(boundary.host.join("conflict")).unwrap()).status().unwrap().success()
        );
        fs::remove_file(boundary.host.join("conflict")).unwrap();
        git(&boundary.host, &["update-index", "--add", "--cacheinfo", &format!("100755,{own},{path}")]);
    };
    let with_hook = || {
        let boundary = with_hooks(&[]);
        boundary.write(path, "#!/bin/sh\n").mode(path, 0o755);
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "hook"]);
        boundary
    };
    let boundary = with_hook();
    attack(&boundary);
    assert_eq!(git(&boundary.host, &["status", "--short"]), "", "the control: nothing is to be seen");
    git(&boundary.host, &["checkout", "-m", "--", "."]);
    assert!(boundary.host.join("obeyed").exists(), "the control: git writes the hook, and runs it");

    let boundary = with_hook();
    let baseline = boundary.baseline();
    attack(&boundary);
    assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
}

#[test]
fn many_entries_that_lie_there_hide_none_that_does_not() {
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    for number in 0..1100 {
        boundary.write(&format!(".cursor/rules/{number}.txt"), "");
    }
    git(&boundary.host, &["add", ".cursor"]);
    assert_eq!(staged(&boundary, &baseline), [], "the control");
    stage(&boundary, ".husky/post-checkout");
    assert_eq!(staged(&boundary, &baseline), [(1, ".husky/post-checkout".to_owned())]);
}

#[test]
fn a_submodule_at_or_above_a_protected_path_is_reported() {
    for path in [".vscode", ".githooks/deep", ".husky"] {
        let boundary = with_hooks(&[]);
        let commit = git(&boundary.host, &["rev-parse", "HEAD"]);
        let add = |path: &str| {
            let info = format!("160000,{},{path}", commit.trim());
            git(&boundary.host, &["update-index", "--add", "--replace", "--cacheinfo", &info]);
        };
        let baseline = boundary.baseline();
        add("vendor/lib");
        assert_eq!(staged(&boundary, &baseline), [], "the control");
        add(path);
        assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
    }
}

#[test]
fn a_directory_of_a_sparse_index_at_or_above_a_protected_path_is_reported() {
    let prepared = || {
        let boundary = with_hooks(&[]);
        boundary.write("docs/page", "1").write("deps/x", "1");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "more"]);
        git(&boundary.host, &["sparse-checkout", "set", "--sparse-index", ".githooks"]);
        git(&boundary.host, &["init", "-q", "deps/r"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    let commit = |boundary: &Boundary, directory: &str| {
        let script = format!(
            "blob=$(echo evil | git hash-object -w --stdin); tree=$(printf \"100644 blob $blob\\tconfig.toml\\n\" | git mktree)
             all=$( (git ls-tree HEAD | grep -v '{directory}$'; printf \"040000 tree $tree\\t{directory}\\n\") | git mktree)
             mv deps ../deps; git reset -q --hard $(git commit-tree -p HEAD -m more $all); git sparse-checkout reapply
             git ls-files --sparse | grep -qx {directory}/; mkdir -p deps; mv ../deps/r deps; rm -rf ../deps"
        );
        assert!(sh(boundary, "", &format!("set -e; {script}")), "git writes it so: {directory}");
    };
    for (directory, counts) in
        [(".cargo", true), (".vscode", true), ("deps", true), ("docs", false), ("src", false)]
    {
        let boundary = prepared();
        let baseline = boundary.baseline();
        commit(&boundary, directory);
        let reasons = boundary.compare(&baseline).into_iter().map(|one| one.reason);
        let reasons: Vec<_> = reasons.filter(|one| !matches!(one, Reason::HidesChanges { .. })).collect();
        let expected = Reason::StagesProtected { files: 1, example: format!("{directory}/") };
        assert_eq!(reasons, counts.then_some(expected).into_iter().collect::<Vec<_>>());
        git(&boundary.host, &["sparse-checkout", "disable"]);
        assert!(boundary.host.join(directory).join("config.toml").exists(), "the control: git writes it");
    }
}

#[test]
fn what_is_quarantined_and_staged_too_would_be_written_again() {
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    boundary.write("lefthook.yml", "pre-commit:\n");
    git(&boundary.host, &["add", "lefthook.yml"]);
    let mut findings = boundary.compare(&baseline);
    let staged = Reason::StagesProtected { files: 1, example: "lefthook.yml".into() };
    assert!(findings.iter().any(|one| one.reason == staged), "{findings:?}");
    let file = findings.iter_mut().find(|one| one.path == Path::new("lefthook.yml")).unwrap();
    assert!(quarantine(boundary.root().enter().unwrap(), file, now()).unwrap());
    git(&boundary.host, &["checkout", "--", "."]);
    assert!(boundary.host.join("lefthook.yml").exists(), "git writes it again");
}

#[test]
fn a_commit_leaves_in_the_index_what_the_work_tree_does_not_have() {
    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    stage(&boundary, ".githooks/pre-commit");
    stage(&boundary, ".githooks/post-merge");
    git(&boundary.host, &["commit", "-q", "--no-verify", "-m", "evil"]);
    let found = staged(&boundary, &baseline);
    assert_eq!(found, [(2, ".githooks/post-merge".to_owned())]);
}

#[test]
fn an_index_that_holds_what_lies_there_is_no_news() {
    let boundary = with_hooks(&[]);
    boundary.write(".npmrc", "audit=false\n").write(".vscode/settings.json", "{ }\n");
    boundary.write(".vscode/extensions.json", "{}\n");
    git(&boundary.host, &["add", ".vscode/extensions.json"]);
    fs::remove_file(boundary.host.join(".vscode/extensions.json")).unwrap();
    let baseline = boundary.baseline();
    // The owner's changes and their removed file, and what an agent made that runs nothing.
    boundary.write("src/lib.rs", "").write("file", "2").write(".config/git/ignore", "x\n");
    symlink("file", boundary.host.join("link")).unwrap();
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "work"]);
    git(&boundary.host, &["rm", "-q", "--cached", ".npmrc"]);
    git(&boundary.host, &["init", "-q", "new"]);
    boundary.write("new/lefthook.yml", "");
    git(&boundary.host.join("new"), &["add", "-A"]);
    boundary.write("new/lefthook.yml", "\n");
    assert_eq!(staged(&boundary, &baseline), []);
    assert_eq!(git(&boundary.host, &["status", "-s", "file"]), "", "the control: it was committed");
}

#[test]
fn what_was_staged_at_the_start_is_the_users_own() {
    let (boundary, _) = committed();
    stage(&boundary, ".husky/pre-commit");
    let baseline = boundary.baseline();
    boundary.write("file", "2");
    git(&boundary.host, &["add", "file"]);
    assert_eq!(staged(&boundary, &baseline), []);
}

#[test]
fn a_directory_of_an_index_that_is_not_left_out_of_the_work_tree_is_found() {
    let prepared = || {
        let (boundary, _) = committed();
        boundary.write("scripts/x", "1");
        git(&boundary.host, &["add", "scripts/x"]);
        git(&boundary.host, &["commit", "-q", "-m", "scripts"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    let attack = |boundary: &Boundary| {
        let [file, scripts] =
            ["HEAD:file", "HEAD:scripts"].map(|name| git(&boundary.host, &["rev-parse", name]));
        let entries = [(0o100_644, file.trim(), "file"), (0o040_000, scripts.trim(), "scripts/")];
        let forged = index(2, &entries);
        let (entries, checksum) = forged.split_at(forged.len() - 20);
        fs::write(boundary.host.join(".git/index"), [entries, b"sdir\0\0\0\0", checksum].concat()).unwrap();
        boundary.write("scripts/x", "2");
    };
    let is_shown = |boundary: &Boundary| git(&boundary.host, &["status", "-s"]).contains("scripts/x");
    let boundary = prepared();
    attack(&boundary);
    assert!(!is_shown(&boundary), "the control: git hides the change");

    let boundary = prepared();
    let baseline = boundary.baseline();
    attack(&boundary);
    let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(found, [PathBuf::from(".git/index")]);

    let boundary = prepared();
    let baseline = boundary.baseline();
    git(&boundary.host, &["sparse-checkout", "set", "--sparse-index"]);
    assert!(git(&boundary.host, &["ls-files", "--sparse"]).contains("scripts/\n"), "the control");
    let reasons: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| one.reason).collect();
    // It has git read a configuration of the work tree.
    let reasons: Vec<_> =
        reasons.into_iter().filter(|reason| !matches!(reason, Reason::Reconfigured { .. })).collect();
    assert!(matches!(reasons[..], [Reason::HidesChanges { files: 1, .. }]), "one of git's own: {reasons:?}");
}

/// A repository with a directory `in` and one with a name of two parts beside it, and a directory out of the boundary with a file.
fn with_directories(flags: &[&[&str]]) -> (Boundary, PathBuf) {
    let (boundary, outside) = committed();
    let there = outside.with_file_name("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "the user's own\n").unwrap();
    boundary.write("in/i", "1").write("a/dir/d", "1").write("a/dir-too", "1").write("a/b/e/f", "1");
    git(&boundary.host, &["add", "in", "a"]);
    git(&boundary.host, &["commit", "-q", "-m", "directories"]);
    for words in flags {
        git(&boundary.host, words);
    }
    boundary.until_the_clock_is_past(".git/index");
    (boundary, there)
}

#[test]
fn a_link_out_of_the_boundary_where_an_index_lists_files_is_quarantined() {
    const CONE: &[&str] = &["sparse-checkout", "set", "in"];
    const SPARSE: &[&str] = &["sparse-checkout", "set", "--sparse-index", "in"];
    const REAPPLY: &[&str] = &["sparse-checkout", "reapply"];
    for (flags, link, commands) in [
        (&[CONE][..], "a", REAPPLY),
        (&[&["sparse-checkout", "set", "a/b"]], "a/dir", REAPPLY),
        (&[SPARSE], "a", REAPPLY),
        (&[CONE], "in", &["sparse-checkout", "set", "a"]),
        // The user makes it sparse later.
        (&[], "a", CONE),
        (&[&["update-index", "--split-index"]], "a", CONE),
    ] {
        let attack = |boundary: &Boundary, there: &Path| {
            let path = boundary.host.join(link);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            boundary.link(there, link);
        };
        let is_there = |boundary: &Boundary, there: &Path| {
            git(&boundary.host, commands);
            there.join("mine").exists()
        };
        let (boundary, there) = with_directories(flags);
        attack(&boundary, &there);
        assert!(!is_there(&boundary, &there), "the control: git empties it, {link} {flags:?}");

        let (boundary, there) = with_directories(flags);
        let baseline = boundary.baseline();
        attack(&boundary, &there);
        let found = move_all(&boundary, &baseline);
        let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
        assert_eq!(found, [(link, FindingOrigin::Created)], "{flags:?}");
        assert_eq!(boundary.compare(&baseline), []);
        assert!(is_there(&boundary, &there), "{link} {flags:?}");
    }
}

#[test]
fn links_that_an_index_has_no_files_beneath_stay_and_so_do_the_users_own() {
    let (boundary, there) = with_directories(&[]);
    // The user's own, as it is and staged.
    fs::remove_dir_all(boundary.host.join("in")).unwrap();
    boundary.link(&there, "in").link(&there, "data").link(&there, "old");
    boundary.until_the_clock_is_past("old");
    let baseline = boundary.baseline();
    boundary.link(&there, "other").link("a/b", "a/inside").link("a", "short");
    // Nothing is there on the host.
    fs::remove_dir_all(boundary.host.join("a/b/e")).unwrap();
    boundary.link("/no-such-directory-on-the-host/x", "a/b/e");
    assert_eq!(boundary.compare(&baseline), []);
    // The index has it as a link.
    fs::remove_dir_all(boundary.host.join("a/dir")).unwrap();
    boundary.link(&there, "a/dir");
    let leads_out = |example: &str| Reason::LeadsOut { example: example.into() };
    let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| one.reason).collect();
    assert_eq!(found, [leads_out("a/dir/d")], "the control");
    git(&boundary.host, &["add", "-A"]);
    assert_eq!(boundary.compare(&baseline), []);
    // What was there is not moved, though an index comes to list files beneath it.
    let baseline = boundary.baseline();
    git(&boundary.host, &["reset", "-q"]);
    let mut found = boundary.compare(&baseline);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let found: Vec<_> = found.into_iter().map(|one| (one.path, one.reason, one.origin)).collect();
    let wanted = [("a/dir", "a/dir/d"), ("in", "in/i")];
    assert_eq!(found, wanted.map(|(path, file)| (path.into(), leads_out(file), FindingOrigin::Earlier)));
}

#[test]
fn what_an_index_would_write_into_a_nested_repository_is_reported() {
    let prepared = || {
        let (boundary, _) = committed();
        git(&boundary.host, &["init", "-q", "--bare", "sub/store.git"]);
        git(&boundary.host, &["init", "-q", "nested"]);
        git(&boundary.host.join("nested"), &["commit", "-q", "--allow-empty", "-m", "first"]);
        fs::remove_dir_all(boundary.host.join("sub/store.git/hooks")).unwrap();
        boundary.write("nested/sub/file", "1");
        boundary
    };
    let hook = "sub/store.git/hooks/post-receive";
    let boundary = prepared();
    stage(&boundary, hook);
    git(&boundary.host, &["checkout", "--", "."]);
    git(&boundary.host.join("nested"), &["push", "-q", "../sub/store.git", "HEAD:main"]);
    assert!(
        boundary.host.join("sub/store.git/obeyed").exists(),
        "the control: git writes the hook, and runs it"
    );

    for path in [
        hook,
        "sub/store.git/config.worktree",
        "sub/store.git/objects/info/alternates",
        "sub/store.git/modules/evil/hooks/post-checkout",
        "nested/.envrc",
        "nested/.vscode/tasks.json",
        "nested/sandbox.toml",
        "nested/x.code-workspace",
    ] {
        let boundary = prepared();
        let baseline = boundary.baseline();
        stage(&boundary, path);
        assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
    }
    let boundary = prepared();
    let baseline = boundary.baseline();
    for path in ["nested/sub/.envrc.txt", "nested/src/x", "sub/store.git/objects/ab/cd", "sub/x/hooks/update"]
    {
        stage(&boundary, path);
    }
    assert_eq!(staged(&boundary, &baseline), [], "nobody obeys these");
}

#[test]
fn what_an_index_would_write_into_its_own_repository_is_reported() {
    let prepared = || {
        let boundary = Boundary::new();
        git(&boundary.host, &["init", "-q", "-b", "main", "--separate-git-dir=data", "."]);
        boundary.write("file", "1").write(".gitignore", "data\n");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "first"]);
        boundary.until_the_clock_is_past("data/index");
        boundary
    };
    let boundary = prepared();
    stage(&boundary, "data/hooks/post-checkout");
    git(&boundary.host, &["checkout", "--", "."]);
    git(&boundary.host, &["checkout", "-q", "-b", "other"]);
    assert!(boundary.host.join("obeyed").exists(), "the control: git writes the hook, and runs it");

    let boundary = prepared();
    let baseline = boundary.baseline();
    boundary.write("file", "2").write("new", "1");
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "second"]);
    assert_eq!(staged(&boundary, &baseline), []);
    stage(&boundary, "data/hooks/post-checkout");
    assert_eq!(staged(&boundary, &baseline), [(1, "data/hooks/post-checkout".to_owned())]);
}

/// A repository whose configuration names a program that git runs in it.
const EMBEDDED: &str = "mkdir -p t/objects/info t/refs/heads; echo ref: refs/heads/main >t/HEAD; touch t/objects/info/keep t/refs/heads/keep; \
     printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ../sub\\n\\tfsmonitor = \"touch obeyed; false\"\\n' >t/config; git add t";

#[test]
fn a_repository_that_only_an_index_has_is_reported() {
    let prepared = || {
        let (boundary, _) = committed();
        boundary.write("sub/file", "1");
        boundary
    };
    let boundary = prepared();
    assert!(sh(&boundary, ".", &format!("{EMBEDDED}; rm -r t; git checkout -- .; cd t; git status")));
    assert!(boundary.host.join("sub/obeyed").exists(), "the control: git makes it, and obeys it");

    for (gone, files, example) in [
        ("t", 2, "t/HEAD"),
        ("t/HEAD t/config", 1, "t/HEAD"),
        ("t/objects t/config", 1, "t/objects/info/keep"),
        ("t/refs t/config", 1, "t/refs/heads/keep"),
        ("t/refs t/objects t/config", 2, "t/objects/info/keep"),
    ] {
        let boundary = prepared();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", &format!("{EMBEDDED}; rm -r {gone}")), "{gone}");
        assert_eq!(staged(&boundary, &baseline), [(files, example.to_owned())], "{gone}");
    }
    // Git only asks whether it may execute the two directories, and a submodule is one that is empty.
    for (path, mode) in
        [("t/commondir", "100644"), ("t/HEAD", "120000"), ("s/objects", "100755"), ("s/refs", "160000")]
    {
        let boundary = prepared();
        boundary.write("s/HEAD", "ref: refs/heads/main\n");
        let baseline = boundary.baseline();
        let script = format!("git update-index --add --cacheinfo {mode},$(git rev-parse HEAD:file),{path}");
        assert!(sh(&boundary, ".", &script), "{script}");
        assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
    }
    let boundary = prepared();
    let baseline = boundary.baseline();
    stage(&boundary, "t/objects/x");
    stage(&boundary, "s/refs/heads/x");
    stage(&boundary, "t/HEAD.md");
    assert_eq!(staged(&boundary, &baseline), [], "that makes no repository");
    // A later command may make the rest.
    stage(&boundary, "t/refs/heads/x");
    assert_eq!(staged(&boundary, &baseline), [(1, "t/refs/heads/x".to_owned())]);
}

#[test]
fn a_repository_of_another_system_that_only_an_index_has_is_reported() {
    for path in ["sub/.hg/hgrc", "sub/.jj/repo/config.toml", "a/b/c/d/.sl/config"] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        stage(&boundary, path);
        assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
    }
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    stage(&boundary, "sub/.hgtags");
    stage(&boundary, "sub/.hg/store/data/x.i");
    assert_eq!(staged(&boundary, &baseline), [], "nobody obeys these");
}

#[test]
fn names_that_only_an_index_has_are_reported() {
    for path in [".unknown-tool.toml", ".unknown/x", "-x", "sub/--output=x", "tools/git-annex-remote-x/y"] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        stage(&boundary, path);
        assert_eq!(staged(&boundary, &baseline), [(1, path.to_owned())]);
    }
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    for path in
        [".gitkeep", ".github/dependabot.yml", "sub/.unknown", "src/+page.svelte", "sub/git-annex-remote-x"]
    {
        stage(&boundary, path);
    }
    assert_eq!(staged(&boundary, &baseline), [], "nobody obeys these for their names");
}

#[test]
fn a_protected_path_that_an_index_lists_no_more_is_reported() {
    let prepared = || {
        let boundary = with_hooks(&[]);
        boundary.write("sandbox.toml", "version = 1\n");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "second"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    let boundary = prepared();
    assert!(sh(&boundary, ".", "git rm -q --cached sandbox.toml; git clean -fdq"));
    assert!(!boundary.host.join("sandbox.toml").exists(), "the control: git removes it");

    let gone = |then: &str| {
        let boundary = prepared();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", then), "{then}");
        boundary.compare(&baseline).into_iter().map(|one| one.reason).collect::<Vec<_>>()
    };
    let no_more = |files, example: &str| vec![Reason::ListsNoMore { files, example: example.into() }];
    assert_eq!(gone("git rm -q --cached sandbox.toml"), no_more(1, "sandbox.toml"));
    assert_eq!(gone("git rm -q --cached sandbox.toml; git commit -q -m x"), no_more(1, "sandbox.toml"));
    assert_eq!(gone("git rm -q -r --cached .; git add file"), no_more(3, ".githooks/pre-commit"));
    let more = "mkdir src; ln -s ../.git src/.git; git rm -q --cached sandbox.toml";
    assert!(gone(more).contains(&no_more(1, "sandbox.toml")[0]), "another work tree");
    assert_eq!(gone("git rm -q --cached file; echo x >>file"), []);
    assert_eq!(gone("git rm -q -r --cached .; git add ."), []);
    // A conflict that was resolved keeps what it was about, and a split index what its shared one has.
    let conflict = "number=$(git rev-parse :sandbox.toml); printf '0 0000000000000000000000000000000000000000\\tsandbox.toml\\n100644 %s 2\\tsandbox.toml\\n' $number | \
         git update-index --index-info; git update-index --add sandbox.toml; git rm -q --cached sandbox.toml; git ls-files --resolve-undo | grep -q sandbox.toml";
    assert_eq!(gone(conflict), no_more(1, "sandbox.toml"));
    assert_eq!(
        gone("git update-index --split-index; git rm -q --cached sandbox.toml"),
        no_more(1, "sandbox.toml")
    );
}

#[test]
fn a_repository_that_is_committed_in_another_one_is_no_news() {
    let (boundary, _) = committed();
    git(&boundary.host, &["init", "-q", "--bare", "tests/fixture.git"]);
    git(&boundary.host, &["push", "-q", "tests/fixture.git", "main"]);
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "fixture"]);
    let listed = git(&boundary.host, &["ls-files"]);
    assert!(listed.contains("tests/fixture.git/HEAD"), "the control: {listed}");
    let baseline = boundary.baseline();
    git(&boundary.host, &["push", "-q", "tests/fixture.git", "main:refs/heads/other"]);
    assert_eq!(staged(&boundary, &baseline), []);
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "more"]);
    assert_eq!(staged(&boundary, &baseline), []);
}

#[test]
fn the_index_of_a_work_tree_is_compared_wherever_its_repository_lies() {
    for flags in [&[][..], &["--object-format=sha256"]] {
        let prepared = || {
            let boundary = Boundary::new();
            let main = boundary.host.with_file_name("main");
            let there = boundary.host.with_file_name("there");
            for directory in [&main, &there] {
                fs::create_dir(directory).unwrap();
                fs::write(directory.join("mine"), "the user's own\n").unwrap();
            }
            git(&main, &[&["init", "-q", "-b", "main"], flags, &["."]].concat());
            fs::create_dir_all(main.join("a/b")).unwrap();
            fs::write(main.join("a/b/file"), "1").unwrap();
            git(&main, &["add", "-A"]);
            git(&main, &["commit", "-q", "-m", "first"]);
            git(&main, &["worktree", "add", "-q", boundary.host.to_str().unwrap()]);
            (boundary, there)
        };
        let (boundary, there) = prepared();
        stage(&boundary, ".envrc");
        git(&boundary.host, &["checkout", "--", "."]);
        assert!(boundary.host.join(".envrc").exists(), "the control: git writes it");
        fs::remove_dir_all(boundary.host.join("a")).unwrap();
        boundary.link(&there, "a");
        git(&boundary.host, &["sparse-checkout", "set", "src"]);
        assert!(!there.join("mine").exists(), "the control: git empties it");

        let (boundary, there) = prepared();
        let baseline = boundary.baseline();
        // The repository is another boundary, in which the work tree is not.
        let repository =
            Boundary { _top: tempfile::tempdir().unwrap(), host: boundary.host.with_file_name("main/.git") };
        let mut mounts = repository.mounts();
        assert_eq!(mounts.elsewhere.values().collect::<Vec<_>>(), [&boundary.host], "{flags:?}");
        mounts.shared_elsewhere = mounts.elsewhere.keys().cloned().collect();
        let repository_baseline = Baseline::take(repository.root().enter().unwrap(), &mounts).unwrap().0;
        // Ordinary work.
        boundary.write(".npmrc", "audit=false\n").write("a/b/file", "2").write("new", "1");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "second"]);
        assert_eq!(staged(&boundary, &baseline), [], "{flags:?}");
        assert_eq!(staged(&repository, &repository_baseline), [], "{flags:?}");
        stage(&boundary, ".envrc");
        stage(&boundary, ".vscode/tasks.json");
        assert_eq!(staged(&boundary, &baseline), [(2, ".envrc".to_owned())], "{flags:?}");
        git(&boundary.host, &["reset", "-q"]);
        fs::remove_dir_all(boundary.host.join("a")).unwrap();
        boundary.link(&there, "a");
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert_eq!(found, [PathBuf::from("a")]);
        git(&boundary.host, &["sparse-checkout", "set", "src"]);
        assert!(there.join("mine").exists());
    }
}

#[test]
fn a_directory_that_leads_to_the_data_of_a_work_tree_does_not_stand_for_it() {
    let prepared = || {
        let (boundary, outside) = committed();
        let there = outside.with_file_name("there");
        fs::create_dir(&there).unwrap();
        boundary.write("a/dir/file", "1");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "second"]);
        git(&boundary.host, &["worktree", "add", "-q", "tree"]);
        boundary.write(".githooks/keep", "").write("tree/.githooks/keep", "");
        git(&boundary.host, &["config", "core.hooksPath", ".githooks"]);
        (boundary, there)
    };
    for decoy in ["aaa", "zzz"] {
        let (boundary, there) = prepared();
        let baseline = boundary.baseline();
        boundary.write(&format!("{decoy}/.git"), "gitdir: ../.git/worktrees/tree\n");
        boundary.write("tree/evil", "#!/bin/sh\n");
        let blob = git(&boundary.host, &["hash-object", "-w", "tree/evil"]);
        fs::remove_file(boundary.host.join("tree/evil")).unwrap();
        let info = format!("100755,{},.githooks/post-checkout", blob.trim());
        git(&boundary.host.join("tree"), &["update-index", "--add", "--cacheinfo", &info]);
        fs::remove_dir_all(boundary.host.join("tree/a")).unwrap();
        boundary.link(&there, "tree/a");
        let found = boundary.compare(&baseline);
        let leads_out = Reason::LeadsOut { example: "tree/a/dir/file".into() };
        let stages = Reason::StagesProtected { files: 1, example: ".githooks/post-checkout".into() };
        for reason in [leads_out, stages] {
            assert!(found.iter().any(|one| one.reason == reason), "{decoy}: {found:?}");
        }
    }
}

#[test]
fn a_link_that_only_an_index_has_is_reported() {
    let attack = |boundary: &Boundary| {
        fs::write(boundary.host.join("target"), ".git/hooks/post-commit").unwrap();
        let blob = git(&boundary.host, &["hash-object", "-w", "target"]);
        fs::remove_file(boundary.host.join("target")).unwrap();
        let info = format!("120000,{},0001-fix.patch", blob.trim());
        git(&boundary.host, &["update-index", "--add", "--cacheinfo", &info]);
    };
    let boundary = with_hooks(&[]);
    attack(&boundary);
    git(&boundary.host, &["checkout", "--", "."]);
    let target = fs::read_link(boundary.host.join("0001-fix.patch")).unwrap();
    assert_eq!(target, Path::new(".git/hooks/post-commit"), "the control: git makes it");

    let boundary = with_hooks(&[]);
    boundary.link("file", "own");
    git(&boundary.host, &["add", "own"]);
    let baseline = boundary.baseline();
    // Ordinary work.
    boundary.link("file", "more");
    git(&boundary.host, &["add", "more"]);
    git(&boundary.host, &["commit", "-q", "-m", "links"]);
    assert_eq!(staged(&boundary, &baseline), []);
    attack(&boundary);
    let findings = boundary.compare(&baseline);
    let [Finding { reason: Reason::StagesLinks { files: 1, example }, origin: FindingOrigin::Earlier, .. }] =
        findings.as_slice()
    else {
        panic!("{findings:?}");
    };
    assert_eq!(example, "0001-fix.patch");
}

#[test]
fn what_an_index_lists_behind_a_link_is_taken_for_what_it_leads_to() {
    let conflict = |boundary: &Boundary| {
        boundary.link(".", "d");
        boundary.write("evil", "#!/bin/sh\ntouch obeyed\n");
        let theirs = git(&boundary.host, &["hash-object", "-w", "evil"]);
        let ours = git(&boundary.host, &["hash-object", "-w", "file"]);
        fs::remove_file(boundary.host.join("evil")).unwrap();
        let stages = [(1, &ours), (2, &ours), (3, &theirs)];
        let lines =
            stages.map(|(stage, id)| format!("100755 {} {stage}\td/.githooks/pre-commit\n", id.trim()));
        boundary.write("lines", &lines.concat());
        git(&boundary.host, &["-c", "alias.i=!git update-index --index-info <lines", "i"]);
        fs::remove_file(boundary.host.join("lines")).unwrap();
    };
    let boundary = with_hooks(&[]);
    conflict(&boundary);
    let tool = "mergetool.t.cmd=git merge-file -p --theirs \"$LOCAL\" \"$BASE\" \"$REMOTE\" >\"$MERGED\"";
    git(&boundary.host, &["-c", tool, "-c", "mergetool.t.trustExitCode=true", "mergetool", "-y", "-t", "t"]);
    let hook = fs::read_to_string(boundary.host.join(".githooks/pre-commit")).unwrap();
    assert!(hook.contains("touch obeyed"), "the control: the tool writes the hook: {hook}");

    let boundary = with_hooks(&[]);
    let baseline = boundary.baseline();
    conflict(&boundary);
    assert_eq!(staged(&boundary, &baseline), [(3, "d/.githooks/pre-commit".to_owned())]);
}
