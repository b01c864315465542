//! The rule of origin: what is the agent's, and what was there.
//!
//! What was looked at before the start is known by its path and its identity, whatever its age: an agent can move an old file
//! to a new place. Of what nobody looked at, only the times can be asked. An agent can set those of access and modification,
//! but not that of the last change (`ctime`, which writing, renaming, linking and chmod(2) set), nor that of birth, see inode(7). A file that
//! is changed through a shared mapping keeps its time of change on some file systems: of a file there that seems old, nothing is known.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use policy::plan::FileId;
use rustix::fs::{AtFlags, FileType, StatxFlags};
use rustix::io::Errno;

use crate::host::beneath;
use crate::host::stamp::sees_stores;

/// What is known of a place at the start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Before {
    /// It was looked at, and nothing was there.
    Nothing,
    /// It was looked at, and the same file was there.
    Same,
    /// It was looked at, and something else was there.
    Another,
    /// Nobody looked there, because nothing made a program obey what is there. Something does now.
    NotObeyed,
    /// Nobody looked there, because there was too much, or no right to.
    Missed,
}

/// When something was touched for the last time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Touched {
    /// Since the start.
    Since,
    /// Before it, or its file system does not know it.
    Before,
    /// It is a file that was not touched by a call since, on a file system where a store through a mapping leaves no time.
    Unknown,
}

/// What follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Attribution {
    /// It is quarantined.
    Created,
    /// It is quarantined, and what was there is put back.
    Replaced,
    /// It is reported.
    Earlier,
    /// It stays. What makes a program obey it is quarantined.
    Obeyed,
}

/// Says whose something is that a program would obey.
///
/// | at the start | touched since | not touched since, or nobody knows |
/// | --- | --- | --- |
/// | nothing was there | created | created |
/// | the same file was there | earlier | earlier |
/// | something else was there | replaced | replaced |
/// | nothing obeyed what was there | created | obeyed |
/// | it was missed | created | earlier |
pub(crate) fn attribute(before: Before, touched: Touched) -> Attribution {
    match (before, touched) {
        (Before::Nothing, _) | (Before::NotObeyed | Before::Missed, Touched::Since) => Attribution::Created,
        (Before::Another, _) => Attribution::Replaced,
        (Before::Same, _) | (Before::Missed, Touched::Before | Touched::Unknown) => Attribution::Earlier,
        (Before::NotObeyed, Touched::Before | Touched::Unknown) => Attribution::Obeyed,
    }
}

/// Seconds and nanoseconds of the clock that file systems use.
pub(crate) type Time = (i64, i64);

/// What the kernel says of something that nobody can set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) file_id: FileId,
    /// Not every file system knows it.
    pub(crate) btime: Option<Time>,
    changed: Time,
    kind: FileType,
}

impl Facts {
    pub(crate) fn at(root: BorrowedFd<'_>, path: &Path) -> Option<Self> {
        Self::look(root, path).ok()
    }

    /// Returns the same, or why there are none.
    pub(crate) fn look(root: BorrowedFd<'_>, path: &Path) -> Result<Self, Errno> {
        let (parent, name) = beneath::parent(root, path)?;
        Self::statx(parent.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns them of what is open.
    pub(crate) fn of(file: BorrowedFd<'_>) -> Option<Self> {
        Self::statx(file, OsStr::new(""), AtFlags::EMPTY_PATH).ok()
    }

    fn statx(directory: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> Result<Self, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let stat = rustix::fs::statx(directory, name, flags, wanted)?;
        let time = |time: rustix::fs::StatxTimestamp| (time.tv_sec, i64::from(time.tv_nsec));
        let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        Ok(Self {
            file_id: FileId { device, inode: stat.stx_ino },
            btime: (stat.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| time(stat.stx_btime)),
            changed: time(stat.stx_ctime),
            kind: FileType::from_raw_mode(stat.stx_mode.into()),
        })
    }

    /// Returns when it was touched. A directory changes with everything that is made in it, so only its birth says whose
    /// it is.
    pub(crate) fn touched(&self, start: Time) -> Touched {
        let touched = if self.kind == FileType::Directory { self.btime } else { Some(self.changed) };
        if touched.is_some_and(|time| time >= start) { Touched::Since } else { Touched::Before }
    }

    /// Returns whether it is a file, whose content a program may change through a mapping.
    pub(crate) fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    /// Returns whether it is anything but a directory.
    pub(crate) fn is_no_directory(&self) -> bool {
        self.kind != FileType::Directory
    }

    /// Returns whether it was changed, as a directory too: renamed, or anything made in it.
    pub(crate) fn is_changed(&self, start: Time) -> bool {
        self.changed >= start
    }
}

/// Returns when a file was made, where that tells it from another one that is given its number: overlayfs changes the time when it copies
/// a file up, and the numbers of tmpfs are given once.
pub(crate) fn born(root: BorrowedFd<'_>, path: &Path) -> Option<Time> {
    Facts::at(root, path).filter(|_| sees_stores(root))?.btime
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_answer() {
        use Before::{Another, Missed, NotObeyed, Nothing, Same};
        for (before, since, not_since) in [
            (Nothing, Attribution::Created, Attribution::Created),
            (Same, Attribution::Earlier, Attribution::Earlier),
            (Another, Attribution::Replaced, Attribution::Replaced),
            (NotObeyed, Attribution::Created, Attribution::Obeyed),
            (Missed, Attribution::Created, Attribution::Earlier),
        ] {
            assert_eq!(attribute(before, Touched::Since), since, "{before:?}");
            assert_eq!(attribute(before, Touched::Before), not_since, "{before:?}");
            assert_eq!(attribute(before, Touched::Unknown), not_since, "{before:?}");
        }
    }

    #[test]
    fn a_directory_is_as_old_as_its_birth_and_a_file_as_its_last_change() {
        let file_id = FileId { device: 1, inode: 2 };
        let facts = |kind| Facts { file_id, btime: Some((1, 0)), changed: (3, 0), kind };
        assert_eq!(facts(FileType::RegularFile).touched((2, 0)), Touched::Since);
        assert_eq!(facts(FileType::RegularFile).touched((3, 1)), Touched::Before);
        assert_eq!(facts(FileType::Directory).touched((2, 0)), Touched::Before);
        assert_eq!(facts(FileType::Directory).touched((1, 0)), Touched::Since);
    }
}
