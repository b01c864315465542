//! Stamps: which file it was, and when it was last touched.
//!
//! A stamp says that nobody has changed a file by a call. A store through a shared mapping (mmap(2)) is none: most file systems of disks
//! set the time of change when it is the first one to a page since that was written back, tmpfs never does, and others are not known to.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;

use policy::plan::FileId;
use rustix::fs::{FileType, FsWord, Stat, fstatfs};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::beneath;

/// File systems that set the time of change at the first store through a shared mapping (`file_update_time` in their `page_mkwrite`):
/// ext4, XFS, Btrfs, F2FS.
pub(crate) const SEE_STORES: [FsWord; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];

/// Returns whether a file system, by something in it, sets the time of change also when a program stores into a mapping. Then a file whose
/// stamp is the same is unchanged, unless a mapping is older than the stamp.
pub(crate) fn sees_stores(within: impl AsFd) -> bool {
    fstatfs(within).is_ok_and(|file_system| SEE_STORES.contains(&file_system.f_type))
}

/// Which file it was, and when it was last touched: the time of change cannot be set by anybody.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Stamp {
    pub(crate) file_id: FileId,
    pub(crate) size: i64,
    pub(crate) changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        // A directory's time changes with what is in it. While it is the same directory, it is read-only.
        let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Self {
            file_id: beneath::file_id(stat),
            size: if directory { 0 } else { stat.st_size },
            changed: if directory { (0, 0) } else { (stat.st_ctime, nanoseconds(stat)) },
        }
    }

    /// Returns its size in bytes; that of a directory is 0.
    pub(crate) fn size(&self) -> i64 {
        self.size
    }
}

/// A hash of the content of a file, where its stamp alone does not tell whether that is the same.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct ContentHash(String);

impl ContentHash {
    /// Reads up to so many bytes of a file from its beginning; `None` where its file system sees stores.
    pub(crate) fn of(mut file: &File, longest: u64) -> Option<Self> {
        if sees_stores(file) {
            return None;
        }
        let mut content = Vec::new();
        // What cannot be read is empty for whoever compares it, both times.
        let _ = file.rewind().and_then(|()| file.take(longest).read_to_end(&mut content));
        Some(Self(format!("{:x}", Sha256::digest(content))))
    }
}

fn nanoseconds(stat: &Stat) -> i64 {
    i64::try_from(stat.st_ctime_nsec).unwrap_or_default()
}
