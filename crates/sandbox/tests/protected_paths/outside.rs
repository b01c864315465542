//! What lies out of the boundary and git obeys there: nobody inside can change it, and what it leads to in the boundary is protected.

use super::repositories::{committed, git};
use super::*;

type Case = (&'static str, fn(&Boundary, &Path));

#[test]
fn what_links_lead_to_in_a_directory_of_hooks_outside_is_protected() {
    // Where the directory lies, and what makes git take its hooks from there.
    let cases: [Case; 9] = [
        ("hooks", |boundary, directory| {
            boundary
                .repository("")
                .write(".git/config", &format!("[core]\nhooksPath = {}\n", directory.display()));
        }),
        ("hooks", |boundary, _| {
            boundary.repository("").write(".git/config", "[core]\nhooksPath = ../outside/hooks\n");
        }),
        ("hooks", |boundary, _| {
            boundary.repository("").write(".git/config", "[core]\nhooksPath = ~/outside/hooks\n");
        }),
        ("template/hooks", |boundary, _| {
            boundary.repository("").write(".git/config", "[init]\ntemplateDir = ~/outside/template\n");
        }),
        ("hooks", |boundary, directory| {
            boundary.repository("");
            fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
            boundary.link(directory, ".git/hooks");
        }),
        ("more", |boundary, directory| {
            let link = boundary.host.with_file_name("outside").join("template");
            fs::create_dir(&link).unwrap();
            symlink(directory, link.join("hooks")).unwrap();
            boundary.repository("").write(".git/config", "[init]\ntemplateDir = ../outside/template\n");
        }),
        ("real/hooks", |boundary, _| {
            boundary.write(".git", "gitdir: ../outside/real\n");
        }),
        ("real/hooks", |boundary, _| {
            boundary.link("../outside/real", ".git");
        }),
        ("real/hooks", |boundary, directory| {
            let data = directory.parent().unwrap().join("worktrees/tree");
            fs::create_dir_all(&data).unwrap();
            fs::write(data.join("commondir"), "../..\n").unwrap();
            boundary.write(".git", &format!("gitdir: {}\n", data.display()));
        }),
    ];
    for (number, (place, leads)) in cases.into_iter().enumerate() {
        let boundary = Boundary::new();
        let directory = boundary.host.with_file_name("outside").join(place);
        fs::create_dir_all(&directory).unwrap();
        boundary.write("git/pre-commit", "#!/bin/sh\n").write("git/other", "").directory("through");
        boundary.write("through/x", "").link("through", "way");
        for (target, name) in [
            ("git/pre-commit", "pre-commit"),
            ("git/none", "post-commit"),
            ("way/x", "pre-push"),
            ("", "all"),
            ("../outside", "elsewhere"),
        ] {
            symlink(boundary.host.join(target), directory.join(name)).unwrap();
        }
        leads(&boundary, &directory);
        let read_only = boundary.read_only();
        for path in ["git/pre-commit", "through/x"] {
            assert!(read_only.iter().any(|one| one == path), "{number}, {path}: {read_only:?}");
        }
        assert!(
            !read_only.iter().any(|one| ["", "git", "git/other"].contains(&one.as_str())),
            "{number}: {read_only:?}"
        );

        let baseline = boundary.baseline();
        boundary.write("git/none", "#!/bin/sh\n").mode("git/none", 0o755).write("git/more", "#!/bin/sh\n");
        boundary.write("new/x", "#!/bin/sh\n");
        fs::remove_file(boundary.host.join("way")).unwrap();
        boundary.link("new", "way");
        let mut paths = boundary.paths(&baseline);
        paths.sort();
        assert_eq!(paths, ["git/none", "new/x", "way"], "{number}");
    }
}

#[test]
fn what_a_configuration_outside_names_in_the_work_tree_is_protected() {
    const HOOKS: &str = "[core]\n\thooksPath = .githooks\n";
    // What takes a configuration with hooks from beside the boundary.
    let cases: [Case; 8] = [
        ("a link to the repository", |boundary, real| {
            boundary.rename(".git", "../elsewhere/real").link(real, ".git");
        }),
        ("a link to a file that leads to it", |boundary, real| {
            boundary.rename(".git", "../elsewhere/real").link("../elsewhere/file", ".git");
            fs::write(real.with_file_name("file"), "gitdir: ../elsewhere/real\n").unwrap();
        }),
        ("a file", |boundary, _| {
            boundary.rename(".git", "../elsewhere/real").write(".git", "gitdir: ../elsewhere/real\n");
        }),
        ("links within", |boundary, real| {
            boundary.rename(".git", "../elsewhere/real").directory(".git");
            fs::copy(real.join("HEAD"), boundary.host.join(".git/HEAD")).unwrap();
            for name in ["config", "objects", "refs", "hooks", "info"] {
                boundary.link(real.join(name), &format!(".git/{name}"));
            }
        }),
        ("a common directory", |boundary, real| {
            boundary.rename(".git", "../elsewhere/real").directory(".git");
            fs::copy(real.join("HEAD"), boundary.host.join(".git/HEAD")).unwrap();
            boundary.write(".git/commondir", "../../elsewhere/real\n");
        }),
        ("an include", |boundary, _| {
            boundary.rename(".git/config", "../elsewhere/more");
            boundary.write(".git/config", "[include]\n\tpath = ../../elsewhere/more\n");
        }),
        ("an include in a home", |boundary, _| {
            boundary.rename(".git/config", "../elsewhere/more");
            boundary.write(".git/config", "[include]\n\tpath = ~/elsewhere/more\n");
        }),
        ("an include behind a link", |boundary, real| {
            boundary.rename(".git/config", "../elsewhere/more").link(real.with_file_name("more"), "link");
            boundary.write(".git/config", "[include]\n\tpath = ../link\n");
        }),
    ];
    for (what, leads) in cases {
        let (boundary, _) = committed();
        boundary.write(".git/config", HOOKS).write(".githooks/pre-commit", "#!/bin/sh\ntouch obeyed\n");
        boundary.mode(".githooks/pre-commit", 0o755).write("other/x", "");
        leads(&boundary, &boundary.host.with_file_name("elsewhere").join("real"));
        let home = boundary.host.parent().unwrap();
        git(home, &["-C", "workspace", "commit", "-q", "--allow-empty", "-m", "x"]);
        assert!(boundary.host.join("obeyed").exists(), "the control: git obeys it by {what}");

        let read_only = boundary.read_only();
        assert!(read_only.iter().any(|one| one == ".githooks"), "{what}: {read_only:?}");
        assert!(!read_only.iter().any(|one| one.starts_with("other")), "{what}: {read_only:?}");
        fs::remove_dir_all(boundary.host.join(".githooks")).unwrap();
        let baseline = boundary.baseline();
        boundary.write(".githooks/pre-commit", "evil").write("other/pre-commit", "");
        assert_eq!(boundary.paths(&baseline), [".githooks/pre-commit"], "{what}");
    }
}
