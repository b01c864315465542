//! The working directory, as it was at the beginning.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use policy::plan::FileId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use sandbox::boundary::resolve::Lead;
use sandbox::host::identity::Identity;

/// The working directory.
pub(crate) struct WorkingDirectory {
    /// Its path, with every link resolved.
    pub(crate) path: PathBuf,
    /// Which directory that is, whatever its path leads to by now; `None` once this process has left it.
    id: Option<FileId>,
}

impl WorkingDirectory {
    /// Reads it once.
    pub(crate) fn read() -> anyhow::Result<Self> {
        // getcwd(2) resolves links.
        let lost = "cannot determine the working directory; does it still exist?";
        let path = env::current_dir().context(lost)?;
        // Of the directory itself, which needs no right in it.
        let stat = rustix::fs::statat(CWD, "", AtFlags::EMPTY_PATH).context(lost)?;
        Ok(Self { path, id: Some(FileId { device: stat.st_dev, inode: stat.st_ino }) })
    }

    /// Leaves it for `/` where the user behind sudo cannot reach it. With their rights a link of theirs to `/proc/self/cwd` would lead
    /// past the directory that is closed to them, and so would a path that is relative for whatever is run for them.
    pub(crate) fn leave_if_closed(&mut self, user: Identity) -> io::Result<()> {
        let is_it = |found: FileId| Some(found) == self.id;
        match Lead::of(&self.path, user) {
            Ok(Lead::Found(found)) if is_it(found.file_id) => Ok(()),
            _ => self.leave(),
        }
    }

    /// Does the same where this process has become that user, who may have more groups than count while root acts for them.
    pub(crate) fn leave_if_closed_to_us(&mut self) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // It had no link on the way. One of /proc would lead back here.
        let resolve = ResolveFlags::NO_SYMLINKS;
        let found = rustix::fs::openat2(CWD, &self.path, flags, Mode::empty(), resolve);
        let stat = found.and_then(rustix::fs::fstat);
        match stat {
            Ok(stat) if Some(FileId { device: stat.st_dev, inode: stat.st_ino }) == self.id => Ok(()),
            _ => self.leave(),
        }
    }

    fn leave(&mut self) -> io::Result<()> {
        self.id = None;
        env::set_current_dir("/")
    }

    /// Returns by what path a user reaches something beneath a directory that the working directory lies in: from there, and not by
    /// its text. Whoever may rename a directory above it can put a link in its place at any moment.
    ///
    /// That the user reaches it by its text as well is made sure of: under sudo, root may stand where the user behind it cannot
    /// reach.
    pub(crate) fn path_beneath(&self, user: Identity, around: &Path, path: &Path) -> io::Result<PathBuf> {
        let (Ok(above), Ok(below)) = (self.path.strip_prefix(around), path.strip_prefix(around)) else {
            return Ok(path.to_owned());
        };
        match Lead::of(&self.path, user)? {
            Lead::Found(found) if Some(found.file_id) == self.id => {}
            Lead::Found(_) | Lead::Missing(_) => {
                return Err(io::Error::other("the working directory was moved or exchanged"));
            }
        }
        let up = above.components().map(|_| Path::new(".."));
        Ok(std::iter::once(Path::new(".")).chain(up).chain([below]).collect())
    }

    /// Makes a path that was typed absolute, without the `.` that means nothing.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.path.join(path).components().collect()
    }
}
