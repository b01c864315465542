//! User namespaces for the idmapping of mounts (`MOUNT_ATTR_IDMAP`, `mount_setattr(2)`).

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use nix::sys::signal::{SigSet, SigmaskHow};

use crate::sys;

/// Creates a user namespace in which the user and group `inner` are `outer`. Only root can.
pub fn user_namespace(inner: (u32, u32), outer: (u32, u32)) -> io::Result<OwnedFd> {
    // With every signal blocked, so that no handler of the caller's runs in a process that borrows its memory.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let holder = sys::NamespaceHolder::new();
    before.thread_set_mask()?;
    let holder = holder?;
    let pid = holder.pid();
    for (name, inner, outer) in [("uid_map", inner.0, outer.0), ("gid_map", inner.1, outer.1)] {
        let mut file = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/{name}"))?;
        file.write_all(format!("{inner} {outer} 1\n").as_bytes())?;
    }
    Ok(fs::File::open(format!("/proc/{pid}/ns/user"))?.into())
}
