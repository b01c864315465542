//! Directories that were read, and need not be read again while they have not changed.
//!
//! Whatever is made, renamed or removed in a directory changes the time of its last change (`ctime`), which nobody can set, see
//! inode(7). So one that has the same number and the same time still holds what it held. What a directory does not say of the files in it,
//! such as their mode, is not known from here.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FsWord, Stat};

/// How many directories are remembered at most, and how many bytes of names in all of them.
const MAX_DIRECTORIES: usize = 100_000;
const MAX_BYTES: usize = 8 << 20;

/// File systems whose `ctime` the kernel sets on this machine: ext4, XFS, Btrfs, F2FS, tmpfs. A server's may be late, and one in user
/// space may say anything.
const TRUSTED: [FsWord; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// How old a change must be for another one to have another time: these clocks tick every few milliseconds.
const TICK: Duration = Duration::from_millis(100);

/// What was found in directories that hold nothing of interest to anybody but the walk.
#[derive(Debug, Default)]
pub struct Known {
    directories: HashMap<u64, KnownDirectory>,
    bytes: usize,
}

/// What is in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) directories: Vec<CString>,
    pub(super) links: Vec<CString>,
    /// How many regular files there are.
    pub(super) files: usize,
}

#[derive(Debug)]
struct KnownDirectory {
    changed: (i64, u64),
    contents: Contents,
}

/// A directory that was read in a walk, and what a later walk has to compare.
pub(super) struct Learned {
    inode: u64,
    known: KnownDirectory,
}

/// Until when a directory must have changed for the last time, to be remembered in a walk that begins now; `None` where nothing is.
pub(super) fn horizon(root: impl AsFd) -> Option<(i64, u64)> {
    let kind = rustix::fs::fstatfs(root).ok()?.f_type;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let before = now.checked_sub(TICK)?;
    TRUSTED.contains(&kind).then_some((before.as_secs().try_into().ok()?, before.subsec_nanos().into()))
}

impl Learned {
    /// Notes what was read, after `stat` was taken.
    pub(super) fn new(stat: &Stat, contents: Contents) -> Self {
        Self { inode: stat.st_ino, known: KnownDirectory { changed: changed(stat), contents } }
    }
}

impl Known {
    /// Returns how many directories are known.
    pub fn directories(&self) -> usize {
        self.directories.len()
    }

    /// Returns what is in a directory that has not changed.
    pub(super) fn of(&self, stat: &Stat) -> Option<&Contents> {
        let known = self.directories.get(&stat.st_ino)?;
        (known.changed == changed(stat)).then_some(&known.contents)
    }

    /// Adds what was read, as far as there is room.
    pub(super) fn add(&mut self, learned: Vec<Learned>) {
        for Learned { inode, known } in learned {
            let names = known.contents.directories.iter().chain(&known.contents.links);
            self.bytes += names.map(|name| name.as_bytes().len()).sum::<usize>();
            if self.bytes > MAX_BYTES || self.directories.len() >= MAX_DIRECTORIES {
                break;
            }
            self.directories.insert(inode, known);
        }
    }
}

/// Returns when a directory was changed for the last time.
pub(super) fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_ctime, stat.st_ctime_nsec)
}
