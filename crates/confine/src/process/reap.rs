//! Reaping: what PID 1 owes to every process that lost its parent, and how everything inside is ended.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid,
};

use crate::protocol::Ending;
use crate::sys;

/// Has the kernel keep children that have ended until they are waited for, and report their ends. A caller may have ignored SIGCHLD, which
/// survives an execution: then the number of a child that has ended may be somebody else's at once, see sigaction(2), and a signal
/// that is meant for the child reaches them.
pub fn keep_ended_children() {
    sys::default_signal(libc::SIGCHLD);
}

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

/// Sends a signal to the agent's process group, as a terminal would; to the agent alone while it has no group
/// yet, where the signal waits until it is ready. Real-time signals have no names and do not pass.
pub(crate) fn signal_group(agent: i32, signal: i32) {
    if let (Some(agent), Some(signal)) = (Pid::from_raw(agent), Signal::from_named_raw(signal)) {
        // Both may be gone already.
        if kill_process_group(agent, signal).is_err() {
            let _ = kill_process(agent, signal);
        }
    }
}

/// How long descendants may take to end once they are killed, before nobody waits for that any longer.
const DYING: Duration = Duration::from_secs(2);

/// Kills the children of this process, their children and so on, and waits until they have ended. For a subreaper: who loses
/// its parent below is a child of this process then, whatever session it has made for itself. They are not collected.
pub fn kill_descendants() {
    kill_descendants_except(&[]);
}

/// Does the same, but for these children and what is below them.
pub(crate) fn kill_descendants_except(kept: &[i32]) {
    let until = Instant::now() + DYING;
    loop {
        let living = descendants(kept);
        for pid in &living {
            // It may have ended by itself; only this process, or its parent below, could have given its number away.
            let _ = kill_process(*pid, Signal::KILL);
        }
        if living.is_empty() || Instant::now() >= until {
            return;
        }
        // What was being made just then is found the next time round.
        std::thread::yield_now();
    }
}

/// Sends a signal to the children of this process, their children and so on.
pub(crate) fn signal_descendants(signal: Signal) {
    for pid in descendants(&[]) {
        let _ = kill_process(pid, signal);
    }
}

/// Returns whether this process has children, ended ones included.
pub(crate) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Lists the processes below this one that have not ended, but for these children and what is below them.
fn descendants(kept: &[i32]) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_kept = |process: &Process| kept.iter().any(|kept| u32::try_from(*kept) == Ok(process.pid));
    let read = entries.filter_map(|entry| Process::read(&entry.path()));
    let all: Vec<Process> = read.filter(|process| !is_kept(process)).collect();
    let mut below = vec![std::process::id()];
    let mut next = 0;
    while let Some(parent) = below.get(next).copied() {
        below.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        next += 1;
    }
    let lives = |process: &&Process| !process.has_ended && below[1..].contains(&process.pid);
    all.iter().filter(lives).filter_map(|process| Pid::from_raw(i32::try_from(process.pid).ok()?)).collect()
}

/// One line of `/proc/PID/stat`, see `proc_pid_stat(5)`.
struct Process {
    pid: u32,
    parent: u32,
    has_ended: bool,
}

impl Process {
    fn read(directory: &Path) -> Option<Self> {
        let pid = directory.file_name()?.to_str()?.parse().ok()?;
        // A name may hold anything, brackets too.
        let stat = fs::read(directory.join("stat")).ok()?;
        let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        Some(Self { pid, parent: fields.next()?.parse().ok()?, has_ended })
    }
}

/// Which processes besides the agent are in the PID namespace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OtherProcesses {
    /// Those that the agent has started.
    OfAgent,
    /// Those of exec sessions too, which an engine starts.
    OfExecSessions,
}

/// Kills and collects everything but this process. Only for PID 1, for whom "everything" ends at its namespace.
pub(crate) fn kill_all(others: OtherProcesses) {
    // kill(2): -1 is every process there is, except PID 1 itself.
    // Nothing else being there is an error to kill, and success to us.
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
    // What an exec has left behind is beyond the reach of our signals (landlock(7), "Signals"), and nobody would
    // ever see its end: it ends with this process.
    let options = match others {
        OtherProcesses::OfAgent => WaitOptions::empty(),
        OtherProcesses::OfExecSessions => WaitOptions::NOHANG,
    };
    while let Ok(Some(_)) = rustix::process::wait(options) {}
}
