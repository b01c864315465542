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
