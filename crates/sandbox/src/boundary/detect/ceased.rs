//! Repositories that are none any more: git goes on to the directories above then, and changes what is in another repository.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use policy::classify::Reason;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::pointers;
use crate::host::beneath;

/// Lists the directories of git's data that git takes for repositories.
pub(super) fn repositories(root: BorrowedFd<'_>, mounts: &Mounts) -> Vec<OsString> {
    let data = mounts.reach.bases().filter_map(|base| match base {
        Base::Git(git) => Some(git),
        Base::Tree(_) | Base::Led(_) | Base::Passed(_) => None,
    });
    let mut repositories: Vec<OsString> =
        data.filter(|git| pointers::lacks(root, git).is_none()).map(|git| git.clone().into()).collect();
    repositories.sort();
    repositories
}

impl Baseline {
    /// Returns the directories that git took for repositories and takes for none any more, or will not once these are quarantined. One that
    /// is gone as a whole is none of them: an agent cannot take it away.
    pub(crate) fn ceased(&self, root: impl AsFd, found: &[Finding]) -> Vec<Finding> {
        let root = root.as_fd();
        let goes = |path: &Path| found.iter().any(|one| one.path == path && !one.stays());
        let there = self.repositories.iter().map(Path::new).filter(|git| beneath::stat(root, git).is_ok());
        let ceased = there.filter_map(|git| {
            let goes_away = || ["HEAD", "objects", "refs"].into_iter().find(|sign| goes(&git.join(sign)));
            let lacks = pointers::lacks(root, git).or_else(goes_away)?.to_owned();
            let (path, reason) = (git.to_path_buf(), Reason::NoRepository { lacks });
            let origin = FindingOrigin::Earlier;
            Some(Finding { path, reason, origin, quarantined: None, restored: false })
        });
        ceased.collect()
    }
}
