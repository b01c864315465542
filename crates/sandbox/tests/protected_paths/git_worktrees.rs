//! Linked work trees: what git takes for theirs, and writes to or empties.

use super::git_settings::sh;
use super::git_staged::with_hooks;
use super::repositories::*;
use super::*;

#[test]
fn a_linked_work_tree_that_leads_out_of_the_boundary_is_quarantined() {
    let (boundary, outside) = committed();
    let there = outside.with_file_name("there");
    fs::create_dir(&there).unwrap();
    let dot_git = there.join(".git");
    fs::write(&dot_git, "the user's own\n").unwrap();
    let mine = outside.with_file_name("mine");
    let here = |words: &[&str]| git(&boundary.host, words);
    here(&["worktree", "add", "-q", mine.to_str().unwrap()]);
    let baseline = boundary.baseline();
    assert!(boundary.read_only().contains(&".git/worktrees/mine/gitdir".to_owned()));
    here(&["worktree", "add", "-q", "tree"]);
    assert_eq!(boundary.compare(&baseline), [], "neither the user's own nor an ordinary one");
    let gitdir = ".git/worktrees/tree/gitdir";
    // As `git worktree add` writes it inside.
    for path in ["/workspace/tree/.git", "/tmp/no-such-directory-on-the-host/.git"] {
        boundary.write(gitdir, &format!("{path}\n"));
        assert_eq!(boundary.compare(&baseline), [], "{path}");
    }
    boundary.write(gitdir, &format!("{}\n", dot_git.display()));
    here(&["worktree", "repair"]);
    assert_ne!(fs::read_to_string(&dot_git).unwrap(), "the user's own\n", "the control: git writes there");
    here(&["worktree", "remove", "--force", there.to_str().unwrap()]);
    assert!(!there.exists(), "the control: git removes it");
    fs::create_dir(&there).unwrap();
    fs::write(&dot_git, "the user's own\n").unwrap();
    fs::remove_dir_all(boundary.host.join("tree")).unwrap();
    here(&["worktree", "add", "-q", "again"]);
    let gitdir = ".git/worktrees/again/gitdir";
    boundary.write(gitdir, &format!("{}\n", dot_git.display()));
    let moved = move_all(&boundary, &baseline);
    assert_eq!(moved.iter().map(|one| one.path.to_str().unwrap()).collect::<Vec<_>>(), [gitdir]);
    here(&["worktree", "repair"]);
    here(&["worktree", "prune"]);
    assert_eq!(fs::read_to_string(&dot_git).unwrap(), "the user's own\n");
    assert!(mine.join("file").exists(), "the user's own stays");
}

#[test]
fn a_link_that_comes_to_lie_where_a_linked_work_tree_was_is_quarantined() {
    let prepared = || {
        let (boundary, outside) = committed();
        let there = outside.with_file_name("there");
        fs::create_dir(&there).unwrap();
        fs::write(there.join("mine"), "the user's own\n").unwrap();
        // The user has removed it, and git would forget it some day.
        git(&boundary.host, &["worktree", "add", "-q", "work/tree"]);
        fs::remove_dir_all(boundary.host.join("work")).unwrap();
        boundary.directory("old").link(&there, "old/tree").link(&there, "kept");
        boundary.until_the_clock_is_past("kept");
        (boundary, there)
    };
    let use_git = |boundary: &Boundary, there: &Path| {
        git(&boundary.host, &["worktree", "repair"]);
        let is_written = there.join(".git").exists();
        git(&boundary.host, &["worktree", "remove", "--force", "work/tree"]);
        (is_written, there.join("mine").exists())
    };
    let attack = |boundary: &Boundary, there: &Path, how: &str| match how {
        "at it" => drop(symlink(there, boundary.directory("work").host.join("work/tree"))),
        "above it" => {
            let above = there.with_file_name("above");
            fs::create_dir(&above).unwrap();
            fs::rename(there, above.join("tree")).unwrap();
            boundary.link(above, "work");
        }
        _ => fs::rename(boundary.host.join("old"), boundary.host.join("work")).unwrap(),
    };
    for (how, link) in [("at it", "work/tree"), ("above it", "work"), ("an old one", "work/tree")] {
        let place = |there: &Path| {
            let moved = there.with_file_name("above/tree");
            if moved.exists() { moved } else { there.to_owned() }
        };
        let (boundary, there) = prepared();
        attack(&boundary, &there, how);
        assert_eq!(use_git(&boundary, &place(&there)), (true, false), "the control: git empties it, {how}");

        let (boundary, there) = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, &there, how);
        let found = move_all(&boundary, &baseline);
        let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
        assert_eq!(found, [(link, FindingOrigin::Created)], "{how}");
        assert_eq!(use_git(&boundary, &place(&there)), (false, true), "{how}");
    }
    // What was there before, and what leads nowhere near, are nobody's business.
    let (boundary, there) = prepared();
    boundary.directory("work").link(&there, "work/tree");
    let baseline = boundary.baseline();
    boundary.link(&there, "work/other").link(&there, "other");
    assert_eq!(boundary.compare(&baseline), []);
}

/// A submodule of the main work tree and one of a linked work tree, and a repository of dotfiles: where each work tree is, its configuration says.
#[test]
fn work_trees_out_of_the_boundary_are_known_by_core_worktree_whatever_else_leads_to_their_data() {
    let (boundary, outside) = committed();
    let there = |name: &str| outside.with_file_name(name);
    for name in ["tree", "home"] {
        fs::create_dir(there(name)).unwrap();
    }
    let outside_of = |git: &str, tree: &str| {
        boundary.bare(git);
        boundary.write(&format!("{git}/config"), &format!("[core]\n\tbare = false\n\tworktree = {tree}\n"));
    };
    outside_of(".git/modules/sub", there("tree").to_str().unwrap());
    outside_of("dotfiles/.git", "../../../home");
    outside_of(".git/modules/inside", "../../../inside");
    outside_of(".git/modules/gone", "/no-such-directory-on-the-host/x");
    boundary.write("inside/.git", "gitdir: ../.git/modules/inside\n");
    let elsewhere = || boundary.mounts().elsewhere.into_iter().collect::<Vec<_>>();
    let expected = [(".git/modules/sub".into(), there("tree")), ("dotfiles/.git".into(), there("home"))];
    assert_eq!(elsewhere(), expected);
    let baseline = boundary.baseline();
    // What an agent makes does not bring them here.
    boundary.write("fake/.git", "gitdir: ../.git/modules/sub\n");
    assert_eq!(elsewhere(), expected);
    let number = "1".repeat(40);
    for git in [".git/modules/sub", "dotfiles/.git"] {
        boundary.write(&format!("{git}/rr-cache/{number}/preimage"), "");
        boundary.write(&format!("{git}/MERGE_RR"), &format!("{number}\tlocal.yml\0"));
    }
    let mut found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    found.sort();
    assert_eq!(found, [".git/modules/sub/MERGE_RR", "dotfiles/.git/MERGE_RR"].map(PathBuf::from));
}

/// A `.git` file in another directory leads to the data of a linked work tree that is not shared.
#[test]
fn what_rerere_would_read_in_a_work_tree_elsewhere_is_quarantined_whatever_leads_there() {
    let number = "1".repeat(40);
    let prepared = || {
        let (boundary, outside) = committed();
        let tree = outside.with_file_name("linked");
        git(&boundary.host, &["worktree", "add", "-q", tree.to_str().unwrap()]);
        fs::write(tree.join("local.yml"), "the user's own\n").unwrap();
        (boundary, tree)
    };
    let attack = |boundary: &Boundary| {
        boundary.write("fake/.git", "gitdir: ../.git/worktrees/linked\n");
        boundary.write(&format!(".git/rr-cache/{number}/preimage"), "<<<<<<<\na\n=======\nb\n>>>>>>>\n");
        boundary.write(".git/worktrees/linked/MERGE_RR", &format!("{number}\tlocal.yml\0"));
    };
    let leaked = |boundary: &Boundary, tree: &Path| {
        git(tree, &["commit", "-q", "--allow-empty", "-m", "next"]);
        let cached = fs::read_dir(boundary.host.join(".git/rr-cache").join(&number)).unwrap();
        let mut cached = cached.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        cached.any(|content| content.contains("the user's own"))
    };
    let (boundary, tree) = prepared();
    attack(&boundary);
    assert!(leaked(&boundary, &tree), "the control");
    let (boundary, tree) = prepared();
    let baseline = boundary.baseline();
    attack(&boundary);
    let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert!(found.contains(&".git/worktrees/linked/MERGE_RR".into()), "{found:?}");
    assert!(!leaked(&boundary, &tree));
}

/// Puts a program into the index of a linked work tree, as an agent can that has its data alone.
fn stage(boundary: &Boundary, name: &str, path: &str) {
    let script = format!(
        "number=$(printf '#!/bin/sh\\ntouch obeyed\\n' | git hash-object -w --stdin); GIT_INDEX_FILE=.git/worktrees/{name}/index \
         git update-index --add --cacheinfo 100755,$number,{path}"
    );
    assert!(sh(boundary, ".", &script), "{script}");
}

/// Two branches with other files at protected paths, and a link in one.
fn with_branches() -> Boundary {
    let boundary = with_hooks(&[]);
    let script = "git checkout -q -b other; echo '{ \"a\": 1 }' >.vscode/settings.json; echo exit >>.githooks/pre-commit; ln -s file link; \
                  git add -A; git commit -qm other; git checkout -q main";
    assert!(sh(&boundary, ".", script));
    boundary.until_the_clock_is_past(".git/index");
    boundary
}

#[test]
fn a_new_work_tree_of_the_users_elsewhere_stays_and_its_index_is_compared() {
    const PRUNES: &str = "git gc -q; cd $TOP/mine && git rev-parse HEAD";
    const RELATIVE: &str = "git worktree add -q -b mine $TOP/mine; echo ../../../../mine/.git >.git/worktrees/mine/gitdir; \
                            echo 'gitdir: ../workspace/.git/worktrees/mine' >$TOP/mine/.git";
    let boundary = with_branches();
    assert!(sh(&boundary, ".", "git worktree add -q -b mine $TOP/mine; rm .git/worktrees/mine/gitdir"));
    assert!(!sh(&boundary, ".", PRUNES), "the control: git removes the data of the work tree");
    for add in ["git worktree add -q -b mine $TOP/mine", "git worktree add -q $TOP/mine other", RELATIVE] {
        let boundary = with_branches();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", add), "{add}");
        assert_eq!(boundary.compare_commits(&baseline), [], "{add}");
        stage(&boundary, "mine", ".githooks/post-checkout");
        let found = boundary.compare(&baseline);
        let [one] = &found[..] else { panic!("{add}: {found:?}") };
        let Finding { path, reason: Reason::StagesProtected { files: 1, example }, origin, .. } = one else {
            panic!("{add}: {one}")
        };
        assert_eq!((*origin, one.stays()), (FindingOrigin::Created, true), "{add}");
        assert_eq!(
            (path.to_str(), &**example),
            (Some(".git/worktrees/mine/index"), ".githooks/post-checkout")
        );
        assert!(sh(&boundary, ".", PRUNES), "{add}");
    }
}

#[test]
fn a_new_work_tree_elsewhere_that_an_agent_may_have_made_is_quarantined() {
    let variants = [
        ("it does not lead back", "echo gitdir: /nowhere >$TOP/mine/.git"),
        (
            "it leads to another one",
            "sed -i s/mine$/other/ $TOP/mine/.git; cp -r .git/worktrees/mine .git/worktrees/other",
        ),
        ("a link is on the way", "mv $TOP/mine $TOP/real; ln -s real $TOP/mine"),
        (
            "it has another name",
            "mv $TOP/mine/.git $TOP/mine/git; echo $TOP/mine/git >.git/worktrees/mine/gitdir",
        ),
        ("it lies where an agent can write", "true"),
        ("it is another user's", "chown 12345 $TOP/mine/.git"),
    ];
    for (why, script) in variants {
        if why == "it is another user's" && !rustix::process::getuid().is_root() {
            continue;
        }
        let boundary = with_branches();
        let mut mounts = boundary.mounts();
        if why == "it lies where an agent can write" {
            mounts.shared = vec![boundary.host.clone(), boundary.host.with_file_name("mine")];
        }
        let baseline = Baseline::take(boundary.root().enter().unwrap(), &mounts).unwrap().0;
        assert!(sh(&boundary, ".", &format!("git worktree add -q -b mine $TOP/mine; {script}")), "{why}");
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert!(found.contains(&".git/worktrees/mine/gitdir".into()), "{why}: {found:?}");
    }
}

#[test]
fn what_a_new_linked_work_tree_holds_is_compared_with_what_the_repository_held() {
    let add = |boundary: &Boundary| assert!(sh(boundary, ".", "git worktree add -q -b mine tree"));
    let boundary = with_branches();
    add(&boundary);
    stage(&boundary, "tree", ".githooks/post-checkout");
    assert!(sh(&boundary, "tree", "git checkout -- ."));
    assert!(boundary.host.join("tree/obeyed").exists(), "the control: git writes the hook, and runs it");

    let boundary = with_branches();
    let baseline = boundary.baseline();
    add(&boundary);
    let of_data = || {
        let found = boundary.compare_commits(&baseline).into_iter();
        let found = found.filter(|one| one.path.starts_with(".git/worktrees")).map(|one| {
            assert!(one.stays(), "{one}");
            (one.path.file_name().unwrap().to_str().unwrap().to_owned(), one.reason)
        });
        found.collect::<Vec<_>>()
    };
    let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(moved, [PathBuf::from("tree/.githooks/pre-commit")], "it may be the agent's");
    assert_eq!(of_data(), [], "the index of the main work tree held the same");
    let staged = |example: &str| Reason::StagesProtected { files: 1, example: example.into() };
    stage(&boundary, "tree", ".githooks/post-checkout");
    assert_eq!(of_data(), [("index".to_owned(), staged(".githooks/post-checkout"))]);
    let script = "git reset -q; number=$(echo evil | git hash-object -w --stdin); \
                  git update-index --add --cacheinfo 100755,$number,.husky/pre-commit; commit=$(git commit-tree -p HEAD -m x $(git write-tree)); \
                  git reset -q; git update-ref HEAD $commit";
    assert!(sh(&boundary, "tree", script));
    let commits = Reason::CommitsProtected { files: 1, example: ".husky/pre-commit".into() };
    assert_eq!(of_data(), [("HEAD".to_owned(), commits)]);
}
