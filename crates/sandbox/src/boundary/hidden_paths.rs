//! Hidden paths, as what git lists is compared with them: by patterns, and by what was covered.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::rules::hide::HidePatterns;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::host::beneath;
use crate::host::deadline::Deadline;

/// How many entries of directories are looked at for hidden ones, in one search. An index may name one directory after another.
const MAX_LOOKED_AT: usize = 100_000;

/// How many entries of directories may still be looked at, and until when.
pub(crate) struct LookBudget {
    left: Cell<usize>,
    until: Deadline,
}

impl LookBudget {
    pub(crate) fn until(until: Deadline) -> Self {
        Self { left: Cell::new(MAX_LOOKED_AT), until }
    }

    /// Returns whether time is over.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.until.is_over()
    }

    /// Takes one entry. Returns whether there is as much, and time for it.
    fn take(&self) -> bool {
        let left = self.left.get().checked_sub(1).filter(|_| !self.is_out_of_time());
        left.inspect(|left| self.left.set(*left)).is_some()
    }
}

/// What is hidden in a boundary: what patterns name, now or later, and what was covered besides, as targets of links and as other names.
#[derive(Debug, Default)]
pub(crate) struct HiddenPaths {
    patterns: HidePatterns,
    others: BTreeSet<PathBuf>,
}

impl HiddenPaths {
    pub(crate) fn of(patterns: &[String], covered: impl IntoIterator<Item = PathBuf>) -> Self {
        let patterns = HidePatterns::of(patterns);
        let others = covered.into_iter().filter(|path| patterns.hiding(path).is_none()).collect();
        Self { patterns, others }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.others.is_empty()
    }

    /// Returns whether this path is hidden, or lies in what is.
    pub(crate) fn cover(&self, path: &Path) -> bool {
        let is_other = || path.ancestors().any(|above| self.others.contains(above));
        self.patterns.hiding(path).is_some() || !self.others.is_empty() && is_other()
    }

    /// Returns whether something in a directory of a boundary is hidden. What cannot be looked at may be.
    pub(crate) fn lie_in(&self, root: BorrowedFd<'_>, directory: &Path, budget: &LookBudget) -> bool {
        let mut ahead = vec![directory.to_path_buf()];
        while let Some(directory) = ahead.pop() {
            let opened = match beneath::listing(root, &directory) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                opened => opened,
            };
            // A sparse checkout has no such directory: that is known without any budget.
            if !budget.take() {
                return true;
            }
            let Ok(opened) = opened else { return true };
            let Ok(entries) = beneath::entries(opened.as_fd()) else { return true };
            for entry in entries {
                let Ok((name, kind)) = entry else { return true };
                let path = directory.join(name);
                if !budget.take() || self.cover(&path) {
                    return true;
                }
                if kind == FileType::Directory {
                    ahead.push(path);
                }
            }
        }
        false
    }

    /// Lists those that no pattern names.
    pub(crate) fn unnamed(&self) -> Vec<OsString> {
        self.others.iter().map(|path| path.clone().into_os_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn all_directories_together_are_looked_at_within_one_budget() {
        let top = tempfile::tempdir().unwrap();
        for directory in ["a", "b"] {
            fs::create_dir(top.path().join(directory)).unwrap();
            fs::write(top.path().join(directory).join("file"), "").unwrap();
        }
        let root = fs::File::open(top.path()).unwrap();
        let hidden = HiddenPaths::of(&[".env".to_owned()], []);
        let lie_in = |directory, budget: &_| hidden.lie_in(root.as_fd(), Path::new(directory), budget);
        // A directory and what is in it are two.
        let enough = LookBudget { left: Cell::new(4), until: Deadline::NEVER };
        assert!(!lie_in("a", &enough) && !lie_in("b", &enough));
        assert!(lie_in("a", &enough), "nothing is left");
        assert!(!lie_in("c", &enough), "it is not there");
    }
}
