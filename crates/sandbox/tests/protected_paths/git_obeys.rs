//! What git obeys of its own data besides configurations and hooks: references, lines that hide files, and names. Git itself is run
//! first, to show what it does with it.

use super::git_settings::sh;
use super::repositories::{OBEYED, committed, git, move_all};
use super::*;

/// Makes a bare repository whose hook leaves a trace, and returns the hook.
fn with_hook(boundary: &Boundary, place: &str) -> String {
    git(&boundary.host, &["init", "-q", "--bare", place]);
    let hook = format!("{place}/hooks/post-checkout");
    boundary.write(&hook, "#!/bin/sh\ntouch obeyed\n").mode(&hook, 0o755);
    hook
}

fn found(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, Reason, FindingOrigin)> {
    let findings = boundary.compare(baseline).into_iter();
    findings.map(|one| (one.path.display().to_string(), one.reason, one.origin)).collect()
}

#[test]
fn a_reference_that_leads_out_of_the_references_is_quarantined() {
    for (reference, target, words) in [
        ("ORIG_HEAD", "modules/lib/commondir", &["reset", "-q", "--hard"][..]),
        ("refs/stash", "modules/lib/x/refs/x", &["stash", "-q"]),
    ] {
        let attack = |boundary: &Boundary| {
            boundary.write(&format!(".git/{reference}"), &format!("ref: {target}\n")).write("file", "2");
        };
        let is_written = |boundary: &Boundary| boundary.host.join(".git").join(target).exists();
        let (boundary, _) = committed();
        attack(&boundary);
        git(&boundary.host, words);
        assert!(is_written(&boundary), "the control: git writes to {target}");

        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary);
        let moved = move_all(&boundary, &baseline);
        let reason = Reason::WritesElsewhere { example: target.into() };
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!((&moved[0].reason, moved[0].origin), (&reason, FindingOrigin::Created));
        git(&boundary.host, words);
        assert!(!is_written(&boundary), "{target}");
    }
}

#[test]
fn a_branch_whose_name_is_an_option_is_quarantined() {
    let name = "refs/heads/--output=written";
    let attack = |boundary: &Boundary, is_link: bool| {
        let head = git(&boundary.host, &["rev-parse", "HEAD"]);
        boundary.write(&format!(".git/{name}"), &head);
        fs::remove_file(boundary.host.join(".git/HEAD")).unwrap();
        if is_link {
            boundary.link(name, ".git/HEAD");
        } else {
            boundary.write(".git/HEAD", &format!("ref: {name}\n"));
        }
    };
    // As scripts do.
    let is_obeyed = |boundary: &Boundary| {
        let branch = git(&boundary.host, &["branch", "--show-current"]);
        git(&boundary.host, &["log", branch.trim()]);
        boundary.host.join("written").exists()
    };
    for is_link in [false, true] {
        let (boundary, _) = committed();
        attack(&boundary, is_link);
        assert!(is_obeyed(&boundary), "the control");

        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary, is_link);
        let mut moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        moved.sort();
        assert_eq!(moved, [".git/HEAD".into(), Path::new(".git").join(name)]);
        assert!(!is_obeyed(&boundary));
    }
    // The form that git makes with `core.preferSymlinkRefs`.
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    fs::remove_file(boundary.host.join(".git/HEAD")).unwrap();
    boundary.link("refs/heads/main", ".git/HEAD");
    assert_eq!(found(&boundary, &baseline), []);
}

#[test]
fn what_git_takes_for_an_option_in_the_place_of_a_reference_is_quarantined() {
    let bisecting = || {
        let (boundary, _) = committed();
        for number in ["2", "3"] {
            git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", number]);
        }
        git(&boundary.host, &["bisect", "start", "HEAD", "HEAD~2"]);
        boundary.write("file", "not committed");
        boundary
    };
    let boundary = bisecting();
    assert_eq!(boundary.compare(&boundary.baseline()), [], "what git writes there");
    // Of space around it, one command drops what is behind, and the other all.
    let behind_space = format!("{:5000}--force\n", "");
    for (content, command) in
        [("-f\n", "reset"), (" --force\n", "start"), ("\n\t-f\n", "start"), (&*behind_space, "start")]
    {
        let attack = |boundary: &Boundary| {
            boundary.write(".git/BISECT_START", content);
        };
        let is_lost = |boundary: &Boundary| {
            git(&boundary.host, &["bisect", command]);
            fs::read_to_string(boundary.host.join("file")).unwrap() != "not committed"
        };
        let boundary = bisecting();
        attack(&boundary);
        assert!(is_lost(&boundary), "the control: {content:?}");
        let boundary = bisecting();
        let baseline = boundary.baseline();
        attack(&boundary);
        let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert_eq!(moved, [PathBuf::from(".git/BISECT_START")], "{content:?}");
        assert!(!is_lost(&boundary), "{content:?}");
    }
    let boundary = bisecting();
    let baseline = boundary.baseline();
    for path in [
        "CHERRY_PICK_HEAD", "refs/heads/--output=x", "refs/tags/-x/y", "refs/heads/$(evil)",
        "refs/heads/a/`evil`", "refs/tags/${evil@P}",
    ] {
        let content = if path.starts_with("refs") { "1".repeat(40) } else { "--output=x\n".into() };
        boundary.write(&format!(".git/{path}"), &content);
        assert!(boundary.paths(&baseline).contains(&format!(".git/{path}")), "{path}");
    }
}

#[test]
fn a_reference_of_a_submodule_and_of_a_linked_work_tree_is_looked_at_too() {
    let (boundary, _) = committed();
    boundary.bare(".git/modules/lib");
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    // The user's own oddity stays.
    boundary.write(".git/OLD_HEAD", "ref: old\n");
    let baseline = boundary.baseline();
    let new = [
        ".git/modules/lib/refs/heads/a/b", ".git/worktrees/tree/CHERRY_PICK_HEAD",
        ".git/worktrees/tree/refs/bisect/bad",
    ];
    for path in new {
        boundary.write(path, "ref: commondir\n");
    }
    let mut paths = boundary.paths(&baseline);
    paths.sort();
    assert_eq!(paths, new);
}

#[test]
fn references_that_git_writes_and_messages_are_no_news() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    let host = &boundary.host;
    git(host, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    git(host, &["symbolic-ref", "NOTES_MERGE_REF", "refs/notes/commits"]);
    git(host, &["commit", "-q", "--allow-empty", "-m", "ref: a message, and no reference"]);
    git(host, &["notes", "add", "-m", "ref: x"]);
    git(host, &["tag", "-a", "-m", "ref: y", "v1"]);
    boundary.write("file", "2");
    git(host, &["stash", "-q"]);
    assert!(fs::read_to_string(host.join(".git/COMMIT_EDITMSG")).unwrap().starts_with("ref: a"));
    assert_eq!(found(&boundary, &baseline), []);
}

#[test]
fn a_pipe_in_the_place_of_gits_data_is_quarantined() {
    let pipe = |boundary: &Boundary, path: &str| {
        let _ = fs::remove_file(boundary.host.join(path));
        assert!(Command::new("mkfifo").arg(boundary.host.join(path)).status().unwrap().success());
    };
    let status = |boundary: &Boundary| {
        let output = Command::new("timeout")
            .args(["5", "git", "status"])
            .current_dir(&boundary.host)
            .output()
            .unwrap();
        output.status.code()
    };
    let (boundary, _) = committed();
    pipe(&boundary, ".git/packed-refs");
    assert_eq!(status(&boundary), Some(124), "the control: git waits");

    let paths = [
        ".git/index", ".git/info/exclude", ".git/packed-refs", ".git/refs/heads/x", ".git/x",
        "bare.git/packed-refs",
    ];
    for path in paths {
        let (boundary, _) = committed();
        boundary.bare("bare.git");
        let baseline = boundary.baseline();
        pipe(&boundary, path);
        let moved = move_all(&boundary, &baseline);
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!((moved[0].path.to_str(), &moved[0].reason), (Some(path), &Reason::NotAFile));
        if path != ".git/index" {
            assert_eq!(status(&boundary), Some(0), "{path}");
        }
    }
    // That of its monitor, and of people beside a bare repository.
    let (boundary, _) = committed();
    boundary.bare("bare.git");
    let baseline = boundary.baseline();
    let _monitor = UnixListener::bind(boundary.host.join(".git/fsmonitor--daemon.ipc")).unwrap();
    let _beside = UnixListener::bind(boundary.host.join("bare.git/socket")).unwrap();
    assert_eq!(found(&boundary, &baseline), []);
}

#[test]
fn lines_that_hide_files_are_reported_and_stay() {
    let (boundary, _) = committed();
    boundary.write("evil.py", "");
    assert!(git(&boundary.host, &["status", "-s"]).contains("evil.py"), "the control");
    let baseline = boundary.baseline();
    let exclude = fs::read_to_string(boundary.host.join(".git/info/exclude")).unwrap();
    boundary.write(".git/info/exclude", &format!("{exclude}\n# a comment\nevil.py\n"));
    boundary.write(".git/info/attributes", "file -diff\n");
    assert!(!git(&boundary.host, &["status", "-s"]).contains("evil.py"), "the control: it is hidden");
    let lines = |example: &str| Reason::HidesByLines { lines: 1, example: example.into() };
    let mut found = found(&boundary, &baseline);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        found,
        [
            (".git/info/attributes".into(), lines("file -diff"), FindingOrigin::Created),
            (".git/info/exclude".into(), lines("evil.py"), FindingOrigin::Earlier)
        ]
    );
    let there =
        boundary.compare(&baseline).into_iter().filter(|one| one.to_string().contains("it was there"));
    assert_eq!(there.map(|one| one.path).collect::<Vec<_>>(), [PathBuf::from(".git/info/exclude")]);
    // What is quarantined for another reason is not said to be there.
    boundary.write(".git/info/attributes", "* filter=own\n");
    let mut found: Vec<_> =
        boundary.compare(&baseline).into_iter().map(|one| (one.path, one.reason)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let setting = Reason::Setting { key: "filter".into() };
    assert_eq!(
        found,
        [(".git/info/attributes".into(), setting), (".git/info/exclude".into(), lines("evil.py"))]
    );
}

#[test]
fn attributes_that_are_gone_are_reported() {
    let (boundary, _) = committed();
    let script = "git config filter.secret.clean 'tr a-z n-za-m'; echo 'file filter=secret' >.git/info/attributes; echo '*.txt text' >>.git/info/attributes; \
                  echo key >file; git add file";
    assert!(sh(&boundary, ".", script));
    assert!(git(&boundary.host, &["show", ":file"]).contains("xrl"), "the control: it is encrypted");
    let baseline = boundary.baseline();
    let gone = |lines: usize| {
        let reason = Reason::AttributesGone { lines, example: "file filter=secret".into() };
        [(".git/info/attributes".to_owned(), reason, FindingOrigin::Earlier)]
    };
    boundary.write(".git/info/attributes", "*.txt text\n");
    assert_eq!(found(&boundary, &baseline), gone(1));
    assert!(sh(&boundary, ".", "touch file; git add --renormalize file"));
    assert!(git(&boundary.host, &["show", ":file"]).contains("key"), "the control: it is not any more");
    for script in ["rm .git/info/attributes", "rm -r .git/info"] {
        assert!(sh(&boundary, ".", script));
        assert_eq!(found(&boundary, &baseline), gone(2), "{script}");
    }
}

#[test]
fn what_is_no_longer_left_out_is_reported() {
    let (boundary, _) = committed();
    boundary.write(".git/info/exclude", "notes.txt\n*.log\n").write("notes.txt", "mine");
    let baseline = boundary.baseline();
    assert!(git(&boundary.host, &["clean", "-nd"]).is_empty(), "the control: it is left out");
    let gone = |lines: usize| {
        let reason = Reason::ExcludesGone { lines, example: "notes.txt".into() };
        [(".git/info/exclude".to_owned(), reason, FindingOrigin::Earlier)]
    };
    boundary.write(".git/info/exclude", "# mine\n*.log\n");
    assert!(git(&boundary.host, &["clean", "-nd"]).contains("notes.txt"), "the control: it is not any more");
    assert_eq!(found(&boundary, &baseline), gone(1));
    for script in ["rm .git/info/exclude", "rm -r .git/info"] {
        assert!(sh(&boundary, ".", script));
        assert_eq!(found(&boundary, &baseline), gone(2), "{script}");
    }
}

#[test]
fn lines_of_a_new_repository_and_those_that_say_nothing_are_no_news() {
    let (boundary, _) = committed();
    boundary.write(".git/info/exclude", "# nothing\nkept\n");
    let baseline = boundary.baseline();
    boundary.write(".git/info/exclude", "kept\n\n# more\n");
    git(&boundary.host, &["init", "-q", "new"]);
    boundary.write("new/.git/info/exclude", "own\n");
    assert_eq!(found(&boundary, &baseline), []);
}

#[test]
fn a_name_of_a_submodule_that_is_too_long_to_be_searched_is_moved_as_a_whole() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    let name = "d/".repeat(40);
    with_hook(&boundary, &format!(".git/modules/{name}lib"));
    let moved = move_all(&boundary, &baseline);
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(
        moved[0].path.starts_with(".git/modules/d/d/d") && moved[0].reason == Reason::NotOfGit,
        "{moved:?}"
    );
    assert!(!boundary.host.join(format!(".git/modules/{name}lib")).exists());
}

#[test]
fn a_link_far_below_into_the_objects_leads_to_nothing_that_was_missed() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    let place = ".git/objects/ab/e";
    boundary.directory(place);
    git(&boundary.host.join(place), &["init", "-q", "."]);
    git(&boundary.host.join(place), &["commit", "-q", "--allow-empty", "-m", "x"]);
    boundary.write(&format!("{place}/.git/config"), OBEYED).directory("a/b/c/d");
    boundary.link("../../../../.git/objects/ab/e", "a/b/c/d/app");
    let app = boundary.host.join("a/b/c/d/app");
    git(&app, &["status"]);
    assert!(fs::remove_file(app.join("obeyed")).is_ok(), "the control: git obeys it");
    let mut findings = boundary.last_look(&baseline);
    assert!(!findings.is_empty());
    for finding in &mut findings {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    git(&app, &["status"]);
    assert!(!app.join("obeyed").exists(), "{findings:?}");
}

#[test]
fn a_program_may_have_any_name_and_be_a_directory() {
    let (boundary, _) = committed();
    boundary.write("tools/strip/__main__.py", "pass\n").write("x/Makefile", "all:\n").write("src/lib.c", "");
    boundary.write("make/Makefile", "all:\n").write("clean", "").write("js/clean.js", "").write("all/x", "");
    boundary.write(
        ".git/config",
        "[filter \"a\"]\n\tclean = python3 tools/strip\n\tsmudge = tools/fmt.sample\n[filter \"b\"]\n\tclean = make -C ./x\n\
         \tsmudge = sh -c 'cd ./ && cat'\n\tprocess = node tools/new\n[filter \"c\"]\n\tclean = make -s -C make all\n\tsmudge = sh clean\n\
         \tprocess = node js/clean\n",
    );
    let read_only = boundary.read_only();
    for path in ["clean", "js/clean.js", "make", "tools/strip", "x"] {
        assert!(read_only.iter().any(|one| one == path), "{path}: {read_only:?}");
    }
    assert!(
        !read_only.iter().any(|one| one.is_empty() || one == "." || one == "src" || one == "all"),
        "{read_only:?}"
    );
    let baseline = boundary.baseline();
    boundary
        .write("tools/fmt.sample", "evil\n")
        .write("tools/new/index.js", "evil\n")
        .write("tools/other", "");
    let mut paths = boundary.paths(&baseline);
    paths.sort();
    assert_eq!(paths, ["tools/fmt.sample", "tools/new/index.js"]);
}

#[test]
fn alternates_in_quotes_with_an_escape_are_quarantined() {
    let (boundary, outside) = committed();
    let other = outside.with_file_name("other");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "."]);
    fs::write(other.join("secret"), "PRIVATE").unwrap();
    let blob = git(&other, &["hash-object", "-w", "secret"]);
    let attack = |boundary: &Boundary| {
        boundary.directory("x").directory(".git/objects/\"../../x\\057y\"");
        boundary
            .link(other.join(".git/objects"), "x/y")
            .write(".git/objects/info/alternates", "\"../../x\\057y\"\n");
    };
    attack(&boundary);
    assert_eq!(git(&boundary.host, &["cat-file", "-p", blob.trim()]), "PRIVATE", "the control");

    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    attack(&boundary);
    move_all(&boundary, &baseline);
    assert_eq!(git(&boundary.host, &["cat-file", "-p", blob.trim()]), "");
}

#[test]
fn a_work_tree_whose_name_is_no_text_is_where_git_takes_it_to_be() {
    let (boundary, outside) = committed();
    let home = outside.with_file_name("home");
    fs::create_dir(&home).unwrap();
    let attack = |boundary: &Boundary| {
        git(&boundary.host, &["init", "-q", "lib"]);
        boundary.write("lib/.zshenv", "evil");
        git(&boundary.host.join("lib"), &["add", "-f", ".zshenv"]);
        boundary.directory(".git/modules");
        fs::rename(boundary.host.join("lib/.git"), boundary.host.join(".git/modules/lib")).unwrap();
        boundary.write("lib/.git", "gitdir: ../.git/modules/lib\n");
        symlink(&home, boundary.host.join(OsStr::from_bytes(b"w\xff"))).unwrap();
        let config = boundary.host.join(".git/modules/lib/config");
        let content = [&fs::read(&config).unwrap()[..], b"[core]\n\tworktree = ../../../w\xff\n"].concat();
        fs::write(config, content).unwrap();
    };
    attack(&boundary);
    git(&boundary.host.join("lib"), &["checkout", "--", "."]);
    assert!(fs::remove_file(home.join(".zshenv")).is_ok(), "the control: git writes there");

    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    attack(&boundary);
    move_all(&boundary, &baseline);
    git(&boundary.host.join("lib"), &["checkout", "--", "."]);
    assert!(!home.join(".zshenv").exists());
}

#[test]
fn an_option_of_a_strategy_that_git_does_not_have_is_quarantined() {
    let attack = |boundary: &Boundary, option: &str| {
        let here = |words: &[&str]| drop(git(&boundary.host, words));
        let commit = |branch: &str, path: &str| {
            here(&["checkout", "-q", "-b", branch, "main"]);
            boundary.write(path, branch);
            here(&["add", path]);
            here(&["commit", "-q", "-m", branch]);
        };
        commit("theirs", "a");
        commit("ours", "b");
        here(&[
            "-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "-s", "resolve", "-X", option,
            "theirs",
        ]);
        assert!(boundary.host.join(".git/rebase-merge/strategy_opts").exists(), "the control");
    };
    let prepared = || {
        let (boundary, outside) = committed();
        (boundary, outside.with_file_name("written"))
    };
    let (boundary, written) = prepared();
    attack(&boundary, &format!("index-output={}", written.display()));
    git(&boundary.host, &["rebase", "--continue"]);
    assert!(written.exists(), "the control");

    let (boundary, written) = prepared();
    let baseline = boundary.baseline();
    attack(&boundary, &format!("index-output={}", written.display()));
    let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(moved, [PathBuf::from(".git/rebase-merge/strategy_opts")]);
    git(&boundary.host, &["rebase", "--continue"]);
    assert!(!written.exists());

    let (boundary, _) = prepared();
    let baseline = boundary.baseline();
    attack(&boundary, "ours");
    assert_eq!(found(&boundary, &baseline), [], "an option that it has");
}

/// Many hooks run what lies in a directory of theirs, wherever they lie themselves.
#[test]
fn what_lies_in_a_directory_of_new_hooks_is_quarantined() {
    let prepared = || {
        let (boundary, outside) = committed();
        fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
        let hooks = outside.with_file_name("hooks");
        fs::create_dir(&hooks).unwrap();
        let hook = hooks.join("pre-commit");
        fs::write(&hook, "#!/bin/sh\nfor one in .git/hooks/pre-commit.d/*; do \"$one\"; done\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        (boundary, format!("core.hooksPath={}", hooks.display()))
    };
    let attack = |boundary: &Boundary| {
        let evil = ".git/hooks/pre-commit.d/x";
        boundary.write(evil, "#!/bin/sh\ntouch obeyed\n").mode(evil, 0o755);
    };
    let is_obeyed = |boundary: &Boundary, own: &str| {
        git(&boundary.host, &["-c", own, "commit", "-q", "--allow-empty", "-m", "next"]);
        boundary.host.join("obeyed").exists()
    };
    let (boundary, own) = prepared();
    attack(&boundary);
    assert!(is_obeyed(&boundary, &own), "the control");

    let (boundary, own) = prepared();
    let baseline = boundary.baseline();
    boundary.directory(".git/hooks/pre-commit.d").write(".git/hooks/pre-commit.sample", "#!/bin/sh\n");
    assert_eq!(boundary.compare(&baseline), [], "samples, and nothing to run");
    attack(&boundary);
    let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(found, [PathBuf::from(".git/hooks/pre-commit.d/x")]);
    assert!(!is_obeyed(&boundary, &own));
}
