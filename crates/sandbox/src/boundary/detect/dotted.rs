//! Names with a leading dot that no list knows: which of them are new, and which lead to something that has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::plan::Protect;
use rustix::fs::FileType;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::{Dotted, Mounts, Unknown};
use crate::boundary::protect::reach::Base;
use crate::host::beneath;

impl Baseline {
    /// Returns the names found by the last scan that were nowhere in the boundary at the start, and those that were and lead to something
    /// that has changed, but for those that are allowed. They are reported and stay: most are harmless. So are names that read as options, in any directory that was searched.
    pub fn new_names(&self, root: impl AsFd, mounts: &Mounts, by: &Protect) -> Vec<Finding> {
        let root = root.as_fd();
        let before: BTreeSet<&OsString> = self.dotted.iter().flat_map(|one| &one.names).collect();
        let is_new = |name: &&OsString| !before.contains(name) && !by.allows(name);
        let mut findings = Vec::new();
        let found = |path| of_name(path, FindingOrigin::Created);
        for Dotted { tree, names, .. } in &mounts.dotted {
            let was_searched = self.searched.contains(&Base::Tree(tree.clone()));
            let paths = names.iter().filter(is_new).map(|name| tree.join(name));
            // What nobody looked at may be the user's own.
            let paths = paths.filter(|path| was_searched || self.touched(root, path) == Touched::Since);
            findings.extend(paths.map(found));
        }
        // Those at the roots of work trees are among the others.
        let roots: BTreeSet<&Path> = mounts.dotted.iter().map(|one| one.tree.as_path()).collect();
        let known: BTreeSet<&OsStr> =
            self.options.iter().filter_map(|path| Path::new(path).file_name()).collect();
        let is_new = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default();
            let is_root = path.parent().is_some_and(|parent| roots.contains(parent));
            !is_root
                && !known.contains(name)
                && !by.allows(name)
                && self.touched(root, path) == Touched::Since
        };
        findings.extend(mounts.options.iter().filter(is_new).cloned().map(found));
        findings.extend(self.changed_names(mounts, by));
        // Not all may be named, and most programs obey a file that has something in it.
        let comes_late = |path: &Path| {
            beneath::stat(root, path).map_or((false, false), |stat| {
                let file_type = FileType::from_raw_mode(stat.st_mode);
                (file_type == FileType::Directory, file_type == FileType::RegularFile && stat.st_size == 0)
            })
        };
        findings.sort_by_cached_key(|one| (comes_late(&one.path), one.path.clone()));
        findings
    }
    /// Returns the names that no list knows, that were there at the start, and that lead to something else now: the user may have changed
    /// it as well.
    fn changed_names(&self, mounts: &Mounts, by: &Protect) -> Vec<Finding> {
        let at = |one: &Dotted, unknown: &Unknown| one.tree.join(&unknown.file.path);
        let before: BTreeMap<PathBuf, &Unknown> =
            self.dotted.iter().flat_map(|one| one.unknown.iter().map(move |it| (at(one, it), it))).collect();
        let mut findings = Vec::new();
        for one in &mounts.dotted {
            for now in &one.unknown {
                let is_changed = |before: &&Unknown| now.is_changed_since(before);
                let path = at(one, now);
                if before.get(&path).is_some_and(is_changed) && !by.allows(now.file.path.as_os_str()) {
                    findings.push(of_name(path, FindingOrigin::Earlier));
                }
            }
        }
        findings
    }
}

fn of_name(path: PathBuf, origin: FindingOrigin) -> Finding {
    Finding { path, reason: Reason::UnknownName, origin, quarantined: None, restored: false }
}
