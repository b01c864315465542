//! Acting for somebody else: root under sudo works in directories that the user behind it may rearrange at any moment,
//! with links to what only root may touch. There it has no more rights than that user.

use std::io;

use nix::unistd::{Gid, Uid, getgroups, setfsgid, setfsuid, setgroups};

use crate::host_uid::Identity;

/// While this lives, this thread opens, makes and removes files with the rights of another user: the kernel leaves out
/// root's own, see setfsuid(2) and capabilities(7).
#[must_use = "the rights come back when this is dropped"]
pub struct ActingAs(Option<Vec<Gid>>);

impl ActingAs {
    /// Whoever is not root, or has nobody else to act for, stays who they are.
    pub fn user(user: Identity) -> io::Result<Self> {
        if !rustix::process::geteuid().is_root() || user.uid == 0 {
            return Ok(Self(None));
        }
        // Groups of root's would open what is root's.
        let groups = getgroups()?;
        setgroups(&[Gid::from_raw(user.gid)])?;
        let acting = Self(Some(groups));
        setfsgid(Gid::from_raw(user.gid));
        setfsuid(Uid::from_raw(user.uid));
        // Neither says whether it has done anything but by what it answers the next time.
        let now = (setfsuid(Uid::from_raw(user.uid)), setfsgid(Gid::from_raw(user.gid)));
        if now == (Uid::from_raw(user.uid), Gid::from_raw(user.gid)) {
            Ok(acting)
        } else {
            Err(io::Error::other(format!("cannot act with the rights of user {} alone", user.uid)))
        }
    }
}

impl Drop for ActingAs {
    fn drop(&mut self) {
        if let Some(groups) = self.0.take() {
            setfsuid(Uid::effective());
            setfsgid(Gid::effective());
            // Root had them a moment ago, and may have any.
            let _ = setgroups(&groups);
        }
    }
}
