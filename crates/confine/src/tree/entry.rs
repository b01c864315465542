//! What both sides of a copy have in common: what can be copied, why it is not, and finding out what is at a name of a directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How deep directories may lie in each other.
pub(super) const MAX_DEPTH: usize = 256;

/// The bits of a mode that are copied.
pub(super) const MODE: u32 = 0o777;

/// What something is that can be copied.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Kind {
    File,
    Directory,
    Link,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Copied {
    /// Files, directories and links.
    pub entries: u64,
    /// What is in the files, in bytes.
    pub bytes: u64,
    /// What was left out: devices, pipes and sockets.
    pub skipped: u64,
}

/// Why a tree is not copied, with the path in it.
#[derive(Debug, thiserror::Error)]
#[error("cannot copy {}", policy::text::escape::path(path))]
pub struct TreeError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl TreeError {
    /// Returns what makes one of an error.
    pub fn at<E: Into<io::Error>>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |error| Self { path, source: error.into() }
    }

    pub(super) fn of(path: impl Into<PathBuf>, reason: &'static str) -> Self {
        Self { path: path.into(), source: io::Error::other(reason) }
    }

    pub(super) fn replaced(path: impl Into<PathBuf>) -> Self {
        Self::of(path, "another directory has come into its place")
    }
}

/// Returns what something is; `None` where it cannot be copied.
pub(super) fn kind(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::Link),
        _ => None,
    }
}

/// Describes what is at a name of a directory, and not where a link leads.
pub(super) fn stat(directory: impl AsFd, name: &OsStr) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Opens a directory by its name in another one.
pub(super) fn open_directory(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// Splits a path beneath a directory into its names.
pub(super) fn names(path: &Path) -> Option<Vec<&OsStr>> {
    use std::path::Component;
    let names = path.components().filter(|component| *component != Component::CurDir);
    names
        .map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect()
}

/// Removes what is at a name of a directory, with all that is in it.
pub(super) fn remove(directory: BorrowedFd<'_>, name: &OsStr, depth: usize) -> Result<(), Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) if depth < MAX_DEPTH => {}
        removed => return removed,
    }
    remove_contents(&Passage::open(directory, name)?.enter()?, depth)?;
    unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// Removes all that is in a directory.
pub(super) fn remove_contents(directory: &OwnedFd, depth: usize) -> Result<(), Errno> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            remove(directory.as_fd(), name, depth + 1)?;
        }
    }
    Ok(())
}

/// A directory that is held and not open: its mode may let nobody read it.
pub(super) struct Passage(OwnedFd);

impl Passage {
    /// Holds a directory by its name in another one.
    pub(super) fn open(directory: impl AsFd, name: &OsStr) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(directory, name, flags, Mode::empty())?))
    }

    /// Opens it, and gives its owner every right in it.
    pub(super) fn enter(&self) -> Result<OwnedFd, Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.0)?.st_mode);
        if !mode.contains(Mode::RWXU) {
            // What is only held is nothing to fchmod(2). Where this fails, what comes next says why.
            let _ = rustix::fs::chmod(format!("/proc/self/fd/{}", self.0.as_raw_fd()), mode | Mode::RWXU);
        }
        openat(&self.0, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }
}

impl AsFd for Passage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
