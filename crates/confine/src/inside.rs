//! The inside of a sandbox: what PID 1 makes of its fresh namespaces, before it gives the right to do so up.

use std::os::fd::{AsFd, OwnedFd};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, unmount,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::enter::Step;
use crate::sys;
use crate::view::View;

/// What was being done, and how it failed.
pub(crate) type Failed = (Step, Errno);

/// Leaves every namespace of the host that this process was born in.
///
/// The namespaces belong to the user namespace of this process, as they would had they been made together with it.
pub(crate) fn leave_the_hosts() -> Result<(), Failed> {
    let namespaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    unshare(namespaces).map_err(|errno| (Step::Namespaces, Errno::from_raw_os_error(errno as i32)))
}

/// A root that nobody has moved into yet.
pub(crate) struct Root(OwnedFd);

/// Begins with the inside: what is the same whatever is run there.
pub(crate) fn begin(view: &View, hostname: &str) -> Result<Root, Failed> {
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
    let root = Root(empty_root().map_err(failed(Step::Root))?);

    // 5. What every sandbox sees.
    root.show(view)?;
    Ok(root)
}

impl Root {
    /// Completes the inside, and moves into it.
    pub(crate) fn complete(self, view: &View) -> Result<(), Failed> {
        // 6. Everything else there is to see.
        self.show(view)?;

        // 7. Make it the root, and let the host's file systems go: pivot_root(2) with both paths the same puts the
        //    old root on top, where it is unmounted from. chroot(2) would leave a way back.
        let Self(root) = self;
        rustix::process::fchdir(&root).map_err(failed(Step::Pivot))?;
        rustix::process::pivot_root(c".", c".").map_err(failed(Step::Pivot))?;
        unmount(c".", UnmountFlags::DETACH).map_err(failed(Step::Detach))?;
        rustix::process::chdir(c"/").map_err(failed(Step::Detach))?;

        // 8. The root itself changes no more.
        let sealed = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        sys::mount_setattr(root.as_fd(), false, u64::from(sealed.bits()), None).map_err(failed(Step::Seal))
    }

    fn show(&self, view: &View) -> Result<(), Failed> {
        rustix::process::umask(Mode::empty());
        view.build(self.0.as_fd()).map_err(|(described, errno)| (Step::View(described), errno))?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        Ok(())
    }
}

fn failed(step: Step) -> impl FnOnce(Errno) -> Failed {
    move |errno| (step, errno)
}

/// An empty tmpfs mounted on top of `/`. Small: files of the sandbox lie in mounts of their own.
fn empty_root() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", c"0755")?;
    fsconfig_set_string(context.as_fd(), c"size", c"4m")?;
    fsconfig_create(context.as_fd())?;
    let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    move_mount(root.as_fd(), c"", rustix::fs::CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(root)
}
