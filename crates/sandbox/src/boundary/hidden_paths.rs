//! Hidden paths, as what git lists is compared with them: by patterns, and by what was covered.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use policy::rules::hide::HidePatterns;

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

    /// Lists those that no pattern names.
    pub(crate) fn unnamed(&self) -> Vec<OsString> {
        self.others.iter().map(|path| path.clone().into_os_string()).collect()
    }
}
