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
    /// Whoever is not root, has nobody else to act for, or acts for somebody already, stays who they are.
    pub fn user(user: Identity) -> io::Result<Self> {
        // No user has this id, so nothing is set, and the answer is who this thread is to the file system.
        let now = setfsuid(Uid::from_raw(u32::MAX));
        if !now.is_root() || user.uid == 0 {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn whoever_acts_for_somebody_gets_neither_root_s_rights_nor_another_s() {
        if !crate::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(top.path(), Some(1001), Some(1002)).unwrap();
        let owner_of_new = |name: &str| {
            fs::write(top.path().join(name), "").unwrap();
            fs::metadata(top.path().join(name)).unwrap().uid()
        };
        let acting = ActingAs::user(Identity { uid: 1001, gid: 1002 }).unwrap();
        let within = ActingAs::user(Identity { uid: 1003, gid: 1003 }).unwrap();
        assert_eq!(owner_of_new("within"), 1001);
        drop(within);
        assert_eq!(owner_of_new("after"), 1001);
        drop(acting);
        assert_eq!(owner_of_new("root"), 0);
    }

    #[test]
    fn a_thread_that_is_started_meanwhile_acts_for_the_same_user() {
        if !crate::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("of-root"), "").unwrap();
        fs::set_permissions(top.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let read = || fs::read(top.path().join("of-root")).is_ok();
        assert!(std::thread::scope(|scope| scope.spawn(read).join().unwrap()), "the control");
        let _acting = ActingAs::user(Identity { uid: 1001, gid: 1001 }).unwrap();
        assert!(!std::thread::scope(|scope| scope.spawn(read).join().unwrap()));
    }
}
