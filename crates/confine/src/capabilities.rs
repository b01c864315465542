//! Capabilities: none in any set, and no way to gain one (capabilities(7)).
//!
//! In a native sandbox the first process has them all, in its own namespace, and `keep_across_execution` hands PID 1
//! those that it needs to mount the rootfs.
//!
//! The order: [`drop_bounding`] while `CAP_SETPCAP` is still there, then the change of user, then [`clear`],
//! because a change of user that leaves capabilities behind must not matter, then [`no_new_privs`].
//!
//! The secure bits are left alone. All they prevent (a program of uid 0 that is given capabilities, an
//! ambient capability that is raised) is bounded by sets that are empty here, and setting them takes the same
//! capability as emptying the bounding set: where one cannot be done, the other cannot either.
//!
//! All of it goes through `rustix`, which has the sets as bits. The `caps` crate, by which `sandbox` changes the sets of root's threads,
//! will not do here: it knows capabilities by their names, and so neither reads nor drops one that a newer kernel has added; its
//! errors are texts without a number; and its sets allocate, which nothing may do between `clone3` and `execveat`.

use policy::plan::Layer;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Uid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_thread_uid,
};

use crate::kernel_file::KernelFileSystem;
use crate::report::{Finding, Status};

/// A step that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {source}")]
pub struct CapabilityError {
    step: &'static str,
    pub(crate) source: Errno,
}

/// Empties the bounding set: nothing that is executed from now on can gain a capability from a file.
///
/// Without `CAP_SETPCAP` it stays as it is, which [`probe`] reports unless it is empty already.
pub fn drop_bounding() -> Result<(), CapabilityError> {
    for capability in every_capability() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // EINVAL: the first number that the kernel does not know, so all are gone. EPERM: no right to do
            // it; the kernel looks at that first, so this is the first answer or none.
            Err(Errno::INVAL | Errno::PERM) => return Ok(()),
            Err(source) => return Err(CapabilityError { step: "empty the capability bounding set", source }),
        }
    }
    Ok(())
}

/// What PID 1 needs to make its sandbox: to mount and to name the host, to bring loopback up, to empty the
/// bounding set, and to reach a mount point in a directory that its owner may not enter.
const OF_PID_1: [CapabilitySet; 4] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP, CapabilitySet::DAC_OVERRIDE];

/// Lets the program that is executed next have what PID 1 needs, and nothing more: a user who is not 0 keeps only
/// ambient capabilities (capabilities(7)). Allocates nothing.
pub(crate) fn keep_across_execution() -> Result<(), Errno> {
    let held = capabilities(None)?;
    let inheritable = OF_PID_1.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    set_capabilities(None, CapabilitySets { inheritable, ..held })?;
    OF_PID_1.into_iter().try_for_each(|one| configure_capability_in_ambient_set(one, true))
}

/// Empties the ambient, inheritable, permitted and effective sets.
pub fn clear() -> Result<(), CapabilityError> {
    match clear_ambient_capability_set() {
        // Linux before 4.3 has no ambient set.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(source) => return Err(CapabilityError { step: "clear the ambient capabilities", source }),
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|source| CapabilityError { step: "give up capabilities", source })
}

/// Sets `no_new_privs`: from now on no program that is executed gains rights by its set-uid bit or its file
/// capabilities, for good.
///
/// Landlock and seccomp need it.
pub fn no_new_privs() -> Result<(), CapabilityError> {
    let step = "set no_new_privs";
    rustix::thread::set_no_new_privs(true).map_err(|source| CapabilityError { step, source })?;
    match rustix::thread::no_new_privs() {
        Ok(true) => Ok(()),
        Ok(false) => Err(CapabilityError { step, source: Errno::PERM }),
        Err(source) => Err(CapabilityError { step, source }),
    }
}

/// Makes this process's memory, environment and descriptors in `/proc` belong to root, so that others of the
/// same uid cannot look in, and ends core dumps. Executing a program undoes it.
pub fn not_dumpable() -> Result<(), CapabilityError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|source| CapabilityError { step: "make this process not dumpable", source })
}

/// Reads every set back, and tries to become root again.
pub fn probe() -> Finding {
    let (status, reason) = probe_sets();
    Finding { layer: Layer::Capabilities, status, reason }
}

fn probe_sets() -> (Status, String) {
    let sets = match capabilities(None) {
        Ok(sets) => sets,
        Err(error) => return (Status::Not, format!("the sets cannot be read: {error}")),
    };
    // An ambient capability is always permitted and inheritable too, so that set need not be asked.
    let held = sets.effective | sets.permitted | sets.inheritable;
    if !held.is_empty() {
        return (Status::Not, format!("still holds {:#x}", held.bits()));
    }
    if !matches!(rustix::thread::no_new_privs(), Ok(true)) {
        return (Status::Not, "no_new_privs is not set".to_owned());
    }
    // Fails for everyone but root, whose next program it would be that counts; changes nothing for root
    // either. Root of a user namespace alone is somebody else outside.
    let is_root = rustix::process::getuid().is_root() || set_thread_uid(Uid::ROOT).is_ok();
    let outside = if is_root { root_outside() } else { None };
    if is_root && outside.is_none() {
        return (Status::Partly, "no capability in any set, but the user is root".to_owned());
    }
    let bounding = every_capability()
        .map_while(|one| capability_is_in_bounding_set(one).ok().map(|there| (one, there)))
        .filter(|&(_, there)| there)
        .fold(CapabilitySet::empty(), |all, (one, _)| all | one);
    if !bounding.is_empty() {
        let reason = format!(
            "none is held and no_new_privs keeps it so, but the bounding set still has {:#x}: emptying it takes \
             CAP_SETPCAP",
            bounding.bits()
        );
        return (Status::Partly, reason);
    }
    let reason = match outside {
        None => "every set is empty, no_new_privs is set, becoming root was refused".to_owned(),
        Some(uid) => format!("every set is empty, no_new_privs is set; user 0 in here is {uid} outside"),
    };
    (Status::Enforced, reason)
}

/// Returns which user root of this user namespace is in the one around it, if that is another.
fn root_outside() -> Option<u32> {
    let map = KernelFileSystem::Processes.text("/proc/self/uid_map").ok()?;
    let lines = map.lines().map(|line| line.split_whitespace().filter_map(|id| id.parse().ok()).collect());
    lines
        .filter_map(|ids: Vec<u32>| Some((*ids.first()?, *ids.get(1)?)))
        .find_map(|(inside, outside)| (inside == 0 && outside != 0).then_some(outside))
}

/// Lists one set for each number there can be; the kernel says EINVAL to the first that it does not know.
fn every_capability() -> impl Iterator<Item = CapabilitySet> {
    (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number))
}
