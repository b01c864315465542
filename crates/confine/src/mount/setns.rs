//! Mounting in the mount namespace of a container what its engine cannot: trees whose owners are mapped.
//!
//! Only root does this, and in a process of its own: setns(2) takes a process with one thread.
//!
//! The container's first process is known by its number, and may run as the very user who wants root to mount elsewhere: that
//! user can kill it and have another process take the number, root's own services included. So a namespace is recognised
//! from inside, by a mount that no other one has, before anything is mounted in it.
//!
//! What an image brings is closed here as well: a container of root's may have the user of somebody on this host, who reaches
//! its files from outside by `/proc/PID/root`, where no control group keeps them from devices.

use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use policy::plan::FileId;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::file_id::file_id;
use crate::kernel_file::{KernelFileSystem, namespace_inode};
use crate::mount::mountinfo;
use crate::protocol::{ControlSocket, MountPlan, SETNS_ARGUMENT, Step};
use crate::{mount, sys};

/// A mount that one mount namespace has and no other one, by which it is recognised.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DistinctMount {
    /// Absolute, and without links.
    pub path: PathBuf,
    /// What is mounted there. Nobody but the owner of the container can reach it by another path.
    pub file: FileId,
}

/// Trees in which no image has a file: what is mounted there is the engine's own, or PID 1 ends the start.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// What is to be mounted. Descriptors: the namespace, then the trees of the plan.
#[derive(Debug, Deserialize, Serialize)]
struct MountRequest {
    container: DistinctMount,
    mounts: MountPlan,
}

/// The response.
#[derive(Debug, Deserialize, Serialize)]
enum MountResponse {
    Mounted,
    Failed { step: Step, errno: i32 },
}

/// Why nothing, or not all, was mounted.
#[derive(Debug, thiserror::Error)]
pub enum SetnsError {
    #[error("{step}: {source}")]
    Step { step: Step, source: io::Error },
    /// The process could not be started, or has not answered.
    #[error(transparent)]
    Process(#[from] io::Error),
}

/// Carries out a mount plan in the mount namespace of the process `pid`, if that is the one of `container`. `program` is the
/// program of PID 1.
///
/// # Errors
///
/// [`Step::Container`] where the process is in another mount namespace. Nothing is mounted there.
pub fn mount_in(
    program: &OwnedFd,
    pid: i32,
    container: DistinctMount,
    mut mounts: MountPlan,
) -> Result<(), SetnsError> {
    // 1. The namespace. The number may have become that of any process.
    let namespace = File::open(format!("/proc/{pid}/ns/mnt"))?;
    if namespace.metadata()?.ino() == namespace_inode("mnt")? {
        return Err(SetnsError::Process(io::Error::other(
            "the process is in the mount namespace of the host",
        )));
    }

    // 2. A process that enters it.
    let (mut ours, theirs) = ControlSocket::pair()?;
    let mut child = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .arg(SETNS_ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;

    // 3. What it is to mount there.
    let trees = mounts.take_trees();
    let descriptors: Vec<BorrowedFd<'_>> =
        std::iter::once(namespace.as_fd()).chain(trees.iter().map(AsFd::as_fd)).collect();
    let response = ours.send(&MountRequest { container, mounts }, &descriptors).and_then(|()| ours.receive());
    child.wait()?;
    match response? {
        Some(MountResponse::Mounted) => Ok(()),
        Some(MountResponse::Failed { step, errno }) => {
            Err(SetnsError::Step { step, source: io::Error::from_raw_os_error(errno) })
        }
        None => Err(SetnsError::Process(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Runs the process that enters the namespace and mounts. The returned code is its exit status.
pub fn run() -> io::Result<u8> {
    let mut control = ControlSocket::from(sys::duplicate_inherited(0)?);
    let Some(MountRequest { container, mut mounts }) = control.receive()? else { return Ok(125) };
    let mut descriptors = control.take_descriptors();
    if descriptors.is_empty() {
        return Ok(125);
    }
    let namespace = descriptors.remove(0);
    mounts.claim_trees(&mut descriptors);
    // In the container it would be what the engine has mounted there.
    let itself = KernelFileSystem::Processes.find("/proc/self")?;
    let entered = move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
        .and_then(|()| {
            rustix::fs::open(c"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        })
        .map_err(|errno| (Step::Setns, errno));
    // 4. Is it the one?
    let recognised = entered.and_then(|root| match container.is_in(root.as_fd()) {
        Ok(true) => Ok(root),
        Ok(false) => Err((Step::Container, Errno::STALE)),
        Err(errno) => Err((Step::Container, errno)),
    });
    // 5. Nodes of devices and set-id files that the image has brought do nothing from now on. The agent may be a user of this host,
    //    and what a control group keeps from the agent it does not keep from that user, who opens a node by `/proc/PID/root`. Until
    //    now that was closed: PID 1 is not dumpable, and nothing else runs in there.
    let closed = recognised.and_then(|root| match close_devices(root.as_fd(), itself.as_fd()) {
        Ok(()) => Ok(root),
        Err(errno) => Err((Step::Devices, errno)),
    });
    // 6. Then what is to be mounted.
    let mounted = closed.and_then(|root| {
        mount::execute(&mounts, root.as_fd()).map_err(|(step, errno)| (Step::Mount(step), errno))
    });
    let (response, code) = match mounted {
        Ok(()) => (MountResponse::Mounted, 0),
        Err((step, errno)) => (MountResponse::Failed { step, errno: errno.raw_os_error() }, 125),
    };
    control.send(&response, &[])?;
    Ok(code)
}

/// Closes the nodes of devices in everything that is mounted in this namespace, but for what is the kernel's: the rootfs of the image,
/// and its volumes, into which an engine copies nodes, too. `itself` is this process in `/proc`.
fn close_devices(root: BorrowedFd<'_>, itself: BorrowedFd<'_>) -> Result<(), Errno> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    let mut text = Vec::new();
    let mountinfo =
        rustix::fs::openat(itself, c"mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(mountinfo)
        .read_to_end(&mut text)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let points = mountinfo::parse(&text).map(|mount| mount.point);
    for point in points.filter(|point| !OF_THE_KERNEL.iter().any(|tree| point.starts_with(tree))) {
        let Some(mount) = open_in(root, &point)? else { continue };
        let found = rustix::fs::statx(&mount, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
        // What another mount covers, no path leads to.
        if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
            sys::mount_setattr(mount.as_fd(), false, u64::from(attributes.bits()), None)?;
        }
    }
    Ok(())
}

/// Opens something in a rootfs, through no link, to be looked at; `None` where it is not there.
fn open_in(root: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

impl DistinctMount {
    /// Returns whether it is there in a rootfs.
    fn is_in(&self, root: BorrowedFd<'_>) -> Result<bool, Errno> {
        open_in(root, &self.path)?.map_or(Ok(false), |found| Ok(file_id(found)? == self.file))
    }
}
