//! What git reads and writes in its own data: links, lists of paths, and repositories that it finds from there. Git itself
//! is run first, to show what it does with it.

use super::repositories::{OBEYED, committed, git, move_all, served};
use super::*;

#[test]
fn git_writes_and_reads_through_no_new_link() {
    for (path, commands) in [
        ("COMMIT_EDITMSG", &[&["commit", "-q", "--allow-empty", "-m", "evil"][..]][..]),
        ("logs/HEAD", &[&["commit", "-q", "--allow-empty", "-m", "evil"]]),
        ("logs/refs/heads/main", &[&["commit", "-q", "--allow-empty", "-m", "evil"]]),
        ("FETCH_HEAD", &[&["fetch", "-q", ".", "main"]]),
        ("MERGE_MSG", &[&["merge", "-q", "--no-ff", "--no-commit", "side"]]),
    ] {
        let attack = |boundary: &Boundary, outside: &Path| {
            let _ = fs::remove_file(boundary.host.join(".git").join(path));
            boundary.link(outside, &format!(".git/{path}"));
        };
        let prepared = || {
            let (boundary, outside) = committed();
            git(&boundary.host, &["checkout", "-q", "-b", "side"]);
            git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "side"]);
            git(&boundary.host, &["checkout", "-q", "main"]);
            (boundary, outside)
        };
        let use_git = |boundary: &Boundary| {
            for words in commands {
                git(&boundary.host, words);
            }
        };
        let (boundary, outside) = prepared();
        attack(&boundary, &outside);
        use_git(&boundary);
        assert_ne!(fs::read_to_string(&outside).unwrap(), "the user's own\n", "the control: {path}");
        let (boundary, outside) = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, &outside);
        let found = move_all(&boundary, &baseline);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert_eq!(
            (found[0].path.as_path(), found[0].origin),
            (&*Path::new(".git").join(path), FindingOrigin::Created)
        );
        use_git(&boundary);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "the user's own\n", "{path}");
    }
}

#[test]
fn a_new_link_is_found_wherever_it_lies_in_gits_data() {
    let (boundary, _) = committed();
    boundary.bare("bare.git").bare(".git/modules/sub").write(".git/modules/sub/config", "");
    let baseline = boundary.baseline();
    let mut wanted = Vec::new();
    for git in [".git", ".git/modules/sub", "bare.git"] {
        for path in [
            "index", "packed-refs", "info/exclude", "info/sparse-checkout", "lfs/objects/ab",
            "logs/refs/heads/a/b/c", "objects/ab", "objects/info/commit-graph", "objects/pack/pack-1.idx",
            "refs/heads/x", "rr-cache/1/postimage", "shallow",
        ] {
            let path = format!("{git}/{path}");
            let _ = fs::remove_file(boundary.host.join(&path));
            boundary
                .directory(Path::new(&path).parent().unwrap().to_str().unwrap())
                .link("/etc/hostname", &path);
            wanted.push(path);
        }
    }
    wanted.sort();
    let mut found = boundary.paths(&baseline);
    found.sort();
    assert_eq!(found, wanted);
    move_all(&boundary, &baseline);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn references_that_are_links_are_gits_own_form() {
    let (boundary, outside) = committed();
    let baseline = boundary.baseline();
    let symlinks = ["-c", "core.preferSymlinkRefs=true", "symbolic-ref"];
    git(&boundary.host, &[&symlinks[..], &["HEAD", "refs/heads/other"]].concat());
    git(&boundary.host, &[&symlinks[..], &["refs/remotes/origin/HEAD", "refs/remotes/origin/main"]].concat());
    for path in [".git/HEAD", ".git/refs/remotes/origin/HEAD"] {
        assert!(boundary.host.join(path).is_symlink(), "the control: git makes {path} a link");
    }
    assert_eq!(boundary.compare(&baseline), []);
    boundary.link("refs/../../outside", ".git/refs/heads/out").link("refs/heads/main", ".git/FETCH_HEAD");
    fs::write(outside, "x").unwrap();
    assert_eq!(boundary.paths(&baseline), [".git/FETCH_HEAD", ".git/refs/heads/out"]);
}

#[test]
fn a_link_of_the_users_in_gits_data_stays_theirs() {
    let (boundary, outside) = committed();
    boundary.link(&outside, ".git/COMMIT_EDITMSG.mine").link("nowhere", ".git/refs/heads/old");
    boundary.directory("shared").link("../shared", ".git/rr-cache");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), []);
    // Git may put a file in its place, or take it away.
    fs::remove_file(boundary.host.join(".git/refs/heads/old")).unwrap();
    git(&boundary.host, &["branch", "old"]);
    fs::remove_file(boundary.host.join(".git/COMMIT_EDITMSG.mine")).unwrap();
    assert_eq!(boundary.compare(&baseline), []);
    fs::remove_file(boundary.host.join(".git/rr-cache")).unwrap();
    boundary.link("/etc", ".git/rr-cache");
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
    assert_eq!(found, [(".git/rr-cache", FindingOrigin::Replaced)]);
}

/// An index of version 2 or 4 with these entries: mode, number of the content, path. Nobody checks its checksum.
pub(crate) fn index(version: u32, entries: &[(u32, &str, &str)]) -> Vec<u8> {
    let mut index =
        [b"DIRC", &version.to_be_bytes()[..], &u32::try_from(entries.len()).unwrap().to_be_bytes()].concat();
    let mut before = 0;
    for (mode, number, path) in entries {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.extend([0; 12]);
        entry.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&number[at..at + 2], 16).unwrap()));
        entry.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        if version == 4 {
            entry.push(before);
            before = u8::try_from(path.len()).unwrap();
        }
        entry.extend(path.as_bytes());
        let filled = if version == 4 { entry.len() + 1 } else { entry.len() + 8 - entry.len() % 8 };
        entry.resize(filled, 0);
        index.extend(entry);
    }
    index.extend([0; 20]);
    index
}

#[test]
fn an_index_that_has_git_write_elsewhere_is_quarantined() {
    for (version, path) in
        [(2, "../outside"), (4, "../outside"), (2, ".git/hooks/pre-commit"), (4, "a/../.Git/x")]
    {
        let attack = |boundary: &Boundary| {
            boundary.write("evil", "evil");
            let number = git(&boundary.host, &["hash-object", "-w", "evil"]);
            let entries = [(0o100_755, number.trim(), path), (0o100_644, number.trim(), "file")];
            fs::write(boundary.host.join(".git/index"), index(version, &entries)).unwrap();
        };
        let (boundary, outside) = committed();
        attack(&boundary);
        fs::remove_file(&outside).unwrap();
        git(&boundary.host, &["checkout", "--", "."]);
        let written = fs::read_to_string(boundary.host.join(path)).unwrap_or_default();
        assert!(written == "evil" || path.contains("Git"), "the control: {path}");
        let (boundary, outside) = committed();
        let baseline = boundary.baseline();
        attack(&boundary);
        let found = move_all(&boundary, &baseline);
        let reason = Reason::WritesElsewhere { example: path.into() };
        assert_eq!(
            (found.len(), &found[0].reason, found[0].origin),
            (1, &reason, FindingOrigin::Replaced),
            "{found:?}"
        );
        git(&boundary.host, &["checkout", "--", "."]);
        git(&boundary.host, &["reset", "-q", "--hard"]);
        assert_eq!(fs::read_to_string(outside).unwrap(), "the user's own\n");
        assert!(!boundary.host.join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn an_index_that_is_none_and_a_shared_one_are_found() {
    let (boundary, _) = committed();
    boundary.write(".git/modules/sub/HEAD", "ref: refs/heads/main\n");
    let baseline = boundary.baseline();
    fs::write(boundary.host.join(".git/index"), "DIRC").unwrap();
    let shared = index(2, &[(0o100_644, &"0".repeat(40), "../outside")]);
    fs::write(boundary.host.join(".git/sharedindex.0"), &shared).unwrap();
    fs::write(boundary.host.join(".git/modules/sub/index"), &shared).unwrap();
    let mut found = boundary.paths(&baseline);
    found.sort();
    assert_eq!(found, [".git/index", ".git/modules/sub/index", ".git/sharedindex.0"]);
}

#[test]
fn indexes_that_git_writes_are_read() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    let names: Vec<String> = (0..30_000)
        .map(|number| format!("100644 {} 0\td{}/f{number}\n", "1".repeat(40), number % 7))
        .collect();
    for settings in [
        &["index.threads=4", "index.version=2"][..],
        &["index.threads=4", "index.version=4"],
        &["feature.manyFiles=true", "index.recordEndOfIndexEntries=true"],
        &["core.splitIndex=true"],
    ] {
        let _ = fs::remove_file(boundary.host.join(".git/index"));
        let mut words: Vec<&str> = settings.iter().flat_map(|setting| ["-c", setting]).collect();
        words.extend(["update-index", "--add", "--index-info"]);
        let mut client = Command::new("git")
            .args(&words)
            .current_dir(&boundary.host)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut client.stdin.take().unwrap(), names.concat().as_bytes()).unwrap();
        assert!(client.wait().unwrap().success());
        git(&boundary.host, &["update-index", "--add", "file"]);
        assert_eq!(boundary.compare(&baseline), [], "{settings:?}");
    }
}

#[test]
fn an_index_of_a_linked_work_tree_has_the_form_that_its_repository_says() {
    let (boundary, _) = committed();
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    let baseline = boundary.baseline();
    // With names of 32 bytes, the one entry would be another: git does not read this file.
    boundary.write(
        ".git/worktrees/tree/config",
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
    );
    let forged = index(2, &[(0o100_644, &"0".repeat(40), "../outside")]);
    fs::write(boundary.host.join(".git/worktrees/tree/index"), &forged).unwrap();
    let listed = git(&boundary.host.join("tree"), &["ls-files", "-s"]);
    assert!(listed.contains("../outside"), "the control: {listed}");
    let found = move_all(&boundary, &baseline);
    let reason = Reason::WritesElsewhere { example: "../outside".into() };
    assert!(found.iter().any(|one| one.reason == reason), "{found:?}");
}

#[test]
fn a_split_index_is_ordinary_and_a_forged_one_is_found() {
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    let split =
        |words: &[&str]| drop(git(&boundary.host, &[&["-c", "core.splitIndex=true"], words].concat()));
    for number in 0..30 {
        boundary.write(&format!("f{number}"), "1");
    }
    split(&["add", "-A"]);
    split(&["commit", "-q", "-m", "many"]);
    boundary.write("f3", "2").write("f7", "2");
    split(&["add", "f3", "f7"]);
    split(&["rm", "-q", "--cached", "f5"]);
    let shared: Vec<_> = fs::read_dir(boundary.host.join(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("sharedindex."))
        .collect();
    assert!(!shared.is_empty(), "the control");
    assert_eq!(boundary.compare(&baseline), []);
    let forged = index(2, &[(0o100_644, &"0".repeat(40), "../outside")]);
    for path in &shared {
        let kept = fs::read(path).unwrap();
        let end = kept.len() - 20;
        fs::write(path, [&forged[..forged.len() - 20], &kept[end..]].concat()).unwrap();
    }
    let found = boundary.compare(&baseline);
    let reason = Reason::WritesElsewhere { example: "../outside".into() };
    assert!(found.iter().any(|one| one.reason == reason), "{found:?}");
}

#[test]
fn what_rerere_would_read_or_write_elsewhere_is_quarantined() {
    let number = "0123456789".repeat(4);
    let unreadable = Reason::Unreadable { format: policy::classify::FileFormat::Index };
    let elsewhere = |path: &str| Reason::WritesElsewhere { example: path.into() };
    for (variant, path, link, reason) in [
        ("", "../outside", None, elsewhere("../outside")),
        ("", "way", Some("../outside"), elsewhere("way")),
        // Git takes the second tab for space before a number.
        (".\t0", "../outside", None, unreadable),
    ] {
        let attack = |boundary: &Boundary| {
            boundary.directory(&format!(".git/rr-cache/{number}"));
            boundary.write(".git/MERGE_RR", &format!("{number}{variant}\t{path}\0"));
            if let Some(target) = link {
                boundary.link(target, "way");
            }
        };
        let leaked = |boundary: &Boundary| {
            git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "x"]);
            fs::read_to_string(boundary.host.join(format!(".git/rr-cache/{number}/postimage"))).ok()
        };
        let (boundary, _) = committed();
        attack(&boundary);
        assert_eq!(leaked(&boundary).as_deref(), Some("the user's own\n"), "the control: {path}");
        let (boundary, _) = committed();
        boundary.write(".git/MERGE_RR", "");
        let baseline = boundary.baseline();
        attack(&boundary);
        let found = move_all(&boundary, &baseline);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].reason, reason);
        assert_eq!(leaked(&boundary), None, "{path}");
    }
}

#[test]
fn a_submodule_of_the_index_is_searched_wherever_it_lies() {
    for path in ["node_modules/s", "1/2/3/4/5", ".sandboxctl-quarantine/s", "target/a/.git/b"] {
        let attack = |boundary: &Boundary| {
            boundary.write(&format!("{path}/x"), "");
            let inside = boundary.host.join(path);
            git(&inside, &["init", "-q", "."]);
            git(&inside, &["add", "x"]);
            git(&inside, &["commit", "-q", "-m", "x"]);
            boundary.write(&format!("{path}/.git/config"), OBEYED);
            let number = git(&inside, &["rev-parse", "HEAD"]);
            let info = format!("160000 {} 0\t{path}\n", number.trim());
            let entry = (0o160_000, number.trim(), path);
            // Git refuses to add some of these, and reads them all the same.
            fs::write(boundary.host.join(".git/index"), index(2, &[entry])).unwrap();
            info
        };
        let is_obeyed = |boundary: &Boundary| {
            git(&boundary.host, &["status"]);
            boundary.host.join(path).join("obeyed").exists()
        };
        let (boundary, _) = committed();
        attack(&boundary);
        assert!(is_obeyed(&boundary), "the control: {path}");
        assert!(boundary.read_only().contains(&format!("{path}/.git/config")), "{path}");
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary);
        fs::remove_file(boundary.host.join(path).join("obeyed")).unwrap_or_default();
        let found = move_all(&boundary, &baseline);
        assert!(found.iter().any(|one| one.path == Path::new(path).join(".git/config")), "{path}: {found:?}");
        assert!(!is_obeyed(&boundary), "{path}");
    }
}

#[test]
fn a_repository_among_gits_data_and_a_legacy_remote_that_leads_there_are_found() {
    let attack = |boundary: &Boundary| {
        for hid in [".git/hid", ".git/objects/pack/hid", ".git/modules/libs/objects/foo"] {
            git(&boundary.host, &["init", "-q", "--bare", hid]);
            boundary.write(&format!("{hid}/hooks/post-receive"), "#!/bin/sh\ntouch ../../obeyed\n");
            boundary.mode(&format!("{hid}/hooks/post-receive"), 0o755);
        }
        boundary.write(".git/remotes/origin", "URL: .git/hid\n").write(".git/branches/other", ".git/hid\n");
        boundary.repository(".git/refs/inner").write(".git/refs/inner/.git/config", OBEYED);
    };
    let is_obeyed = |boundary: &Boundary| {
        git(&boundary.host, &["push", "-q", "origin", "main"]);
        boundary.host.join("obeyed").exists()
    };
    let (boundary, _) = committed();
    attack(&boundary);
    assert!(is_obeyed(&boundary), "the control");
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    attack(&boundary);
    let mut found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    found.sort();
    let wanted = [
        ".git/branches/other",
        ".git/hid/hooks/post-receive",
        ".git/modules/libs/objects/foo/hooks/post-receive",
        ".git/objects/pack/hid/hooks/post-receive",
        ".git/refs/inner/.git/config",
        ".git/remotes/origin",
    ];
    assert_eq!(found, wanted.map(PathBuf::from));
    assert!(!is_obeyed(&boundary));
}

/// Git writes through a reference to whatever it names in git's data: here it makes a pointer to a directory of the agent's.
#[test]
fn a_directory_in_gits_data_that_git_may_come_to_share_is_searched() {
    let attack = |boundary: &Boundary| {
        let head = git(&boundary.host, &["rev-parse", "HEAD"]);
        let shared = format!(".git/{}", head.trim());
        boundary.directory(&shared);
        for part in ["objects", "refs"] {
            let copy = [format!(".git/{part}"), format!("{shared}/{part}")];
            assert!(
                Command::new("cp")
                    .arg("-r")
                    .args(copy)
                    .current_dir(&boundary.host)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        boundary.write(&format!("{shared}/config"), OBEYED).write(".git/ORIG_HEAD", "ref: commondir\n");
        PathBuf::from(shared).join("config")
    };
    let two = || {
        let (boundary, _) = committed();
        git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "second"]);
        git(&boundary.host, &["branch", "feature"]);
        git(&boundary.host, &["reset", "-q", "--hard", "HEAD~1"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    let is_obeyed = |boundary: &Boundary| {
        git(&boundary.host, &["merge", "-q", "feature"]);
        git(&boundary.host, &["status"]);
        boundary.host.join("obeyed").exists()
    };
    let boundary = two();
    attack(&boundary);
    assert!(is_obeyed(&boundary), "the control");
    let boundary = two();
    let baseline = boundary.baseline();
    let config = attack(&boundary);
    let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(found, [config, ".git/ORIG_HEAD".into()]);
    assert!(!is_obeyed(&boundary));
}

#[test]
fn a_submodule_is_found_by_its_name_however_deep_and_wherever_that_lies() {
    for (name, is_known) in
        [("a/b/c/d/e/f/g/h/i/j", true), ("lib/objects/ee", false), ("./lib/objects/ee", false)]
    {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        // For git this is no repository, since nothing can be in its `refs`.
        boundary.directory(".git/modules/lib/objects").write(".git/modules/lib/refs", "");
        boundary.write(".git/modules/lib/HEAD", "ref: refs/heads/main\n");
        let module = format!(".git/modules/{name}");
        git(&boundary.host, &["init", "-q", "--bare", &module]);
        let hook = format!("{}/hooks/post-checkout", module.replace("/./", "/"));
        boundary.write(&hook, "#!/bin/sh\ntouch obeyed\n").mode(&hook, 0o755);
        let found = |boundary: &Boundary| {
            boundary.compare(&baseline).into_iter().any(|one| one.path == Path::new(&hook))
        };
        let is_found_unnamed = found(&boundary);
        boundary.write(".gitmodules", &format!("[submodule \"{name}\"]\n\tpath = sub\n\turl = ./sub\n"));
        assert!(found(&boundary) && is_found_unnamed == is_known, "{name}");
    }
}

#[test]
fn a_link_among_the_objects_of_git_lfs_is_found() {
    let (boundary, outside) = committed();
    let baseline = boundary.baseline();
    boundary
        .write(".git/lfs/objects/aa/bb/aabb", "an object")
        .directory(".git/lfs/objects/aa/cc")
        .link(&outside, ".git/lfs/objects/aa/cc/aacc");
    let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(found, [PathBuf::from(".git/lfs/objects/aa/cc/aacc")]);
}

/// A program of the host may replace the configuration while the agent runs, which then writes a remote into it.
#[test]
fn a_repository_that_a_remote_leads_to_is_searched_wherever_it_lies() {
    let hook = "node_modules/evil.git/hooks/pre-receive";
    let attack = |boundary: &Boundary, url: &str| {
        git(&boundary.host, &["config", "remote.origin.url", url]);
        git(&boundary.host, &["init", "-q", "--bare", "node_modules/evil.git"]);
        boundary.write(hook, "#!/bin/sh\ntouch ../../obeyed\n").mode(hook, 0o755);
    };
    let is_obeyed = |boundary: &Boundary| {
        git(&boundary.host, &["push", "-q", "origin", "main"]);
        boundary.host.join("obeyed").exists()
    };
    for url in ["./node_modules/evil.git", "node_modules/evil"] {
        let (boundary, _) = committed();
        attack(&boundary, url);
        assert!(is_obeyed(&boundary), "the control: {url}");
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary, url);
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        // The remote itself is named.
        assert_eq!(found, [PathBuf::from(hook), ".git/config".into()], "{url}");
        assert!(!is_obeyed(&boundary), "{url}");
    }
}

#[test]
fn a_submodule_whose_work_tree_is_no_place_for_one_is_quarantined() {
    // The work tree as its repository names it, what it brings along, and where that comes to lie.
    for (work_tree, brought, lies) in [
        ("../../../.git/hooks", "post-commit", ".git/hooks/post-commit"),
        ("../../hooks", "new/deep", ".git/hooks/new/deep"),
        ("../../../.vscode", "tasks.json", ".vscode/tasks.json"),
        ("../../../.claude/x", "evil", ".claude/x/evil"),
        ("../../../other/.husky", "pre-commit", "other/.husky/pre-commit"),
        ("../../..", ".bashrc", ".bashrc"),
        ("../../../libs", "app/.mcp.json", "libs/app/.mcp.json"),
        ("../../../sub/../bare.git/hooks", "update", "bare.git/hooks/update"),
    ] {
        let prepared = || {
            let (boundary, outside) = committed();
            boundary.repository("other").repository("libs/app").bare("bare.git").directory(".vscode");
            boundary.directory(".claude/x").directory("other/.husky");
            (boundary, outside)
        };
        let attack = |boundary: &Boundary| {
            let source = boundary.host.with_file_name("source");
            fs::create_dir(&source).unwrap();
            git(&source, &["init", "-q", "."]);
            fs::create_dir_all(source.join(brought).parent().unwrap()).unwrap();
            fs::write(source.join(brought), "evil").unwrap();
            git(&source, &["add", "-A"]);
            git(&source, &["commit", "-q", "-m", "x"]);
            let add = ["submodule", "--quiet", "add", "https://example.org/source", "sub"];
            git(&boundary.host, &[&["-c", &served(&source)], &add[..]].concat());
            let config = format!("[core]\n\trepositoryformatversion = 0\n\tworktree = {work_tree}\n");
            boundary.write(".git/modules/sub/config", &config);
        };
        let use_git = |boundary: &Boundary| {
            git(&boundary.host.join("sub"), &["reset", "-q", "--hard"]);
            boundary.host.join(lies).exists()
        };
        let (boundary, _) = prepared();
        attack(&boundary);
        assert!(use_git(&boundary), "the control: {work_tree}");
        let (boundary, _) = prepared();
        let baseline = boundary.baseline();
        attack(&boundary);
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert!(found.contains(&".git/modules/sub/config".into()), "{work_tree}: {found:?}");
        assert!(!use_git(&boundary), "{work_tree}");
    }
}

#[test]
fn a_link_in_the_place_of_more_alternates_is_quarantined() {
    for way in ["x/info/alternates", "x/info"] {
        let (boundary, outside) = committed();
        let private = outside.with_file_name("private");
        git(outside.parent().unwrap(), &["init", "-q", "private"]);
        git(&private, &["commit", "-q", "--allow-empty", "-m", "private"]);
        let number = git(&private, &["rev-parse", "HEAD"]);
        let baseline = boundary.baseline();
        boundary.write(".git/objects/info/alternates", "../../x\n").directory("x").directory("list");
        boundary.write("list/alternates", &format!("{}\n", private.join(".git/objects").display()));
        let (link, target) = if way == "x/info" { (way, "../list") } else { (way, "../../list/alternates") };
        boundary.directory(Path::new(link).parent().unwrap().to_str().unwrap()).link(target, link);
        let is_read = || git(&boundary.host, &["cat-file", "-t", number.trim()]).contains("commit");
        assert!(is_read(), "the control: {way}");
        move_all(&boundary, &baseline);
        assert!(!is_read(), "{way}");
    }
}

#[test]
fn a_program_that_only_a_shell_finds_is_read_only() {
    let (boundary, _) = committed();
    boundary.write(".git/own/clean", "cat").write("my tools/fmt.sh", "cat").write("tools/f.sh", "cat");
    boundary.write(
        ".git/config",
        "[filter \"a\"]\n\tclean = \"\\\"$(git rev-parse --git-common-dir)\\\"/own/clean %f\"\n\tsmudge = 'my tools/fmt.sh'\n\
         \tprocess = \"\\\"$PWD\\\"/tools/f.sh\"\n",
    );
    let read_only = boundary.read_only();
    for path in [".git/own/clean", "my tools/fmt.sh", "tools/f.sh"] {
        assert!(read_only.iter().any(|one| one == path), "{path}: {read_only:?}");
    }
}

#[test]
fn what_an_editor_obeys_above_the_data_of_a_submodule_or_a_worktree_is_found() {
    let (boundary, _) = committed();
    boundary.bare(".git/modules/libs/lib");
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    let baseline = boundary.baseline();
    let settings = "root = true\n[*]\ntab_width = 8;nop %sh{evil}\n";
    let new = [
        (".git/modules/.editorconfig", settings),
        (".git/modules/.hg/hgrc", "[extensions]\nx = /evil.py\n"),
        (".git/modules/libs/.editorconfig", settings),
        (
            ".git/modules/libs/.vscode/tasks.json",
            "{\"tasks\": [{\"command\": \"evil\", \"runOptions\": {\"runOn\": \"folderOpen\"}}]}",
        ),
        (".git/worktrees/.editorconfig", settings),
        (".git/modules/libs/lib/.hg/hgrc", "[extensions]\nx = /evil.py\n"),
        (".git/modules/libs/lib/tool/config.toml", "x"),
    ];
    for (path, content) in new {
        boundary.write(path, content);
    }
    let found = boundary.paths(&baseline);
    for (path, _) in new {
        assert!(found.iter().any(|one| Path::new(path).starts_with(one)), "{path}: {found:?}");
    }
    move_all(&boundary, &baseline);
    assert_eq!(boundary.compare(&baseline), []);
    // The name of a submodule may lead through the data of another one.
    boundary.bare(".git/modules/libs/lib/deeper/lib");
    assert_eq!(boundary.compare(&baseline), []);
    // Data of the repositories are what they were.
    assert!(
        boundary.host.join(".git/modules/libs/lib/HEAD").exists()
            && boundary.host.join(".git/worktrees/tree/HEAD").exists()
    );
}

#[test]
fn what_git_does_not_make_among_its_data_is_quarantined_and_the_users_own_stays() {
    let (boundary, _) = committed();
    boundary.write(".git/mine", "").write(".git/tool/config", "x").write("bare.git/mine", "");
    boundary.bare("bare.git").write("kept/mine", "").bare("kept");
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    let baseline = boundary.baseline();
    let new = [
        ".git/.envrc", ".git/info/tool.yml", ".git/objects/abc", ".git/other.yml", ".git/runs",
        ".git/worktrees/tree/other.yml", "new/.git/other.yml",
    ];
    git(&boundary.host, &["init", "-q", "new"]);
    for path in new {
        let inside =
            if path.contains('.') && !path.ends_with("abc") { path.into() } else { format!("{path}/config") };
        boundary.write(if path.ends_with("abc") || path.ends_with("runs") { &inside } else { path }, "x");
    }
    boundary.write(".git/mine", "changed by its tool").write(".git/tool/more", "").write("bare.git/more", "");
    // What a new link makes part of git's data may be anybody's.
    boundary.directory(".git/worktrees").link("../../kept", ".git/worktrees/linked");
    let mut found = boundary.compare(&baseline);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let strange: Vec<_> = found.iter().filter(|one| one.reason == Reason::NotOfGit).collect();
    let paths: Vec<_> = strange.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(paths, new, "{found:?}");
    assert!(strange.iter().all(|one| one.origin == FindingOrigin::Created), "{found:?}");
    assert_eq!(found.len(), new.len() + 1, "and the link: {found:?}");
    move_all(&boundary, &baseline);
    assert_eq!(boundary.compare(&baseline), []);
    assert!(boundary.host.join(".git/mine").exists() && boundary.host.join("kept/mine").exists());
}

#[test]
fn an_empty_file_that_git_would_write_through_is_quarantined() {
    for (path, content) in [("remotes/origin", "URL: ./evil.git\n"), ("lazygit.yml", "customCommands: []\n")]
    {
        let attack = |boundary: &Boundary| {
            let _ = fs::remove_file(boundary.host.join(".git/COMMIT_EDITMSG"));
            boundary.write(&format!(".git/{path}"), "");
            fs::hard_link(boundary.host.join(".git").join(path), boundary.host.join(".git/COMMIT_EDITMSG"))
                .unwrap();
        };
        let is_written = |boundary: &Boundary| {
            git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", &format!("fix\n\n{content}")]);
            fs::read_to_string(boundary.host.join(".git").join(path)).unwrap_or_default().contains(content)
        };
        let (boundary, _) = committed();
        attack(&boundary);
        assert!(is_written(&boundary), "the control: {path}");
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary);
        let mut found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        found.sort();
        assert_eq!(found, [".git/COMMIT_EDITMSG".into(), Path::new(".git").join(path)]);
        assert!(!is_written(&boundary), "{path}");
        assert_eq!(boundary.compare(&baseline), []);
    }
}

#[test]
fn ordinary_work_with_git_passes_untouched() {
    let (boundary, _) = committed();
    let source = boundary.host.with_file_name("source");
    git(boundary.host.parent().unwrap(), &["clone", "-q", boundary.host.to_str().unwrap(), "source"]);
    git(&source, &["tag", "-a", "v1", "-m", "x"]);
    let (url, served) = ("https://example.org/source", served(&source));
    let baseline = boundary.baseline();
    let here = |words: &[&str]| drop(git(&boundary.host, &[&["-c", &served], words].concat()));
    here(&["submodule", "--quiet", "add", url, "libs/objects/foo"]);
    here(&["commit", "-q", "-m", "submodule"]);
    here(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    assert!(boundary.host.join("libs/objects/foo/.git").is_file(), "the control");
    // Its directory holds another repository; and one is gone, of which git keeps the data.
    here(&["clone", "-q", url, "libs/objects/foo/nested"]);
    here(&["submodule", "--quiet", "add", url, "gone"]);
    here(&["rm", "-q", "-f", "gone"]);
    assert!(boundary.host.join(".git/modules/gone/config").is_file(), "the control");
    here(&["worktree", "add", "-q", "tree"]);
    here(&["clone", "-q", url, "node_modules/dependency"]);
    here(&["clone", "-q", "--bare", url, "bare.git"]);
    here(&["fetch", "-q", "--tags", url]);
    for number in ["2", "3", "4"] {
        boundary.write("file", number);
        here(&["commit", "-q", "-a", "-m", number]);
    }
    boundary.write("file", "5");
    here(&["stash"]);
    here(&["stash", "pop", "-q"]);
    here(&["commit", "-q", "-a", "-m", "5"]);
    here(&["-c", "sequence.editor=true", "rebase", "-q", "-i", "HEAD~2"]);
    here(&["bisect", "start", "HEAD", "HEAD~3"]);
    here(&["bisect", "good"]);
    here(&["pack-refs", "--all"]);
    here(&["gc", "-q"]);
    here(&["notes", "add", "-m", "note"]);
    // A conflict that rerere remembers.
    here(&["bisect", "reset"]);
    here(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    boundary.write("file", "other");
    here(&["commit", "-q", "-a", "-m", "other"]);
    here(&["-c", "rerere.enabled=true", "merge", "-q", "main"]);
    assert!(boundary.host.join(".git/MERGE_RR").metadata().unwrap().len() > 0, "the control");
    boundary.write(".git/lfs/objects/ab/cd/abcd", "x").write(".git/lfs/cache/locks/refs/x", "");
    boundary.bare(".jj/repo/store/git").write(".jj/repo/store/git_target", "../../../.git");
    // All but the list of conflicts, and the settings of the submodule, which an agent may have written.
    let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| (one.path, one.reason)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let conflict = Reason::RecordsConflict { example: "file".into() };
    let found = |path: &str| found.iter().find(|one| one.0 == Path::new(path)).map(|one| &one.1);
    assert_eq!(found(".git/MERGE_RR"), Some(&conflict));
    let settings = ["gone.active", "gone.url", "libs/objects/foo.active", "libs/objects/foo.url"];
    let settings = settings.iter().map(|setting| format!("submodule.{setting}")).collect();
    assert_eq!(found(".git/config"), Some(&Reason::Reconfigured { settings }));
}

#[test]
fn what_a_configuration_names_in_a_home_around_the_boundary_is_found() {
    names_around_are_found(|_| "~".to_owned());
}

#[test]
fn what_a_configuration_names_out_of_where_git_is_installed_is_found() {
    names_around_are_found(|around| format!("%(prefix)/../..{}", around.display()));
}

/// Checks that what a configuration names in the directory around the boundary is found, whatever that directory is called there.
fn names_around_are_found(called: fn(&Path) -> String) {
    let (boundary, _) = committed();
    let home = boundary.host.parent().unwrap();
    let around = called(home);
    boundary.write("named/keep", "").write("more", "[core]\n\tabbrev = 8\n").write("evil", "the user's own");
    boundary.write(
        ".git/config",
        &format!(
            "[core]\n\thooksPath = {around}/workspace/named\n[include]\n\tpath = {around}/workspace/more\n\
             \tpath = {around}/workspace/later\n\tpath = {around}/elsewhere/more\n[core]\n\tfsmonitor = ~/workspace/evil\n"
        ),
    );
    let read_only = boundary.read_only();
    for path in ["evil", "more", "named"] {
        assert!(read_only.contains(&path.to_owned()), "{path}: {read_only:?}");
    }
    let baseline = boundary.baseline();
    let attack = || {
        boundary.write("named/pre-commit", "#!/bin/sh\ntouch obeyed\n").mode("named/pre-commit", 0o755);
        boundary.write("later", "[alias]\n\tx = !touch included\n");
    };
    attack();
    let as_owner = || {
        boundary.write(
            ".git/config",
            &format!(
                "[core]\n\thooksPath = {around}/workspace/named\n[include]\n\tpath = {around}/workspace/later\n"
            ),
        );
        git(home, &["-C", "workspace", "commit", "-q", "--allow-empty", "-m", "second"]);
        git(home, &["-C", "workspace", "x"]);
        ["obeyed", "included"].map(|trace| fs::remove_file(boundary.host.join(trace)).is_ok())
    };
    let findings = boundary.paths(&baseline);
    assert_eq!(as_owner(), [true, true], "the control: git obeys both");
    assert_eq!(findings, ["later"], "the rest is read-only");
}

#[test]
fn what_git_leaves_of_operations_that_stop_and_what_scalar_sets_stays() {
    let (boundary, _) = committed();
    let here = |words: &[&str]| git(&boundary.host, words);
    let commit = |content: &str| {
        boundary.write("file", content);
        here(&["commit", "-q", "-a", "-m", content]);
    };
    commit("2");
    let patch = here(&["format-patch", "-1"]);
    here(&["reset", "-q", "--hard", "HEAD~1"]);
    commit("3");
    let baseline = boundary.baseline();
    here(&["am", "-3", patch.trim()]);
    boundary.write("bogus", "commit refs/heads/x\nbogus\n");
    let input = File::open(boundary.host.join("bogus")).unwrap();
    let imported = Command::new("git").arg("fast-import").current_dir(&boundary.host).stdin(input).output();
    assert!(!imported.unwrap().status.success());
    here(&["init", "-q", "new"]);
    for (key, value) in [
        ("am.keepCR", "true"),
        ("commitGraph.generationVersion", "1"),
        ("fetch.showForcedUpdates", "false"),
        ("fetch.unpackLimit", "1"),
        ("merge.stat", "false"),
    ] {
        here(&["-C", "new", "config", key, value]);
    }
    let names: Vec<_> =
        fs::read_dir(boundary.host.join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let has_crashed = names.iter().any(|name| name.to_string_lossy().starts_with("fast_import_crash_"));
    assert!(has_crashed && boundary.host.join(".git/rebase-apply/patch-merge-index").exists(), "the control");
    assert_eq!(boundary.compare(&baseline), []);
}
