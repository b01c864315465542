//! What belongs to a sandbox, is signalled with it, and ends with it.

use nix::sys::signal::Signal;

use crate::process::reap::{self, OtherProcesses};

/// What belongs to a sandbox, and ends with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scope {
    /// All of the namespace whose PID 1 this process is, with these others.
    Namespace(OtherProcesses),
    /// What this process has started, and what that has, on the host itself.
    Descendants,
}

impl Scope {
    /// Sends a signal to everything. Supervisors listen to none but those that stop and continue.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            Self::Namespace(_) => reap::signal_all(signal),
            Self::Descendants => {
                if let Some(signal) = rustix::process::Signal::from_named_raw(signal as i32) {
                    let _ = reap::signal_descendants(signal);
                }
            }
        }
    }

    /// Ends everything.
    pub(super) fn end(self) {
        match self {
            Self::Namespace(others) => reap::kill_all(others),
            Self::Descendants => {
                let _ = reap::kill_descendants();
                reap::collect();
            }
        }
    }
}
