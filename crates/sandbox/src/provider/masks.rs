//! What is covered in boundaries, as PID 1 must find it: in the very directory in which it was found.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use confine::protocol::{ExpectedMount, MountedFile};
use policy::plan::{Boundary, BoundaryMode, Execution, FileId, Plan};
use policy::text::escape;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::boundary::protect::mounts::Mounts;
use crate::boundary::root::Root;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// Lists what is hidden, but for what another boundary is mounted over.
pub(super) fn hidden(
    plan: &Plan,
    caller: Identity,
    protected: &[Mounts],
) -> Result<Vec<ExpectedMount>, StartError> {
    let mut all = Vec::new();
    for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
        if mounts.hidden.is_empty() {
            continue;
        }
        let failed = StartError::step("checking what is hidden");
        let root = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
        let root = root.enter().map_err(failed)?;
        for one in &mounts.hidden {
            let path = boundary.guest.join(&one.path);
            if plan.boundaries.iter().any(|other| is_within(other, boundary, &path)) {
                continue;
            }
            let directory = holds(&root, &one.path, one.file_id).map_err(failed)?;
            let file = MountedFile::Hidden { directory, file: one.file_id };
            all.push(ExpectedMount {
                path,
                file,
                mode: BoundaryMode::ReadOnly,
                execution: Execution::Allowed,
            });
        }
    }
    Ok(all)
}

/// Returns whether a path in a boundary lies in another one that is mounted within it.
fn is_within(inner: &Boundary, outer: &Boundary, path: &Path) -> bool {
    inner.guest != outer.guest && inner.guest.starts_with(&outer.guest) && path.starts_with(&inner.guest)
}

/// Identifies the directory that something lies in: that one, and not what somebody has put in its place since it was
/// found.
pub(super) fn holds(root: impl AsFd, path: &Path, file_id: FileId) -> io::Result<FileId> {
    let identify = || {
        let (directory, name) = beneath::parent(root, path)?;
        let there = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if beneath::file_id(&there) == file_id {
            Ok(beneath::file_id(&rustix::fs::fstat(directory)?))
        } else {
            Err(Errno::STALE)
        }
    };
    identify().map_err(|errno| io::Error::other(exchanged(path, errno)))
}

/// Describes a path that somebody has moved or removed since it was found.
pub(super) fn exchanged(path: &Path, errno: Errno) -> String {
    format!("`{}` was exchanged meanwhile ({errno}); run again when nothing changes it", escape::path(path))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_lies_in_the_directory_that_it_was_found_in() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir(path("d")).unwrap();
        fs::create_dir(path("decoy")).unwrap();
        fs::write(path("decoy/s"), "").unwrap();
        let _listener = UnixListener::bind(path("d/s")).unwrap();
        let root = File::open(top.path()).unwrap();
        let id = |name: &str| beneath::file_id(&beneath::stat(&root, Path::new(name)).unwrap());
        let socket = (Path::new("d/s"), id("d/s"));
        assert_eq!(holds(&root, socket.0, socket.1).unwrap(), id("d"));

        fs::rename(path("d"), path("between")).unwrap();
        fs::rename(path("decoy"), path("d")).unwrap();
        let said = holds(&root, socket.0, socket.1).unwrap_err().to_string();
        assert!(said.contains("`d/s` was exchanged"), "{said}");
        fs::remove_file(path("d/s")).unwrap();
        let said = holds(&root, socket.0, socket.1).unwrap_err().to_string();
        assert!(said.contains("`d/s` was exchanged"), "{said}");
    }
}
