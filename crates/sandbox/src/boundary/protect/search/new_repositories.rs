//! New repositories in a work tree: those that git creates there when it writes entries of an index or of a commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::StagedKind;
use rustix::fs::FileType;

use crate::boundary::protect::search::listed::would_write;
use crate::boundary::protect::search::progress::{Search, is};
use crate::boundary::walk::is_data_of_another_system;
use crate::host::beneath;

/// What makes a directory a repository of git: `is_git_directory` of its setup.c.
const HEAD: &[u8] = b"HEAD";
const COMMON: &[u8] = b"commondir";
const DATA: [&[u8]; 2] = [b"objects", b"refs"];

/// How many directories are kept that git writes such a directory for.
const MAX_WITH_DATA: usize = 100_000;

/// Asks of each path that git writes to a work tree whether it makes a repository, or is obeyed in one that it makes.
pub(super) struct NewRepositories<'s> {
    search: &'s Search<'s>,
    tree: &'s Path,
    /// The directory of the last path: most that come together lie in the same one.
    last: PathBuf,
    last_is_part: bool,
    /// The directories of other systems' data that it lies in.
    last_systems: Vec<PathBuf>,
    /// Directories for which git writes `objects`, or `refs`.
    with_data: [BTreeSet<PathBuf>; DATA.len()],
}

impl<'s> NewRepositories<'s> {
    pub(super) fn within(search: &'s Search<'s>, tree: &'s Path) -> Self {
        Self {
            search,
            tree,
            last: PathBuf::new(),
            last_is_part: false,
            last_systems: Vec::new(),
            with_data: <[BTreeSet<PathBuf>; DATA.len()]>::default(),
        }
    }

    /// Returns whether an entry at a path makes a repository of git, with what lies there or what comes with it, or is obeyed in one of another
    /// system.
    pub(super) fn would_write(&mut self, path: &Path, kind: StagedKind) -> bool {
        let Some(name) = path.file_name() else { return false };
        let parent = path.parent().unwrap_or(path);
        if self.last != parent {
            self.last_is_part = self.has_part(parent);
            let data = parent.ancestors().filter(|above| above.file_name().is_some_and(is_data));
            self.last_systems = data.map(Path::to_path_buf).collect();
            self.last = parent.to_path_buf();
        }
        matches!(name.as_bytes(), HEAD | COMMON)
            || self.last_is_part
            || self.is_part(parent, name)
            || self.is_obeyed(path, kind)
    }

    /// Returns whether a directory is one of git's data, or lies in one, in a directory that only lacks that to be a repository.
    fn has_part(&mut self, directory: &Path) -> bool {
        directory.ancestors().any(|part| {
            let parent = part.parent().unwrap_or(part);
            part.file_name().is_some_and(|name| self.is_part(parent, name))
        })
    }

    /// Returns whether it is a directory of git's data that is not there, beside a `HEAD` or the other one: that may come later.
    fn is_part(&mut self, parent: &Path, name: &OsStr) -> bool {
        let Some(number) = DATA.iter().position(|data| *data == name.as_bytes()) else { return false };
        if self.with_data[number].len() < MAX_WITH_DATA {
            self.with_data[number].insert(parent.to_path_buf());
        }
        let stat = |name: &[u8]| {
            let path = self.tree.join(parent).join(OsStr::from_bytes(name));
            beneath::stat(self.search.root, &path).ok()
        };
        // Git asks whether it may execute it, and so takes a file for a directory.
        let is_there = |name: &[u8]| {
            stat(name).is_some_and(|stat| {
                is(FileType::Directory, &stat) || stat.st_mode & 0o111 != 0 && !is(FileType::Symlink, &stat)
            })
        };
        let other = DATA.len() - 1 - number;
        let has_other = self.with_data[other].contains(parent) || is_there(DATA[other]);
        (has_other || stat(HEAD).is_some()) && !is_there(DATA[number])
    }

    /// Returns whether it is at a protected path of a repository of another system, which need not be there.
    fn is_obeyed(&self, path: &Path, kind: StagedKind) -> bool {
        let itself = path.file_name().filter(|name| is_data(name)).map(|_| path);
        let mut systems = self.last_systems.iter().map(PathBuf::as_path).chain(itself);
        systems.any(|data| {
            let inner = data.parent().and_then(|above| path.strip_prefix(above).ok());
            let (Some(inner), Some(name)) = (inner, data.file_name()) else { return false };
            let candidates = self.search.in_tree.beginning_with(name.as_bytes());
            candidates.iter().any(|listed| would_write(listed, inner, kind))
        })
    }
}

fn is_data(name: &OsStr) -> bool {
    is_data_of_another_system(name.as_bytes())
}
