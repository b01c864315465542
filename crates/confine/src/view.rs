//! The view: everything a sandbox sees, as data, and how it is built.
//!
//! A client writes it down and sends it to PID 1, which builds it: system calls in the order of the list.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::plan::FileId;
use policy::rules::limits::TmpfsLimits;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use serde::{Deserialize, Serialize};

use crate::sys;

/// A root file system: what lies in it and what is mounted on it, in the order in which it is made.
///
/// Entries are made on file systems of the view's own, which nobody else can reach, so their paths may be followed
/// plainly. A mount point may lie in a directory of the host, where somebody else may be writing: no link on the way
/// there is followed.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct View {
    operations: Vec<Operation>,
    /// Travel beside the text, as descriptors.
    #[serde(skip)]
    trees: Vec<OwnedFd>,
    /// What parts that were taken before show of the host.
    #[serde(skip)]
    shared: Vec<CString>,
}

#[derive(Debug, Deserialize, Serialize)]
enum Operation {
    Entry(Entry),
    Mount(Mount),
}

#[derive(Debug, Deserialize, Serialize)]
enum Entry {
    Directory { path: CString, mode: u32 },
    Symlink { path: CString, target: CString },
    File { path: CString, content: Vec<u8>, mode: u32 },
}

#[derive(Debug, Deserialize, Serialize)]
struct Mount {
    what: What,
    path: CString,
    way: Way,
}

/// What lies on the way to a mount point.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
enum Way {
    /// Entries of this view only, which nobody else has touched.
    Own,
    /// A directory of the host. That this sandbox may only read it keeps nobody else from writing.
    Shared,
}

#[derive(Debug, Deserialize, Serialize)]
enum What {
    Fresh(Fresh),
    Bind { origin: Origin, access: Access, expected: Option<FileId> },
    Mask { covered: FileId },
}

/// A file system that is made for this sandbox.
#[derive(Debug, Deserialize, Serialize)]
enum Fresh {
    Tmpfs { size: CString, inodes: CString, mode: CString },
    Proc,
    Devpts,
}

/// A [`Source`], as it is sent.
#[derive(Debug, Deserialize, Serialize)]
enum Origin {
    Host(CString),
    /// One of the trees that travel beside the view.
    Tree(usize),
    Itself,
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
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
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
        self.entry(Entry::Directory { path: relative(path), mode })
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: impl Into<Vec<u8>>, target: impl Into<Vec<u8>>) -> &mut Self {
        self.entry(Entry::Symlink { path: relative(path), target: c_string(target) })
    }

    /// Adds a file.
    pub fn file(&mut self, path: impl Into<Vec<u8>>, content: impl Into<Vec<u8>>, mode: u32) -> &mut Self {
        self.entry(Entry::File { path: relative(path), content: content.into(), mode })
    }

    /// Mounts a fresh tmpfs.
    pub fn tmpfs(&mut self, path: impl Into<Vec<u8>>, limits: TmpfsLimits, mode: &'static str) -> &mut Self {
        let number = |number: u64| c_string(number.to_string());
        let (size, inodes, mode) = (number(limits.size.0), number(limits.inodes), c_string(mode));
        self.mount(What::Fresh(Fresh::Tmpfs { size, inodes, mode }), path)
    }

    /// Mounts the processes of this PID namespace.
    pub fn proc(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        self.mount(What::Fresh(Fresh::Proc), path)
    }

    /// Mounts a fresh instance of devpts: the sandbox's own terminals and nobody else's.
    pub fn devpts(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        self.mount(What::Fresh(Fresh::Devpts), path)
    }

    /// Binds a file or directory. With `expected`, only if it is that very one.
    pub fn bind(
        &mut self,
        source: Source,
        path: impl Into<Vec<u8>>,
        access: Access,
        expected: Option<FileId>,
    ) -> &mut Self {
        let origin = match source {
            Source::Host(path) => Origin::Host(path),
            Source::Itself => Origin::Itself,
            Source::Tree(tree) => {
                self.trees.push(tree);
                Origin::Tree(self.trees.len() - 1)
            }
        };
        self.mount(What::Bind { origin, access, expected }, path)
    }

    /// Covers a file, if it is that very one, with an empty one that nobody listens on.
    pub fn mask(&mut self, path: impl Into<Vec<u8>>, covered: FileId) -> &mut Self {
        self.mount(What::Mask { covered }, path)
    }

    /// Takes what was added so far, to be built first.
    #[must_use]
    pub fn part(&mut self) -> Self {
        let shared = self.operations.iter().filter_map(Operation::shared).cloned();
        let shared = self.shared.iter().cloned().chain(shared).collect();
        std::mem::replace(self, Self { shared, ..Self::default() })
    }

    /// The trees, which are sent as descriptors beside the view.
    pub fn take_trees(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.trees)
    }

    /// Takes its trees out of the descriptors that came with it, where they stand first. What is left is not its own.
    pub(crate) fn claim_trees(&mut self, descriptors: &mut Vec<OwnedFd>) {
        let is_tree = |operation: &&Operation| {
            matches!(
                operation,
                Operation::Mount(Mount { what: What::Bind { origin: Origin::Tree(_), .. }, .. })
            )
        };
        let count = self.operations.iter().filter(is_tree).count().min(descriptors.len());
        let rest = descriptors.split_off(count);
        self.trees = std::mem::replace(descriptors, rest);
    }

    fn entry(&mut self, entry: Entry) -> &mut Self {
        self.operations.push(Operation::Entry(entry));
        self
    }

    fn mount(&mut self, what: What, path: impl Into<Vec<u8>>) -> &mut Self {
        let path = relative(path);
        let mut shared = self.shared.iter().chain(self.operations.iter().filter_map(Operation::shared));
        let shared = shared.any(|shared| is_beneath(&path, shared));
        let way = if shared { Way::Shared } else { Way::Own };
        self.operations.push(Operation::Mount(Mount { what, path, way }));
        self
    }

    /// Builds the view in `root`, an empty directory. Fails with what was being done, in words.
    pub(crate) fn build(&self, root: BorrowedFd<'_>) -> Result<(), (String, Errno)> {
        self.operations.iter().try_for_each(|operation| match operation {
            Operation::Entry(entry) => entry.make(root).map_err(|errno| (entry.describe(), errno)),
            Operation::Mount(mount) => {
                mount.make(root, &self.trees).map_err(|errno| (mount.describe(), errno))
            }
        })
    }
}

impl Operation {
    /// Where this shows what is the host's.
    fn shared(&self) -> Option<&CString> {
        match self {
            Self::Mount(Mount { what: What::Bind { .. }, path, .. }) => Some(path),
            _ => None,
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
    fn describe(&self) -> String {
        let path = self.path.to_string_lossy();
        match &self.what {
            What::Fresh(fresh) => {
                format!("mounting a fresh {} on /{path}", fresh.kind().to_string_lossy())
            }
            What::Bind { origin: Origin::Host(host), .. } => {
                format!("mounting {} on /{path}", host.to_string_lossy())
            }
            What::Bind { origin: Origin::Tree(_), .. } => format!("mounting a tree of the host on /{path}"),
            What::Bind { origin: Origin::Itself, .. } => format!("pinning /{path}"),
            What::Mask { .. } => format!("masking the socket /{path}"),
        }
    }

    fn make(&self, root: BorrowedFd<'_>, trees: &[OwnedFd]) -> Result<(), Errno> {
        match self.way {
            Way::Own => {
                let onto = |tree: BorrowedFd<'_>| {
                    move_mount(tree, c"", root, self.path.as_c_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                };
                self.attach(root, self.path.as_c_str(), trees, onto)
            }
            Way::Shared => {
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
        match &self.what {
            What::Fresh(fresh) => {
                let context = fsopen(fresh.kind(), FsOpenFlags::FSOPEN_CLOEXEC)?;
                for (key, value) in fresh.options() {
                    fsconfig_set_string(context.as_fd(), key, value)?;
                }
                fsconfig_create(context.as_fd())?;
                let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, fresh.attributes())?;
                onto(tree.as_fd())
            }
            What::Bind { origin, access, expected } => {
                let clone = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                let made;
                let tree = match origin {
                    Origin::Tree(at) => trees.get(*at).ok_or(Errno::BADF)?.as_fd(),
                    Origin::Host(path) => {
                        let clone = clone | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
                        made = open_tree(rustix::fs::CWD, path.as_c_str(), clone)?;
                        made.as_fd()
                    }
                    Origin::Itself => {
                        made = open_tree(directory, path, clone | OpenTreeFlags::AT_EMPTY_PATH)?;
                        made.as_fd()
                    }
                };
                if let Some(expected) = expected {
                    still_is(*expected, tree, c"")?;
                }
                // A tree made by the caller is in its final state, and may not be ours to change. A device can
                // do no more through this mount than it could through the host's.
                if !matches!(origin, Origin::Tree(_)) && *access != Access::Device {
                    sys::mount_setattr(tree, true, access.attributes(), None)?;
                }
                onto(tree)
            }
            What::Mask { covered } => {
                still_is(*covered, directory, path)?;
                onto(detached_tree(c"/dev/null", Access::ReadOnly, None)?.as_fd())
            }
        }
    }
}

impl Fresh {
    fn kind(&self) -> &'static CStr {
        match self {
            Self::Tmpfs { .. } => c"tmpfs",
            Self::Proc => c"proc",
            Self::Devpts => c"devpts",
        }
    }

    fn options(&self) -> Vec<(&'static CStr, &CStr)> {
        match self {
            // Unless told, a tmpfs has an inode for every second page of the machine's memory (tmpfs(5)).
            Self::Tmpfs { size, inodes, mode } => {
                vec![(c"size", size), (c"nr_inodes", inodes), (c"mode", mode)]
            }
            Self::Proc => Vec::new(),
            Self::Devpts => vec![(c"ptmxmode", c"0666"), (c"mode", c"0620")],
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

/// Refuses what somebody has swapped between the check and now.
fn still_is(expected: FileId, directory: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    let found = rustix::fs::statat(directory, path, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW)?;
    let same = (found.st_dev, found.st_ino) == (expected.device, expected.inode);
    if same { Ok(()) } else { Err(Errno::STALE) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed_beneath_what_an_earlier_part_shows_of_the_host() {
        let mut view = View::default();
        view.bind(Source::Host(c"/usr".into()), "usr", Access::ReadOnly, None);
        let first = view.part();
        view.bind(Source::Itself, "usr/local", Access::ReadOnly, None).bind(
            Source::Itself,
            "opt",
            Access::ReadOnly,
            None,
        );
        let second = view.part();
        view.bind(Source::Itself, "usr/share", Access::ReadOnly, None);
        view.bind(Source::Itself, "opt/x", Access::ReadOnly, None);
        let ways = |view: &View| -> Vec<Way> {
            let way = |operation: &Operation| match operation {
                Operation::Mount(mount) => Some(mount.way),
                Operation::Entry(_) => None,
            };
            view.operations.iter().filter_map(way).collect()
        };
        assert_eq!(ways(&first), [Way::Own]);
        assert_eq!(ways(&second), [Way::Shared, Way::Own]);
        assert_eq!(ways(&view), [Way::Shared, Way::Shared]);
    }
}
