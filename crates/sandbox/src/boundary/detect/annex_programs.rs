//! New directories with names by which git-annex looks for programs.
//!
//! The name of a backend or of a special remote may hold a slash (`Xa/run`). git-annex puts its own beginning before it, and runs what is
//! there in the directory in which it is called. Attributes, names of files and a branch say such names, which are not classified all.

use std::os::fd::BorrowedFd;

use policy::classify::Reason;

use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::{AnnexProgram, Mounts};
use crate::boundary::protect::reach::Base;

impl Baseline {
    /// Returns the directories and links of such names in repositories that were not there at the start.
    pub(super) fn new_annex_programs(&self, root: BorrowedFd<'_>, mounts: &Mounts) -> Vec<Finding> {
        let origin = |program: &AnnexProgram| {
            let path = program.path.as_os_str();
            let was_there = self.annex_programs.binary_search_by(|known| known.as_os_str().cmp(path)).is_ok();
            let was_searched = self.searched.contains(&Base::Tree(program.repository.clone()?));
            match self.touched(root, &program.path) {
                Touched::Since => Some(FindingOrigin::Created),
                // However old it is, it came from where nobody obeyed it.
                Touched::Before | Touched::Unknown if !was_there && self.is_whole => {
                    Some(FindingOrigin::Created)
                }
                Touched::Before | Touched::Unknown if was_there && was_searched => None,
                Touched::Before | Touched::Unknown => Some(FindingOrigin::Earlier),
            }
        };
        let found = |program: &AnnexProgram| {
            let (path, origin) = (program.path.clone(), origin(program)?);
            let reason = Reason::Run { program: "git-annex".to_owned() };
            Some(Finding { path, reason, origin, quarantined: None, restored: false })
        };
        mounts.annex_programs.iter().filter_map(found).collect()
    }
}
