//! The rootfs of a sandbox: what PID 1 mounts in its fresh namespaces, before it gives up the right to do so.

use std::os::fd::{AsFd, OwnedFd};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, unmount,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::protocol::{MountPlan, Step};
use crate::{mount, sys};

/// A step that failed, and how.
pub(crate) type FailedStep = (Step, Errno);

/// Creates the namespaces that this process was not created in, and so leaves those of the host. Allocates nothing.
///
/// The namespaces belong to the user namespace of this process, as they would had they been made together with it.
pub(crate) fn unshare_namespaces() -> Result<(), FailedStep> {
    let namespaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    unshare(namespaces).map_err(|errno| (Step::Namespaces, Errno::from_raw_os_error(errno as i32)))
}

/// A rootfs that is being made.
pub(crate) struct NewRootfs {
    root: OwnedFd,
    /// Whether it is the root of this process.
    is_root: bool,
}

/// Mounts the part of the rootfs that is the same whatever is run there.
pub(crate) fn prepare(mounts: &MountPlan, hostname: &str) -> Result<NewRootfs, FailedStep> {
    // 1. What is mounted here stays here, and what the host mounts later does not come in.
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(failed(Step::Propagation))?;

    // 2. A name of its own: the host's is nobody's business.
    rustix::system::sethostname(hostname.as_bytes()).map_err(failed(Step::Hostname))?;

    // 3. Loopback up: test servers listen there, and nothing else is reachable.
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(failed(Step::Loopback))?;
    sys::loopback_up(socket.as_fd()).map_err(failed(Step::Loopback))?;

    // 4. An empty root. It lies on top of the old one, where absolute paths do not lead: they still start at
    //    the old root, so sources are found wherever they are, /tmp included.
    let rootfs = NewRootfs { root: empty_tmpfs().map_err(failed(Step::Rootfs))?, is_root: false };

    // 5. What every sandbox sees.
    rootfs.mount(mounts)?;
    Ok(rootfs)
}

impl NewRootfs {
    /// Completes it, and makes it the root of this process (`pivot_root(2)`).
    pub(crate) fn complete(mut self, mounts: &MountPlan) -> Result<(), FailedStep> {
        // 6. Everything else there is to see.
        self.mount(mounts)?;

        if !self.is_root {
            self.pivot()?;
        }

        // 8. The root itself changes no more.
        let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        sys::mount_setattr(self.root.as_fd(), false, u64::from(read_only.bits()), None)
            .map_err(failed(Step::ReadOnlyRootfs))
    }

    /// Makes it the root. From then on nothing of the host's can be mounted by its path.
    pub(crate) fn pivot(&mut self) -> Result<(), FailedStep> {
        // 7. Make it the root, and unmount the host's file systems: pivot_root(2) with both paths the same puts the
        //    old root on top, where it is unmounted from. chroot(2) would leave a way back. The kernel waits for other
        //    processors meanwhile, so this comes before step 6 where that needs none of the host's paths.
        rustix::process::fchdir(&self.root).map_err(failed(Step::PivotRoot))?;
        rustix::process::pivot_root(c".", c".").map_err(failed(Step::PivotRoot))?;
        unmount(c".", UnmountFlags::DETACH).map_err(failed(Step::UnmountHost))?;
        rustix::process::chdir(c"/").map_err(failed(Step::UnmountHost))?;
        self.is_root = true;
        Ok(())
    }

    /// Mounts more of it.
    pub(crate) fn mount(&self, mounts: &MountPlan) -> Result<(), FailedStep> {
        rustix::process::umask(Mode::empty());
        mount::execute(mounts, self.root.as_fd()).map_err(|(step, errno)| (Step::Mount(step), errno))?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        Ok(())
    }
}

fn failed(step: Step) -> impl FnOnce(Errno) -> FailedStep {
    move |errno| (step, errno)
}

/// Mounts an empty tmpfs on top of `/`. Small: files of the sandbox lie in mounts of their own.
fn empty_tmpfs() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", c"0755")?;
    fsconfig_set_string(context.as_fd(), c"size", c"4m")?;
    fsconfig_create(context.as_fd())?;
    let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    move_mount(root.as_fd(), c"", rustix::fs::CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(root)
}
