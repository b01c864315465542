//! The state of work trees that are not shared, in a repository that is: for a linked worktree, or with its main work tree.
//!
//! Git on the host goes on with what that says: a commit takes the content of an index, and `git rerere` reads and writes the files
//! that a `MERGE_RR` lists. The directories of other linked worktrees are not there inside, so `git worktree prune` would remove their
//! data, too.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::mounts::{Cause, FileKind, Mounts, ReadOnly};
use crate::boundary::protect::reach::Base;
use crate::boundary::root::Entered;
use crate::host::beneath;

/// Where a repository has the data of its linked worktrees, see gitrepository-layout(5).
const DATA: &str = "worktrees";

/// The state of a work tree, see gitrepository-layout(5) and git-rerere(1).
const STATE: [&str; 16] = [
    "AUTO_MERGE", "BISECT_LOG", "BISECT_START", "CHERRY_PICK_HEAD", "HEAD", "MERGE_AUTOSTASH", "MERGE_HEAD",
    "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "REVERT_HEAD", "SQUASH_MSG", "index", "rebase-apply",
    "rebase-merge", "sequencer",
];

/// How names of indexes begin that others share.
const SHARED_INDEX: &[u8] = b"sharedindex.";

/// Lists the state of other work trees than these, as far as it is there, in the repository of linked worktrees, with that of their
/// submodules.
pub(super) fn others(root: &Entered<'_>, mounts: &Mounts, shared: &[String]) -> io::Result<Vec<ReadOnly>> {
    let base = Path::new(DATA);
    let mut others = state(root, Path::new(""), Path::new(".git"))?;
    let listing = beneath::listing(root, base)?;
    for entry in beneath::entries(listing.as_fd())? {
        let (name, kind) = entry?;
        if kind != FileType::Directory || shared.iter().any(|shared| name == shared.as_str()) {
            continue;
        }
        others.extend(kept(root, Path::new(""), &base.join(&name), Path::new(".git"))?);
    }
    let is_shared = |path: &Path| shared.iter().any(|shared| path.starts_with(base.join(shared)));
    let known: Vec<PathBuf> = others.iter().map(|one| one.path.clone()).collect();
    let is_known = |path: &Path| known.iter().any(|known| path.starts_with(known));
    let elsewhere = elsewhere(root, mounts)?.into_iter();
    others.extend(elsewhere.filter(|one| !is_shared(&one.path) && !is_known(&one.path)));
    Ok(others)
}

/// Lists the state of work trees that are not shared themselves and have their data in this directory, as far as it is there: linked ones,
/// those of submodules, and those that a configuration names (`core.worktree`).
/// Their logs stay writable: `git gc` goes through them.
pub(super) fn elsewhere(root: &Entered<'_>, mounts: &Mounts) -> io::Result<Vec<ReadOnly>> {
    let mut elsewhere = Vec::new();
    for git in mounts.elsewhere.keys().filter(|git| !mounts.shared_elsewhere.contains(*git)) {
        match state(root, git, &Path::new(".git").join(DATA).join("name")) {
            Ok(state) => elsewhere.extend(state),
            // It is gone by now, or nobody inside has a way there.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(elsewhere)
}

/// Lists the state of a work tree in a directory of git's data, as far as it is there.
fn state(root: &Entered<'_>, git: &Path, seen_as: &Path) -> io::Result<Vec<ReadOnly>> {
    let kept = |name: &Path| kept(root, git, name, seen_as).transpose();
    let mut state = STATE.iter().filter_map(|name| kept(Path::new(name))).collect::<io::Result<Vec<_>>>()?;
    // What a split index is read with, see git-update-index(1).
    let listing = beneath::listing(root, git)?;
    for entry in beneath::entries(listing.as_fd())? {
        let (name, _) = entry?;
        if name.as_bytes().starts_with(SHARED_INDEX) {
            state.extend(kept(Path::new(&name)).transpose()?);
        }
    }
    Ok(state)
}

/// Describes a file or directory in one of git's data that becomes read-only, if it is there.
fn kept(root: &Entered<'_>, git: &Path, name: &Path, seen_as: &Path) -> io::Result<Option<ReadOnly>> {
    let path = git.join(name);
    let stat = match beneath::stat(root, &path) {
        Err(Errno::NOENT) => return Ok(None),
        stat => stat?,
    };
    let kind = FileKind::from(FileType::from_raw_mode(stat.st_mode));
    // A link is watched: it cannot be mounted over.
    let can_be_mounted = matches!(kind, FileKind::Directory | FileKind::File);
    Ok(can_be_mounted.then(|| ReadOnly {
        file_id: beneath::file_id(&stat),
        kind,
        seen_as: seen_as.join(name),
        path,
        cause: Cause::Listed,
        base: Base::Git(git.into()),
    }))
}
