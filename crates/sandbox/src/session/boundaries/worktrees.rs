//! The data of worktrees that are not shared, in a repository that is shared for others.
//!
//! Their directories are not there inside, so `git worktree prune` takes them for gone and would remove their data with the index
//! and all that is staged.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, FileKind, ReadOnly};
use crate::boundary::protect::reach::Base;
use crate::boundary::root::Entered;
use crate::host::beneath;

/// Where a repository has the data of its linked worktrees, see gitrepository-layout(5).
const DATA: &str = "worktrees";

/// Lists the data of other worktrees than these; nothing where the directory is no repository of worktrees.
pub(super) fn others(root: &Entered<'_>, shared: &[String]) -> io::Result<Vec<ReadOnly>> {
    if shared.is_empty() {
        return Ok(Vec::new());
    }
    let base = Path::new(DATA);
    let mut others = Vec::new();
    let listing = beneath::listing(root, base)?;
    for entry in beneath::entries(listing.as_fd())? {
        let (name, kind) = entry?;
        if kind != FileType::Directory || shared.iter().any(|shared| name == shared.as_str()) {
            continue;
        }
        let path = base.join(&name);
        match beneath::stat(root, &path) {
            Ok(stat) => others.push(ReadOnly {
                file_id: beneath::file_id(&stat),
                kind: FileKind::Directory,
                seen_as: Path::new(".git").join(&path),
                path,
                cause: Cause::Listed,
                base: Base::Git(Path::new("").into()),
            }),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(others)
}
