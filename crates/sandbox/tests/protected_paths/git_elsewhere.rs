//! What leads git elsewhere where its data say nothing that is new: directories that a later run finds read-only, links that come to lie on
//! the way, and what git has cached. Git itself is run first, to show what it does with it.

use super::repositories::{committed, git, move_all};
use super::*;

/// The next run finds these directories read-only, with all that is in them, so nobody would look at it again.
#[test]
fn a_repository_where_git_has_only_files_is_found() {
    for place in [
        ".git/sequencer/evil", ".git/rebase-merge/evil", ".git/rebase-apply/a/b/evil", ".git/hooks/evil",
        ".git/config.worktree/evil", ".git/objects/info/alternates/evil", "n/.git/hooks/evil",
    ] {
        let prepared = || {
            let (boundary, _) = committed();
            git(&boundary.host, &["init", "-q", "n"]);
            fs::remove_dir_all(boundary.host.join("n/.git/hooks")).unwrap();
            fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
            boundary
        };
        let hook = format!("{place}/hooks/post-index-change");
        let attack = |boundary: &Boundary| {
            git(&boundary.host, &["init", "-q", "--bare", place]);
            git(&boundary.host.join(place), &["config", "core.bare", "false"]);
            boundary.write(&hook, "#!/bin/sh\ntouch ../obeyed\n").mode(&hook, 0o755);
        };
        let is_obeyed = |boundary: &Boundary| {
            boundary.write("sub/file", "").write("sub/.git", &format!("gitdir: ../{place}\n"));
            git(&boundary.host.join("sub"), &["add", "file"]);
            boundary.host.join("obeyed").exists()
        };
        let boundary = prepared();
        attack(&boundary);
        assert!(is_obeyed(&boundary), "the control: {place}");
        let boundary = prepared();
        let baseline = boundary.baseline();
        attack(&boundary);
        let found = move_all(&boundary, &baseline);
        let is_it = |one: &Finding| Path::new(&hook).starts_with(&one.path);
        assert!(found.iter().any(is_it), "{place}: {found:?}");
        assert!(!is_obeyed(&boundary), "{place}");
    }
}

#[test]
fn what_git_finds_under_the_name_of_a_submodule_is_found() {
    // Git follows a file there to where it says, and for it a directory is the data of a submodule whatever lies around it.
    for (made, content, found) in [
        (".git/modules/sub", "gitdir: ../../other/.git\n", ".git/modules/sub"),
        (".git/modules/a/b", "gitdir: ../../../other/.git\n", ".git/modules/a/b"),
        (".git/modules/hooks/hooks/post-checkout", "evil", ".git/modules/hooks/hooks/post-checkout"),
    ] {
        let (boundary, _) = committed();
        git(&boundary.host, &["init", "-q", "other"]);
        let baseline = boundary.baseline();
        if made.ends_with("post-checkout") {
            // The directory of all submodules looks like a repository itself.
            boundary.bare(".git/modules").bare(".git/modules/hooks");
        }
        boundary.write(made, content);
        let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert!(moved.contains(&found.into()), "{made}: {moved:?}");
        assert_eq!(boundary.compare(&baseline), [], "{made}");
    }
}

#[test]
fn a_link_in_a_directory_of_objects_that_git_borrows_from_is_quarantined() {
    for (link, target) in [("x/pack", "pack"), ("x/NN", "NN"), ("x/NN/FILE", "NN/FILE")] {
        let (boundary, outside) = committed();
        let private = outside.with_file_name("private");
        git(outside.parent().unwrap(), &["init", "-q", "private"]);
        git(&private, &["commit", "-q", "--allow-empty", "-m", "private"]);
        let number = git(&private, &["rev-parse", "HEAD"]);
        if target == "pack" {
            git(&private, &["repack", "-q", "-a", "-d"]);
        }
        let named = |path: &str| path.replace("NN", &number[..2]).replace("FILE", number[2..].trim());
        let (link, target) = (named(link), private.join(".git/objects").join(named(target)));
        boundary.directory("x/info").link("../file", "x/tool");
        let attack = |boundary: &Boundary| {
            boundary.write(".git/objects/info/alternates", "../../x\n");
            boundary.directory(Path::new(&link).parent().unwrap().to_str().unwrap()).link(&target, &link);
        };
        let is_read = || git(&boundary.host, &["cat-file", "-t", number.trim()]).contains("commit");
        let baseline = boundary.baseline();
        attack(&boundary);
        assert!(is_read(), "the control: {link}");
        // The last look goes into what has so many directories.
        let mut found = boundary.last_look(&baseline);
        for finding in &mut found {
            assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
        }
        let mut paths: Vec<_> = found.iter().map(|one| one.path.to_str().unwrap()).collect();
        paths.sort_unstable();
        assert_eq!(paths, [".git/objects/info/alternates", &link]);
        assert!(!is_read(), "{link}");
        // What an earlier run has borrowed is looked at, too.
        boundary.write(".git/objects/info/alternates", "../../x\n");
        let baseline = boundary.baseline();
        assert_eq!(boundary.last_look(&baseline), [], "borrowed from a directory in the boundary");
        attack(&boundary);
        let found = boundary.last_look(&baseline);
        assert!(found.iter().any(|one| one.path == Path::new(&link)), "{link}: {found:?}");
    }
}

/// One run says where the work tree is, and the next one has that place lead elsewhere.
#[test]
fn a_link_where_a_linked_work_tree_was_is_quarantined() {
    let (boundary, outside) = committed();
    let there = outside.with_file_name("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "the user's own\n").unwrap();
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    fs::remove_dir_all(boundary.host.join("tree")).unwrap();
    let attack = || {
        let _ = fs::remove_file(boundary.host.join("tree"));
        boundary.link("../there", "tree");
    };
    let use_git = || {
        git(&boundary.host, &["worktree", "repair"]);
        there.join(".git").exists()
    };
    let baseline = boundary.baseline();
    attack();
    let found = move_all(&boundary, &baseline);
    assert_eq!(found.iter().map(|one| one.path.to_str().unwrap()).collect::<Vec<_>>(), ["tree"]);
    assert!(!use_git());
    attack();
    assert!(use_git(), "the control");
}

#[test]
fn a_link_that_comes_to_lie_before_what_rerere_reads_has_its_list_quarantined() {
    let number = "0123456789".repeat(4);
    let merging = || {
        let (boundary, outside) = committed();
        fs::create_dir(outside.with_file_name("private")).unwrap();
        fs::write(outside.with_file_name("private").join("id"), "the user's own\n").unwrap();
        boundary.directory(&format!(".git/rr-cache/{number}")).write("way/id", "");
        boundary.write(".git/MERGE_RR", &format!("{number}\tway/id\0"));
        boundary
    };
    let attack = |boundary: &Boundary| {
        fs::remove_dir_all(boundary.host.join("way")).unwrap();
        boundary.link("../private", "way");
    };
    let leaked = |boundary: &Boundary| {
        git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let cached = fs::read_dir(boundary.host.join(".git/rr-cache").join(&number)).unwrap();
        let mut cached = cached.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        cached.any(|content| content == "the user's own\n")
    };
    let boundary = merging();
    attack(&boundary);
    assert!(leaked(&boundary), "the control");
    let boundary = merging();
    let baseline = boundary.baseline();
    attack(&boundary);
    assert_eq!(boundary.compare(&boundary.baseline()), [], "a link that was there");
    let found = move_all(&boundary, &baseline);
    let reason = Reason::WritesElsewhere { example: "way/id".into() };
    let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".git/MERGE_RR", &reason)]);
    assert!(!leaked(&boundary));
}

/// A repository with a directory that is cached as untracked files are, and looked at long ago for all that git can say.
fn cached() -> Boundary {
    let (boundary, _) = committed();
    boundary.write("aa/tracked", "").write("aa/untracked", "").write("bb/tracked", "");
    git(&boundary.host, &["add", "aa/tracked", "bb/tracked"]);
    git(&boundary.host, &["commit", "-q", "-m", "aa"]);
    age(&boundary);
    git(&boundary.host, &["update-index", "--force-untracked-cache"]);
    for _ in 0..2 {
        git(&boundary.host, &["status"]);
    }
    boundary
}

/// Makes directories look old: git looks again at those that may have changed since it last looked.
fn age(boundary: &Boundary) {
    let mut touch = Command::new("touch");
    touch.args(["-d", "2020-01-01", ".", "aa", "bb"]).current_dir(&boundary.host);
    assert!(touch.status().unwrap().success());
}

fn untracked(boundary: &Boundary) -> String {
    git(&boundary.host, &["-c", "core.trustctime=false", "status", "--short"])
}

#[test]
fn an_untracked_cache_that_has_git_read_elsewhere_is_quarantined() {
    let read = |example: &str| Reason::ReadsElsewhere { example: example.into() };
    // Names in the place of `aa`.
    for name in ["..", "/t"] {
        let attack = |boundary: &Boundary| {
            let index = boundary.host.join(".git/index");
            let mut content = fs::read(&index).unwrap();
            let cache = content.windows(4).position(|name| name == b"UNTR").unwrap();
            let at = cache + content[cache..].windows(4).position(|name| name == b"\0aa\0").unwrap();
            content[at + 1..at + 3].copy_from_slice(name.as_bytes());
            fs::write(&index, content).unwrap();
        };
        let boundary = cached();
        attack(&boundary);
        let is_read = untracked(&boundary).contains("outside");
        assert!(is_read || name != "..", "the control");
        let boundary = cached();
        let baseline = boundary.baseline();
        assert_eq!(boundary.compare(&baseline), [], "as git writes it");
        attack(&boundary);
        let found = move_all(&boundary, &baseline);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0].reason, found[0].origin), (&read(name), FindingOrigin::Replaced));
        assert!(!untracked(&boundary).contains("outside"));
    }
    // Git follows a link where a directory was, if the directory above looks as it did.
    let attack = |boundary: &Boundary| {
        let private = boundary.host.with_file_name("private");
        fs::create_dir(&private).unwrap();
        fs::write(private.join("secret"), "").unwrap();
        fs::remove_dir_all(boundary.host.join("aa")).unwrap();
        boundary.link("../private", "aa");
    };
    let boundary = cached();
    attack(&boundary);
    assert!(!untracked(&boundary).contains("secret"), "git looks again");
    let boundary = cached();
    attack(&boundary);
    age(&boundary);
    assert!(untracked(&boundary).contains("secret"), "the control");
    let boundary = cached();
    let baseline = boundary.baseline();
    attack(&boundary);
    // The link itself is reported in any case: the index lists a file behind it.
    let out = Reason::LeadsOut { example: "aa/tracked".into() };
    let reasons = |found: Vec<Finding>| found.into_iter().map(|one| one.reason).collect::<Vec<_>>();
    assert_eq!(reasons(boundary.compare(&baseline)), std::slice::from_ref(&out), "git looks again");
    age(&boundary);
    let mut found = reasons(move_all(&boundary, &baseline));
    found.sort_by_key(|reason| *reason == out);
    assert_eq!(found, [read("aa"), out]);
    assert!(!untracked(&boundary).contains("secret"));
}

/// One run makes a pointer that leads to a plain place, and a link that nothing leads to; the next one renames the directory around the
/// link, which changes neither.
#[test]
fn an_old_link_that_comes_to_its_place_with_a_directory_is_quarantined() {
    type Prepare = fn(&Boundary, &Path);
    type IsObeyed = fn(&Boundary, &Path) -> bool;
    let number = |private: &Path| git(private, &["rev-parse", "HEAD"]);
    let variants: [(&str, Prepare, IsObeyed); 5] = [
        (
            "the address of a remote",
            |boundary, private| {
                git(&boundary.host, &["config", "remote.origin.url", "d/x"]);
                boundary.directory("d/x").link(private, "d1/x");
            },
            |boundary, _| {
                git(&boundary.host, &["fetch", "-q", "origin"]);
                fs::metadata(boundary.host.join(".git/FETCH_HEAD")).is_ok_and(|stat| stat.len() > 0)
            },
        ),
        (
            "the work tree of a submodule",
            |boundary, private| {
                git(&boundary.host, &["init", "-q", "--bare", ".git/modules/sub"]);
                let data = boundary.host.join(".git/modules/sub");
                git(&data, &["config", "core.bare", "false"]);
                git(&data, &["config", "core.worktree", "../../../d/x"]);
                boundary.write("sub/.git", "gitdir: ../.git/modules/sub\n");
                boundary.directory("d/x").link(private, "d1/x");
            },
            |boundary, private| {
                let top = git(&boundary.host.join("sub"), &["rev-parse", "--show-toplevel"]);
                Path::new(top.trim()) == private.canonicalize().unwrap()
            },
        ),
        (
            "a .git file",
            |boundary, private| {
                git(&boundary.host, &["init", "-q", "--bare", "d/x"]);
                fs::remove_dir_all(boundary.host.join("d/x/hooks")).unwrap();
                boundary.write("sub/.git", "gitdir: ../d/x\n").link(private.join(".git"), "d1/x");
            },
            |boundary, private| {
                let head = git(&boundary.host.join("sub"), &["rev-parse", "HEAD"]);
                head == git(private, &["rev-parse", "HEAD"])
            },
        ),
        (
            "borrowed objects",
            |boundary, private| {
                boundary.write(".git/objects/info/alternates", "../../d/x\n");
                boundary.directory("d/x").link(private.join(".git/objects"), "d1/x");
            },
            |boundary, private| {
                let number = git(private, &["rev-parse", "HEAD"]);
                git(&boundary.host, &["cat-file", "-t", number.trim()]).contains("commit")
            },
        ),
        (
            "the data of a linked work tree",
            |boundary, private| {
                git(&boundary.host, &["worktree", "add", "-q", "d/x"]);
                boundary.link(private.join("there"), "d1/x");
            },
            |boundary, private| {
                git(&boundary.host, &["worktree", "repair"]);
                private.join("there/.git").exists()
            },
        ),
    ];
    for (what, prepare, is_obeyed) in variants {
        let swap = |boundary: &Boundary| {
            for (from, to) in [("d", "d2"), ("d1", "d")] {
                fs::rename(boundary.host.join(from), boundary.host.join(to)).unwrap();
            }
        };
        for is_control in [true, false] {
            let (boundary, outside) = committed();
            let private = outside.with_file_name("private");
            git(outside.parent().unwrap(), &["init", "-q", "private"]);
            git(&private, &["commit", "-q", "--allow-empty", "-m", "private"]);
            assert!(!number(&private).is_empty());
            fs::create_dir(private.join("there")).unwrap();
            fs::create_dir(boundary.host.join("d1")).unwrap();
            prepare(&boundary, &private);
            boundary.until_the_clock_is_past("d1/x");
            let baseline = boundary.baseline();
            assert_eq!(boundary.compare(&baseline), [], "{what}");
            swap(&boundary);
            if is_control {
                assert!(is_obeyed(&boundary, &private), "the control: {what}");
                continue;
            }
            let found = move_all(&boundary, &baseline);
            assert!(found.iter().any(|one| one.path == Path::new("d/x")), "{what}: {found:?}");
            assert!(!is_obeyed(&boundary, &private), "{what}");
        }
    }
}

/// What takes hours to follow, and is made in a second. Where it is looked at for long, nothing else is, and the sandbox runs on meanwhile.
#[test]
fn what_multiplies_is_not_followed_for_long() {
    let alternates = |boundary: &Boundary| {
        boundary.bare("n/.git").write("n/.git/config", "[core]\n\trepositoryformatversion = 0\n");
        let of = |level: &str| {
            (0..60).map(|number| format!("../../{level}/{number}")).collect::<Vec<_>>().join("\n")
        };
        for (level, number) in (0..6).flat_map(|level| (0..60).map(move |number| (level, number))) {
            let lends = if level < 5 { of(&(level + 1).to_string()) } else { String::new() };
            boundary.write(&format!("n/o/{level}/{number}/info/alternates"), &lends);
        }
        boundary.write("n/.git/objects/info/alternates", &of("o/0"));
    };
    let absolute = |boundary: &Boundary| {
        boundary.write("n/.git", &format!("gitdir: {}\n", "/a".repeat(500_000)));
    };
    let relative = |boundary: &Boundary| {
        boundary.write("n/.git", &format!("gitdir: {}\n", "a/".repeat(500_000)));
    };
    let unknown = |boundary: &Boundary| {
        for number in 0..5_000 {
            boundary.write(&format!(".git/x{number}"), "");
        }
    };
    for attack in [&alternates as &dyn Fn(&Boundary), &absolute, &relative, &unknown] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        attack(&boundary);
        boundary.write(".envrc", "evil");
        let found = boundary.compare(&baseline);
        assert!(found.iter().any(|one| one.path == Path::new(".envrc")), "{found:?}");
        assert!(found.len() > 1, "{found:?}");
    }
}
