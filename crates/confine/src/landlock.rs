//! Landlock: which files may be touched, whatever the mounts say (landlock(7)).
//!
//! The mounts decide what there is to see; landlock is a second fence of another make, which also holds where
//! there are no mounts of our own. Rules are tied to files that are opened before the rights to open them are
//! gone: a path that is looked up later could lead somewhere else, or nowhere at all.
//!
//! TCP ports are not restricted here. A sandbox has a network namespace of its own, in which there is nothing
//! to reach but itself, and servers inside must be able to bind and connect there as they like.
//!
//! The system calls and the rights of each ABI are the `landlock` crate's. What is here is what it leaves open: which rights
//! are required and which are put on as far as the kernel has them, what each kind of access grants, and the probe.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub use landlock::ABI;
use landlock::{
    Access, AccessFs, AddRuleError, AddRulesError, BitFlags, CompatLevel, Compatible, PathBeneath,
    RestrictSelfAttr, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use policy::plan::{FileId, Layer};
use policy::text::escape;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

use crate::file_id::file_id;
use crate::protocol::LandlockAccess;
use crate::report::{Finding, Status};

/// The newest ABI this code was written for: its rights are the ones that are put on, as far as the kernel has them.
const NEWEST: ABI = ABI::V9;

/// Rules that are being collected.
pub struct Ruleset(RulesetCreated);

/// Rules that are enforced ([`Ruleset::restrict_self`]).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restricted {
    pub abi: ABI,
}

/// Why landlock is not enforced.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    #[error(
        "this kernel has no landlock; Linux 5.13 or newer has it, if built with CONFIG_SECURITY_LANDLOCK and if \
         `landlock` stands in the `lsm=` boot parameter (see /sys/kernel/security/lsm)"
    )]
    Missing(#[source] RulesetError),
    /// The kernel refused a set of rights that its ABI should know.
    #[error("landlock takes no ruleset: {0}")]
    Create(#[source] RulesetError),
    /// The kernel would refuse more than was asked for.
    #[error(
        "landlock of ABI 1 always refuses to move a file into another directory; Linux 5.19 or newer does not"
    )]
    Moves(#[source] RulesetError),
    #[error("cannot open {} for a landlock rule: {source}", escape::path(path))]
    Open { path: PathBuf, source: Errno },
    #[error("landlock takes no rule for {what}: {source}")]
    Rule { what: String, source: RulesetError },
    /// The directories above those that nothing may be read in cannot be looked at.
    #[error("cannot examine the directories above a shared directory: {0}")]
    Above(#[source] Errno),
    #[error("landlock cannot be put on: {0}; no_new_privs must be set before")]
    Restrict(#[source] RulesetError),
}

/// Returns the newest ABI whose rights this kernel has, of those that added some; `None` without landlock.
pub fn abi() -> Option<ABI> {
    [ABI::V9, ABI::V6, ABI::V5, ABI::V3, ABI::V2, ABI::V1].into_iter().find(|abi| {
        let rights = requiring(AccessFs::from_all(*abi));
        rights
            .and_then(
                |ruleset| if *abi < ABI::V6 { Ok(ruleset) } else { ruleset.scope(Scope::from_all(*abi)) },
            )
            .is_ok()
    })
}

/// Begins a ruleset that handles all of these rights, or is none.
fn requiring(rights: BitFlags<AccessFs>) -> Result<landlock::Ruleset, RulesetError> {
    landlock::Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(rights)
}

/// Restricts ptrace: keeps this thread, and everything it forks, from looking into processes that were there before: into their
/// environment, memory and descriptors in `/proc`, whoever their user is. Files, signals and sockets stay as they are.
///
/// Any ruleset does this (landlock(7), "Ptrace restrictions"), so this one refuses the least that one can: making block
/// devices, which takes a capability anyway. Needs ABI 2, and `no_new_privs`.
pub fn restrict_ptrace() -> Result<(), LandlockError> {
    Ruleset::that_lets_files_move(AccessFs::MakeBlock.into())?.restrict_self().map(drop)
}

/// Keeps this thread, and everything it gives birth to, from reading or executing any file beneath these directories,
/// by whatever path they are reached. All else stays as it is.
///
/// Landlock only grants. So each entry of each directory above them is granted, save those that lead down to them. Three
/// things follow. A file that is made in a directory above them later on cannot be read. What lies beneath them can still
/// be listed, because listing a directory above cannot be granted without all that is in it. And a link beneath them is
/// followed, because landlock restricts no lookup.
///
/// Needs ABI 2. Sets `no_new_privs` where the thread has no `CAP_SYS_ADMIN`, as landlock requires.
pub fn keep_out_of(directories: &[OwnedFd]) -> Result<(), LandlockError> {
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
    // The kernel refuses all the same to move a file to where it could be read if it cannot be read where it is.
    let mut ruleset = Ruleset::that_lets_files_move(AccessFs::Execute | AccessFs::ReadFile)?;
    let leads_down = |id: &FileId| kept.contains(id) || above.contains_key(id);
    for directory in above.values() {
        ruleset.allow_entries(directory, &leads_down).map_err(LandlockError::Above)?;
    }
    let privileged = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    ruleset.0.no_new_privs(!privileged).restrict_self().map(drop).map_err(LandlockError::Restrict)
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
        // Without these there is no landlock. The kernel has of the newer ones what it has, and [`Restricted::missing`] says so.
        let ruleset = requiring(AccessFs::from_all(ABI::V1)).map_err(LandlockError::Missing)?;
        let ruleset =
            ruleset.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(NEWEST));
        ruleset
            .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST))?.create())
            .map(Self)
            .map_err(LandlockError::Create)
    }

    /// Makes a ruleset that handles `refused`, and lets files be moved into other directories: that is refused by every ruleset
    /// whose rules do not grant it.
    fn that_lets_files_move(refused: BitFlags<AccessFs>) -> Result<Self, LandlockError> {
        let ruleset = requiring(refused).map_err(LandlockError::Missing)?;
        let ruleset = ruleset.handle_access(AccessFs::Refer).map_err(LandlockError::Moves)?;
        let mut ruleset = Self(ruleset.create().map_err(LandlockError::Create)?);
        ruleset.add_path(Path::new("/"), AccessFs::Refer.into())?;
        Ok(ruleset)
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

    fn add_path(&mut self, path: &Path, rights: BitFlags<AccessFs>) -> Result<(), LandlockError> {
        let file = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|source| LandlockError::Open { path: path.to_owned(), source })?;
        let refused = |source| LandlockError::Rule { what: escape::path(path), source };
        self.add(file.as_fd(), rights).map_err(refused)
    }

    /// Restricts this thread and everything it forks, for good.
    ///
    /// From then on mounts cannot be changed, and processes outside cannot be signalled or traced.
    pub fn restrict_self(self) -> Result<Restricted, LandlockError> {
        // What an agent restricts further is its own affair: refusals there must not fill the host's audit log.
        let ruleset = self.0.log_subdomains(false).map_err(LandlockError::Restrict)?.no_new_privs(false);
        let status = ruleset.restrict_self().map_err(LandlockError::Restrict)?;
        Ok(Restricted { abi: ABI::from(status.landlock).min(NEWEST) })
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
                self.add(file, AccessFs::Execute | AccessFs::ReadFile).map_err(|_| Errno::INVAL)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, beneath: impl AsFd, rights: BitFlags<AccessFs>) -> Result<(), RulesetError> {
        match (&mut self.0).add_rule(PathBeneath::new(beneath, rights)) {
            // The kernel's own file systems, such as that of memfd_create(2), take no rule and need none.
            Err(RulesetError::AddRules(AddRulesError::Fs(AddRuleError::AddRuleCall { source, .. })))
                if source.raw_os_error() == Some(Errno::BADFD.raw_os_error()) =>
            {
                Ok(())
            }
            other => other.map(drop),
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
        let (status, seen) = self.probe_rules();
        let mut reason = format!("ABI {}: {seen}", self.abi);
        let missing: Vec<_> = self.missing().collect();
        if !missing.is_empty() {
            reason.push_str("; this kernel's landlock does not cover ");
            reason.push_str(&missing.join(", "));
        }
        Finding { layer: Layer::Landlock, status, reason }
    }

    fn probe_rules(self) -> (Status, String) {
        if self.abi < ABI::V5 {
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

/// What each ABI added that a sandbox would miss. ABI 4 added TCP ports, which are not used here, and 7 and 8
/// how to log and how to reach every thread.
const ADDED: &[(ABI, &str)] = &[
    (ABI::V3, "truncation (ABI 3)"),
    (ABI::V5, "ioctl on devices (ABI 5)"),
    (ABI::V6, "abstract sockets and signals (ABI 6)"),
    (ABI::V9, "sockets in directories (ABI 9)"),
];

/// Returns what an access grants: neither device nodes, which are handled so that they are refused, nor foreign sockets.
fn rights(access: LandlockAccess) -> BitFlags<AccessFs> {
    match access {
        LandlockAccess::ReadExecute => make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir}),
        LandlockAccess::ReadWrite => {
            rights(LandlockAccess::ReadExecute)
                | make_bitflags!(AccessFs::{
                    WriteFile | Truncate | Refer | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym
                })
        }
        LandlockAccess::Read => AccessFs::ReadFile.into(),
        LandlockAccess::Write => make_bitflags!(AccessFs::{WriteFile | Truncate}),
        LandlockAccess::Terminal => {
            make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev})
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const EVERY_ACCESS: [LandlockAccess; 5] = [
        LandlockAccess::ReadExecute,
        LandlockAccess::ReadWrite,
        LandlockAccess::Read,
        LandlockAccess::Write,
        LandlockAccess::Terminal,
    ];

    #[test]
    fn no_access_grants_devices_or_foreign_sockets() {
        for access in EVERY_ACCESS {
            let foreign = make_bitflags!(AccessFs::{MakeChar | MakeBlock | ResolveUnix});
            assert!(!rights(access).intersects(foreign), "{access:?}");
        }
        assert!(!rights(LandlockAccess::ReadWrite).contains(AccessFs::IoctlDev));
    }

    #[test]
    fn the_kernel_takes_every_access_for_directories_and_files() {
        let mut ruleset = Ruleset::new().unwrap();
        for access in EVERY_ACCESS {
            ruleset.allow(File::open("/usr").unwrap().as_fd(), access).unwrap();
            ruleset.allow_path(Path::new("/dev/null"), access).unwrap();
        }
    }

    #[test]
    fn a_missing_path_is_named() {
        let error =
            Ruleset::new().unwrap().allow_path(Path::new("/nowhere"), LandlockAccess::ReadWrite).unwrap_err();
        assert!(error.to_string().starts_with("cannot open /nowhere for a landlock rule: "), "{error}");
    }

    #[test]
    fn what_an_old_kernel_lacks_is_reported() {
        let missing: Vec<_> = Restricted { abi: ABI::V5 }.missing().collect();
        assert_eq!(missing, ["sockets in directories (ABI 9)", "abstract sockets and signals (ABI 6)"]);
        assert_eq!(Restricted { abi: NEWEST }.missing().count(), 0);
    }
}
