//! The root of a boundary, a directory or a single file: held open, and entered only with the rights that the agent has in it.
//!
//! Whatever the agent can do there, these rights can read, copy, quarantine and put back. So nothing of that is
//! done with root's: whoever may rename things in the boundary can put what only root may touch at any path in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use confine::mount::detached_tree;
use confine::protocol::MountAccess;
use policy::plan::{Boundary, BoundaryKind, FileId};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::error::{BoundaryError, failed};
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::{self, Identity};

/// The directory of a boundary, wherever it is moved to meanwhile.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    user: Identity,
    group: u32,
}

/// The same while this thread acts with the rights that count in it. The only way to its descriptor.
#[must_use = "the rights end when this is dropped"]
pub struct Entered<'a> {
    directory: &'a OwnedFd,
    _acting: ActingAs,
}

impl Root {
    /// Opens what a boundary shares: without following a link, and only if it is still the one that was validated.
    pub fn open(boundary: &Boundary, caller: Identity) -> Result<Self, BoundaryError> {
        // Under sudo root shares nothing that the user behind it has no way to, whatever is there by now.
        let acting = ActingAs::user(caller).map_err(|source| failed("open", &boundary.host, source))?;
        let directory = match boundary.kind {
            BoundaryKind::Directory | BoundaryKind::Home => open_resolved(&boundary.host)?,
            BoundaryKind::File => open_resolved_file(&boundary.host)?,
        };
        drop(acting);
        let stat_error = |source| failed("stat", &boundary.host, source);
        let stat = rustix::fs::fstat(&directory).map_err(|errno| stat_error(errno.into()))?;
        let FileId { device, inode } = boundary.file_id;
        if (stat.st_dev, stat.st_ino) != (device, inode) {
            return Err(BoundaryError::Exchanged(boundary.host.clone()));
        }
        Self::of(directory, caller).map_err(stat_error)
    }

    /// Takes a directory that is open. In it counts who called; and where root did so for itself, whoever owns the
    /// directory, to whom the agent is mapped, with that user's own group.
    pub fn of(directory: OwnedFd, caller: Identity) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&directory)?;
        let user = if caller.uid == 0 {
            identity::owner(stat.st_uid, stat.st_gid, &std::fs::read_to_string("/etc/passwd")?)
        } else {
            caller
        };
        Ok(Self { directory, user, group: stat.st_gid })
    }

    /// Returns whose rights count in it: the identity of the agent to its files.
    pub fn user(&self) -> Identity {
        self.user
    }

    /// Returns the group that the directory has on disk, which may not be that user's.
    pub(crate) fn group(&self) -> u32 {
        self.group
    }

    /// Detaches a copy of it that can be mounted elsewhere, with its owners mapped by a user namespace: for root.
    pub(crate) fn detached_tree(
        &self,
        access: MountAccess,
        id_map: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        detached_tree(self.directory.as_fd(), access, id_map)
    }

    /// Takes these rights on, where this process is root.
    pub fn enter(&self) -> io::Result<Entered<'_>> {
        Ok(Entered { directory: &self.directory, _acting: ActingAs::user(self.user)? })
    }
}

impl AsFd for Entered<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Opens a directory whose path has no links; one that has any now was exchanged.
pub(crate) fn open_resolved(path: &Path) -> Result<OwnedFd, BoundaryError> {
    open_from_root(path, beneath::directory)
}

/// Opens a file in the same way.
fn open_resolved_file(path: &Path) -> Result<OwnedFd, BoundaryError> {
    open_from_root(path, beneath::hold)
}

fn open_from_root(
    path: &Path,
    open: impl FnOnce(OwnedFd, &Path) -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, BoundaryError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, "/", flags, Mode::empty());
    match root.and_then(|root| open(root, path.strip_prefix("/").unwrap_or(path))) {
        Ok(opened) => Ok(opened),
        Err(Errno::NOENT) => Err(BoundaryError::Missing(path.into())),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(BoundaryError::Exchanged(path.into())),
        Err(errno) => Err(failed("open", path, errno.into())),
    }
}
