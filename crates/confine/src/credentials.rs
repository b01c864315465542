//! Credentials (credentials(7)): changing user and groups for good, and reading them back.

use nix::unistd::{getresgid, getresuid};
use rustix::io::Errno;
use rustix::process::getgroups;
use rustix::thread::{CapabilitiesSecureBits, capabilities_secure_bits, set_capabilities_secure_bits};
use rustix::thread::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::account::Account;
use crate::capabilities::{self, CapabilityError};
use crate::kernel_file::KernelFileSystem;

/// Why this process has not the ids that it should have.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("cannot {step}: {source}; {remedy}")]
    Refused { step: String, source: Errno, remedy: String },
    #[error("cannot read {what} back: {source}")]
    Unreadable { what: &'static str, source: Errno },
    #[error("{what} are {seen} after the change to {wanted}; the kernel did not do what it confirmed")]
    NotDone {
        /// Ids of what kind.
        what: &'static str,
        seen: String,
        wanted: String,
    },
    #[error(
        "becoming root again was possible; something outside keeps capabilities alive (secure bits, see capabilities(7))"
    )]
    RootRegained,
    #[error(transparent)]
    Capabilities(#[from] CapabilityError),
}

/// What became of the supplementary groups.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SupplementaryGroups {
    /// They are the account's.
    Set,
    /// They could not be changed, and these beyond the account's are still there.
    Kept {
        /// The groups that the account does not have.
        extra: Vec<u32>,
        reason: KeptBecause,
    },
}

/// Why supplementary groups could not be changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeptBecause {
    /// This user namespace refuses `setgroups` (`/proc/self/setgroups`).
    Namespace,
    /// This process started as the account already, without the right to change groups.
    Unprivileged,
}

/// Sets supplementary groups, group and user, and reads them back.
///
/// A process that has these ids already succeeds, whatever rights are missing. Ids belong to a thread; this is for
/// processes with one.
pub fn set_credentials(account: &Account) -> Result<SupplementaryGroups, CredentialsError> {
    let there = ids()? == wanted_ids(account);

    // 1. Supplementary groups, first: without the user's rights nobody changes them.
    let groups = set_groups(account, there)?;

    if !there {
        // 2. The group, before the user, for the same reason. Real, effective and saved, so that none leads back.
        let gid = Gid::from_raw(account.gid);
        set_thread_res_gid(gid, gid, gid).map_err(refused(account, format!("become gid {}", account.gid)))?;

        // 3. The user.
        let uid = Uid::from_raw(account.uid);
        set_thread_res_uid(uid, uid, uid).map_err(refused(account, format!("become uid {}", account.uid)))?;
    }

    // 4. What the kernel says now, and not what it answered.
    let (seen, wanted) = (ids()?, wanted_ids(account));
    if seen != wanted {
        let [seen, wanted] = [seen, wanted].map(|ids| format!("{ids:?}"));
        return Err(CredentialsError::NotDone { what: "user and group ids", seen, wanted });
    }
    if groups == SupplementaryGroups::Set && current_groups()? != sorted(&account.groups) {
        let [seen, wanted] = [current_groups()?, sorted(&account.groups)].map(|ids| format!("{ids:?}"));
        return Err(CredentialsError::NotDone { what: "supplementary groups", seen, wanted });
    }
    Ok(groups)
}

/// Becomes a user for good, with nothing of root's: [`set_credentials`], and no capability is left, whatever secure bits root has.
pub fn become_user(account: &Account) -> Result<SupplementaryGroups, CredentialsError> {
    drop_secure_bits().map_err(refused(account, "take back the secure bit no_setuid_fixup".to_owned()))?;
    let groups = set_credentials(account)?;
    capabilities::clear()?;
    verify_root_is_gone(account)?;
    Ok(groups)
}

/// Becomes a user with one group in the same way, in a child that has not executed its program yet. Allocates nothing.
pub(crate) fn become_user_alone(uid: u32, gid: u32) -> Result<(), Errno> {
    drop_secure_bits()?;
    set_thread_groups(&[])?;
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    capabilities::clear().map_err(|error| error.source)?;
    if is_root_regained(uid, gid) { Err(Errno::PERM) } else { Ok(()) }
}

/// Takes back the secure bits that keep capabilities across a change of user. They are inherited: a set-uid program that the user
/// starts would keep root's capabilities when it becomes the user again. The other bits only take rights away, and stay.
fn drop_secure_bits() -> Result<(), Errno> {
    let keeping = CapabilitiesSecureBits::NO_SETUID_FIXUP | CapabilitiesSecureBits::KEEP_CAPS;
    let bits = capabilities_secure_bits()?;
    if bits.intersects(keeping) { set_capabilities_secure_bits(bits - keeping) } else { Ok(()) }
}

/// Tries to become root again, which must fail; to be called when no capability is left. Root need not try.
pub fn verify_root_is_gone(account: &Account) -> Result<(), CredentialsError> {
    if is_root_regained(account.uid, account.gid) { Err(CredentialsError::RootRegained) } else { Ok(()) }
}

fn is_root_regained(uid: u32, gid: u32) -> bool {
    uid != 0
        && (set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).is_ok()
            || gid != 0 && set_thread_gid(Gid::ROOT).is_ok())
}

fn set_groups(account: &Account, there: bool) -> Result<SupplementaryGroups, CredentialsError> {
    let (current, wanted) = (current_groups()?, sorted(&account.groups));
    if current == wanted {
        return Ok(SupplementaryGroups::Set);
    }
    let extra = current.into_iter().filter(|group| !wanted.contains(group)).collect();
    if KernelFileSystem::Processes.read("/proc/self/setgroups").is_ok_and(|text| text.starts_with(b"deny")) {
        return Ok(SupplementaryGroups::Kept { extra, reason: KeptBecause::Namespace });
    }
    let groups: Vec<_> = account.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    match set_thread_groups(&groups) {
        Ok(()) => Ok(SupplementaryGroups::Set),
        Err(Errno::PERM) if there => {
            Ok(SupplementaryGroups::Kept { extra, reason: KeptBecause::Unprivileged })
        }
        Err(source) => Err(refused(account, "set the supplementary groups".to_owned())(source)),
    }
}

fn refused(account: &Account, step: String) -> impl FnOnce(Errno) -> CredentialsError {
    let (uid, gid) = (account.uid, account.gid);
    move |source| {
        let remedy = match source {
            Errno::INVAL => format!(
                "uid {uid} or gid {gid} is not mapped in this user namespace; map it, or choose another user"
            ),
            _ => format!(
                "start as that user already (`--user {uid}:{gid}`), or as root with the capabilities SETUID and SETGID \
                 (`--cap-add SETUID --cap-add SETGID`)"
            ),
        };
        CredentialsError::Refused { step, source, remedy }
    }
}

/// Reads real, effective and saved ids, of the user and of the group.
fn ids() -> Result<[[u32; 3]; 2], CredentialsError> {
    let unreadable = |what| {
        move |errno| CredentialsError::Unreadable { what, source: Errno::from_raw_os_error(errno as i32) }
    };
    let user = getresuid().map_err(unreadable("user ids"))?;
    let group = getresgid().map_err(unreadable("group ids"))?;
    let user = [user.real, user.effective, user.saved].map(nix::unistd::Uid::as_raw);
    let group = [group.real, group.effective, group.saved].map(nix::unistd::Gid::as_raw);
    Ok([user, group])
}

fn wanted_ids(account: &Account) -> [[u32; 3]; 2] {
    [[account.uid; 3], [account.gid; 3]]
}

fn current_groups() -> Result<Vec<u32>, CredentialsError> {
    let groups = getgroups()
        .map_err(|source| CredentialsError::Unreadable { what: "supplementary groups", source })?;
    Ok(sorted(&groups.into_iter().map(Gid::as_raw).collect::<Vec<_>>()))
}

fn sorted(groups: &[u32]) -> Vec<u32> {
    let mut groups = groups.to_vec();
    groups.sort_unstable();
    groups.dedup();
    groups
}
