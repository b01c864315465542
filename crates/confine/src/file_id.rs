//! Which file an open descriptor is.

use std::os::fd::AsFd;

use policy::plan::FileId;
use rustix::io::Errno;

/// Returns device and inode of an open descriptor, which may be opened with `O_PATH`.
pub fn file_id(file: impl AsFd) -> Result<FileId, Errno> {
    rustix::fs::fstat(file).map(|stat| FileId { device: stat.st_dev, inode: stat.st_ino })
}
