//! Reaping: what PID 1 owes to every process that lost its parent, and how everything inside is ended.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group};

use crate::control::Ending;

/// How many children are collected before anything else gets its turn: an agent can make orphans faster than they
/// can be collected.
const BATCH: u32 = 64;

/// What was collected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reaped {
    /// The agent, which ended like this.
    Agent(Ending),
    /// Every child that has ended so far.
    All,
    /// A batch; more may be waiting, and no signal will say so again.
    Some,
}

/// Collects a batch of children that have ended. SIGCHLD coalesces: one signal may stand for any number of them.
pub(crate) fn reap(agent: i32) -> Reaped {
    for _ in 0..BATCH {
        let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) else { return Reaped::All };
        if pid.as_raw_nonzero().get() == agent {
            match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Reaped::Agent(Ending::Exited(code)),
                (None, Some(signal)) => return Reaped::Agent(Ending::Signaled(signal)),
                (None, None) => {}
            }
        }
    }
    Reaped::Some
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

/// Who else is in the PID namespace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Others {
    /// What the agent has started.
    Agents,
    /// Second commands too, which come by way of an engine.
    SecondCommands,
}

/// Kills and collects everything but this process. Only for PID 1, for whom "everything" ends at its namespace.
pub(crate) fn kill_all(others: Others) {
    // kill(2): -1 is every process there is, except PID 1 itself.
    // Nothing else being there is an error to kill, and success to us.
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
    // What a second command has left behind is beyond the reach of our signals (landlock(7), "Signals"), and nobody would
    // ever see its end: it ends with this process.
    let options = match others {
        Others::Agents => WaitOptions::empty(),
        Others::SecondCommands => WaitOptions::NOHANG,
    };
    while let Ok(Some(_)) = rustix::process::wait(options) {}
}
