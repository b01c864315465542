//! Programs among git's data, in directories that are neither git's own nor those of a tool that is known: a hook, or a filter of a
//! configuration, runs them by a path that only a shell may be able to resolve.

use std::os::fd::OwnedFd;
use std::path::Path;

use policy::classify::{PROGRAMS, layout};
use rustix::fs::Mode;

use super::progress::{Search, read_up_to};
use crate::boundary::protect::mounts::{Cause, ProtectionGap};
use crate::host::beneath;

/// How many files are examined. A tool that keeps more keeps data.
pub(super) const MAX_EXAMINED: usize = 10_000;

impl Search<'_> {
    /// Protects a file in a directory of git's data if it is a program.
    pub(super) fn program_in_data(&mut self, data: &OwnedFd, git: &Path, path: &Path) {
        let Some(left) = self.left_to_examine.checked_sub(1) else {
            let directory = git.join(path.parent().unwrap_or(Path::new("")));
            let gap = ProtectionGap::TooManyFiles { directory };
            if !self.notices.contains(&gap) {
                self.notices.push(gap);
            }
            return;
        };
        self.left_to_examine = left;
        let Ok(stat) = beneath::stat(data, path) else { return };
        // On some file systems every file may be executed.
        let may_be_executed =
            Mode::from_raw_mode(stat.st_mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
        if may_be_executed && is_program(data, path) {
            let seen_as = Path::new(PROGRAMS).join(path.file_name().unwrap_or_default());
            self.protect(git.join(path), &stat, seen_as, Cause::Named, self.base.clone());
        }
    }
}

/// Returns whether a directory in git's data, or the one right in these that it lies in, is one that nobody knows.
pub(super) fn is_of_unknown_tool(directory: &Path) -> bool {
    directory.iter().next().is_some_and(|first| !layout::is_known_directory(Path::new(first)))
}

/// Returns whether a file begins as a script or as machine code does.
fn is_program(data: &OwnedFd, path: &Path) -> bool {
    let beginning = beneath::file(data, path).ok().and_then(|(file, _)| read_up_to(file, 4));
    beginning.is_some_and(|(beginning, _)| beginning.starts_with(b"#!") || beginning == b"\x7fELF")
}
