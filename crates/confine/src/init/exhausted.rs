//! What has run out when a sandbox ends. A program says no more than `Killed` or `No space left on device`, and not what of.

use std::path::Path;

use crate::cgroup;
use crate::protocol::Exhausted;

/// Where a sandbox may have a tmpfs.
const TEMPORARY: [&str; 4] = ["/dev/shm", "/home/agent", "/run", "/tmp"];

/// `TMPFS_MAGIC` of linux/magic.h.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// Lists what has run out.
pub(super) fn look() -> impl Iterator<Item = Exhausted> {
    let memory = (cgroup::oom_kills() > 0).then_some(Exhausted::Memory);
    let full = TEMPORARY.iter().map(Path::new).filter(|path| is_full_tmpfs(path));
    memory.into_iter().chain(full.map(|path| Exhausted::Tmpfs(path.to_owned())))
}

/// Returns whether a tmpfs has less room left than a 256th part of it, or no room for another file.
fn is_full_tmpfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| {
        found.f_type == TMPFS_MAGIC && (found.f_bavail < found.f_blocks / 256 || found.f_ffree == 0)
    })
}
