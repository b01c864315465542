//! The view: everything a sandbox sees, as data, and how it is built.
//!
//! A view is written down before the sandbox exists and built by its first process, which must not allocate:
//! every string is a C string already, and building is nothing but system calls in the order of the list.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::plan::FileId;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::sys;

/// A root file system: what lies in it and what is mounted on it, in the order in which it is made.
///
/// Entries are made on file systems of the view's own, which nobody else can reach, so their paths may be followed
/// plainly. A mount point may lie in a directory that an agent has written to: no link on the way there is followed.
#[derive(Debug, Default)]
pub struct View(Vec<Operation>);

#[derive(Debug)]
enum Operation {
    Entry(Entry),
    Mount(Mount),
}

#[derive(Debug)]
enum Entry {
    Directory { path: CString, mode: Mode },
    Symlink { path: CString, target: CString },
    File { path: CString, content: Vec<u8>, mode: Mode },
}

#[derive(Debug)]
struct Mount {
    what: What,
    path: CString,
    way: Way,
}

/// What lies on the way to a mount point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// Entries of this view only, which nobody else has touched.
    Own,
    /// Perhaps a directory that an agent has written to.
    Shared,
}

#[derive(Debug)]
enum What {
    Fresh { kind: &'static CStr, options: Vec<(&'static CStr, CString)>, attributes: MountAttrFlags },
    Bind { source: Source, access: Access, expected: Option<FileId> },
}

/// Where a bind mount comes from.
#[derive(Debug)]
pub enum Source {
    /// A path of the host, with all that is mounted below it; a link at its end is not followed.
    Host(CString),
    /// A detached tree that the caller has made, in its final state.
    Tree(OwnedFd),
    /// What the view shows at the mount's own path.
    Itself,
}

/// What may be done through a bind mount.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Read and execute.
    ReadOnly,
    /// Everything but device nodes and set-uid programs.
    ReadWrite,
    /// A device node.
    Device,
}

impl View {
    /// Adds a directory; its parent must have been added before.
    pub fn directory(&mut self, path: impl Into<Vec<u8>>, mode: u32) -> &mut Self {
        self.entry(Entry::Directory { path: relative(path), mode: Mode::from_raw_mode(mode) })
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: impl Into<Vec<u8>>, target: impl Into<Vec<u8>>) -> &mut Self {
        self.entry(Entry::Symlink { path: relative(path), target: c_string(target) })
    }

    /// Adds a file.
    pub fn file(&mut self, path: impl Into<Vec<u8>>, content: impl Into<Vec<u8>>, mode: u32) -> &mut Self {
        let (content, mode) = (content.into(), Mode::from_raw_mode(mode));
        self.entry(Entry::File { path: relative(path), content, mode })
    }

    /// Mounts a fresh tmpfs of at most `size` bytes.
    pub fn tmpfs(&mut self, path: impl Into<Vec<u8>>, size: u64, mode: &'static str) -> &mut Self {
        let options = vec![(c"size", c_string(size.to_string())), (c"mode", c_string(mode))];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        self.mount(What::Fresh { kind: c"tmpfs", options, attributes }, path)
    }

    /// Mounts the processes of this PID namespace.
    pub fn proc(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        self.mount(What::Fresh { kind: c"proc", options: Vec::new(), attributes }, path)
    }

    /// Mounts a fresh instance of devpts: the sandbox's own terminals and nobody else's.
    pub fn devpts(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        let options = vec![(c"ptmxmode", c_string("0666")), (c"mode", c_string("0620"))];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        self.mount(What::Fresh { kind: c"devpts", options, attributes }, path)
    }

    /// Binds a file or directory. With `expected`, only if it is that very one.
    pub fn bind(
        &mut self,
        source: Source,
        path: impl Into<Vec<u8>>,
        access: Access,
        expected: Option<FileId>,
    ) -> &mut Self {
        self.mount(What::Bind { source, access, expected }, path)
    }

    fn entry(&mut self, entry: Entry) -> &mut Self {
        self.0.push(Operation::Entry(entry));
        self
    }

    fn mount(&mut self, what: What, path: impl Into<Vec<u8>>) -> &mut Self {
        let path = relative(path);
        let shared = self.0.iter().any(|operation| operation.shares(&path));
        let way = if shared { Way::Shared } else { Way::Own };
        self.0.push(Operation::Mount(Mount { what, path, way }));
        self
    }

    /// What operation `at` does, for an error message.
    pub(crate) fn describe(&self, at: usize) -> String {
        match self.0.get(at) {
            Some(Operation::Entry(entry)) => entry.describe(),
            Some(Operation::Mount(mount)) => mount.describe(),
            None => "building the view".into(),
        }
    }

    /// Builds the view in `root`, an empty directory. Allocates nothing.
    ///
    /// Fails with the number of the operation that failed.
    pub(crate) fn build(&self, root: BorrowedFd<'_>) -> Result<(), (usize, Errno)> {
        self.0.iter().enumerate().try_for_each(|(at, operation)| {
            match operation {
                Operation::Entry(entry) => entry.make(root),
                Operation::Mount(mount) => mount.make(root),
            }
            .map_err(|errno| (at, errno))
        })
    }
}

impl Operation {
    /// Whether an agent may have written to what lies at `path`, once this is done.
    fn shares(&self, path: &CStr) -> bool {
        match self {
            Self::Mount(Mount {
                what: What::Bind { access: Access::ReadWrite, .. }, path: shared, ..
            }) => is_beneath(path, shared),
            _ => false,
        }
    }
}

impl Entry {
    fn describe(&self) -> String {
        let (Self::Directory { path, .. } | Self::Symlink { path, .. } | Self::File { path, .. }) = self;
        format!("creating /{}", path.to_string_lossy())
    }

    fn make(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        match self {
            Self::Directory { path, mode } => rustix::fs::mkdirat(root, path.as_c_str(), *mode),
            Self::Symlink { path, target } => rustix::fs::symlinkat(target.as_c_str(), root, path.as_c_str()),
            Self::File { path, content, mode } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(root, path.as_c_str(), flags, *mode)?;
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
    fn describe(&self) -> String {
        let path = self.path.to_string_lossy();
        match &self.what {
            What::Fresh { kind, .. } => format!("mounting a fresh {} on /{path}", kind.to_string_lossy()),
            What::Bind { source: Source::Host(host), .. } => {
                format!("mounting {} on /{path}", host.to_string_lossy())
            }
            What::Bind { source: Source::Tree(_), .. } => format!("mounting a tree of the host on /{path}"),
            What::Bind { source: Source::Itself, .. } => format!("pinning /{path}"),
        }
    }

    fn make(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        match self.way {
            Way::Own => {
                let onto = |tree: BorrowedFd<'_>| {
                    move_mount(tree, c"", root, self.path.as_c_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                };
                self.attach(root, self.path.as_c_str(), onto)
            }
            Way::Shared => {
                // No component may be a link: an agent may have put one where we are about to mount.
                let flags = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                let open = OFlags::PATH | OFlags::CLOEXEC;
                let target = rustix::fs::openat2(root, self.path.as_c_str(), open, Mode::empty(), flags)?;
                let empty = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
                let onto = |tree: BorrowedFd<'_>| move_mount(tree, c"", &target, c"", empty);
                self.attach(target.as_fd(), c"", onto)
            }
        }
    }

    /// Makes the tree and attaches it. The target is `path` beneath `directory`.
    fn attach(
        &self,
        directory: BorrowedFd<'_>,
        path: &CStr,
        onto: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        match &self.what {
            What::Fresh { kind, options, attributes } => {
                let context = fsopen(*kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
                for (key, value) in options {
                    fsconfig_set_string(context.as_fd(), *key, value.as_c_str())?;
                }
                fsconfig_create(context.as_fd())?;
                let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, *attributes)?;
                onto(tree.as_fd())
            }
            What::Bind { source, access, expected } => {
                let clone = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                let made;
                let tree = match source {
                    Source::Tree(tree) => tree.as_fd(),
                    Source::Host(path) => {
                        let clone = clone | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
                        made = open_tree(rustix::fs::CWD, path.as_c_str(), clone)?;
                        made.as_fd()
                    }
                    Source::Itself => {
                        made = open_tree(directory, path, clone | OpenTreeFlags::AT_EMPTY_PATH)?;
                        made.as_fd()
                    }
                };
                if let Some(expected) = expected {
                    let found = rustix::fs::fstat(tree)?;
                    if (found.st_dev, found.st_ino) != (expected.device, expected.inode) {
                        // Somebody swapped it between the check and now.
                        return Err(Errno::STALE);
                    }
                }
                // A tree made by the caller is in its final state, and may not be ours to change. A device can
                // do no more through this mount than it could through the host's.
                if !matches!(source, Source::Tree(_)) && *access != Access::Device {
                    sys::mount_setattr(tree, true, access.attributes(), None)?;
                }
                onto(tree)
            }
        }
    }
}

impl Access {
    /// The mount attributes that hold an agent to this access.
    pub fn attributes(self) -> u64 {
        let no_device = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let attributes = match self {
            Self::ReadOnly => no_device | MountAttrFlags::MOUNT_ATTR_RDONLY,
            Self::ReadWrite => no_device,
            Self::Device => MountAttrFlags::empty(),
        };
        u64::from(attributes.bits())
    }
}

/// A detached copy of what `path` shows on the host, ready to be attached inside: for callers that may mount.
///
/// `id_map` is a user namespace that maps the owner on disk to the sandbox's user.
pub fn detached_tree(path: &CStr, access: Access, id_map: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = open_tree(rustix::fs::CWD, path, flags)?;
    sys::mount_setattr(tree.as_fd(), true, access.attributes(), id_map)?;
    Ok(tree)
}

/// Which file an open descriptor is.
pub fn file_id(fd: impl AsFd) -> Result<FileId, Errno> {
    let found = rustix::fs::statat(fd, c"", AtFlags::EMPTY_PATH)?;
    Ok(FileId { device: found.st_dev, inode: found.st_ino })
}

/// Whether `path` lies beneath `directory`.
fn is_beneath(path: &CStr, directory: &CStr) -> bool {
    path.to_bytes().strip_prefix(directory.to_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// A path of the view, relative to its root.
fn relative(path: impl Into<Vec<u8>>) -> CString {
    let path = path.into();
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    c_string(&path[start..])
}

/// Cuts at a NUL: paths come from a validated plan, which has none.
fn c_string(text: impl Into<Vec<u8>>) -> CString {
    let mut text = text.into();
    if let Some(nul) = text.iter().position(|byte| *byte == 0) {
        text.truncate(nul);
    }
    CString::new(text).unwrap_or_default()
}
