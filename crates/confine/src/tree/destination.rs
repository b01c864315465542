//! Where something lands that is copied, as `docker cp` has it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::entry::{Kind, TreeError, open_directory, stat};

/// What is copied.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Source {
    pub kind: Kind,
    /// Its name where it is.
    pub base: OsString,
    /// Whether what is in it is copied, and not the directory itself: its path has ended with `/.`.
    pub is_contents: bool,
}

/// Where a stream is unpacked.
#[derive(Debug)]
pub struct Destination {
    pub(super) directory: OwnedFd,
    pub(super) top: Top,
    /// Whether it is a directory that is copied.
    pub(super) kind: Kind,
    /// The permissions that nothing gets.
    pub(super) umask: Mode,
}

/// What becomes of the first name of each path in a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Top {
    /// It becomes this one.
    Named(OsString),
    /// It is dropped: what a directory contains lands in another one.
    Dropped,
    /// It stays: the stream is somebody else's.
    Kept,
}

impl Destination {
    /// Returns the directory itself: every path of a stream is one beneath it.
    pub fn within(directory: OwnedFd) -> Self {
        Self { directory, top: Top::Kept, kind: Kind::Directory, umask: Mode::empty() }
    }

    /// Returns the directory in which something gets its place.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Keeps the permissions of this umask from everything that is made: whoever is inside a sandbox says which each file has.
    #[must_use]
    pub fn masked(self, umask: u32) -> Self {
        Self { umask: Mode::from_bits_truncate(umask), ..self }
    }
}

/// Finds out where something lands that is copied to a path: in it, where that is a directory; at it, where nothing is there or a
/// file, which is replaced. `open` opens a directory by its path.
///
/// # Errors
///
/// Nothing can be put there, or the directory of the path does not exist.
pub fn destination(
    path: &Path,
    source: &Source,
    open: impl Fn(&Path) -> Result<OwnedFd, Errno>,
) -> Result<Destination, TreeError> {
    let failed = TreeError::at;
    let base = name_of(source)?.filter(|_| !source.is_contents);
    let within = |directory: OwnedFd| match (source.kind, base) {
        (kind, Some(name)) => {
            Ok(Destination { directory, top: Top::Named(name.to_owned()), kind, umask: Mode::empty() })
        }
        (Kind::Directory, None) => {
            Ok(Destination { directory, top: Top::Dropped, kind: Kind::Directory, umask: Mode::empty() })
        }
        (_, None) => Err(TreeError::of(path, "what is copied has no name")),
    };
    let Some(name) = path.file_name() else { return within(open(path).map_err(failed(path))?) };
    let above = match path.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    let directory = open(above).map_err(failed(above))?;
    let must_be_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    match stat(&directory, name) {
        Ok(found) => match (FileType::from_raw_mode(found.st_mode), source.kind) {
            (FileType::Directory, _) => within(open_directory(&directory, name).map_err(failed(path))?),
            (FileType::Symlink, _) if must_be_directory => {
                Err(TreeError::of(path, "it is a link, and copies follow none; name where it leads"))
            }
            (_, Kind::Directory) => Err(TreeError::of(path, "a directory cannot take its place")),
            _ if must_be_directory => Err(failed(path)(Errno::NOTDIR)),
            (FileType::RegularFile | FileType::Symlink, kind) => {
                Ok(Destination { directory, top: Top::Named(name.to_owned()), kind, umask: Mode::empty() })
            }
            _ => Err(TreeError::of(path, "it is neither a file nor a directory")),
        },
        Err(Errno::NOENT) if must_be_directory && source.kind != Kind::Directory => {
            Err(failed(path)(Errno::NOENT))
        }
        Err(Errno::NOENT) => Ok(Destination {
            directory,
            top: Top::Named(name.to_owned()),
            kind: source.kind,
            umask: Mode::empty(),
        }),
        Err(errno) => Err(failed(path)(errno)),
    }
}

/// Returns the name of what is copied; `None` for a root, which has none. Whoever is inside a sandbox says it, and the system calls
/// that put something into its place take paths for names: one that leads elsewhere is refused.
fn name_of(source: &Source) -> Result<Option<&OsStr>, TreeError> {
    let base = source.base.as_os_str();
    match base.as_encoded_bytes() {
        b"" | b"." | b"/" => Ok(None),
        b".." => Err(TreeError::of(base, "its name leads elsewhere")),
        name if name.contains(&b'/') => Err(TreeError::of(base, "its name leads elsewhere")),
        _ => Ok(Some(base)),
    }
}
