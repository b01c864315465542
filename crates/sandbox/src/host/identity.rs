//! Which host user a sandbox runs as when root starts it: an unallocated one.
//!
//! Root's sandboxes never map to root, nor to a user of the host. Each takes one id from a window that no
//! file of the host names, and holds it while it lives.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};

/// The ids to choose from.
///
/// Above what systemd gives to containers (524288 to 1879048191) and below what it gives to files of foreign
/// images (from 2147352576), see <https://systemd.io/UIDS-GIDS/>. Also below 2^31, beyond which programs that
/// keep ids in signed integers fail.
pub const WINDOW: Range<u32> = 0x7000_0000..0x7ffe_0000;

/// How many ids are tried. So many can only be held if something is wrong.
const TRIES: u32 = 4096;

/// The group of nobody, which owns no file.
pub(crate) const NOBODY: u32 = 65534;

/// Why there is no id to be had.
#[derive(Debug, thiserror::Error)]
pub enum HostUidError {
    #[error("{action} {path}: {source}")]
    Locks { action: &'static str, path: PathBuf, source: io::Error },
    /// Somebody else could take the locks away.
    #[error(
        "{path} belongs to uid {owner} and has mode {mode:04o}; locks of host user ids must belong to root alone; \
         remove it and try again"
    )]
    Unsafe { path: PathBuf, owner: u32, mode: u32 },
    #[error(
        "no free host user id between {} and {}; /etc/subuid, /etc/subgid, /etc/passwd and /etc/group name them \
         all, or other sandboxes hold them",
        WINDOW.start, WINDOW.end - 1
    )]
    Exhausted,
    #[error("{} and {} name different users as who has become root; unset one of them, or both to act as root", variables[0], variables[1])]
    SeveralCallers { variables: [&'static str; 2] },
    #[error("{variable} is `{value}`, which is no {what} of this host; unset it to act as root")]
    Elevation {
        variable: &'static str,
        value: String,
        /// `user` or `group`.
        what: &'static str,
    },
}

/// A user and their group.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
}

impl Identity {
    /// Returns the identity of this process.
    pub fn own() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }
}

/// Returns the identity to use in a directory that root shares: its owner, with the group that is theirs by the text of
/// `/etc/passwd`.
///
/// The directory's own group does not count: root gives a directory away with chown(1), and the group that stays, root's
/// own at worst, is one whose files may be closed to the owner.
pub(crate) fn owner(uid: u32, gid: u32, passwd: &str) -> Identity {
    let gid = match users(passwd).find(|user| user.uid == uid) {
        // What only root may touch is root's in any case.
        _ if uid == 0 => gid,
        Some(user) if user.gid != 0 => user.gid,
        // Of a user whom the file does not name, the group of the same number.
        None if gid == uid => gid,
        Some(_) | None => NOBODY,
    };
    Identity { uid, gid }
}

/// The ids of the window that no file of the host names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Free(Vec<Range<u32>>);

impl Free {
    /// Reads the texts of `/etc/passwd`, `/etc/group`, `/etc/subuid` and `/etc/subgid`. Lines that have not
    /// their form name nothing, as for the tools that own these files.
    pub fn parse(passwd: &str, group: &str, user_ranges: &str, group_ranges: &str) -> Self {
        let groups = group.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok());
        let single = users(passwd).flat_map(|user| [user.uid, user.gid]).chain(groups);
        let ranges = user_ranges.lines().chain(group_ranges.lines()).filter_map(|line| {
            let mut fields = line.split(':').skip(1);
            let start: u32 = fields.next()?.trim().parse().ok()?;
            let count: u32 = fields.next()?.trim().parse().ok()?;
            Some(start..start.saturating_add(count))
        });
        let mut taken: Vec<_> = single.map(|id: u32| id..id.saturating_add(1)).chain(ranges).collect();
        taken.sort_by_key(|range| range.start);
        let mut free = Vec::new();
        let mut next = WINDOW.start;
        for range in taken.into_iter().filter(|range| range.end > WINDOW.start && range.start < WINDOW.end) {
            if next < range.start {
                free.push(next..range.start);
            }
            next = next.max(range.end);
        }
        if next < WINDOW.end {
            free.push(next..WINDOW.end);
        }
        Self(free)
    }

    /// Reads the same from the files of this host; one that is missing names nothing.
    pub fn on_this_host() -> Result<Self, HostUidError> {
        let read = |path: &str| match std::fs::read(path) {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(source) => Err(HostUidError::Locks { action: "read", path: path.into(), source }),
        };
        Ok(Self::parse(
            &read("/etc/passwd")?,
            &read("/etc/group")?,
            &read("/etc/subuid")?,
            &read("/etc/subgid")?,
        ))
    }

    /// Returns whether an id is one of them.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.0.iter().any(|range| range.contains(&id))
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the id at a position below [`Free::count`].
    fn at(&self, mut position: u32) -> Option<u32> {
        for range in &self.0 {
            let length = range.end - range.start;
            if position < length {
                return Some(range.start + position);
            }
            position -= length;
        }
        None
    }
}

/// A host user id, used as group id too, that nobody else uses until this is dropped or its process is gone.
#[derive(Debug)]
pub struct HostUid {
    uid: u32,
    /// `None` where somebody else holds it by now.
    lock: Option<OwnedFd>,
}

impl HostUid {
    /// Takes a free id.
    ///
    /// `locks` is a directory of root's, made where it is missing, such as `/run/sandboxctl`. All ids share one
    /// file in it: each is one byte, locked through the open file (`F_OFD_SETLK`, see fcntl(2)), so nothing
    /// piles up, nothing has to be removed, and a process that dies lets go.
    pub fn claim(locks: &Path, free: &Free) -> Result<Self, HostUidError> {
        let file = open_locks(locks)?;
        // Anywhere in the window: what an earlier sandbox may have left belongs to another id, and parallel
        // starts do not queue up.
        let mut random = [0; 4];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).map_err(|errno| {
            HostUidError::Locks {
                action: "ask for randomness near",
                path: locks.into(),
                source: errno.into(),
            }
        })?;
        let first = u32::from_ne_bytes(random);
        let count = free.count();
        for step in 0..TRIES.min(count) {
            let Some(uid) = free.at((first % count + step) % count) else { break };
            match fcntl(&file, FcntlArg::F_OFD_SETLK(&byte(uid, F_WRLCK))) {
                Ok(_) => return Ok(Self { uid, lock: Some(file) }),
                Err(nix::Error::EAGAIN | nix::Error::EACCES) => {}
                Err(errno) => {
                    return Err(HostUidError::Locks {
                        action: "lock a byte of",
                        path: locks.join(LOCK_FILE),
                        source: errno.into(),
                    });
                }
            }
        }
        Err(HostUidError::Exhausted)
    }

    /// Takes an id that somebody else has claimed, with a copy of what it is locked through.
    pub(crate) fn shared(uid: u32, lock: OwnedFd) -> Self {
        Self { uid, lock: Some(lock) }
    }

    /// Returns the id.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns what the id is locked through: whoever has a copy of it keeps the id, whatever becomes of this process.
    pub(crate) fn lock(&self) -> Option<BorrowedFd<'_>> {
        self.lock.as_ref().map(AsFd::as_fd)
    }

    /// Leaves the id to whoever has a copy of its lock.
    pub(crate) fn leave(mut self) {
        self.lock = None;
    }
}

impl Drop for HostUid {
    fn drop(&mut self) {
        // Not by closing alone: a process that another thread is just starting has the same open file until it executes its
        // program.
        if let Some(lock) = &self.lock {
            let _ = fcntl(lock, FcntlArg::F_OFD_SETLK(&byte(self.uid, F_UNLCK)));
        }
    }
}

const LOCK_FILE: &str = "host-uids.lock";

fn open_locks(locks: &Path) -> Result<OwnedFd, HostUidError> {
    let failed = |action| {
        move |errno: rustix::io::Errno| HostUidError::Locks {
            action,
            path: locks.into(),
            source: errno.into(),
        }
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::openat(CWD, locks, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => {
            match rustix::fs::mkdirat(CWD, locks, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(failed("make")(errno)),
            }
            rustix::fs::openat(CWD, locks, flags, Mode::empty())
        }
        opened => opened,
    }
    .map_err(failed("open"))?;
    let stat = rustix::fs::fstat(&directory).map_err(failed("stat"))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
        return Err(HostUidError::Unsafe {
            path: locks.into(),
            owner: stat.st_uid,
            mode: stat.st_mode & 0o7777,
        });
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&directory, LOCK_FILE, flags, Mode::RUSR | Mode::WUSR)
        .map_err(failed("open a file in"))
}

/// Describes the byte of the lock file that stands for an id.
fn byte(uid: u32, kind: libc::c_short) -> libc::flock {
    libc::flock {
        l_type: kind,
        l_whence: SEEK_SET,
        l_start: libc::off_t::from(uid - WINDOW.start),
        l_len: 1,
        l_pid: 0,
    }
}

// The C library declares these as `int` and the fields they belong into as `short`.
#[expect(clippy::cast_possible_truncation, reason = "all three constants are below 4")]
const F_WRLCK: libc::c_short = libc::F_WRLCK as libc::c_short;
#[expect(clippy::cast_possible_truncation, reason = "all three constants are below 4")]
const F_UNLCK: libc::c_short = libc::F_UNLCK as libc::c_short;
#[expect(clippy::cast_possible_truncation, reason = "all three constants are below 4")]
const SEEK_SET: libc::c_short = libc::SEEK_SET as libc::c_short;

fn users(passwd: &str) -> impl Iterator<Item = Identity> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        Some(Identity { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nsam:x:1001:1002::/home/sam:/bin/sh\n";

    fn everything() -> Free {
        Free(vec![WINDOW])
    }

    #[test]
    fn what_a_file_of_the_host_names_is_not_free() {
        let a = WINDOW.start;
        let free = Free::parse(
            &format!("x:x:{}:{}::/:\nbroken\n", a + 1, a + 2),
            &format!("g:x:{}:\n", a + 3),
            &format!("sam:{}:10\n# comment\nsam:what:10\n", a + 10),
            &format!("sam:100000:65536\nsam:{}:6\nsam:{}:{}\n", a - 5, WINDOW.end - 1, u32::MAX),
        );
        assert_eq!(free.0, [a + 4..a + 10, a + 20..WINDOW.end - 1]);
        assert_eq!(free.at(5), Some(a + 9));
        assert_eq!(free.at(6), Some(a + 20));
        assert_eq!(free.at(free.count()), None);
    }

    #[test]
    fn ordinary_files_leave_the_whole_window() {
        let free = Free::parse(PASSWD, "root:x:0:\n", "sam:100000:65536\n", "sam:524288:65536\n");
        assert_eq!(free.0, [WINDOW]);
    }

    #[test]
    fn an_owner_has_their_own_group_and_never_roots() {
        let passwd = "root:x:0:0::/:/bin/sh\nsam:x:1001:1002::/:/bin/sh\nops:x:1003:0::/:/bin/sh\n";
        for (uid, gid, expected) in [
            (1001, 1002, 1002),
            (1001, 0, 1002),
            (1001, 42, 1002),
            (1003, 0, NOBODY),
            (4242, 4242, 4242),
            (4242, 0, NOBODY),
            (4242, 42, NOBODY),
            (0, 1002, 1002),
        ] {
            assert_eq!(owner(uid, gid, passwd), Identity { uid, gid: expected }, "{uid}:{gid}");
        }
    }

    #[test]
    fn twenty_at_once_are_twenty_users() {
        let locks = tempfile::tempdir().unwrap();
        let claims: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| HostUid::claim(&locks.path().join("l"), &everything()).unwrap()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().map(HostUid::uid).collect::<HashSet<_>>().len(), 20);
        assert!(claims.iter().all(|claim| WINDOW.contains(&claim.uid())));
    }

    #[test]
    fn an_id_is_held_until_it_is_dropped_also_against_the_same_process() {
        let locks = tempfile::tempdir().unwrap();
        let two = Free(vec![WINDOW.start..WINDOW.start + 1, WINDOW.end - 1..WINDOW.end]);
        let claim = || HostUid::claim(locks.path(), &two);
        let first = claim().unwrap();
        let second = claim().unwrap();
        assert_ne!(first.uid(), second.uid());
        assert!(matches!(claim(), Err(HostUidError::Exhausted)));
        let uid = first.uid();
        // As a process has it that is on its way to another program.
        let _forked = first.lock.as_ref().unwrap().try_clone().unwrap();
        drop(first);
        assert_eq!(claim().unwrap().uid(), uid);
    }

    #[test]
    fn refuses_locks_that_others_could_replace() {
        let locks = tempfile::tempdir().unwrap();
        fs::set_permissions(locks.path(), Permissions::from_mode(0o777)).unwrap();
        let error = HostUid::claim(locks.path(), &everything()).unwrap_err();
        assert!(matches!(error, HostUidError::Unsafe { mode: 0o777, .. }), "{error}");
    }
}
