//! The lock-down: what a process gives up for good, in the only order in which it can be given up.
//!
//! One implementation for every provider. It is called by PID 1 of a sandbox once everything it may see is
//! there, and by the entrypoint of a container; whatever is born afterwards is confined the same way.

use std::fmt::Display;

use policy::plan::Layer;
use rustix::io::Errno;

use crate::control::Failure;
use crate::landlock::{self, Restricted, Ruleset};
use crate::report::{Finding, Status};
use crate::start::{Grant, Start};
use crate::{capabilities, rlimit, seccomp};

/// What has been put on and cannot be seen again later.
pub(crate) struct Locked {
    /// Landlock, or why there is none.
    pub(crate) landlock: Result<Restricted, String>,
    /// The filter, or why there is none.
    pub(crate) seccomp: Result<(), String>,
    /// What limits of processes stand in for.
    pub(crate) limits: Vec<Finding>,
}

/// Locks this process down.
pub(crate) fn lock_down(start: &Start) -> Result<Locked, Failure> {
    // 1. Limits: the last moment at which a hard limit may be whatever it is.
    let limits = rlimit::apply(&start.substitutes).map_err(failed("setting limits"))?;

    // 2. The bounding set, where that is still to be done and there is a capability that allows it.
    capabilities::drop_bounding().map_err(failed("emptying the bounding set"))?;

    // 3. No program gains rights by being executed. Landlock and seccomp insist on it.
    capabilities::no_new_privs().map_err(failed("setting no_new_privs"))?;

    // 4. Landlock's rules name open files, and some are only open to whoever still has capabilities: its paths
    //    are opened before the next step.
    let rules = rules(&start.grants);

    // 5. Every capability there is.
    capabilities::clear().map_err(failed("giving up capabilities"))?;

    // 6. Landlock.
    let landlock = rules.and_then(Ruleset::restrict_self).map_err(|error| error.to_string());

    // 7. The filter of system calls, last: it refuses what the steps before it need.
    let seccomp = seccomp::install(&seccomp::program()).map_err(|error| error.to_string());

    Ok(Locked { landlock, seccomp, limits })
}

impl Locked {
    /// What can be said of landlock, looked at from inside.
    pub(crate) fn landlock(&self) -> Finding {
        match &self.landlock {
            Ok(restricted) => restricted.probe(),
            Err(reason) => Finding { layer: Layer::Landlock, status: Status::Not, reason: reason.clone() },
        }
    }

    /// What can be said of the filter, looked at from inside.
    pub(crate) fn seccomp(&self) -> Finding {
        match &self.seccomp {
            Ok(()) => seccomp::probe(),
            Err(reason) => Finding { layer: Layer::Seccomp, status: Status::Not, reason: reason.clone() },
        }
    }
}

fn rules(grants: &[Grant]) -> Result<Ruleset, landlock::Error> {
    let mut rules = Ruleset::new()?;
    for grant in grants {
        match rules.allow_path(&grant.path, grant.access) {
            // Nothing there, nothing to grant.
            Err(landlock::Error::Open { source: Errno::NOENT, .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rules)
}

fn failed<E: Display>(step: &'static str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::Step { step: step.into(), errno: None, message: error.to_string() }
}
