//! Linked worktrees among the shared directories: git finds their repositories elsewhere, so those are shared with them.
//!
//! Only what both sides say is believed: the `.git` file of the directory names its data in the repository, and the data name that
//! file. A `.git` file alone may come with a project, and name the repository of another one.

use std::path::{Path, PathBuf};

use policy::classify::repository::{commondir, gitdir};
use policy::rules::shared_dir::{self, PathKind, ShareCandidate};
use policy::text::escape;
use policy::{BoundaryRequest, LinkedWorktree, Policy, Purpose};
use sandbox::boundary::resolve::{Found, Lead};
use sandbox::host::small_file;

use crate::context::Context;
use crate::directories::{self, Directories};

/// Shares the repository of each linked worktree that is shared. Returns notes about it for the caller.
pub(crate) fn share_repositories(
    context: &Context,
    policy: &mut Policy,
    project: Option<&Path>,
    directories: &mut Directories,
) -> Vec<String> {
    let mut notes = Vec::new();
    let possible: Vec<BoundaryRequest> = policy.possible_worktrees(project).cloned().collect();
    for wanted in possible {
        let Some(worktree) = find(context, &wanted, directories) else { continue };
        if policy.has_repository(&worktree) {
            // Only the `.git` file can be missing inside.
            let _ = policy.share_repository(&worktree);
            continue;
        }
        let refusal = refusal(context, policy, &wanted, &worktree, directories);
        let shared = refusal
            .map_or_else(|| policy.share_repository(&worktree).map_err(|error| error.to_string()), Err);
        let (tree, repository) = (escape::path(&wanted.host), escape::path(&worktree.repository));
        notes.push(match shared {
            Ok(()) => format!(
                "{tree} is a linked worktree: its repository {repository} is shared, too; `--git-repository` (`ro`, `rw`, \
                 `none`) says whether the agent may read it, commit, or neither"
            ),
            Err(reason) => format!(
                "{tree} is a linked worktree, and git will not work in it: its repository {repository} is not shared where git \
                 looks for it ({reason})"
            ),
        });
    }
    notes
}

/// Returns the linked worktree that a directory is.
fn find(
    context: &Context,
    wanted: &BoundaryRequest,
    directories: &mut Directories,
) -> Option<LinkedWorktree> {
    let read = |path: PathBuf| small_file::read(&path, context.caller).ok();
    let (tree, _) = followed(context, &wanted.host, directories)?;
    let names = gitdir(&read(tree.join(".git"))?)?.to_owned();
    let (data, _) = followed(context, &tree.join(&names), directories)?;
    let common = commondir(&read(data.join("commondir"))?)?.to_owned();
    let (repository, is_repository) = followed(context, &data.join(common), directories)?;
    // It has the form of a `commondir`.
    let named = commondir(&read(data.join("gitdir"))?)?.to_owned();
    let (back, _) = followed(context, data.join(&named).parent()?, directories)?;
    let name_each_other = back == tree && named.file_name()? == ".git";
    let is_its_repository = is_repository && data.parent() == Some(&repository.join("worktrees"));
    let data = data.file_name()?.to_str()?.to_owned();
    let directory = wanted.name.clone();
    (name_each_other && is_its_repository).then_some(LinkedWorktree {
        directory,
        repository,
        data,
        names,
        named,
    })
}

/// Follows a path to a directory: its path without links, and whether it is a repository.
fn followed(context: &Context, path: &Path, directories: &mut Directories) -> Option<(PathBuf, bool)> {
    match directories.follow(context, path) {
        Ok(Lead::Found(found)) if found.kind == PathKind::Directory => {
            Some((found.path.clone(), found.is_repository(context.caller)))
        }
        _ => None,
    }
}

/// Says why a repository may not be shared.
fn refusal(
    context: &Context,
    policy: &Policy,
    wanted: &BoundaryRequest,
    worktree: &LinkedWorktree,
    directories: &mut Directories,
) -> Option<String> {
    let repository = &worktree.repository;
    let asked = policy.boundaries().iter().filter(|other| other.purpose == Purpose::Asked);
    for other in asked {
        let Ok(lead) = directories.follow(context, &other.host) else { continue };
        let host = lead.path();
        // Where either could be written, both cannot be protected.
        if repository.starts_with(&host) || host.starts_with(repository) {
            return Some(format!("it and `{}` lie in each other", other.name));
        }
    }
    let Ok(Lead::Found(Found { owner, .. })) = directories.follow(context, repository) else {
        return Some("it is gone".to_owned());
    };
    // Root follows the `.git` file of anybody: a repository is shared with a worktree of the same user's alone.
    let owner = *owner;
    for path in [wanted.host.clone(), wanted.host.join(".git")] {
        match directories.follow(context, &path) {
            Ok(Lead::Found(found)) if found.owner.uid == owner.uid => {}
            _ => return Some(format!("it belongs to user {}, and the worktree to another one", owner.uid)),
        }
    }
    let Ok(Lead::Found(Found { path, kind, .. })) = directories.follow(context, repository) else {
        return Some("it is gone".to_owned());
    };
    let candidate =
        ShareCandidate { given: path, resolved: path, kind: *kind, owner: owner.uid, mode: wanted.mode };
    let homes = context.homes();
    let refused = shared_dir::validate(&candidate, &directories::caller(context, &homes)).err();
    refused.map(|refusal| refusal.rule.to_string())
}
