//! User namespaces for the idmapping of mounts (`MOUNT_ATTR_IDMAP`, `mount_setattr(2)`).

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use nix::sys::signal::{SigSet, SigmaskHow};

use crate::sys;

/// Creates a user namespace of this user and these groups: each as it is inside, and as it is outside. Only root can.
pub fn user_namespace(user: (u32, u32), groups: &[(u32, u32)]) -> io::Result<OwnedFd> {
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
    Ok(fs::File::open(format!("/proc/{pid}/ns/user"))?.into())
}
