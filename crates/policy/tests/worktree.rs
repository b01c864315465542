//! The repositories of linked worktrees: where they are shared, and as what.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

use std::path::{Path, PathBuf};

use policy::config::effective::Effective;
use policy::config::overrides::Overrides;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::BoundaryMode::{self, ReadOnly, ReadWrite};
use policy::rules::path::PathAccess;
use policy::rules::verdict::Decision;
use policy::{LinkedWorktree, NotShared, Policy, Purpose};

const TREE: &str = "/home/me/tree";

const REPOSITORY: &str = "/home/me/main/.git";

fn base() -> PathBase {
    PathBase { directory: TREE.into(), home: Some("/home/me".into()) }
}

fn policy(volumes: &[&str], text: &str) -> Policy {
    let volume = volumes.iter().map(ToString::to_string).collect();
    let (flags, problems) = Overrides { volume, ..Overrides::default() }.read(&base());
    assert_eq!(problems, []);
    let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base: base() };
    Policy::new(&Effective::merge([Config::parse(text, &file).unwrap(), flags]), Path::new(TREE)).unwrap()
}

fn worktree(directory: &str, data: &str) -> LinkedWorktree {
    LinkedWorktree {
        directory: directory.to_owned(),
        repository: REPOSITORY.into(),
        data: data.to_owned(),
        names: Path::new(REPOSITORY).join("worktrees").join(data),
        named: Path::new("/home/me").join(data).join(".git"),
    }
}

/// What is shared besides what was asked for: its place on the host and inside, its mode, and the worktrees that it is for.
fn beside(policy: &Policy) -> Vec<(PathBuf, PathBuf, BoundaryMode, Vec<String>)> {
    let all = policy.boundaries().iter().filter(|wanted| wanted.purpose != Purpose::Asked);
    all.map(|one| (one.host.clone(), one.guest.as_path().to_owned(), one.mode, one.worktrees().to_vec()))
        .collect()
}

#[test]
fn a_repository_is_where_git_looks_for_it_with_the_rights_of_the_worktree() {
    for (volumes, text, mode) in [
        (&[][..], "", ReadWrite),
        (&[], "git.repository = \"ro\"", ReadOnly),
        (&[".:/workspace:ro"], "", ReadOnly),
    ] {
        let mut policy = policy(volumes, text);
        let name = policy.boundaries()[0].name.clone();
        policy.share_repository(&worktree(&name, "tree")).unwrap();
        let repository = (REPOSITORY.into(), REPOSITORY.into(), mode, vec!["tree".to_owned()]);
        let file = Path::new(TREE).join(".git");
        assert_eq!(beside(&policy), [repository, (file.clone(), file, ReadOnly, vec![])], "{text}");
    }
}

#[test]
fn what_names_itself_by_relative_paths_is_found_by_them() {
    let mut policy = policy(&[], "");
    let relative = LinkedWorktree {
        names: "../main/.git/worktrees/tree".into(),
        named: "../../../../tree/.git".into(),
        ..worktree("workspace", "tree")
    };
    policy.share_repository(&relative).unwrap();
    let places: Vec<_> = beside(&policy).into_iter().map(|(_, guest, ..)| guest).collect();
    assert_eq!(places, [Path::new("/main/.git"), Path::new("/tree/.git")]);
}

#[test]
fn nothing_is_needed_where_both_are_at_the_same_paths() {
    let mut policy = policy(&[".:/home/me/tree", "/home/me/main:/home/me/main"], "");
    let tree = worktree(&policy.boundaries()[0].name.clone(), "tree");
    assert!(policy.has_repository(&tree));
    policy.share_repository(&tree).unwrap();
    assert_eq!(beside(&policy), []);
}

#[test]
fn worktrees_of_one_repository_share_it() {
    for (volume, writable) in
        [("/home/me/other:/other", &["tree", "other"][..]), ("/home/me/other:/other:ro", &["tree"])]
    {
        for order in [[0, 1], [1, 0]] {
            let mut policy = policy(&[volume], "");
            let name = policy.boundaries()[1].name.clone();
            let both = [worktree("workspace", "tree"), worktree(&name, "other")];
            for at in order {
                policy.share_repository(&both[at]).unwrap();
            }
            let mut repositories = beside(&policy);
            repositories.retain(|(host, ..)| host == Path::new(REPOSITORY));
            let [(_, _, mode, mut worktrees)] = <[_; 1]>::try_from(repositories).unwrap();
            worktrees.sort_by_key(|name| std::cmp::Reverse(name.clone()));
            assert_eq!(
                (mode, worktrees.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
                (ReadWrite, writable)
            );
        }
    }
}

#[test]
fn what_cannot_be_where_git_looks_for_it_is_refused() {
    let share = |volumes: &[&str], worktree: &LinkedWorktree| policy(volumes, "").share_repository(worktree);
    let tree = worktree("workspace", "tree");
    let at = |names: &str| LinkedWorktree { names: names.into(), ..tree.clone() };
    assert_eq!(share(&[], &at("/home/me/main/.git/modules/tree")), Err(NotShared::Form));
    assert!(matches!(share(&[], &at("/usr/main/.git/worktrees/tree")), Err(NotShared::Place(_))));
    let taken = share(&["/home/me/data:/home/me/main/.git"], &tree);
    assert!(matches!(taken, Err(NotShared::Taken(_))), "{taken:?}");
}

#[test]
fn a_project_chooses_no_repository_and_the_caller_may_choose_none() {
    let possible = |policy: &Policy, project| -> Vec<String> {
        policy.possible_worktrees(project).map(|wanted| wanted.name.clone()).collect()
    };
    let project = Some(Path::new(TREE));
    assert_eq!(possible(&policy(&[], ""), None), ["workspace"]);
    assert_eq!(possible(&policy(&[], "git.repository = \"none\""), None), [""; 0]);
    let shared = "[shared_dirs.here]\nhost = \".\"\nguest = \"/here\"\n[shared_dirs.sub]\nhost = \"sub\"\nguest = \"/sub\"";
    assert_eq!(possible(&policy(&[], shared), project), ["here"]);
}

#[test]
fn what_is_protected_in_a_repository_is_not_written_nor_the_data_of_other_worktrees() {
    let mut policy = policy(&[], "git.repository = \"rw\"");
    policy.share_repository(&worktree("workspace", "tree")).unwrap();
    for (path, decision) in [
        ("objects/aa/bb", Decision::Allow),
        ("refs/heads/tree", Decision::Allow),
        ("worktrees/tree/index", Decision::Allow),
        ("config", Decision::Deny),
        ("hooks/pre-commit", Decision::Deny),
        ("worktrees/other", Decision::Deny),
        ("worktrees/other/index", Decision::Deny),
    ] {
        let path = Path::new(REPOSITORY).join(path);
        assert_eq!(policy.guest_path(&path, PathAccess::Write).decision, decision, "{}", path.display());
        assert_eq!(policy.guest_path(&path, PathAccess::Read).decision, Decision::Allow);
    }
}
