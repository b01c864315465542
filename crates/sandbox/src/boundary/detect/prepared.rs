//! Repositories that were made around what was there before, and what git alone obeys: hooks, and programs that filters run.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;

use policy::classify::Reason;
use policy::plan::Protect;
use policy::text::escape;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::reach::Base;
use crate::host::beneath;

impl Baseline {
    /// Returns what makes repositories of directories in which something lies that the caller's own configuration of git names. Nobody
    /// obeyed that before. It may be the user's own, or an earlier run may have made it for this one.
    pub(crate) fn prepared(&self, root: impl AsFd, mounts: &Mounts, by: &Protect) -> Vec<Finding> {
        let root = root.as_fd();
        let mut around = BTreeMap::new();
        let protected = mounts.read_only.iter().map(|one| (&one.path, &one.base));
        let links = mounts.links.iter().map(|link| (&link.path, &link.base));
        for (path, base) in protected.chain(links).filter(|_| self.is_whole) {
            let Base::Tree(tree) = base else { continue };
            let is_new = !self.searched.contains(base) && mounts.reach.by(base).is_empty();
            // A link may lie above.
            let is_gits = |path: &Path| by.of_git.iter().any(|listed| Path::new(listed).starts_with(path));
            // What is new is quarantined itself.
            if is_new
                && path.strip_prefix(tree).is_ok_and(is_gits)
                && self.touched(root, path) != Touched::Since
            {
                let mut signs = [".git", "HEAD"].into_iter().map(|sign| tree.join(sign));
                let sign = signs.find(|sign| beneath::stat(root, sign).is_ok());
                around.extend(sign.map(|sign| (sign, escape::path(path))));
            }
        }
        let finding = |(path, obeyed)| Finding {
            path,
            reason: Reason::MakesObeyed { path: obeyed },
            origin: FindingOrigin::Created,
            quarantined: None,
            restored: false,
        };
        around.into_iter().map(finding).collect()
    }
}
