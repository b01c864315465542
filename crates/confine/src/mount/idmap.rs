//! User namespaces for the idmapping of mounts (`MOUNT_ATTR_IDMAP`, `mount_setattr(2)`).

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, SigmaskHow};

use crate::sys;

/// A user namespace by which mounts are mapped.
pub struct IdMap {
    namespace: OwnedFd,
    /// The process that it was made with. The namespace stays without it, but to wait for its end takes a while.
    _holder: sys::NamespaceHolder,
}

impl AsFd for IdMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

/// Creates a user namespace of this user and these groups: each as it is inside, and as it is outside. Only root can.
pub fn user_namespace(user: (u32, u32), groups: &[(u32, u32)]) -> io::Result<IdMap> {
    // With every signal blocked, so that no handler of the caller's runs in a process that borrows its memory.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let holder = sys::NamespaceHolder::new();
    before.thread_set_mask()?;
    let holder = holder?;
    let pid = holder.pid();
    for (name, ids) in [("uid_map", &[user][..]), ("gid_map", groups)] {
        let mut file = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/{name}"))?;
        // The kernel takes a map in one write, see user_namespaces(7).
        let lines: Vec<_> = ids.iter().map(|(inner, outer)| format!("{inner} {outer} 1\n")).collect();
        file.write_all(lines.concat().as_bytes())?;
    }
    let namespace = fs::File::open(format!("/proc/{pid}/ns/user"))?.into();
    Ok(IdMap { namespace, _holder: holder })
}
