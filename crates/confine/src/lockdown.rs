//! The lock-down: what a process gives up for good, in the only order in which it can be given up.
//!
//! One implementation for every provider. It is called by PID 1 of a sandbox once its rootfs is complete, and by the
//! entrypoint of a container; every process that is created afterwards is confined the same way.

use policy::plan::Layer;
use rustix::io::Errno;

pub use crate::sys::Machine;

use crate::account::Account;
use crate::capabilities::CapabilityError;
use crate::credentials::{self, CredentialsError, SupplementaryGroups};
use crate::landlock::{self, LandlockError, Restricted, Ruleset};
use crate::protocol::{Grant, RlimitFallback};
use crate::report::{Finding, Status};
use crate::rlimit::RlimitError;
use crate::seccomp::{SeccompError, SeccompFilter};
use crate::{capabilities, rlimit, seccomp};

/// What is to be given up.
#[derive(Clone, Copy)]
pub struct Lockdown<'a> {
    pub rlimit_fallback: &'a RlimitFallback,
    /// The user to become; `None` where that was done before.
    pub account: Option<&'a Account>,
    /// What landlock allows; `None` where it restricts no files. Then it only restricts ptrace: what is beneath this process
    /// cannot look into what is above it.
    pub grants: Option<&'a [Grant]>,
    /// The seccomp filter, compiled before: whoever waits for something has the time.
    pub filter: &'a SeccompFilter,
}

/// What has been put on and cannot be seen again later.
pub struct Locked {
    /// Landlock, or why there is none.
    landlock: Result<Restricted, String>,
    /// Whether ptrace of older processes is restricted, or why not; `None` where that was not to be done.
    pub ptrace: Option<Result<(), LandlockError>>,
    /// The filter, or why there is none.
    seccomp: Result<(), SeccompError>,
    /// The rlimits that stand in for a cgroup.
    pub(crate) limits: Vec<Finding>,
    /// What became of the supplementary groups; `None` where the user was not to change.
    pub groups: Option<SupplementaryGroups>,
}

/// The step that failed. Layers that could not be put on are no failure here: [`Locked`] reports them.
#[derive(Debug, thiserror::Error)]
pub enum LockdownError {
    #[error(transparent)]
    Limits(#[from] RlimitError),
    /// Giving capabilities up, or setting `no_new_privs`.
    #[error(transparent)]
    Capabilities(#[from] CapabilityError),
    /// Becoming the agent's user.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Locks this process down. It must have one thread only: users, capabilities and filters belong to threads.
pub fn lock_down(lockdown: &Lockdown<'_>) -> Result<Locked, LockdownError> {
    // 1. Limits: the last moment at which a hard limit may be whatever it is.
    let limits = rlimit::apply(lockdown.rlimit_fallback)?;

    // 2. The bounding set, where that is still to be done and there is a capability that allows it: another user
    //    has none.
    capabilities::drop_bounding()?;

    // 3. Landlock's rules name open files, and some are only open to whoever still has capabilities: its paths
    //    are opened before the next step.
    let rules = lockdown.grants.map(rules);

    // 4. The user, where this process is still another one.
    let groups = lockdown.account.map(credentials::set_credentials).transpose()?;

    // 5. No program gains rights by being executed. Landlock and seccomp require it.
    capabilities::no_new_privs()?;

    // 6. Every capability there is: inherited ones survive a change of user, and without a change so do ambient ones.
    capabilities::clear()?;

    // 7. There is no way back. Not asked before, because a capability is a way back.
    lockdown.account.map(credentials::verify_root_is_gone).transpose()?;

    // 8. Landlock. Others may have the same user, and remember what this process had to forget: an engine's own
    //    init or a shell above it, and whatever the engine's own `exec` starts later.
    let ptrace = rules.is_none().then(landlock::restrict_ptrace);
    let landlock = match rules {
        Some(rules) => rules.and_then(Ruleset::restrict_self).map_err(|error| error.to_string()),
        None => Err("it was not asked for".to_owned()),
    };

    // 9. The seccomp filter, last: it refuses what the steps before it need.
    let seccomp = seccomp::install(lockdown.filter);

    Ok(Locked { landlock, ptrace, seccomp, limits, groups })
}

impl Locked {
    /// Reports on landlock, as seen from inside.
    pub fn landlock(&self) -> Finding {
        match &self.landlock {
            Ok(restricted) => restricted.probe(),
            Err(reason) => Finding { layer: Layer::Landlock, status: Status::Not, reason: reason.clone() },
        }
    }

    /// Reports on the seccomp filter, as seen from inside.
    pub fn seccomp(&self) -> Finding {
        match &self.seccomp {
            Ok(()) => seccomp::probe(),
            Err(error) => Finding { layer: Layer::Seccomp, status: Status::Not, reason: error.to_string() },
        }
    }

    /// Returns what executes this program, as far as it has shown.
    pub fn machine(&self) -> Machine {
        match self.seccomp {
            Err(SeccompError::Emulated) => Machine::Emulated,
            Ok(()) | Err(SeccompError::Refused(_)) => Machine::Real,
        }
    }
}

fn rules(grants: &[Grant]) -> Result<Ruleset, LandlockError> {
    let mut rules = Ruleset::new()?;
    for grant in grants {
        match rules.allow_path(&grant.path, grant.access) {
            // Nothing there, nothing to grant.
            Err(LandlockError::Open { source: Errno::NOENT, .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rules)
}
