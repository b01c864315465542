//! Landlock: which files may be touched, whatever the mounts say (landlock(7)).
//!
//! The mounts decide what there is to see; landlock is a second fence of another make, which also holds where
//! there are no mounts of our own. Rules are tied to files that are opened before the rights to open them are
//! gone: a path that is looked up later could lead somewhere else, or nowhere at all.
//!
//! TCP ports are not restricted here. A sandbox has a network namespace of its own, in which there is nothing
//! to reach but itself, and servers inside must be able to bind and connect there as they like.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::plan::{FileId, Layer};
use policy::text::escape;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::file_id::file_id;
use crate::protocol::LandlockAccess;
use crate::report::{Finding, Status};
use crate::sys;

/// Rules that are being collected.
pub struct Ruleset {
    fd: OwnedFd,
    abi: u32,
    handled: u64,
}

/// Rules that are enforced ([`Ruleset::restrict_self`]).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restricted {
    /// The ABI that was used.
    pub abi: u32,
}

/// Why landlock is not enforced.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel has no landlock.
    #[error(
        "this kernel has no landlock ({0}); Linux 5.13 or newer has it, if built with CONFIG_SECURITY_LANDLOCK and if \
         `landlock` stands in the `lsm=` boot parameter (see /sys/kernel/security/lsm)"
    )]
    Missing(#[source] Errno),
    /// The kernel refused a set of rights that its ABI should know.
    #[error("landlock takes no ruleset of ABI {abi}: {source}")]
    Create {
        /// The ABI.
        abi: u32,
        /// What the kernel said.
        source: Errno,
    },
    /// The kernel would refuse more than was asked for.
    #[error(
        "landlock of ABI {abi} always refuses to move a file into another directory; Linux 5.19 or newer does not"
    )]
    Moves {
        /// The ABI.
        abi: u32,
    },
    /// A path of a rule could not be opened.
    #[error("cannot open {} for a landlock rule: {source}", escape::path(path))]
    Open {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        source: Errno,
    },
    /// A rule was refused.
    #[error("landlock takes no rule for {what}: {source}")]
    Rule {
        /// What the rule is about.
        what: String,
        /// What the kernel said.
        source: Errno,
    },
    /// The directories above those that nothing may be read in cannot be looked at.
    #[error("cannot look at the directories above a shared directory: {0}")]
    Above(#[source] Errno),
    /// The rules could not be put on.
    #[error("landlock cannot be put on: {0}; no_new_privs must be set before")]
    Restrict(#[source] Errno),
}

/// The newest ABI that both this kernel and this code know; `None` without landlock.
pub fn abi() -> Option<u32> {
    sys::landlock_abi().ok().map(known)
}

/// Restricts ptrace: keeps this thread, and everything it forks, from looking into processes that were there before: into their
/// environment, memory and descriptors in `/proc`, whoever their user is. Files, signals and sockets stay as they are.
///
/// Any ruleset does this (landlock(7), "Ptrace restrictions"), so this one refuses the least that one can: making block
/// devices, which takes a capability anyway. Needs ABI 2, and `no_new_privs`.
pub fn restrict_ptrace() -> Result<(), LandlockError> {
    let abi = known(sys::landlock_abi().map_err(LandlockError::Missing)?);
    // Moving a file into another directory is refused by every ruleset whose rules do not grant it.
    if abi < 2 {
        return Err(LandlockError::Moves { abi });
    }
    let mut ruleset = Ruleset::handling(abi, REFER | MAKE_BLOCK, 0)?;
    ruleset.add_path(Path::new("/"), REFER)?;
    ruleset.restrict_self().map(drop)
}

/// Keeps this thread, and everything it gives birth to, from reading or executing any file beneath these directories,
/// by whatever path they are reached. All else stays as it is.
///
/// Landlock only grants. So each entry of each directory above them is granted, save those that lead down to them. Three
/// things follow. A file that is made in a directory above them later on cannot be read. What lies beneath them can still
/// be listed, because listing a directory above cannot be granted without all that is in it. And a link beneath them is
/// followed, because landlock restricts no lookup.
///
/// Needs ABI 2. Sets `no_new_privs` where the thread has no `CAP_SYS_ADMIN`, as landlock insists.
pub fn keep_out_of(directories: &[OwnedFd]) -> Result<(), LandlockError> {
    let abi = known(sys::landlock_abi().map_err(LandlockError::Missing)?);
    if abi < 2 {
        return Err(LandlockError::Moves { abi });
    }
    let kept: HashSet<_> =
        directories.iter().map(file_id).collect::<Result<_, _>>().map_err(LandlockError::Above)?;
    let mut above = HashMap::new();
    for directory in directories {
        let chain = chain(directory).map_err(LandlockError::Above)?;
        // What lies beneath another one is kept out of with it.
        if !chain.keys().any(|id| kept.contains(id)) {
            above.extend(chain);
        }
    }
    let mut ruleset = Ruleset::handling(abi, EXECUTE | READ_FILE | REFER, 0)?;
    // Refused by every ruleset that does not grant it. The kernel refuses all the same to move a file to where it could be
    // read if it cannot be read where it is.
    ruleset.add_path(Path::new("/"), REFER)?;
    let leads_down = |id: &FileId| kept.contains(id) || above.contains_key(id);
    for directory in above.values() {
        ruleset.allow_entries(directory, &leads_down).map_err(LandlockError::Above)?;
    }
    ruleset.enforce()
}

/// Opens every directory above this one, up to the root.
fn chain(directory: &OwnedFd) -> Result<HashMap<FileId, OwnedFd>, Errno> {
    let mut above = HashMap::new();
    let mut id = file_id(directory)?;
    let mut parent = open_beneath(directory.as_fd(), c"..")?;
    // The root is its own parent.
    while file_id(&parent)? != id {
        id = file_id(&parent)?;
        let next = open_beneath(parent.as_fd(), c"..")?;
        above.insert(id, parent);
        parent = next;
    }
    Ok(above)
}

fn open_beneath(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

impl Ruleset {
    /// Makes an empty ruleset that handles every right of the newest ABI: what no rule grants is refused.
    pub fn new() -> Result<Self, LandlockError> {
        Self::of_abi(known(sys::landlock_abi().map_err(LandlockError::Missing)?))
    }

    fn of_abi(abi: u32) -> Result<Self, LandlockError> {
        Self::handling(abi, handled(abi), scoped(abi))
    }

    fn handling(abi: u32, handled: u64, scoped: u64) -> Result<Self, LandlockError> {
        let attributes =
            sys::LandlockAttributes { handled_access_fs: handled, handled_access_net: 0, scoped };
        let fd = sys::landlock_create_ruleset(&attributes)
            .map_err(|source| LandlockError::Create { abi, source })?;
        Ok(Self { fd, abi, handled })
    }

    /// Grants `access` to what `beneath` is, and if that is a directory, to everything below it.
    ///
    /// The descriptor may be opened with `O_PATH`; a tree that is not attached anywhere yet will do.
    pub fn allow(&mut self, beneath: BorrowedFd<'_>, access: LandlockAccess) -> Result<(), LandlockError> {
        let refused = |source| LandlockError::Rule { what: format!("descriptor {beneath:?}"), source };
        self.add(beneath, rights(access)).map_err(refused)
    }

    /// Grants `access` to what lies at `path` now. A link is followed.
    pub fn allow_path(&mut self, path: &Path, access: LandlockAccess) -> Result<(), LandlockError> {
        self.add_path(path, rights(access))
    }

    fn add_path(&mut self, path: &Path, rights: u64) -> Result<(), LandlockError> {
        let file = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|source| LandlockError::Open { path: path.to_owned(), source })?;
        let refused = |source| LandlockError::Rule { what: escape::path(path), source };
        self.add(file.as_fd(), rights).map_err(refused)
    }

    /// Restricts this thread and everything it forks, for good.
    ///
    /// From then on mounts cannot be changed, and processes outside cannot be signalled or traced.
    pub fn restrict_self(self) -> Result<Restricted, LandlockError> {
        // What an agent restricts further is its own affair: refusals there must not fill the host's audit
        // log.
        let flags = if self.abi >= 7 { LOG_SUBDOMAINS_OFF } else { 0 };
        sys::landlock_restrict_self(self.fd.as_fd(), flags).map_err(LandlockError::Restrict)?;
        Ok(Restricted { abi: self.abi })
    }

    /// Grants reading and executing to each entry of a directory, and to all beneath it, but not to those that lead down.
    fn allow_entries(
        &mut self,
        directory: &OwnedFd,
        leads_down: &impl Fn(&FileId) -> bool,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = match rustix::fs::openat(directory, c".", flags, Mode::empty()) {
            Ok(listing) => listing,
            // One that may be passed through and not be listed.
            Err(Errno::ACCESS) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        for entry in rustix::fs::Dir::new(listing)? {
            let entry = entry?;
            let name = entry.file_name();
            // A link needs nothing; where it leads does.
            if name == c"." || name == c".." || entry.file_type() == FileType::Symlink {
                continue;
            }
            // What is gone, or does not answer, is not granted.
            let Ok(file) = open_beneath(directory.as_fd(), name) else { continue };
            if !leads_down(&file_id(&file)?) {
                self.add(file.as_fd(), EXECUTE | READ_FILE)?;
            }
        }
        Ok(())
    }

    /// Restricts this thread, with `no_new_privs` where the kernel wants it.
    fn enforce(self) -> Result<(), LandlockError> {
        let restrict = || sys::landlock_restrict_self(self.fd.as_fd(), 0);
        let result = match restrict() {
            Err(Errno::PERM) => rustix::thread::set_no_new_privs(true).and_then(|()| restrict()),
            other => other,
        };
        result.map_err(LandlockError::Restrict)
    }

    fn add(&mut self, beneath: BorrowedFd<'_>, rights: u64) -> Result<(), Errno> {
        let mode = rustix::fs::fstat(beneath)?.st_mode;
        // The kernel refuses a rule that grants a file what only a directory can have.
        let possible =
            if FileType::from_raw_mode(mode) == FileType::Directory { u64::MAX } else { FILE_RIGHTS };
        match sys::landlock_allow_beneath(self.fd.as_fd(), beneath, rights & self.handled & possible) {
            // The kernel's own file systems, such as that of memfd_create(2), take no rule and need none.
            Err(Errno::BADFD) => Ok(()),
            other => other,
        }
    }
}

impl Restricted {
    /// Lists what this kernel's landlock cannot do, newest first.
    pub fn missing(self) -> impl Iterator<Item = &'static str> {
        ADDED.iter().rev().filter(move |(since, _)| *since > self.abi).map(|(_, what)| *what)
    }

    /// Probes from inside whether the rules hold.
    ///
    /// `/dev/zero` must be granted as [`LandlockAccess::ReadWrite`]: an `ioctl` on it is refused by landlock from ABI
    /// 5 on, and by the device itself (in other words) without.
    pub fn probe(self) -> Finding {
        let (status, seen) = self.look();
        let mut reason = format!("ABI {}: {seen}", self.abi);
        let missing: Vec<_> = self.missing().collect();
        if !missing.is_empty() {
            reason.push_str("; this kernel's landlock does not cover ");
            reason.push_str(&missing.join(", "));
        }
        Finding { layer: Layer::Landlock, status, reason }
    }

    fn look(self) -> (Status, String) {
        if self.abi < 5 {
            return (
                Status::Partly,
                "the rules were accepted; this ABI offers nothing to probe them by".to_owned(),
            );
        }
        let device =
            match rustix::fs::openat(CWD, "/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
                Ok(device) => device,
                Err(error) => {
                    return (Status::Partly, format!("not probed, /dev/zero does not open: {error}"));
                }
            };
        match rustix::termios::tcgetattr(device) {
            Err(Errno::ACCESS) => (Status::Enforced, "an ioctl on a device was refused".to_owned()),
            other => (Status::Not, format!("an ioctl on a device was answered by the device: {other:?}")),
        }
    }
}

/// The newest ABI this code was written for.
const NEWEST: u32 = 9;

// Rights, from linux/landlock.h.
const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
/// ABI 2, Linux 5.19. Before, renaming into another directory is always refused.
const REFER: u64 = 1 << 13;
/// ABI 3, Linux 6.2.
const TRUNCATE: u64 = 1 << 14;
/// ABI 5, Linux 6.10.
const IOCTL_DEV: u64 = 1 << 15;
/// ABI 9, Linux 7.1. Sockets that were bound inside the same domain stay reachable without it.
const RESOLVE_UNIX: u64 = 1 << 16;

/// Everything that ABI 1 handles. Device nodes are handled so that they are refused: no rule grants them.
const ABI_1: u64 = EXECUTE
    | WRITE_FILE
    | READ_FILE
    | READ_DIR
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM;
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/// Both scopes of ABI 6, Linux 6.12: abstract Unix sockets and signals stay inside the domain.
const SCOPES: u64 = 0b11;

/// `LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF`, ABI 7, Linux 6.15.
const LOG_SUBDOMAINS_OFF: u32 = 1 << 2;

/// What each ABI added that a sandbox would miss. ABI 4 added TCP ports, which are not used here, and 7 and 8
/// how to log and how to reach every thread.
const ADDED: &[(u32, &str)] = &[
    (3, "truncation (ABI 3)"),
    (5, "ioctl on devices (ABI 5)"),
    (6, "abstract sockets and signals (ABI 6)"),
    (SOCKETS_SINCE, "sockets in directories (ABI 9)"),
];

/// The first ABI that covers connecting to sockets in directories.
pub const SOCKETS_SINCE: u32 = 9;

fn known(abi: u32) -> u32 {
    abi.min(NEWEST)
}

fn handled(abi: u32) -> u64 {
    let mut rights = ABI_1;
    for (since, right) in [(2, REFER), (3, TRUNCATE), (5, IOCTL_DEV), (SOCKETS_SINCE, RESOLVE_UNIX)] {
        if abi >= since {
            rights |= right;
        }
    }
    rights
}

fn scoped(abi: u32) -> u64 {
    if abi >= 6 { SCOPES } else { 0 }
}

fn rights(access: LandlockAccess) -> u64 {
    match access {
        LandlockAccess::ReadExecute => EXECUTE | READ_FILE | READ_DIR,
        LandlockAccess::ReadWrite => {
            rights(LandlockAccess::ReadExecute)
                | WRITE_FILE
                | TRUNCATE
                | REFER
                | REMOVE_DIR
                | REMOVE_FILE
                | MAKE_DIR
                | MAKE_REG
                | MAKE_SOCK
                | MAKE_FIFO
                | MAKE_SYM
        }
        LandlockAccess::Read => READ_FILE,
        LandlockAccess::Write => WRITE_FILE | TRUNCATE,
        LandlockAccess::Terminal => READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn each_abi_handles_what_it_added() {
        assert_eq!(handled(1), 0x1fff);
        assert_eq!(handled(2), 0x3fff);
        assert_eq!(handled(3), 0x7fff);
        assert_eq!(handled(4), 0x7fff);
        assert_eq!(handled(5), 0xffff);
        assert_eq!(handled(8), 0xffff);
        assert_eq!(handled(9), 0x1_ffff);
        assert_eq!(handled(known(40)), 0x1_ffff);
        assert_eq!((scoped(5), scoped(6)), (0, 3));
    }

    #[test]
    fn no_access_grants_devices_or_foreign_sockets() {
        for access in [
            LandlockAccess::ReadExecute,
            LandlockAccess::ReadWrite,
            LandlockAccess::Read,
            LandlockAccess::Write,
            LandlockAccess::Terminal,
        ] {
            assert_eq!(rights(access) & (MAKE_CHAR | MAKE_BLOCK | RESOLVE_UNIX), 0, "{access:?}");
        }
        assert_eq!(rights(LandlockAccess::ReadWrite) & IOCTL_DEV, 0);
    }

    #[test]
    fn the_kernel_takes_every_abi_it_has() {
        let newest = abi().expect("this kernel has landlock");
        for abi in 1..=newest {
            let mut ruleset = Ruleset::of_abi(abi).unwrap();
            for access in [
                LandlockAccess::ReadExecute,
                LandlockAccess::ReadWrite,
                LandlockAccess::Read,
                LandlockAccess::Write,
                LandlockAccess::Terminal,
            ] {
                ruleset.allow(File::open("/usr").unwrap().as_fd(), access).unwrap();
                ruleset.allow_path(Path::new("/dev/null"), access).unwrap();
            }
        }
    }

    #[test]
    fn a_missing_path_is_named() {
        let error =
            Ruleset::new().unwrap().allow_path(Path::new("/nowhere"), LandlockAccess::ReadWrite).unwrap_err();
        assert!(error.to_string().starts_with("cannot open /nowhere for a landlock rule: "), "{error}");
    }

    #[test]
    fn what_an_old_kernel_lacks_is_told() {
        let missing: Vec<_> = Restricted { abi: 5 }.missing().collect();
        assert_eq!(missing, ["sockets in directories (ABI 9)", "abstract sockets and signals (ABI 6)"]);
        assert_eq!(Restricted { abi: 9 }.missing().count(), 0);
    }
}
