//! Repositories that are none yet in a work tree, and that git makes where it writes an entry of an index or of a commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::StagedKind;
use rustix::fs::{FileType, Stat};

use crate::boundary::protect::search::listed::would_write;
use crate::boundary::protect::search::progress::{Search, is};
use crate::boundary::walk::is_data_of_another_system;
use crate::host::beneath;

/// What makes a directory a repository of git: `is_git_directory` of its setup.c.
const HEAD: &[u8] = b"HEAD";
const COMMON: &[u8] = b"commondir";
const DATA: [&[u8]; 2] = [b"objects", b"refs"];

/// Asks of each path that git writes to a work tree whether it makes a repository, or is obeyed in one that it makes.
pub(super) struct UnmadeRepositories<'s> {
    search: &'s Search<'s>,
    tree: &'s Path,
    /// The directory of the last path: most that come together lie in the same one.
    last: PathBuf,
    last_is_part: bool,
    /// The directories of other systems' data that it lies in.
    last_systems: Vec<PathBuf>,
}

impl<'s> UnmadeRepositories<'s> {
    pub(super) fn within(search: &'s Search<'s>, tree: &'s Path) -> Self {
        Self { search, tree, last: PathBuf::new(), last_is_part: false, last_systems: Vec::new() }
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
    fn has_part(&self, directory: &Path) -> bool {
        directory.ancestors().any(|part| {
            let parent = part.parent().unwrap_or(part);
            part.file_name().is_some_and(|name| self.is_part(parent, name))
        })
    }

    fn is_part(&self, parent: &Path, name: &OsStr) -> bool {
        let parent = self.tree.join(parent);
        let stat = |name: &OsStr| beneath::stat(self.search.root, &parent.join(name)).ok();
        // Git asks whether it may execute it, and so takes a file for a directory.
        let is_there = |stat: Stat| {
            is(FileType::Directory, &stat) || stat.st_mode & 0o111 != 0 && !is(FileType::Symlink, &stat)
        };
        DATA.contains(&name.as_bytes())
            && stat(OsStr::from_bytes(HEAD)).is_some()
            && !stat(name).is_some_and(is_there)
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
