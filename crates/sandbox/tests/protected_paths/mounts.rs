//! The mounts that follow from what the walk has found.

use super::*;
use std::borrow::Cow;

#[test]
fn what_exists_becomes_read_only_and_its_parents_are_pinned() {
    let boundary = Boundary::new();
    boundary.repository("").repository("a/b").write(".vscode/tasks.json", "{}").write("a/b/.bashrc", "");
    boundary.write("a/.bashrc", "not at a repository's root");
    let found = boundary.mounts();
    assert_eq!(
        boundary.read_only(),
        [".git/config", ".git/hooks", ".vscode", "a/b/.bashrc", "a/b/.git/config", "a/b/.git/hooks"]
    );
    assert_eq!(paths(&found.pins), [".git", ".git/refs", "a", "a/b", "a/b/.git", "a/b/.git/refs"]);
    assert_eq!(found.notices, []);
    let config = fs::metadata(boundary.host.join(".git/config")).unwrap();
    assert_eq!(found.read_only[0].file_id.inode, config.ino());
    assert_eq!(found.read_only[0].file_id.device, config.dev());
    assert_eq!(found.read_only[0].kind, FileKind::File);
    assert_eq!(found.read_only[1].kind, FileKind::Directory);
}

#[test]
fn submodules_and_worktrees_are_covered() {
    let boundary = Boundary::new();
    boundary.repository("").bare(".git/modules/libs/deep").bare(".git/modules/libs/deep/modules/inner");
    boundary.write("libs/deep/.git", "gitdir: ../../.git/modules/libs/deep\n");
    boundary.write(".git/worktrees/w/config.worktree", "").write(".git/worktrees/w/commondir", "../..\n");
    let found = boundary.read_only();
    for path in [
        ".git/modules/libs/deep/config",
        ".git/modules/libs/deep/hooks",
        ".git/modules/libs/deep/modules/inner/config",
        ".git/worktrees/w/commondir",
        ".git/worktrees/w/config.worktree",
        "libs/deep/.git",
    ] {
        assert!(found.iter().any(|one| one == path), "{path} is missing in {found:?}");
    }
    assert!(boundary.mounts().pins.contains(&".git/modules/libs/deep/modules/inner".into()));
}

#[test]
fn a_gitdir_file_is_followed_inside_the_boundary_only() {
    let boundary = Boundary::new();
    boundary.bare("data/main").write("data/main/commondir", "../common\n").bare("data/common");
    let absolute = boundary.host.join("data/main").display().to_string();
    boundary.write("tree/.git", &format!("gitdir: {absolute}\n"));
    boundary.write("lost/.git", "gitdir: /etc\n").write("up/.git", "gitdir: ../../elsewhere\n");
    let found = boundary.read_only();
    for path in ["data/common/config", "data/main/commondir", "data/main/config", "lost/.git", "tree/.git"] {
        assert!(found.iter().any(|one| one == path), "{path} is missing in {found:?}");
    }
    let mut outside: Vec<_> = boundary.mounts().notices;
    outside.sort_by_key(ToString::to_string);
    assert_eq!(
        outside,
        [
            ProtectionGap::GitOutside { file: "lost/.git".into() },
            ProtectionGap::GitOutside { file: "up/.git".into() }
        ]
    );
}

#[test]
fn a_link_is_never_mounted_and_its_target_is_protected_in_its_place() {
    let boundary = Boundary::new();
    boundary.repository("").write("dotfiles/bashrc", "").write("shared/claude/settings.json", "{}");
    boundary.link("dotfiles/bashrc", ".bashrc").link("./shared/../shared/claude", ".claude");
    boundary.link("/etc/profile", ".profile").link("nothing", ".zshrc");
    boundary.link(boundary.host.join("dotfiles"), ".config").write("dotfiles/git/config", "");
    let found = boundary.mounts();
    let read_only = boundary.read_only();
    assert_eq!(read_only, [".git/config", ".git/hooks", "dotfiles/bashrc", "dotfiles/git", "shared/claude"]);
    assert_eq!(paths(&found.pins), [".git", ".git/refs", "dotfiles", "shared"]);
    let links: Vec<_> = found.links.iter().map(|link| link.path.to_str().unwrap()).collect();
    assert_eq!(links, [".bashrc", ".claude", ".config", ".profile", ".zshrc"]);
    assert!(found.notices.contains(&ProtectionGap::LinkOutside { link: ".profile".into() }));
    assert!(found.notices.contains(&ProtectionGap::LinkOutside { link: ".zshrc".into() }));
    assert!(
        found.notices.contains(&ProtectionGap::LinkInside {
            link: ".bashrc".into(),
            target: "dotfiles/bashrc".into()
        })
    );
}

#[test]
fn what_a_configuration_of_git_names_is_read_only_too() {
    let boundary = Boundary::new();
    boundary.repository("").write(".husky/_/pre-commit", "x").write(".husky/pre-commit", "x");
    boundary.write(
        ".git/config",
        "[core]\nhooksPath = .husky/_\nfsmonitor = tools/watch\n[include]\npath = ../one\n",
    );
    boundary.write("tools/watch", "x").write("tools/other", "x");
    boundary
        .write("one", "[includeIf \"onbranch:x\"]\npath = deep/two\n")
        .write("deep/two", "[include]\npath = ../one\n");
    // A submodule's path is relative to its work tree, a linked work tree's to that, an absolute one to nothing.
    boundary.bare(".git/modules/sub").write("sub/.git", "gitdir: ../.git/modules/sub\n");
    boundary.write(".git/modules/sub/config", "[core]\nhooksPath = hooks\n").write("sub/hooks/pre-push", "x");
    boundary
        .write(".git/worktrees/tree/commondir", "../..\n")
        .write(".git/worktrees/tree/HEAD", "ref: refs/heads/tree\n")
        .write("tree/.git", "gitdir: ../.git/worktrees/tree\n");
    boundary.write("tree/.husky/pre-commit", "x");
    let hooks = boundary.host.join("shared/hooks");
    boundary.bare("mirror.git").directory("shared/hooks");
    boundary.write("mirror.git/config", &format!("[core]\nhooksPath = {}\n", hooks.display()));
    let read_only = boundary.read_only();
    for path in [".husky", "tools/watch", "one", "deep/two", "sub/hooks", "tree/.husky", "shared/hooks"] {
        assert!(read_only.contains(&path.to_owned()), "{path}: {read_only:?}");
    }
    assert!(!read_only.contains(&"tools/other".to_owned()));
    let notices = boundary.mounts().notices;
    assert_eq!(notices, []);
}

#[test]
fn what_a_hook_of_pre_commit_runs_is_read_only_too() {
    let hook = |path: &str| {
        format!("#!/usr/bin/env bash\nARGS=(hook-impl --config={path} --hook-type=pre-commit)\n")
    };
    let boundary = Boundary::new();
    boundary
        .repository("")
        .write(".git/hooks/pre-commit", &hook("ci/pc.yaml"))
        .write("ci/pc.yaml", "repos: []\n");
    boundary
        .write(".git/hooks/pre-push.sample", &hook("ci/other.yaml"))
        .write("ci/other.yaml", "repos: []\n");
    boundary.repository("sub").write("sub/.git/config", "[core]\nhooksPath = hooks\n");
    boundary.write("sub/hooks/pre-push", &hook("'my pc.yaml'")).write("sub/my pc.yaml", "repos: []\n");
    let read_only = boundary.read_only();
    for path in ["ci/pc.yaml", "sub/my pc.yaml"] {
        assert!(read_only.contains(&path.to_owned()), "{path}: {read_only:?}");
    }
    assert!(!read_only.contains(&"ci/other.yaml".to_owned()), "the control: {read_only:?}");
}

#[test]
fn what_a_configuration_of_git_names_outside_or_around_the_repository_is_not_mounted() {
    let boundary = Boundary::new();
    fs::create_dir(boundary.host.parent().unwrap().join("hooks")).unwrap();
    boundary.repository("sub").link("../../hooks", "sub/out");
    let plain = boundary.read_only();
    for (named, notices) in [("../../hooks", 0), ("~/hooks", 0), ("..", 1), (".", 1), (".git", 1), ("out", 1)]
    {
        boundary.write("sub/.git/config", &format!("[core]\nhooksPath = {named}\n"));
        assert_eq!(boundary.read_only(), plain, "{named}");
        assert_eq!(boundary.mounts().notices.len(), notices, "{named}");
    }
}

#[test]
fn configurations_that_include_without_end_come_to_an_end() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/config", "[include]\npath = ../0\n");
    for number in 0..20 {
        boundary.write(&number.to_string(), &format!("[include]\npath = {}\n", number + 1));
    }
    let mounts = boundary.mounts();
    assert!(
        mounts.notices.contains(&ProtectionGap::TooManySettings { config: "9".into() }),
        "{:?}",
        mounts.notices
    );
    let included: Vec<String> = (0..300).map(|number| format!("many/{number}")).collect();
    for path in &included {
        boundary.write(path, "");
    }
    boundary.write(".git/config", &format!("[include]\npath = ../{}\n", included.join("\npath = ../")));
    let mounts = boundary.mounts();
    assert_eq!(mounts.notices, [ProtectionGap::TooManySettings { config: ".git/config".into() }]);
}

#[test]
fn a_configuration_out_of_the_boundary_that_cannot_be_read_whole_is_reported() {
    let boundary = Boundary::new();
    let git = boundary.host.with_file_name("data");
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::create_dir(git.join("refs")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    boundary.write(".git", &format!("gitdir: {}\n", git.display()));
    let config = git.join("config");
    let reported = |content: &str| {
        fs::write(&config, content).unwrap();
        boundary.mounts().notices.contains(&ProtectionGap::TooManySettings { config: config.clone() })
    };
    assert!(!reported("[core]\nbare = false\n"), "the control");
    assert!(reported(&"# much\n".repeat(200_000)), "too large");
    assert!(reported("[core]\npager = a\0b\n"), "not as git writes it");
}

#[test]
fn links_in_a_circle_come_to_an_end() {
    let boundary = Boundary::new();
    boundary.link(".zshrc", ".bashrc").link(".bashrc", ".zshrc");
    boundary.write("a/.git", "gitdir: ../b\n").write("b/commondir", "../a/../b\n").write("b/HEAD", "");
    assert_eq!(boundary.read_only(), ["a/.git", "b/commondir"]);
}

#[test]
fn other_names_of_a_protected_file_are_reported() {
    let boundary = Boundary::new();
    boundary.repository("");
    fs::hard_link(boundary.host.join(".git/config"), boundary.host.join("innocent")).unwrap();
    assert_eq!(boundary.mounts().notices, [ProtectionGap::HardLinked { path: ".git/config".into() }]);
}

#[test]
fn what_lies_in_something_read_only_is_not_mounted_again() {
    let boundary = Boundary::new();
    boundary.repository(".claude/nested").write(".claude/settings.json", "{}");
    assert_eq!(boundary.read_only(), [".claude"]);
    assert_eq!(boundary.mounts().pins, Vec::<PathBuf>::new());
}

#[test]
fn what_the_policy_gives_up_is_not_mounted_anywhere() {
    let boundary = Boundary::new();
    boundary.repository("").bare(".git/modules/m").repository("a");
    let list: Vec<Cow<'static, str>> =
        built_in().filter(|path| *path != ".git/config").map(Cow::Borrowed).collect();
    let found = mounts(&boundary.root().enter().unwrap(), &boundary.host, &boundary.walk(3), &list).unwrap();
    assert!(found.read_only.iter().all(|one| !one.path.ends_with("config")), "{found:?}");
    assert_eq!(found.read_only.len(), 3, "the three directories of hooks");
}

#[test]
fn what_a_link_in_a_protected_directory_leads_to_is_protected() {
    let boundary = Boundary::new();
    boundary.repository("").write("scripts/pre-commit", "#!/bin/sh\n").write("cfg/settings.json", "{}");
    boundary.write(".husky/_/h", "").write("tools/x/y", "").write("own/pre-push", "").link("own", "way");
    boundary.link("../../scripts/pre-commit", ".git/hooks/pre-commit");
    for (target, link) in [
        ("../../cfg/settings.json", ".claude/deep/settings.json"),
        ("../../tools", ".husky/_/all"),
        ("../..", ".husky/_/around"),
        ("../../.husky/_", ".husky/_/itself"),
        ("../../scripts/none", ".git/hooks/post-commit"),
        ("../../way/pre-push", ".git/hooks/pre-push"),
        ("/etc/passwd", ".git/hooks/outside"),
    ] {
        let directory = boundary.host.join(link);
        fs::create_dir_all(directory.parent().unwrap()).unwrap();
        boundary.link(target, link);
    }
    let read_only = boundary.read_only();
    for path in ["scripts/pre-commit", "cfg/settings.json", "tools", "own/pre-push"] {
        assert!(read_only.contains(&path.to_owned()), "{path}: {read_only:?}");
    }
    assert!(!read_only.contains(&"scripts".to_owned()));

    // What appears where a link leads to nothing is a hook, too.
    let baseline = boundary.baseline();
    boundary
        .write("scripts/none", "#!/bin/sh\n")
        .mode("scripts/none", 0o755)
        .write("scripts/other", "#!/bin/sh\n");
    assert_eq!(boundary.paths(&baseline), ["scripts/none"]);
    // So is what another link on the way is made to lead to, whoever made it.
    fs::remove_file(boundary.host.join("way")).unwrap();
    boundary.link("scripts", "way");
    let mut paths = boundary.paths(&baseline);
    paths.sort();
    assert_eq!(paths, ["scripts/none", "way"]);
}
