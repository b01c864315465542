//! New repositories in the place of one that was there: git takes the nearest, so whoever works in such a directory commits to the new one, and
//! pushes to where that says. The hooks, filters and lists of ignored files of the other do not hold there.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::text::escape;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::outside;
use crate::host::beneath;

impl Baseline {
    /// Returns new repositories in directories whose files another one lists, in the boundary or around it. `host` is the boundary's path.
    pub(crate) fn replacing(&self, root: impl AsFd, host: &Path, mounts: &Mounts) -> Vec<Finding> {
        let root = root.as_fd();
        let found = |directory: PathBuf| {
            let mut signs = [".git", "HEAD"].into_iter().map(|sign| directory.join(sign));
            let path = signs.find(|sign| {
                self.entry(sign).is_none()
                    && beneath::stat(root, sign).is_ok()
                    && self.touched(root, sign) == Touched::Since
            })?;
            let repository = self.tracking(root, host, &directory, mounts)?;
            let reason = Reason::ReplacesRepository { repository: escape::path(&repository) };
            Some(Finding { path, reason, origin: FindingOrigin::Created, quarantined: None, restored: false })
        };
        self.new_repositories(mounts).into_iter().filter_map(found).collect()
    }

    /// Lists the directories in which git may find a repository that was not there.
    fn new_repositories(&self, mounts: &Mounts) -> BTreeSet<PathBuf> {
        let bases = mounts.reach.bases().filter(|base| !self.searched.contains(*base));
        let around = bases.filter_map(|base| match base {
            Base::Tree(tree) => Some(tree.as_path()),
            Base::Git(git) if git.ends_with(".git") => git.parent(),
            Base::Git(git) => Some(git.as_path()),
            Base::Led(_) | Base::Passed(_) => None,
        });
        around.map(Path::to_path_buf).collect()
    }

    /// Returns the work tree of a repository that was there and lists files beneath a directory.
    fn tracking(
        &self,
        root: BorrowedFd<'_>,
        host: &Path,
        directory: &Path,
        mounts: &Mounts,
    ) -> Option<PathBuf> {
        let inside = directory.ancestors().skip(1).find(|tree| {
            let beneath = directory.strip_prefix(tree).unwrap_or(directory);
            let of_tree = mounts.path_lists.iter().filter(|list| list.trees.iter().any(|one| one == tree));
            // One that is new is the agent's own.
            let mut known = of_tree
                .filter(|list| list.is_outside() || self.searched.contains(&Base::Git(list.git.clone())));
            known.any(|list| list.tracks(root, beneath))
        });
        let place = host.join(directory);
        let lists =
            |tree: &&Path| place.strip_prefix(tree).is_ok_and(|beneath| outside::tracks(tree, beneath));
        let outside = || host.ancestors().skip(1).find(lists).map(Path::to_path_buf);
        inside.map(|tree| host.join(tree)).or_else(outside)
    }
}
