//! New names with a leading dot that no list knows.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;

use policy::classify::Reason;
use policy::plan::Protect;

use super::baseline::Baseline;
use super::finding::{Finding, Origin};
use super::origin::Touched;
use crate::boundary::protect::mounts::{Dotted, Mounts};
use crate::boundary::protect::reach::Base;

impl Baseline {
    /// Returns the names found by the last scan that were nowhere in the boundary at the start, but for those that are allowed. They are
    /// reported and stay: most are harmless. `options` are names anywhere that read as options: git hands those on to other programs.
    pub fn new_names(
        &self,
        root: impl AsFd,
        mounts: &Mounts,
        options: &[PathBuf],
        by: &Protect,
    ) -> Vec<Finding> {
        let root = root.as_fd();
        let before: BTreeSet<&OsString> = self.dotted.iter().flat_map(|one| &one.names).collect();
        let is_new = |name: &&OsString| !before.contains(name) && !by.allows(name);
        let mut findings = Vec::new();
        let found = |path| Finding {
            path,
            reason: Reason::UnknownName,
            origin: Origin::Created,
            aside: None,
            restored: false,
        };
        for Dotted { tree, names } in &mounts.dotted {
            let was_searched = self.searched.contains(&Base::Tree(tree.clone()));
            let paths = names.iter().filter(is_new).map(|name| tree.join(name));
            // What nobody looked at may be the user's own.
            let paths = paths.filter(|path| was_searched || self.touched(root, path) == Touched::Since);
            findings.extend(paths.map(found));
        }
        // Those at the roots of work trees are among the others.
        let is_root = |path: &PathBuf| {
            path.parent().is_some_and(|parent| mounts.dotted.iter().any(|one| one.tree == parent))
        };
        let is_allowed = |path: &PathBuf| path.file_name().is_some_and(|name| by.allows(name));
        let options = options.iter().filter(|path| !is_root(path) && !is_allowed(path));
        findings
            .extend(options.filter(|path| self.touched(root, path) == Touched::Since).cloned().map(found));
        findings.sort_by(|a, b| a.path.cmp(&b.path));
        findings
    }
}
