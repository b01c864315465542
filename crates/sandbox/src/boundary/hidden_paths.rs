//! Hidden paths, as what git lists is compared with them: by patterns, and by what was covered.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use policy::rules::hide::HidePatterns;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::host::beneath;

/// How many entries of a directory are looked at for hidden ones.
const MAX_LOOKED_AT: usize = 100_000;

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
    pub(crate) fn lie_in(&self, root: BorrowedFd<'_>, directory: &Path) -> bool {
        let mut left = MAX_LOOKED_AT;
        let mut ahead = vec![directory.to_path_buf()];
        while let Some(directory) = ahead.pop() {
            let opened = match beneath::listing(root, &directory) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                opened => opened,
            };
            let Ok(opened) = opened else { return true };
            let Ok(entries) = beneath::entries(opened.as_fd()) else { return true };
            for entry in entries {
                let Ok((name, kind)) = entry else { return true };
                let path = directory.join(name);
                left -= 1;
                if left == 0 || self.cover(&path) {
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
