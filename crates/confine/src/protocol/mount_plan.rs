//! The mount plan: everything a sandbox sees, as data. `crate::mount` executes it.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use policy::plan::{BoundaryMode, FileId};
use policy::rules::limits::TmpfsLimits;
use serde::{Deserialize, Serialize};

/// A root file system: what lies in it and what is mounted on it, in the order in which it is made.
///
/// Entries are made on file systems of the plan's own, which nobody else can reach, so their paths may be followed
/// plainly. A mount point may lie in a directory of the host, where somebody else may be writing: no link on the way
/// there is followed.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct MountPlan {
    operations: Vec<Operation>,
    /// Travel beside the text, as descriptors.
    #[serde(skip)]
    trees: Vec<OwnedFd>,
    /// Where parts that were taken before show the host.
    #[serde(skip)]
    shared: Vec<CString>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Operation {
    Entry(Entry),
    Mount(Mount),
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Entry {
    Directory { path: CString, mode: u32 },
    Symlink { path: CString, target: CString },
    File { path: CString, content: Vec<u8>, mode: u32 },
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Mount {
    pub(crate) kind: MountKind,
    pub(crate) path: CString,
    pub(crate) lookup: Lookup,
}

/// How a mount point is looked up.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Lookup {
    /// Plainly: nobody else has touched the entries of this plan.
    Plain,
    /// Beneath a directory of the host. That this sandbox may only read it keeps nobody else from writing.
    NoSymlinks,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum MountKind {
    New(NewFilesystem),
    Bind { origin: BindOrigin, access: MountAccess, expected: Option<FileId> },
    Mask { covered: FileId, by: Cover },
}

/// A file system that is made for this sandbox.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum NewFilesystem {
    Tmpfs { size: CString, inodes: CString, mode: CString },
    Proc,
    Devpts,
}

/// A [`BindSource`], as it is sent.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum BindOrigin {
    Host(CString),
    /// One of the trees that travel beside the plan.
    Tree(usize),
    Itself,
}

/// Where a bind mount comes from.
#[derive(Debug)]
pub enum BindSource {
    /// A path of the host, with all that is mounted below it; a link at its end is not followed.
    Host(CString),
    /// A detached tree that the caller has made, in its final state.
    Tree(OwnedFd),
    /// What the plan shows at the mount's own path.
    Itself,
}

/// What something is covered by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Cover {
    /// `/dev/null`, which cannot be opened there: for a socket, on which then nobody listens.
    Nothing,
    /// `/dev/null`, which reads as empty, as engines cover files of `/proc`: for a file.
    EmptyFile,
    EmptyDirectory,
}

/// What may be done through a bind mount.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum MountAccess {
    /// Read and execute.
    ReadOnly,
    /// Everything but device nodes and set-uid programs.
    ReadWrite,
    /// As this mode says, but programs cannot be executed.
    NoExec(BoundaryMode),
    Device,
}

impl MountPlan {
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
        self.mount(MountKind::New(NewFilesystem::Tmpfs { size, inodes, mode }), path)
    }

    /// Mounts the processes of this PID namespace.
    pub fn proc(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        self.mount(MountKind::New(NewFilesystem::Proc), path)
    }

    /// Mounts a fresh instance of devpts: the sandbox's own terminals and no others.
    pub fn devpts(&mut self, path: impl Into<Vec<u8>>) -> &mut Self {
        self.mount(MountKind::New(NewFilesystem::Devpts), path)
    }

    /// Binds a file or directory. With `expected`, only if it is that very one.
    pub fn bind(
        &mut self,
        source: BindSource,
        path: impl Into<Vec<u8>>,
        access: MountAccess,
        expected: Option<FileId>,
    ) -> &mut Self {
        let origin = match source {
            BindSource::Host(path) => BindOrigin::Host(path),
            BindSource::Itself => BindOrigin::Itself,
            BindSource::Tree(tree) => {
                self.trees.push(tree);
                BindOrigin::Tree(self.trees.len() - 1)
            }
        };
        self.mount(MountKind::Bind { origin, access, expected }, path)
    }

    /// Covers a file or directory, if it is that very one.
    pub fn mask(&mut self, path: impl Into<Vec<u8>>, covered: FileId, by: Cover) -> &mut Self {
        self.mount(MountKind::Mask { covered, by }, path)
    }

    /// Takes what was added so far, to be mounted first.
    #[must_use]
    pub fn part(&mut self) -> Self {
        let shared = self.operations.iter().filter_map(Operation::shared).cloned();
        let shared = self.shared.iter().cloned().chain(shared).collect();
        std::mem::replace(self, Self { shared, ..Self::default() })
    }

    /// Takes the trees, which are sent as descriptors beside the plan.
    pub fn take_trees(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.trees)
    }

    /// Takes its trees out of the descriptors that came with it, where they stand first. What is left is not its own.
    pub(crate) fn claim_trees(&mut self, descriptors: &mut Vec<OwnedFd>) {
        let is_tree = |operation: &&Operation| {
            matches!(
                operation,
                Operation::Mount(Mount { kind: MountKind::Bind { origin: BindOrigin::Tree(_), .. }, .. })
            )
        };
        let count = self.operations.iter().filter(is_tree).count().min(descriptors.len());
        let rest = descriptors.split_off(count);
        self.trees = std::mem::replace(descriptors, rest);
    }

    /// Returns the operations, in the order in which they are carried out.
    pub(crate) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Returns the trees that [`BindOrigin::Tree`] counts.
    pub(crate) fn trees(&self) -> &[OwnedFd] {
        &self.trees
    }

    fn entry(&mut self, entry: Entry) -> &mut Self {
        self.operations.push(Operation::Entry(entry));
        self
    }

    fn mount(&mut self, kind: MountKind, path: impl Into<Vec<u8>>) -> &mut Self {
        let path = relative(path);
        let mut shared = self.shared.iter().chain(self.operations.iter().filter_map(Operation::shared));
        let is_shared = shared.any(|shared| is_beneath(&path, shared));
        let lookup = if is_shared { Lookup::NoSymlinks } else { Lookup::Plain };
        self.operations.push(Operation::Mount(Mount { kind, path, lookup }));
        self
    }
}

impl Operation {
    /// Returns where this shows the host.
    fn shared(&self) -> Option<&CString> {
        match self {
            Self::Mount(Mount { kind: MountKind::Bind { .. }, path, .. }) => Some(path),
            _ => None,
        }
    }
}

/// Returns whether `path` lies beneath `directory`.
fn is_beneath(path: &CStr, directory: &CStr) -> bool {
    path.to_bytes().strip_prefix(directory.to_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Makes a path of the plan relative to its root.
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
        let mut plan = MountPlan::default();
        plan.bind(BindSource::Host(c"/usr".into()), "usr", MountAccess::ReadOnly, None);
        let first = plan.part();
        plan.bind(BindSource::Itself, "usr/local", MountAccess::ReadOnly, None).bind(
            BindSource::Itself,
            "opt",
            MountAccess::ReadOnly,
            None,
        );
        let second = plan.part();
        plan.bind(BindSource::Itself, "usr/share", MountAccess::ReadOnly, None);
        plan.bind(BindSource::Itself, "opt/x", MountAccess::ReadOnly, None);
        let lookups = |plan: &MountPlan| -> Vec<Lookup> {
            let lookup = |operation: &Operation| match operation {
                Operation::Mount(mount) => Some(mount.lookup),
                Operation::Entry(_) => None,
            };
            plan.operations.iter().filter_map(lookup).collect()
        };
        assert_eq!(lookups(&first), [Lookup::Plain]);
        assert_eq!(lookups(&second), [Lookup::NoSymlinks, Lookup::Plain]);
        assert_eq!(lookups(&plan), [Lookup::NoSymlinks, Lookup::NoSymlinks]);
    }
}
