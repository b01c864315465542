//! The repositories of linked worktrees, which lie elsewhere and are shared where git looks for them.
//!
//! A linked worktree (git-worktree(1)) has a `.git` file that names the directory of its own data, `worktrees/NAME` in the
//! repository. Without that, git does not work in it. The data name that file: without it, `git worktree prune` would remove
//! the data.

use std::path::{Path, PathBuf};

use super::Policy;
use super::boundary::{self, BoundaryRequest, Presence, Purpose};
use super::facts::{LinkedWorktree, NotShared};
use crate::plan::{BoundaryMode, Execution, Provider, ToolRules};
use crate::rules::git::RepositoryAccess;
use crate::rules::path::{GuestPath, normalise};

/// Where git looks inside.
struct Places<'p> {
    tree: &'p BoundaryRequest,
    /// For the repository.
    repository: GuestPath,
    /// For the `.git` file of the worktree, if it can be there.
    pointer: Option<GuestPath>,
}

impl Policy {
    /// Lists the shared directories whose repositories may be shared with them. Of what a project's file shares, that is where the
    /// project itself lies: another directory was chosen by the file, and not by the caller.
    pub fn possible_worktrees<'p>(
        &'p self,
        project: Option<&'p Path>,
    ) -> impl Iterator<Item = &'p BoundaryRequest> {
        let is_chosen = move |wanted: &&BoundaryRequest| {
            !wanted.location.is_projects() || Some(normalise(&wanted.host).as_path()) == project
        };
        self.wanted.iter().filter(|_| self.repository != RepositoryAccess::None).filter(is_chosen)
    }

    /// Returns whether the repository of a worktree is inside already where git looks for it.
    pub fn has_repository(&self, worktree: &LinkedWorktree) -> bool {
        let guest = self.places(worktree).ok().map(|places| places.repository.as_path().to_owned());
        guest.is_some() && guest == self.inside(&worktree.repository)
    }

    /// Returns where git looks inside for the repository of a worktree, and the repository for the `.git` file.
    fn places(&self, worktree: &LinkedWorktree) -> Result<Places<'_>, NotShared> {
        let tree = self.wanted.iter().find(|wanted| wanted.name == worktree.directory);
        let tree = tree.ok_or(NotShared::Form)?;
        let data = normalise(&tree.guest.as_path().join(&worktree.names));
        let above = data.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
        let repository = GuestPath::new(above.ok_or(NotShared::Form)?)?.as_mount_point()?.clone();
        let pointer = GuestPath::new(&normalise(&data.join(&worktree.named))).ok();
        Ok(Places { tree, repository, pointer: pointer.filter(|path| path.as_mount_point().is_ok()) })
    }

    /// Shares the repository of a worktree, unless it is inside already, and shows the `.git` file where the repository looks for it.
    /// Where the worktree is read-only, so is the repository.
    pub fn share_repository(&mut self, worktree: &LinkedWorktree) -> Result<(), NotShared> {
        let Places { tree, repository: guest, pointer } = self.places(worktree)?;
        let tree = tree.clone();
        let mode = match self.repository {
            RepositoryAccess::ReadWrite => tree.mode,
            RepositoryAccess::ReadOnly | RepositoryAccess::None => BoundaryMode::ReadOnly,
        };
        let beside = |name: &str, host: PathBuf, guest, mode, purpose| BoundaryRequest {
            name: format!("{}.{name}", tree.name),
            host,
            guest,
            mode,
            execution: Execution::Allowed,
            presence: Presence::Required,
            hide: Vec::new(),
            tools: ToolRules::default(),
            purpose,
            location: tree.location.clone(),
        };
        let is_there = self.has_repository(worktree);
        match self.wanted.iter_mut().find(|other| other.guest == guest) {
            Some(BoundaryRequest { host, mode: held, purpose: Purpose::Repository(names), .. })
                if *host == worktree.repository =>
            {
                // The data of a worktree that is only read is read-only with that of the others.
                if *held != mode && mode == BoundaryMode::ReadWrite {
                    *held = mode;
                    names.clear();
                }
                if *held == mode {
                    names.push(worktree.data.clone());
                }
            }
            _ if is_there => {}
            Some(other) => return Err(NotShared::Taken(other.name.clone())),
            None => {
                let purpose = Purpose::Repository(vec![worktree.data.clone()]);
                self.wanted.push(beside("git", worktree.repository.clone(), guest, mode, purpose));
            }
        }
        let is_free = |path: &GuestPath| {
            self.wanted.iter().all(|other| !path.as_path().starts_with(other.guest.as_path()))
        };
        // Without isolation it is there anyway.
        if let Some(path) = pointer.filter(is_free).filter(|_| self.provider != Provider::Local) {
            let file = tree.host.join(".git");
            self.wanted.push(beside("worktree", file, path, BoundaryMode::ReadOnly, Purpose::Pointer));
        }
        if let Some(boundaries) = boundary::rules(&self.wanted, self.boundaries.protected().clone()) {
            self.boundaries = boundaries;
        }
        Ok(())
    }
}
