//! Files of git's data that list paths of a work tree: indexes, and what `git rerere` goes on with. They stay writable, or
//! git could not work, so what they come to list is checked.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::{self, MalformedIndex, ObjectFormat, Paths};

use crate::host::beneath;
use crate::host::stamp::Stamp;

/// The largest file that is read, in bytes. An index of a million files has some 100 MB.
const LARGEST: u64 = 64 << 20;

/// How many hidden paths of one index are kept. A sparse checkout hides more, and is not compared.
pub(crate) const MOST_HIDDEN: usize = 1000;

/// A file that lists paths of a work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathList {
    pub path: PathBuf,
    pub listed: Listed,
    pub(crate) stamp: Stamp,
}

/// What a file lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Listed {
    /// These paths.
    Paths(Paths),
    /// It is too large to be read.
    TooMany,
    /// It is none that git could have written.
    Malformed,
}

impl PathList {
    /// Returns whether a file right in a directory of git's data is one.
    pub(crate) fn is_one(name: &OsStr) -> bool {
        name == "index" || name == MERGED || name.as_bytes().starts_with(b"sharedindex.")
    }

    /// Reads the one at a path.
    pub(crate) fn read(root: impl AsFd, path: PathBuf, format: ObjectFormat) -> Option<Self> {
        let (file, stat) = beneath::file(&root, &path).ok()?;
        let stamp = Stamp::of(&stat);
        let content = up_to_largest(file)?;
        let listed = if content.len() as u64 > LARGEST {
            Listed::TooMany
        } else {
            let read = if path.file_name() == Some(OsStr::new(MERGED)) {
                index::merged(&content)
            } else {
                let shared =
                    |name: &str| up_to_largest(beneath::file(&root, &path.with_file_name(name)).ok()?.0);
                index::read(&content, format, MOST_HIDDEN, shared)
            };
            read.map_or_else(|MalformedIndex| Listed::Malformed, Listed::Paths)
        };
        Some(Self { path, listed, stamp })
    }

    /// Returns the directory of git's data that it lies in.
    pub(crate) fn git(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// Reads a file, with one byte beyond the largest at most.
fn up_to_largest(file: OwnedFd) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    std::fs::File::from(file).take(LARGEST + 1).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The paths that `git rerere` is to write.
const MERGED: &str = "MERGE_RR";
