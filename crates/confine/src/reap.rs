//! Reaping: what PID 1 owes to every process that lost its parent, and how everything inside is ended.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group};

use crate::control::Ending;

/// Collects every child that has ended; says how the agent did, once it has.
pub(crate) fn ended(agent: i32) -> Option<Ending> {
    let mut ending = None;
    // SIGCHLD coalesces: one signal may stand for any number of children.
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid.as_raw_nonzero().get() == agent {
            ending = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Some(Ending::Exited(code)),
                (None, Some(signal)) => Some(Ending::Signaled(signal)),
                (None, None) => ending,
            };
        }
    }
    ending
}

/// Passes a signal on to the agent's process group, as a terminal would; to the agent alone while it has no group
/// yet, where the signal waits until it is ready. Real-time signals have no names and do not pass.
pub(crate) fn signal_group(agent: i32, signal: i32) {
    if let (Some(agent), Some(signal)) = (Pid::from_raw(agent), Signal::from_named_raw(signal)) {
        // Both may be gone already.
        if kill_process_group(agent, signal).is_err() {
            let _ = kill_process(agent, signal);
        }
    }
}

/// Kills and collects everything but this process. Only for PID 1, for whom "everything" ends at its namespace.
pub(crate) fn kill_all() {
    // kill(2): -1 is every process there is, except PID 1 itself.
    // Nothing else being there is an error to kill, and success to us.
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
    while rustix::process::wait(WaitOptions::empty()).is_ok() {}
}
