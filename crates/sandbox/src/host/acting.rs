//! Acting for somebody else: root under sudo works in directories that the user behind it may rearrange at any moment,
//! with links to what only root may touch. There it has no more rights than that user.

use std::io;
use std::thread;

use caps::{CapSet, CapsHashSet};
use nix::unistd::{Uid, getgroups, setfsgid, setfsuid};
use rustix::process::{Gid, getegid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::host::identity::Identity;

/// While this lives, this thread opens, makes and removes files with the rights of another user, see setfsuid(2).
///
/// No capability is in effect meanwhile. Changing the user of the file system takes away only those that are about files;
/// with `CAP_SYS_PTRACE` the links in `/proc/PID` (`cwd`, `root`, `fd`) would lead past directories that are closed to the
/// user, see ptrace(2), "Ptrace access mode checking". All of it is this thread's alone, and that of threads it starts.
#[must_use = "the rights come back when this is dropped"]
pub struct ActingAs(Option<Own>);

/// What root had.
struct Own {
    groups: Vec<Gid>,
    capabilities: CapsHashSet,
}

impl ActingAs {
    /// Takes the rights of a user. Whoever is not root, has nobody else to act for, or acts for somebody already, stays who
    /// they are.
    pub fn user(user: Identity) -> io::Result<Self> {
        if user.uid == 0 || !file_system_user().is_root() {
            return Ok(Self(None));
        }
        let groups = getgroups()?.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect();
        let capabilities = caps::read(None, CapSet::Effective).map_err(io::Error::other)?;
        // Groups of root's would open what is root's.
        set_thread_groups(&[Gid::from_raw(user.gid)])?;
        let acting = Self(Some(Own { groups, capabilities }));
        let (uid, gid) = (Uid::from_raw(user.uid), nix::unistd::Gid::from_raw(user.gid));
        setfsgid(gid);
        setfsuid(uid);
        // Neither says whether it has done anything but by what it answers the next time.
        if (setfsuid(uid), setfsgid(gid)) != (uid, gid) {
            return Err(io::Error::other(format!("cannot act with the rights of user {} alone", user.uid)));
        }
        caps::clear(None, CapSet::Effective).map_err(io::Error::other)?;
        Ok(acting)
    }
}

impl Drop for ActingAs {
    fn drop(&mut self) {
        if let Some(Own { groups, capabilities }) = self.0.take() {
            // What root had a moment ago it may have again: these are permitted still.
            let _ = caps::set(None, CapSet::Effective, &capabilities);
            setfsuid(Uid::effective());
            setfsgid(nix::unistd::Gid::effective());
            let _ = set_thread_groups(&groups);
        }
    }
}

/// Has the kernel take set-id bits from whatever this thread, and those that it starts, write to, as it does when a user writes. What
/// root prints for a user is content of theirs, and standard output may be a set-uid file that they have opened.
pub fn write_as_users_do() -> io::Result<()> {
    // Not from the effective set alone: coming back from another user of the file system, a thread gets there what it is permitted.
    [CapSet::Effective, CapSet::Permitted]
        .into_iter()
        .try_for_each(|set| caps::drop(None, set, caps::Capability::CAP_FSETID))
        .map_err(io::Error::other)
}

/// Returns who this thread is to the file system.
pub(crate) fn file_system_user() -> Uid {
    // No user has this id, so nothing is set, and the answer is who it was before.
    setfsuid(Uid::from_raw(u32::MAX))
}

/// Does something as a process of this user would, without any capability: for what shows others who does it, as connecting to a
/// socket and writing to it do.
///
/// [`ActingAs`] is not enough for this. The listener gets the effective user of whoever has connected (`SO_PEERCRED` and
/// `SO_PEERGROUPS`, unix(7)), and the real user of whoever sends a message (`SCM_CREDENTIALS`), and not that of the file system: a
/// user could put a link to any socket of a service in the way, and have it spoken to by root. So whatever is sent is sent in here.
pub(crate) fn as_peer<T: Send>(user: Identity, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    if !geteuid().is_root() || user.uid == 0 {
        return act();
    }
    let as_user = || {
        become_peer(user)?;
        act()
    };
    // Ids are a thread's own. This one does nothing else, so that nothing has to be given back.
    thread::scope(|scope| {
        let connecting = thread::Builder::new().spawn_scoped(scope, as_user)?;
        connecting.join().unwrap_or_else(|_| Err(io::Error::other("the thread of another user has panicked")))
    })
}

/// Makes this thread, and it alone, the user's for good: see [`as_peer`]. Whoever is not root, or has nobody else to be, stays who
/// they are.
///
/// The saved ids stay root's. Nobody else gets them, no capability is left that could bring them back, and as long as one of the
/// three is not the user's, the user can neither look into the memory that this thread shares with root's process (ptrace(2)) nor
/// set limits for that (prlimit(2)). A signal they can send it (kill(2)).
pub(crate) fn become_peer(user: Identity) -> io::Result<()> {
    if !geteuid().is_root() || user.uid == 0 {
        return Ok(());
    }
    let (uid, gid) = (rustix::process::Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    // A thread that [`ActingAs`] was at work in has started this one with none in effect. What is permitted still, changes the user.
    let permitted = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    caps::set(None, CapSet::Effective, &permitted).map_err(io::Error::other)?;
    set_thread_groups(&[gid])?;
    set_thread_res_gid(gid, gid, getegid())?;
    set_thread_res_uid(uid, uid, geteuid())?;
    // Not left to the change of user: with the secure bit SECBIT_NO_SETUID_FIXUP that takes none away, see capabilities(7).
    confine::capabilities::clear().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn whoever_acts_for_somebody_gets_neither_root_s_rights_nor_another_s() {
        if !crate::host::root_only::can_give_files_away() {
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
    fn links_of_proc_lead_to_nothing_that_the_user_cannot_reach() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let closed = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir()
            .unwrap();
        fs::write(closed.path().join("file"), "of root's").unwrap();
        // It waits for its input to end, and keeps its working directory until then.
        let mut inside = std::process::Command::new("cat")
            .current_dir(closed.path())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let path = format!("/proc/{}/cwd/file", inside.id());
        assert!(fs::read(&path).is_ok(), "root may");
        let acting = ActingAs::user(Identity { uid: 1001, gid: 1002 }).unwrap();
        assert_eq!(fs::read(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        drop(acting);
        assert!(fs::read(&path).is_ok(), "root may again");
        drop(inside.stdin.take());
        inside.wait().unwrap();
    }

    #[test]
    fn a_thread_that_is_started_meanwhile_acts_for_the_same_user() {
        if !crate::host::root_only::can_give_files_away() {
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

    #[test]
    fn whoever_listens_sees_the_user_and_not_root() {
        use std::os::unix::net::{UnixListener, UnixStream};

        use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let user = Identity { uid: 1001, gid: 1002 };
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = top.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        // What is accepted inherits the option: each message brings the credentials of whoever sends it.
        nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::PassCred, &true).unwrap();
        let seen = || {
            let (stream, _) = listener.accept().unwrap();
            nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::PassCred, &true).unwrap();
            let peer = getsockopt(&stream, PeerCredentials).unwrap();
            let sender = sender(&stream);
            let groups =
                confine::protocol::ControlSocket::from(std::os::fd::OwnedFd::from(stream)).peer_groups();
            ((peer.uid(), peer.gid(), groups.unwrap()), sender)
        };
        let speak = || {
            let mut stream = UnixStream::connect(&path)?;
            std::io::Write::write_all(&mut stream, b"x")?;
            Ok(stream)
        };

        // It is root's alone.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(as_peer(user, speak).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        // The control: acting for the user, root is still root to the peer.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        let acting = ActingAs::user(user).unwrap();
        let _stream = speak().unwrap();
        drop(acting);
        let (peer, sender) = seen();
        assert_eq!((peer.0, sender), (0, (0, 0)));

        let _stream = as_peer(user, speak).unwrap();
        assert_eq!(seen(), ((1001, 1002, vec![1002]), (1001, 1002)));
        assert!(geteuid().is_root(), "this thread has stayed who it was");
        fs::write(top.path().join("of-root"), "").unwrap();
        assert_eq!(fs::metadata(top.path().join("of-root")).unwrap().uid(), 0);
    }

    /// Reads a message, and returns the user and the group that the kernel names as its sender's.
    fn sender(stream: &std::os::unix::net::UnixStream) -> (u32, u32) {
        use std::os::fd::AsRawFd;

        use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixCredentials, recvmsg};

        let mut byte = [0];
        let mut data = [io::IoSliceMut::new(&mut byte)];
        let mut room = nix::cmsg_space!(UnixCredentials);
        let message =
            recvmsg::<()>(stream.as_raw_fd(), &mut data, Some(&mut room), MsgFlags::empty()).unwrap();
        let credentials = message.cmsgs().unwrap().find_map(|one| match one {
            ControlMessageOwned::ScmCredentials(credentials) => Some(credentials),
            _ => None,
        });
        let credentials = credentials.unwrap();
        (credentials.uid(), credentials.gid())
    }

    #[test]
    fn the_thread_of_a_user_has_no_capability_and_cannot_be_looked_into() {
        use rustix::thread::{CapabilitiesSecureBits, set_capabilities_secure_bits};

        const USER: Identity = Identity { uid: 1001, gid: 1002 };

        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let status = || fs::read_to_string("/proc/thread-self/status");
        let field = |status: &str, name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name}: {status}"))
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        for bits in [CapabilitiesSecureBits::empty(), CapabilitiesSecureBits::NO_SETUID_FIXUP] {
            // The bits are a thread's, and those of threads that it starts.
            let (alone, peer) = thread::scope(|scope| {
                let started = scope.spawn(|| {
                    set_capabilities_secure_bits(bits).unwrap();
                    let peer = as_peer(USER, status).unwrap();
                    let uid = rustix::process::Uid::from_raw(USER.uid);
                    set_thread_res_uid(uid, uid, geteuid()).unwrap();
                    (status().unwrap(), peer)
                });
                started.join().unwrap()
            });
            let none = "0".repeat(16);
            let is_kept = !bits.is_empty();
            assert_eq!(field(&alone, "CapEff:") != none, is_kept, "the control: a change of user alone");
            for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
                assert_eq!(field(&peer, set), none, "{set} {bits:?}");
            }
            // Real, effective, saved, and that of the file system.
            assert_eq!(field(&peer, "Uid:"), "1001 1001 0 1001");
            assert_eq!(field(&peer, "Gid:"), "1002 1002 0 1002");
        }
    }
}
