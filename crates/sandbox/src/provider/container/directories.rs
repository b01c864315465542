//! Directories that an engine of root's is to mount so that others may write in them: held open until it has.
//!
//! An engine makes missing mount points as root, in whatever lies at a path by then, before anybody can look. Whoever may
//! rename something on the way would choose where. A descriptor leads to what was opened, wherever that is by now
//! (`proc_pid_fd(5)`). A runtime cannot take it: it mounts in the namespace of the container, where nothing of another
//! namespace can be bound (mount(2), EINVAL). But Docker's driver for local volumes mounts in the namespace of the engine.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::plan::{BoundaryMode, Plan};
use rustix::io::Errno;

use crate::boundary::protect::mounts::Mounts;
use crate::boundary::root::Root;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::provider::masks::exchanged;
use crate::session::error::StartError;

/// Directories by their path on the host. What is mounted read-only is not among them: in it nothing can be made.
#[derive(Default)]
pub(super) struct HeldDirectories(BTreeMap<PathBuf, OwnedFd>);

impl HeldDirectories {
    /// Opens the writable boundaries, and what is pinned in them.
    pub(super) fn open(plan: &Plan, caller: Identity, protected: &[Mounts]) -> Result<Self, StartError> {
        let failed = StartError::step("opening what is to be mounted");
        let mut held = BTreeMap::new();
        for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
            if boundary.mode == BoundaryMode::ReadOnly {
                continue;
            }
            let root = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
            let root = root.enter().map_err(failed)?;
            for path in std::iter::once(Path::new("")).chain(mounts.pins.iter().map(PathBuf::as_path)) {
                let opened = beneath::directory(&root, path)
                    .map_err(|errno| failed(io::Error::other(exchanged(path, errno))))?;
                held.insert(boundary.host.join(path), opened);
            }
        }
        Ok(Self(held))
    }

    /// Fails if one of them does not lie at its path any more. The engine has mounted it there by its descriptor, and it lies under another
    /// name as well, where nothing covers what is in it.
    pub(super) fn check(
        &self,
        plan: &Plan,
        caller: Identity,
        protected: &[Mounts],
    ) -> Result<(), StartError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let again = Self::open(plan, caller, protected)?;
        let file_id = |held: &OwnedFd| rustix::fs::fstat(held).map(|stat| beneath::file_id(&stat));
        for (path, held) in &self.0 {
            if again.0.get(path).map(file_id) != Some(file_id(held)) {
                let failed = StartError::step("checking what was mounted");
                return Err(failed(io::Error::other(exchanged(path, Errno::STALE))));
            }
        }
        Ok(())
    }

    /// Returns the path by which the engine finds a directory, if it is held.
    pub(super) fn device(&self, host: &Path) -> Option<String> {
        let held = self.0.get(host)?;
        Some(format!("/proc/{}/fd/{}", std::process::id(), held.as_raw_fd()))
    }

    /// Returns how many there are. Docker keeps an account of each on disk.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
