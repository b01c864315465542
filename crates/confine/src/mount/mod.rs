//! Mounting: carries out a mount plan, one operation after the other.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::plan::{BoundaryMode, FileId};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::protocol::{
    BindOrigin, Cover, Entry, FilesystemType, Lookup, Mount, MountAccess, MountKind, MountPlan, MountStep,
    NewFilesystem, Operation,
};
use crate::sys;

pub mod idmap;
pub mod mountinfo;
pub(crate) mod rootfs;
pub mod setns;

/// Carries out a mount plan in `root`, an empty directory.
pub(crate) fn execute(plan: &MountPlan, root: BorrowedFd<'_>) -> Result<(), (MountStep, Errno)> {
    plan.operations().iter().try_for_each(|operation| match operation {
        Operation::Entry(entry) => entry.create(root).map_err(|errno| (entry.step(), errno)),
        Operation::Mount(mount) => mount.mount(root, plan.trees()).map_err(|errno| (mount.step(), errno)),
    })
}

impl Entry {
    fn step(&self) -> MountStep {
        let (Self::Directory { path, .. } | Self::Symlink { path, .. } | Self::File { path, .. }) = self;
        MountStep::Create { path: from_root(path) }
    }

    fn create(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        match self {
            Self::Directory { path, mode } => {
                rustix::fs::mkdirat(root, path.as_c_str(), Mode::from_raw_mode(*mode))
            }
            Self::Symlink { path, target } => rustix::fs::symlinkat(target.as_c_str(), root, path.as_c_str()),
            Self::File { path, content, mode } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(root, path.as_c_str(), flags, Mode::from_raw_mode(*mode))?;
                let mut rest = content.as_slice();
                while !rest.is_empty() {
                    rest = &rest[rustix::io::write(&file, rest)?..];
                }
                Ok(())
            }
        }
    }
}

impl Mount {
    fn step(&self) -> MountStep {
        let path = from_root(&self.path);
        match &self.kind {
            MountKind::New(filesystem) => MountStep::New { filesystem: filesystem.kind(), path },
            MountKind::Bind { origin: BindOrigin::Host(host), .. } => {
                MountStep::Bind { source: Path::new(OsStr::from_bytes(host.to_bytes())).to_owned(), path }
            }
            MountKind::Bind { origin: BindOrigin::Tree(_), .. } => MountStep::Attach { path },
            MountKind::Bind { origin: BindOrigin::Itself, .. } => MountStep::Pin { path },
            MountKind::Mask { .. } => MountStep::Mask { path },
        }
    }

    fn mount(&self, root: BorrowedFd<'_>, trees: &[OwnedFd]) -> Result<(), Errno> {
        match self.lookup {
            Lookup::Plain => {
                let onto = |tree: BorrowedFd<'_>| {
                    move_mount(tree, c"", root, self.path.as_c_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                };
                self.attach(root, self.path.as_c_str(), trees, onto)
            }
            Lookup::NoSymlinks => {
                // No component may be a link: an agent may have put one where we are about to mount.
                let flags = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                let open = OFlags::PATH | OFlags::CLOEXEC;
                let target = rustix::fs::openat2(root, self.path.as_c_str(), open, Mode::empty(), flags)?;
                let empty = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
                let onto = |tree: BorrowedFd<'_>| move_mount(tree, c"", &target, c"", empty);
                self.attach(target.as_fd(), c"", trees, onto)
            }
        }
    }

    /// Makes the tree and attaches it. The target is `path` beneath `directory`.
    fn attach(
        &self,
        directory: BorrowedFd<'_>,
        path: &CStr,
        trees: &[OwnedFd],
        onto: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        match &self.kind {
            MountKind::New(filesystem) => {
                let context = fsopen(filesystem.name(), FsOpenFlags::FSOPEN_CLOEXEC)?;
                for (key, value) in filesystem.options() {
                    fsconfig_set_string(context.as_fd(), key, value)?;
                }
                fsconfig_create(context.as_fd())?;
                let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, filesystem.attributes())?;
                onto(tree.as_fd())
            }
            MountKind::Bind { origin, access, expected } => {
                let clone = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                let made;
                let tree = match origin {
                    BindOrigin::Tree(at) => trees.get(*at).ok_or(Errno::BADF)?.as_fd(),
                    BindOrigin::Host(path) => {
                        let clone = clone | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
                        made = open_tree(rustix::fs::CWD, path.as_c_str(), clone)?;
                        made.as_fd()
                    }
                    BindOrigin::Itself => {
                        made = open_tree(directory, path, clone | OpenTreeFlags::AT_EMPTY_PATH)?;
                        made.as_fd()
                    }
                };
                if let Some(expected) = expected {
                    verify_file_id(*expected, tree, c"")?;
                }
                // A tree made by the caller is in its final state, and may not be ours to change. A device can
                // do no more through this mount than it could through the host's.
                if !matches!(origin, BindOrigin::Tree(_)) && *access != MountAccess::Device {
                    sys::mount_setattr(tree, true, access.attributes(), None)?;
                }
                onto(tree)
            }
            MountKind::Mask { covered, by } => {
                verify_file_id(*covered, directory, path)?;
                onto(by.tree()?.as_fd())
            }
        }
    }
}

impl Cover {
    /// Makes what covers something. Nothing in it can be changed.
    fn tree(self) -> Result<OwnedFd, Errno> {
        let plain = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
        match self {
            Self::Nothing => detached_tree(null()?.as_fd(), MountAccess::ReadOnly, None),
            Self::EmptyFile => {
                let tree = clone_of(null()?.as_fd())?;
                let attributes = plain | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                sys::mount_setattr(tree.as_fd(), true, u64::from(attributes.bits()), None)?;
                Ok(tree)
            }
            Self::EmptyDirectory => {
                let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
                for (key, value) in [(c"size", c"4096"), (c"nr_inodes", c"1"), (c"mode", c"0555")] {
                    fsconfig_set_string(context.as_fd(), key, value)?;
                }
                fsconfig_create(context.as_fd())?;
                let attributes = plain | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
            }
        }
    }
}

/// Opens the device that covers files.
fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open(c"/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

impl NewFilesystem {
    fn kind(&self) -> FilesystemType {
        match self {
            Self::Tmpfs { .. } => FilesystemType::Tmpfs,
            Self::Proc => FilesystemType::Proc,
            Self::Devpts => FilesystemType::Devpts,
        }
    }

    fn name(&self) -> &'static CStr {
        match self {
            Self::Tmpfs { .. } => c"tmpfs",
            Self::Proc => c"proc",
            Self::Devpts => c"devpts",
        }
    }

    fn options(&self) -> Vec<(&'static CStr, &CStr)> {
        match self {
            // By default a tmpfs has an inode for every second page of the machine's memory (tmpfs(5)).
            Self::Tmpfs { size, inodes, mode } => {
                vec![(c"size", size), (c"nr_inodes", inodes), (c"mode", mode)]
            }
            Self::Proc => Vec::new(),
            // All instances share one number of terminals (`kernel.pty.max`), of which only the host's own has some for itself.
            Self::Devpts => vec![(c"ptmxmode", c"0666"), (c"mode", c"0620"), (c"max", c"128")],
        }
    }

    fn attributes(&self) -> MountAttrFlags {
        let plain = MountAttrFlags::MOUNT_ATTR_NOSUID;
        match self {
            Self::Tmpfs { .. } => plain | MountAttrFlags::MOUNT_ATTR_NODEV,
            Self::Proc => plain | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC,
            Self::Devpts => plain | MountAttrFlags::MOUNT_ATTR_NOEXEC,
        }
    }
}

impl MountAccess {
    /// Returns the mount attributes that hold an agent to this access.
    pub fn attributes(self) -> u64 {
        let no_device = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let attributes = match self {
            Self::ReadOnly => no_device | MountAttrFlags::MOUNT_ATTR_RDONLY,
            Self::ReadWrite => no_device,
            Self::NoExec(mode) => {
                let read_only = match mode {
                    BoundaryMode::ReadOnly => MountAttrFlags::MOUNT_ATTR_RDONLY,
                    BoundaryMode::ReadWrite => MountAttrFlags::empty(),
                };
                no_device | read_only | MountAttrFlags::MOUNT_ATTR_NOEXEC
            }
            Self::Device => MountAttrFlags::empty(),
        };
        u64::from(attributes.bits())
    }
}

/// Makes a detached copy of what an open file or directory shows on the host, ready to be attached inside: for callers that
/// may mount. By descriptor: a path could lead elsewhere by now.
///
/// `id_map` is a user namespace that maps the owner on disk to the sandbox's user.
pub fn detached_tree(
    origin: BorrowedFd<'_>,
    access: MountAccess,
    id_map: Option<BorrowedFd<'_>>,
) -> Result<OwnedFd, Errno> {
    let tree = clone_of(origin)?;
    sys::mount_setattr(tree.as_fd(), true, access.attributes(), id_map)?;
    Ok(tree)
}

/// Copies what an open file or directory shows, with all that is mounted below it.
fn clone_of(origin: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(origin, c"", flags)
}

/// Refuses what somebody has swapped between the check and now.
fn verify_file_id(expected: FileId, directory: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    let found = rustix::fs::statat(directory, path, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW)?;
    let same = (found.st_dev, found.st_ino) == (expected.device, expected.inode);
    if same { Ok(()) } else { Err(Errno::STALE) }
}

fn from_root(path: &CStr) -> PathBuf {
    Path::new("/").join(OsStr::from_bytes(path.to_bytes()))
}
