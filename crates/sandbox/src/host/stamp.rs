//! Stamps: which file it was, and when it was last touched.

use policy::plan::FileId;
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use super::beneath;

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
}

fn nanoseconds(stat: &Stat) -> i64 {
    i64::try_from(stat.st_ctime_nsec).unwrap_or_default()
}
