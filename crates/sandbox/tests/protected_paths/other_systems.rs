//! The data of git that other systems keep in their own, deeper in a work tree than repositories are looked for.

use super::repositories::{OBEYED, git, move_all};
use super::*;

/// Where the data lie, what says so (a file with its content), and where the work tree is.
const KEPT: &[(&str, Option<(&str, &str)>)] = &[
    (".jj/repo/store/git", Some((".jj/repo/store/git_target", "git"))),
    (".jj/repo/store/git", None),
    (".sl/store/git", None),
    ("a/b/c/.hg/git", None),
    ("a/b/c/.jj/repo/store/git", Some(("a/b/c/.jj/repo/store/git_target", "git\n"))),
    ("deep/er/and/er/data.git", Some((".jj/repo/store/git_target", "../../../deep/er/and/er/data.git"))),
    ("deep/er/and/main/.jj/repo/store/git", Some((".jj/repo", "../deep/er/and/main/.jj/repo"))),
];

fn prepare(boundary: &Boundary, data: &str, named: Option<(&str, &str)>) {
    git(&boundary.host, &["init", "-q", "--bare", data]);
    git(&boundary.host.join(data), &["remote", "add", "origin", "git@example.org:me/mine.git"]);
    if let Some((file, content)) = named {
        boundary.write(file, content);
    }
}

#[test]
fn data_of_git_in_another_system_are_protected() {
    for (data, named) in KEPT {
        let boundary = Boundary::new();
        prepare(&boundary, data, *named);
        boundary.write(&format!("{data}/hooks/pre-push"), "#!/bin/sh\n");
        let read_only = boundary.read_only();
        for path in ["config", "hooks"] {
            let path = format!("{data}/{path}");
            assert!(read_only.contains(&path), "{path}: {read_only:?}");
        }
    }
}

#[test]
fn what_is_new_in_them_is_the_agents() {
    for (data, named) in KEPT {
        let boundary = Boundary::new();
        for directory in ["a/b/c", "deep/er/and/main"] {
            boundary.directory(directory);
        }
        let baseline = boundary.baseline();
        prepare(&boundary, data, *named);
        // A file that names data somewhere else goes itself.
        let leads_elsewhere = |(_, content): (&str, &str)| content.trim() != "git";
        let found = boundary.compare(&baseline);
        assert_eq!(
            found.is_empty(),
            !named.is_some_and(leads_elsewhere),
            "the control: {data}, which runs nothing"
        );
        let config = format!("{data}/config");
        boundary.write(&config, OBEYED);
        git(&boundary.host, &["--git-dir", data, "--work-tree", ".", "status"]);
        assert!(boundary.host.join("obeyed").exists(), "the control: git obeys {config}");
        let found = move_all(&boundary, &baseline);
        let is_it = |one: &Finding| Path::new(&config).starts_with(&one.path);
        assert!(found.iter().any(is_it) || named.is_some_and(leads_elsewhere), "{config}: {found:?}");
        let is_led_to = named.is_none_or(|(file, _)| boundary.host.join(file).exists());
        assert!(!(is_led_to && boundary.host.join(&config).exists()), "{config}: {found:?}");
    }
}

/// What `hg init` and `sl init` write.
const REQUIRES: &[(&str, &str)] = &[
    (".hg/requires", "share-safe\n"),
    (
        ".hg/store/requires",
        "dotencode\nfncache\ngeneraldelta\nrevlog-compression-zstd\nrevlogv1\nsparserevlog\nstore\n",
    ),
    (".sl/requires", "revlogv1\nstore\ntreestate\n"),
    (
        ".sl/store/requires",
        "git\ngit-store\ninvalidatelinkrev\nnarrowheads\nsegmentedchangelog\nvisibleheads\n",
    ),
    (".sl/store/gitdir", "git"),
];

#[test]
fn what_a_repository_requires_is_read_only_and_classified_where_it_is_new() {
    for tree in ["", "nested/"] {
        for (path, ordinary) in REQUIRES {
            let boundary = Boundary::new();
            let path = format!("{tree}{path}");
            boundary.directory("nested");
            let baseline = boundary.baseline();
            boundary.write(&path, ordinary);
            assert_eq!(boundary.paths(&baseline), [""; 0], "what a clone has, {path}");
            boundary.write(&path, &format!("{ordinary}largefiles\n"));
            assert_eq!(boundary.paths(&baseline), [path.as_str()]);
            assert_eq!(boundary.read_only(), [path.as_str()], "where it was there");
        }
    }
}

/// What a file stands for in `.hglf`.
const NUMBER: &str = "0123456789abcdef0123456789abcdef01234567\n";

#[test]
fn paths_in_the_data_of_largefiles_lead_nowhere_else() {
    let dirstate = |path: &str| {
        let length = char::from(u8::try_from(path.len()).unwrap());
        format!("{}n{}\0\0\0{length}{path}", "\0".repeat(40), "\0".repeat(12))
    };
    for tree in ["", "nested/"] {
        let boundary = Boundary::new();
        let [state, own, other] = [".hg/largefiles/dirstate", ".hglf/a/big.bin", ".hglf/a/b.bin"]
            .map(|path| format!("{tree}{path}"));
        boundary.write(&state, &dirstate("big.bin")).write(&own, NUMBER);
        let baseline = boundary.baseline_of_old();
        assert_eq!(boundary.read_only(), [""; 0]);
        boundary
            .write(&state, &dirstate("b.bin"))
            .write(&own, &NUMBER.replace('0', "1"))
            .write(&other, NUMBER);
        assert_eq!(boundary.paths(&baseline), [""; 0], "what `hg commit` writes");
        boundary.write(&state, &dirstate("../../precious")).write(&other, "../../../.zshenv\n");
        let mut found = boundary.paths(&baseline);
        found.sort();
        assert_eq!(found, [state, other]);
    }
}
