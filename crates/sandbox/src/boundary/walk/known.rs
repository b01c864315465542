//! Directories that were read, and need not be read again while they have not changed.
//!
//! Whatever is made, renamed or removed in a directory changes the time of its last change (`ctime`), which nobody can set, see
//! inode(7). So one that has the same number and the same time still holds what it held. What a directory does not say of the files in it,
//! such as their mode, is not known from here.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FsWord, Stat};
use serde::{Deserialize, Serialize};

use crate::host::stamp::SEE_STORES;

/// How many bytes what is remembered takes at most, of what one thread reads: enough for some 15,000 directories.
pub(super) const MAX_LEARNED: usize = 4 << 20;

/// The same for all that is known.
const MAX_KNOWN: usize = 8 << 20;

/// The form in which it is written down. Another version of this program may have another one.
const FORMAT: u32 = 1;

/// The file system that sets `ctime` of directories on this machine beside [`SEE_STORES`]. A server's may be late, and one in user space
/// may say anything.
const TMPFS: FsWord = 0x0102_1994;

/// How old a change must be for another one to have another time: these clocks tick every few milliseconds.
const TICK: Duration = Duration::from_millis(100);

/// What was found in directories that hold nothing of interest to anybody but the walk.
#[derive(Debug, Default)]
pub struct Known {
    directories: HashMap<u64, KnownDirectory>,
    /// How many bytes they take.
    size: usize,
    /// What walks have read since.
    learned: Mutex<Vec<Learned>>,
}

/// What is in a directory.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Contents {
    pub(super) directories: Vec<CString>,
    pub(super) links: Vec<CString>,
    /// How many regular files there are.
    pub(super) files: usize,
}

#[derive(Debug)]
struct KnownDirectory {
    learned: Learned,
    /// Whether it was met, and had not changed.
    is_met: AtomicBool,
}

/// A directory that was read in a walk.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Learned {
    inode: u64,
    changed: (i64, u64),
    contents: Contents,
}

/// Returns until when a directory must have changed for the last time, to be remembered in a walk that begins now; `None` where nothing is.
pub(super) fn horizon(root: impl AsFd) -> Option<(i64, u64)> {
    let kind = rustix::fs::fstatfs(root).ok()?.f_type;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let before = now.checked_sub(TICK)?;
    let is_trusted = kind == TMPFS || SEE_STORES.contains(&kind);
    is_trusted.then_some((before.as_secs().try_into().ok()?, before.subsec_nanos().into()))
}

impl Learned {
    /// Notes what was read, after `stat` was taken.
    pub(super) fn new(stat: &Stat, contents: Contents) -> Self {
        Self { inode: stat.st_ino, changed: changed(stat), contents }
    }

    /// Returns how many bytes it takes, about.
    pub(super) fn size(&self) -> usize {
        let names = self.contents.directories.iter().chain(&self.contents.links);
        128 + names.map(|name| 32 + name.as_bytes().len()).sum::<usize>()
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
        if known.learned.changed != changed(stat) {
            return None;
        }
        known.is_met.store(true, Ordering::Relaxed);
        Some(&known.learned.contents)
    }

    /// Takes what a walk has read.
    pub(super) fn learn(&self, learned: Vec<Learned>) {
        let mut all = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        // Each walk may have read the same.
        if all.iter().map(Learned::size).sum::<usize>() < MAX_KNOWN {
            all.extend(learned);
        }
    }

    /// Lets later walks know what was read since, as far as there is room. Returns whether there was anything.
    pub fn settle(&mut self) -> bool {
        let learned = std::mem::take(self.learned.get_mut().unwrap_or_else(PoisonError::into_inner));
        let is_any = !learned.is_empty();
        for learned in learned {
            self.size += learned.size();
            if self.size > MAX_KNOWN {
                break;
            }
            self.directories.insert(learned.inode, KnownDirectory { learned, is_met: true.into() });
        }
        is_any
    }

    /// Returns whether any directory was not met in a walk, or had changed.
    pub(crate) fn has_lost(&self) -> bool {
        self.directories.values().any(|known| !known.is_met.load(Ordering::Relaxed))
    }

    /// Writes down what was met, for [`Self::read`]. `boot` says in which run of the machine.
    pub(crate) fn written(&self, boot: &str) -> Option<Vec<u8>> {
        let met = self.directories.values().filter(|known| known.is_met.load(Ordering::Relaxed));
        let all: Vec<&Learned> = met.map(|known| &known.learned).collect();
        postcard::to_allocvec(&(FORMAT, boot, all)).ok()
    }

    /// Reads what was written down in the same run of the machine; nothing where that was in another one.
    pub(crate) fn read(written: &[u8], boot: &str) -> Self {
        let mut known = Self::default();
        let read = postcard::from_bytes::<(u32, &str, Vec<Learned>)>(written).ok();
        if let Some((.., learned)) = read.filter(|(format, then, _)| (*format, *then) == (FORMAT, boot)) {
            known.learn(learned);
            known.settle();
        }
        for directory in known.directories.values() {
            directory.is_met.store(false, Ordering::Relaxed);
        }
        known
    }
}

/// Returns when a directory was changed for the last time.
pub(super) fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_ctime, stat.st_ctime_nsec)
}
