//! Linked worktrees of git: their repositories lie elsewhere, and are shared with the same protection.

use std::fs;
use std::path::PathBuf;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::{error, places, said, script};

/// Makes a repository with a commit in the caller's home, and two worktrees of it: the working directory, and another one.
const SET_UP: &str = "set -e; cd ~; git init -q main; cd main; git config user.name me; git config user.email me@example.org; \
     echo text >file; git add file; git commit -qm first; rm -r .git/hooks;\
     git worktree add -q ../../workspace -b tree; git worktree add -q ../other -b other";

/// Makes the working directory a worktree. Returns its repository.
fn set_up(place: &Place) -> PathBuf {
    let output = place.outside(&["sh", "-c", SET_UP]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    place.home().join("main/.git")
}

/// What git answers on the host in a directory.
fn git(place: &Place, directory: &str, arguments: &str) -> String {
    said(&place.outside(&["sh", "-c", &format!("cd {directory}; git {arguments}")]).output().unwrap())
}

#[test]
fn an_agent_commits_in_a_worktree_and_leaves_others_alone() {
    for caller in callers("commits in a worktree") {
        let place = Place::new(caller);
        let repository = set_up(&place);
        let inside =
            "git commit -qam second; git status --short; git worktree prune -v 2>&1; git log --format=%s";
        let run = |flags: &[&str], inside: &str| place.inside(flags, &["sh", "-c", inside]).output().unwrap();
        fs::write(place.workspace().join("file"), "more\n").unwrap();
        let output = run(&[], inside);
        let text = said(&output);
        assert!(text.ends_with("second\nfirst\n") && text.contains("other"), "by {caller:?}: {output:?}");
        assert!(!text.contains("Removing worktrees/tree"), "by {caller:?}: {output:?}");
        let note = format!("is a linked worktree: its repository {} is shared, too", repository.display());
        assert!(error(&output).contains(&note), "by {caller:?}: {output:?}");
        assert_eq!(git(&place, ".", "log --format=%s"), "second\nfirst\n");
        assert_eq!(git(&place, "~/other", "status --short --branch"), "## other\n");
        // What is only read, or not there.
        let output =
            run(&["--git-repository", "ro"], "git log --format=%s; git commit --allow-empty -qm third");
        assert_eq!(
            (said(&output).as_str(), output.status.success()),
            ("second\nfirst\n", false),
            "{output:?}"
        );
        let output = run(&["--git-repository", "none"], "git log");
        assert!(error(&output).contains("not a git repository"), "by {caller:?}: {output:?}");
        assert!(!error(&output).contains("linked worktree"), "by {caller:?}: {output:?}");
    }
}

#[test]
fn a_repository_is_protected_like_one_in_the_directory_and_so_are_the_data_of_other_worktrees() {
    for (place, what) in places("the repository of a worktree") {
        let repository = set_up(&place);
        let look = format!(
            "cd {0}; cat HEAD worktrees/workspace/HEAD; for path in config worktrees/workspace/gitdir worktrees/other/HEAD \
             worktrees/other/new {1}/.git; do (echo >>$path) 2>/dev/null && echo $path is writable; done; echo >objects/new; \
             mkdir hooks; echo '#!/bin/sh' >hooks/pre-commit; chmod +x hooks/pre-commit",
            repository.display(),
            place.workspace().display()
        );
        // The control: on the host nothing keeps anybody from it.
        let attack = format!(
            "cd {}; for path in config worktrees/other/HEAD; do [ -w $path ] || exit 1; done",
            repository.display()
        );
        assert!(place.outside(&["sh", "-c", &attack]).status().unwrap().success());
        let output = place.inside(&[""; 0], &["sh", "-c", &look]).output().unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
        assert_eq!(
            said(&output),
            format!(
                "{}ref: refs/heads/tree\n",
                git(&place, "~/main", "symbolic-ref HEAD").replace("refs", "ref: refs")
            ),
            "{what}: {output:?}"
        );
        assert!(repository.join("objects/new").exists(), "{what}");
        assert!(error(&output).contains("hooks/pre-commit"), "{what}: {output:?}");
        assert!(!repository.join("hooks/pre-commit").exists(), "{what}: {output:?}");
    }
}

/// A `.git` file may come with a project.
#[test]
fn a_file_that_names_the_repository_of_another_worktree_shares_nothing() {
    for caller in callers("a .git file that names a repository") {
        let place = Place::new(caller);
        let repository = set_up(&place);
        let file = format!("gitdir: {}/worktrees/other\n", repository.display());
        fs::write(place.workspace().join(".git"), file).unwrap();
        // The control: git itself believes it.
        assert_eq!(git(&place, ".", "log --format=%s other"), "first\n");
        let output = place.inside(&[""; 0], &["git", "log"]).output().unwrap();
        assert!(error(&output).contains("not a git repository"), "by {caller:?}: {output:?}");
        assert!(!error(&output).contains("linked worktree"), "by {caller:?}: {output:?}");
        let there = script(&place, &[], &format!("ls {}", repository.display()));
        assert!(!there.status.success(), "by {caller:?}: {there:?}");
    }
}

#[test]
fn a_repository_that_is_shared_elsewhere_is_named() {
    for caller in callers("a repository that is shared elsewhere") {
        let place = Place::new(caller);
        set_up(&place);
        let output = place.inside(&["-v", "~/main:/main"], &["git", "status"]).output().unwrap();
        assert!(error(&output).contains("git will not work in it"), "by {caller:?}: {output:?}");
        let main = place.home().join("main");
        let flags = [format!("-v{0}:{0}", main.display())];
        let output = place.inside(&flags, &["git", "log", "--format=%s"]).output().unwrap();
        assert_eq!((said(&output).as_str(), error(&output).as_str()), ("first\n", ""), "by {caller:?}");
    }
}

/// What git does inside a worktree with its own state, branches and the repository's objects.
const HABITS: &str = "set -e; git checkout -qb topic; echo topic >file; git commit -qam topic; git checkout -q tree; echo tree >file; \
     git commit -qam own; git merge -q topic >/dev/null || true; test -e \"$(git rev-parse --git-path MERGE_HEAD)\"; \
     git checkout -q --theirs file; git commit -qam merged; git stash -q </dev/null; echo more >>file; git stash -q; git stash pop -q; \
     git reset -q --hard; git branch -qD topic; git tag v1; git tag -d v1 >/dev/null; git revert --no-edit -m 1 HEAD >/dev/null; \
     git rebase -q -f HEAD~1; git bisect start HEAD HEAD~1 >/dev/null; git bisect reset >/dev/null 2>&1; git fsck --no-dangling; \
     git status --short --branch";

#[test]
fn git_does_in_a_worktree_what_it_does_outside() {
    for caller in callers("git in a worktree") {
        let [outside, inside] = [false, true].map(|is_inside| {
            let place = Place::new(caller);
            set_up(&place);
            let output = if is_inside {
                place.inside(&["-q"], &["sh", "-c", HABITS]).output().unwrap()
            } else {
                place.outside(&["sh", "-c", HABITS]).output().unwrap()
            };
            assert!(output.status.success(), "by {caller:?}: {output:?}");
            assert_eq!(git(&place, "~/main", "status --short"), "", "by {caller:?}");
            (said(&output), git(&place, ".", "log --format=%s"))
        });
        assert_eq!(inside, outside, "by {caller:?}");
    }
}

/// `git commit` on the host records a file that a `MERGE_RR` lists in `rr-cache`, or writes it, see rerere.c of git.
#[test]
fn an_agent_in_a_worktree_has_git_on_the_host_neither_read_nor_write_in_the_main_work_tree() {
    const ID: &str = "0123456789012345678901234567890123456789";
    let state = |git: &str| {
        format!(
            "cd {git}; mkdir -p rr-cache/{ID}; echo x >rr-cache/{ID}/preimage; printf '{ID}\\t.env\\0' >MERGE_RR; echo forged >>index"
        )
    };
    for (place, what) in places("the state of a main work tree") {
        let repository = set_up(&place);
        let attack = state(&repository.display().to_string());
        let commit = "cd ~/main; echo secret >.env; echo more >>file; git commit -qam more";
        let recorded = repository.join(format!("rr-cache/{ID}/postimage"));
        // The control, with an index that git can read.
        let control = attack.replace("echo forged >>index", "true");
        assert!(place.outside(&["sh", "-c", &control]).status().unwrap().success());
        assert!(place.outside(&["sh", "-c", commit]).output().unwrap().status.success());
        assert_eq!(fs::read_to_string(&recorded).unwrap(), "secret\n", "{what}");
        fs::remove_dir_all(repository.join("rr-cache")).unwrap();
        let _ = fs::remove_file(repository.join("MERGE_RR"));

        let output = place.inside(&[""; 0], &["sh", "-c", &attack]).output().unwrap();
        assert!(!output.status.success(), "{what}: {output:?}");
        assert!(error(&output).contains("MERGE_RR"), "{what}: {output:?}");
        assert_eq!(git(&place, "~/main", "status --short"), "?? .env\n", "{what}");
        assert!(place.outside(&["sh", "-c", commit]).output().unwrap().status.success());
        assert!(!recorded.exists(), "{what}: {output:?}");
    }
}

/// What the index of a linked worktree holds, git writes there: out of the shared directory, where nobody looks.
#[test]
fn an_agent_in_a_main_work_tree_has_git_write_nothing_in_a_linked_one_elsewhere() {
    let stage = "id=$(echo 'touch obeyed' | git hash-object -w --stdin)
        GIT_INDEX_FILE=.git/worktrees/wt/index GIT_DIR=.git git update-index --add --cacheinfo 100644,$id,.envrc";
    let set_up = "git init -q -b main .; git config user.name a; git config user.email a@b
        echo x >file; git add file; git commit -qm first; git worktree add -q ~/wt";
    let checkout = "cd ~/wt && git checkout -- . && git status --short";
    for caller in callers("the index of a worktree elsewhere") {
        let (place, what) = (Place::new(caller), format!("by {caller:?}"));
        fs::create_dir_all(place.home()).unwrap();
        let outside = |script: &str| {
            let output = place.outside(&["sh", "-ec", script]).output().unwrap();
            assert!(output.status.success(), "{what} {script}: {output:?}");
            said(&output)
        };
        let inside =
            |flags: &[&str], script: &str| place.inside(flags, &["sh", "-ec", script]).output().unwrap();
        let envrc = place.home().join("wt/.envrc");
        outside(set_up);
        // The control.
        outside(stage);
        outside(checkout);
        assert!(envrc.exists(), "{what}");
        outside("cd ~/wt; git reset -q --hard; rm -f .envrc");

        let output = inside(&[], stage);
        assert!(!output.status.success(), "{what}: {output:?}");
        assert_eq!(outside(checkout), "", "{what}");
        assert!(!envrc.exists(), "{what}: {output:?}");

        // Ordinary work, there and where both are shared.
        let work = "echo more >>file; git commit -qam more; git worktree add -q tree; git worktree remove tree; git gc -q; git branch -D tree";
        let output = inside(&[], work);
        assert!(output.status.success(), "{what}: {output:?}");
        assert!(!error(&output).contains("the agent has made"), "{what}: {output:?}");
        let [main, tree] =
            [place.workspace(), place.home().join("wt")].map(|path| path.display().to_string());
        let both = [&main, &tree].map(|path| format!("{path}:{path}"));
        let flags: Vec<&str> = both.iter().flat_map(|volume| ["-v", volume]).collect();
        let output = inside(&flags, &format!("cd {tree}; echo more >>file; git commit -qam there"));
        assert!(output.status.success(), "{what}: {output:?}");
        assert_eq!(outside("cd ~/wt; git log -1 --format=%s"), "there\n", "{what}");
    }
}

#[test]
fn root_shares_no_repository_of_its_own_with_the_worktree_of_another_user() {
    if !callers("repositories of root's").contains(&Caller::Root) {
        return;
    }
    let place = Place::new(Caller::Root);
    let repository = set_up(&place);
    let ask = format!("git --git-dir={}/worktrees/workspace log --format=%s", repository.display());
    let run = || place.inside(&["-v", ".:/workspace"], &["sh", "-c", &ask]).output().unwrap();
    assert_eq!(said(&run()), "first\n", "the control: it is root's own");
    // Its place is another user's by now, who knows what the file says.
    std::os::unix::fs::chown(place.workspace(), Some(NORMAL), Some(NORMAL)).unwrap();
    let output = run();
    assert_eq!(said(&output), "", "{output:?}");
    assert!(error(&output).contains("it belongs to user 0, and the worktree to another one"), "{output:?}");
}

/// The index lies in the repository, and what it lists in the work tree: they are two shared directories.
#[test]
fn what_git_on_the_host_would_write_or_empty_because_of_the_index_of_a_worktree_is_found() {
    let stage = "id=$(echo 'touch obeyed' | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$id,.envrc";
    for caller in callers("the index of a worktree") {
        let prepared = || {
            let place = Place::new(caller);
            set_up(&place);
            let more = "mkdir a ~/mine; echo mine >~/mine/own; echo a >a/file; git add a; git commit -qm a";
            assert!(place.outside(&["sh", "-ec", more]).status().unwrap().success());
            let link = format!("rm -r a; ln -s {}/mine a", place.home().display());
            (place, link)
        };
        let use_git = |place: &Place| {
            let script = "git checkout -- .envrc; git sparse-checkout set src";
            place.outside(&["sh", "-c", script]).output().unwrap();
            (place.workspace().join(".envrc").exists(), place.home().join("mine/own").exists())
        };
        let (place, link) = prepared();
        let attack = format!("{stage}; {link}");
        assert!(place.outside(&["sh", "-ec", &attack]).status().unwrap().success());
        assert_eq!(use_git(&place), (true, false), "the control, by {caller:?}");

        let (place, link) = prepared();
        let output = place.inside(&[""; 0], &["sh", "-ec", &format!("{stage}; {link}")]).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        let said = error(&output);
        assert!(
            said.contains(
                "index: it holds something else than lies there for 1 protected paths, such as .envrc"
            ),
            "{said}"
        );
        assert!(said.contains("workspace/a: it leads out of the shared directory"), "by {caller:?}: {said}");
        assert!(use_git(&place).1, "by {caller:?}: {said}");
        // Ordinary work.
        let (place, _) = prepared();
        let work = "echo audit=false >.npmrc; git rm -qr a; ln -s file a; git add -A; git commit -qm more";
        let output = place.inside(&[""; 0], &["sh", "-ec", work]).output().unwrap();
        assert!(output.status.success(), "by {caller:?}: {output:?}");
        assert!(!error(&output).contains("the agent has made"), "by {caller:?}: {output:?}");
    }
}

/// The index of a linked worktree lies out of the directory in which its files are hidden.
#[test]
fn a_hidden_file_that_the_agent_has_git_track_in_a_worktree_is_reported() {
    for (place, what) in places("an index of a worktree that lists a hidden path") {
        let repository = set_up(&place);
        let index = repository.join("worktrees/workspace/index").display().to_string();
        let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
        let attack = format!(
            "echo KEY=1 >s.key; cp {index} kept; git update-index --add --cacheinfo 100644,$(echo x | git hash-object -w --stdin),s.key; \
             cp {index} forged"
        );
        assert!(outside(&attack).status.success(), "{what}");
        let commit =
            format!("git commit -qam more; git show HEAD:s.key; git reset -q HEAD~; cp kept {index}");
        assert_eq!(said(&outside(&commit)), "KEY=1\n", "{what}: the control");
        let warned = |script: &str| {
            let output = place.inside(&["--hide", "s.key"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let named = "has git track 1 more paths that are hidden inside, such as s.key";
        let warning = warned(&format!("cp forged {index}"));
        assert!(warning.contains(named), "{what}: {warning}");
        let warning = warned(&format!("cp {index} again; cp again {index}"));
        assert!(!warning.contains("has git track"), "{what}: {warning}");
    }
}

/// Submodules of the main work tree have their data in the repository that is shared with a worktree.
#[test]
fn an_agent_in_a_worktree_stages_nothing_in_a_submodule_of_the_main_work_tree() {
    let add = "git init -q ~/s; cd ~/s; echo s >s; git add s; git -c user.name=a -c user.email=a@b commit -qm s; cd ~/main; \
         git -c protocol.file.allow=always submodule -q add ~/s sub; git commit -qm sub; echo secret >sub/local.yml";
    for (place, what) in places("the state of a submodule of the main work tree") {
        let repository = set_up(&place);
        let output = place.outside(&["sh", "-ec", add]).output().unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
        let index = repository.join("modules/sub/index").display().to_string();
        let stage = format!(
            "cd ~/main/sub; cp {index} ~/kept; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:s),local.yml; cp {index} ~/main/.git/forged; \
             git -c user.name=a -c user.email=a@b commit -qam more; git show HEAD:local.yml; git reset -q HEAD~; cp ~/kept {index}"
        );
        let output = place.outside(&["sh", "-ec", &stage]).output().unwrap();
        assert_eq!(said(&output), "secret\n", "{what}: the control");
        let attack = format!("cp {} {index}", repository.join("forged").display());
        let output = place.inside(&[""; 0], &["sh", "-c", &attack]).output().unwrap();
        assert!(!output.status.success(), "{what}: {output:?}");
        assert_eq!(git(&place, "~/main/sub", "ls-files local.yml"), "", "{what}");
    }
}
