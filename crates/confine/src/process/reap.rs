//! Reaping: what PID 1 owes to every process that lost its parent, and how everything inside is ended.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid,
};

use crate::protocol::{Ending, SandboxUsage};
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

/// How often it is looked for processes that were made while others got a signal.
const ROUNDS: u32 = 100;

/// How long descendants may take to end once they are killed, before nobody waits for that any longer.
const DYING: Duration = Duration::from_secs(2);

/// What of the killed is left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Killed {
    /// Nothing.
    All,
    /// What takes longer to end, such as a process that waits for a device.
    NotYet,
}

/// Kills the children of this process, their children and so on, and waits until they have ended, for two seconds at most. For a
/// subreaper: who loses its parent below is a child of this process then, whatever session it has made for itself. They are not collected.
///
/// # Errors
///
/// It cannot be seen which they are, so some may live on.
pub fn kill_descendants() -> io::Result<Killed> {
    kill_until_unchanged_for(DYING, &[])
}

/// Does the same, but for these children and what is below them.
pub(crate) fn kill_descendants_except(kept: &[i32]) -> io::Result<Killed> {
    kill_until_unchanged_for(DYING, kept)
}

/// Does the same again for what has not ended. What is the same as before is not waited for.
pub(crate) fn kill_descendants_again() -> io::Result<Killed> {
    kill_until_unchanged_for(Duration::ZERO, &[])
}

/// Kills what is there again and again, until the same processes have been there for so long. Whatever makes new ones is given no pause:
/// each may be gone before its signal comes, and its child be there.
///
/// A child that was made behind the back of whoever lists the processes is in no list. What made it has ended meanwhile, and nobody has
/// collected it: nothing lives if nothing is seen to live, and nothing has ended since the list before.
fn kill_until_unchanged_for(unchanged: Duration, kept: &[i32]) -> io::Result<Killed> {
    let began = Instant::now();
    let (mut last, mut since, mut pause) = (Descendants::default(), began, Duration::ZERO);
    loop {
        let found = descendants(kept)?;
        for pid in &found.living {
            // It may have ended by itself; only this process, or its parent below, could have given its number away.
            let _ = kill_process(*pid, Signal::KILL);
        }
        let is_unchanged = found == last;
        if is_unchanged && found.living.is_empty() {
            return Ok(Killed::All);
        }
        let now = Instant::now();
        if is_unchanged {
            if now - since > unchanged {
                return Ok(Killed::NotYet);
            }
            pause = (pause * 2).clamp(Duration::from_micros(100), Duration::from_millis(100));
        } else {
            (last, since, pause) = (found, now, Duration::ZERO);
        }
        if now - began >= DYING {
            return Ok(Killed::NotYet);
        }
        if pause.is_zero() { std::thread::yield_now() } else { std::thread::sleep(pause) }
    }
}

/// Sends a signal to the children of this process, their children and so on, those included that are made meanwhile.
pub(crate) fn signal_descendants(signal: Signal) -> io::Result<()> {
    let mut signalled = Vec::new();
    for _ in 0..ROUNDS {
        let living = descendants(&[])?.living.into_iter();
        let new: Vec<_> = living.filter(|pid| !signalled.contains(pid)).collect();
        if new.is_empty() {
            break;
        }
        for pid in &new {
            let _ = kill_process(*pid, signal);
        }
        signalled.extend(new);
    }
    Ok(())
}

/// Adds up what this process and those below it use.
pub(crate) fn usage() -> SandboxUsage {
    let below = descendants(&[]).unwrap_or_default().living;
    let own = std::iter::once(std::process::id());
    let all = below.iter().filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()).chain(own);
    let mut used = SandboxUsage::default();
    for used_by in all.filter_map(|pid| used_by(&Path::new("/proc").join(pid.to_string()))) {
        used.processes += 1;
        used.cpu_ms += used_by.cpu_ms;
        used.resident += used_by.resident;
    }
    used
}

/// Reads what one process uses, with all that it has waited for: fields 14 to 17 and 24 of `proc_pid_stat(5)`.
fn used_by(directory: &Path) -> Option<SandboxUsage> {
    let stat = fs::read(directory.join("stat")).ok()?;
    let rest = std::str::from_utf8(&stat[stat.iter().rposition(|byte| *byte == b')')? + 1..]).ok()?;
    let fields: Vec<u64> = rest.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
    let ticks: u64 = fields.get(11..15)?.iter().sum();
    let second = rustix::param::clock_ticks_per_second().max(1);
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    Some(SandboxUsage {
        processes: 1,
        cpu_ms: ticks.saturating_mul(1000) / second,
        resident: fields.get(21)? * page,
    })
}

/// Collects every child that has ended.
pub(crate) fn collect() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Returns whether this process has children, ended ones included.
pub(crate) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// The processes below this one, in the order of their numbers.
#[derive(Debug, Default, Eq, PartialEq)]
struct Descendants {
    living: Vec<Pid>,
    /// Those that have ended and were not collected.
    ended: Vec<Pid>,
}

/// Lists the processes below this one, but for these children and what is below them.
fn descendants(kept: &[i32]) -> io::Result<Descendants> {
    let entries = fs::read_dir("/proc")?.flatten();
    let is_kept = |process: &Process| kept.iter().any(|kept| u32::try_from(*kept) == Ok(process.pid));
    let read = entries.filter_map(|entry| Process::read(&entry.path()).transpose());
    let mut all = read.collect::<io::Result<Vec<Process>>>()?;
    all.retain(|process| !is_kept(process));
    let mut below = vec![std::process::id()];
    let mut next = 0;
    while let Some(parent) = below.get(next).copied() {
        below.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        next += 1;
    }
    let mut found = Descendants::default();
    for process in all.iter().filter(|process| below[1..].contains(&process.pid)) {
        let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { continue };
        if process.has_ended { found.ended.push(pid) } else { found.living.push(pid) }
    }
    Ok(found)
}

/// Fields 1, 3, 4 and 20 of `/proc/PID/stat`, see `proc_pid_stat(5)`.
struct Process {
    pid: u32,
    parent: u32,
    has_ended: bool,
}

impl Process {
    /// Reads that of a directory of `/proc`; `None` where it is no process, or none any more.
    fn read(directory: &Path) -> io::Result<Option<Self>> {
        let name = directory.file_name().and_then(|name| name.to_str());
        let Some(pid) = name.and_then(|name| name.parse().ok()) else { return Ok(None) };
        match fs::read(directory.join("stat")) {
            Ok(stat) => Ok(Self::parse(pid, &stat)),
            // Those of others may be hidden (hidepid, proc(5)).
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                Ok(None)
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(pid: u32, stat: &[u8]) -> Option<Self> {
        // A name may hold anything, brackets too.
        let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // The state is that of the first thread, which may end before the others do: then it is counted among them until they have.
        let threads: u32 = fields.nth(15)?.parse().ok()?;
        let has_ended = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { pid, parent, has_ended })
    }
}

/// Which processes besides the agent are in the PID namespace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OtherProcesses {
    /// Those that the agent has started.
    OfAgent,
    /// Those too that an engine starts beside them, such as `docker exec` does.
    OfEngine,
}

/// Sends a signal to everything but this process. Only for PID 1, for whom "everything" ends at its namespace: on the host it would be
/// every process of the user, and so nobody else gets to send it.
pub(crate) fn signal_all(signal: nix::sys::signal::Signal) {
    if std::process::id() == 1 {
        // kill(2): -1 is every process there is, except PID 1 itself.
        // Nothing else being there is an error to kill, and success to us.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), signal);
    }
}

/// Kills and collects everything but this process. Only for PID 1.
pub(crate) fn kill_all(others: OtherProcesses) {
    signal_all(nix::sys::signal::Signal::SIGKILL);
    // What an engine's exec has left behind is beyond the reach of our signals (landlock(7), "Signals"), and nobody would
    // ever see its end: it ends with this process.
    let options = match others {
        OtherProcesses::OfAgent => WaitOptions::empty(),
        OtherProcesses::OfEngine => WaitOptions::NOHANG,
    };
    while let Ok(Some(_)) = rustix::process::wait(options) {}
}
