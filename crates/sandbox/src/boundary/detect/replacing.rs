//! New repositories in the place of one that was there.
//!
//! git takes the nearest, so whoever works in such a directory commits to the new one, and pushes to where that says. The hooks, filters and
//! lists of ignored files of the other do not hold there.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::text::escape;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::{Facts, Touched};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::path_list::PathList;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::outside;
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// New repositories in the place of others, and whether there was time to look at all.
pub(crate) struct Replacing {
    pub(crate) findings: Vec<Finding>,
    pub(crate) is_whole: bool,
}

impl Baseline {
    /// Returns new repositories in directories whose files another one lists, in the boundary or around it. `host` is the boundary's path.
    ///
    /// Of one in the boundary the index counts as it is now, and the agent can write it; one that cannot be read lists everything.
    pub(crate) fn replacing(
        &self,
        root: impl AsFd,
        host: &Path,
        mounts: &Mounts,
        until: Deadline,
    ) -> Replacing {
        let root = root.as_fd();
        let (mut findings, mut is_whole) = (Vec::new(), true);
        for (tree, mut directories) in self.new_repositories(root, mounts) {
            if until.is_over() {
                is_whole = false;
                break;
            }
            let (repository, tracked) = if let Some(tree) = tree {
                let tracked = match self.index_of(&tree, mounts) {
                    Ok(index) => index.tracked(root, &tree, &directories),
                    Err(NoIndex::Removed) => Ok(directories.clone()),
                    Err(NoIndex::Never) => Ok(BTreeSet::new()),
                };
                (host.join(tree), tracked)
            } else if let Some(around) = outside::tracked(host, &directories) {
                around
            } else {
                continue;
            };
            let Ok(tracked) = tracked else {
                is_whole = false;
                continue;
            };
            directories.retain(|directory| tracked.contains(directory));
            let repository: PathBuf = repository.components().collect();
            findings.extend(directories.into_iter().map(|directory| Finding {
                path: directory.join(".git"),
                reason: Reason::ReplacesRepository { repository: escape::path(&repository) },
                origin: FindingOrigin::Created,
                quarantined: None,
                restored: false,
            }));
        }
        Replacing { findings, is_whole }
    }

    /// Lists the directories with a `.git` that was none at the start, by the work tree of the repository that git took there before; `None`
    /// for what is around the boundary.
    fn new_repositories(
        &self,
        root: BorrowedFd<'_>,
        mounts: &Mounts,
    ) -> BTreeMap<Option<PathBuf>, BTreeSet<PathBuf>> {
        // A file that leads there, or what git makes in each repository.
        let was_repository = |directory: &Path| {
            let mut signs =
                [".git", ".git/config", ".git/hooks"].into_iter().map(|sign| directory.join(sign));
            signs.any(|sign| self.entry(&sign).is_some())
        };
        let trees = mounts.reach.bases().filter_map(|base| match base {
            Base::Tree(tree) => Some(tree.as_path()),
            Base::Git(git) if git.ends_with(".git") => git.parent(),
            Base::Git(_) | Base::Led(_) | Base::Passed(_) => None,
        });
        let is_born = |path: PathBuf| self.touched(root, &path) == Touched::Since;
        let is_new = |directory: &&Path| {
            let git = directory.join(".git");
            let Some(facts) = Facts::at(root, &git) else { return false };
            // A directory without a `HEAD` is none to git.
            let is_repository = facts.is_no_directory() || beneath::stat(root, &git.join("HEAD")).is_ok();
            if !is_repository || was_repository(directory) {
                return false;
            }
            // Where nobody looked at the start, one that is older may be the owner's. Elsewhere one that is older was moved there.
            if !self.is_whole || mounts.reach.is_beyond(directory) {
                return is_born(git);
            }
            // One of that name was there. It may have been empty, or the settings leave it writable.
            !self.searched.contains(&Base::Git(git.clone())) || is_born(git.join("objects"))
        };
        let mut new = BTreeMap::<_, BTreeSet<PathBuf>>::new();
        for directory in trees.filter(is_new) {
            let around = directory.ancestors().skip(1).find(|tree| was_repository(tree));
            new.entry(around.map(Path::to_path_buf)).or_default().insert(directory.into());
        }
        new
    }

    /// Returns the index of a work tree, as it is now.
    fn index_of<'m>(&self, tree: &Path, mounts: &'m Mounts) -> Result<&'m PathList, NoIndex> {
        let was_there = || self.indexes.iter().any(|index| index.path() == tree.join(".git/index"));
        let none = || if was_there() { NoIndex::Removed } else { NoIndex::Never };
        mounts.path_lists.iter().find(|list| list.is_index_of(tree)).ok_or_else(none)
    }
}

/// Why a work tree has no index.
enum NoIndex {
    /// It had one at the start.
    Removed,
    /// Nothing was committed.
    Never,
}
