//! PID 1 of a persistent container: it reaps orphans and forwards signals while the agent runs.
//!
//! What it has received must not be readable from it: `/proc/1/environ` shows what the kernel was given when the program
//! was executed, whatever the program does to its variables later. So it executes itself again, with an empty
//! environment. It does so *after* it has forked the agent's process: that one has taken everything with it, and
//! all there is to pass on is a number and a descriptor.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::str::FromStr;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{getpgrp, getpid, setpgid, setsid, tcgetpgrp, tcsetpgrp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, set_child_subreaper, waitid};

use super::reap::{self, Reaped};
use super::stdio;
use crate::lockdown::Machine;
use crate::{capabilities, sys};

/// The argument by which the program makes itself the supervisor: the agent's process and the pipe that lets it go on follow.
pub const ARGUMENT: &str = "--supervise=";

/// Exit code of whoever could not do its own work.
const FAILED: u8 = 125;

/// What stands after [`ARGUMENT`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Supervised {
    agent: i32,
    go: i32,
}

impl FromStr for Supervised {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (agent, go) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self { agent: agent.parse()?, go: go.parse()? })
    }
}

/// Forks. The new process calls `agent`, which executes the command or returns the exit code that says why not; this
/// one becomes [`run`] of a fresh image. Returns only what failed before there was an agent.
///
/// This program must have one thread. On a real machine that is checked.
pub fn fork_and_supervise(machine: Machine, agent: impl FnOnce() -> u8) -> io::Result<Infallible> {
    // 1. This program, whatever becomes of its path.
    let itself = rustix::fs::open(c"/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;

    // 2. Signals wait from now on. The mask and what is pending survive the execution, so that none is lost.
    SigSet::all().thread_block()?;

    // 3. The agent's process. It waits until this one has nothing left that it should not see.
    let (wait, go) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(child) = sys::fork_single_threaded(machine)? else {
        drop(go);
        sys::exit_now(i32::from(start_agent(&wait, agent)));
    };
    drop(wait);

    // 4. A fresh image of this program. Only the pipe goes along: whatever else is open closes.
    sys::close_from_on_exec(3)?;
    fcntl_setfd(&go, FdFlags::empty())?;
    let argument = CString::new(format!("{ARGUMENT}{child}:{}", go.as_raw_fd()))?;
    let arguments = [c"entrypoint", &argument];
    Err(match machine {
        Machine::Real => sys::execute_file(itself.as_fd(), &arguments).into(),
        Machine::Emulated => execute_emulated(&itself, &arguments)?,
    })
}

/// Executes this program again under an emulator. QEMU before 8.0 has no execveat(2). And the kernel gives an emulator
/// the path that was executed (`binfmt_misc`), so the descriptor that is this path has to stay open; it leads to nothing
/// but the program.
fn execute_emulated(itself: &OwnedFd, arguments: &[&CStr]) -> io::Result<io::Error> {
    fcntl_setfd(itself, FdFlags::empty())?;
    let path = CString::new(format!("/proc/self/fd/{}", itself.as_raw_fd()))?;
    let Err(errno) = nix::unistd::execve(&path, arguments, &[] as &[&CStr]);
    Ok(errno.into())
}

/// Runs the supervisor from its fresh image on. The returned code is its exit status.
pub fn run(supervised: Supervised) -> io::Result<u8> {
    // 1. Children are ours to collect. And nobody may look into this process or change it: the agent has the same user, and waits for us.
    reap::keep_ended_children();
    capabilities::not_dumpable().map_err(io::Error::other)?;
    rustix::thread::set_name(c"entrypoint")?;
    let go = sys::duplicate_inherited(supervised.go)?;

    // 2. Orphans come to PID 1 by themselves, and to another process only if it asks.
    let first = getpid().as_raw() == 1;
    let above_all = first || sys::leads_session();
    if !first {
        set_child_subreaper(Some(rustix::process::getpid()))?;
    }

    // 3. No directory stays busy because of us.
    rustix::process::chdir(c"/")?;

    // 4. Signals are read one after the other, without a delay (tini looks once a second).
    let all = SigSet::all();
    all.thread_block()?;
    let signals = SignalFd::with_flags(&all, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;

    // 5. Whoever reads the agent's output sees its end when the agent closes it, and not when we do.
    stdio::replace_by_null()?;

    // 6. The agent goes on.
    rustix::io::write(&go, b"!")?;
    drop(go);

    loop {
        rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&signals, PollFlags::IN)], None))?;
        let Some(signal) = signals.read_signal()? else { continue };
        match i32::try_from(signal.ssi_signo) {
            Ok(libc::SIGCHLD) => {
                // One signal may stand for many children: the reaper asks until there is none.
                loop {
                    match reap::reap(supervised.agent) {
                        Reaped::Agent(ending) => return Ok(ending.exit_code()),
                        Reaped::All => break,
                        Reaped::Some => {}
                    }
                }
                if above_all {
                    resume(supervised.agent);
                }
            }
            Ok(signal) => reap::signal_group(supervised.agent, signal),
            Err(_) => {}
        }
    }
}

/// Runs the agent's process until its command: in its own group, and when the supervisor is ready. Returns the exit code
/// of what failed.
fn start_agent(wait: &OwnedFd, agent: impl FnOnce() -> u8) -> u8 {
    if own_group().is_err() {
        return FAILED;
    }
    match rustix::io::retry_on_intr(|| rustix::io::read(wait, &mut [0])) {
        Ok(1) => agent(),
        // The supervisor never came to be, and has said so.
        _ => FAILED,
    }
}

/// Makes a process group of the agent's own, so that a signal reaches everything it started; in the foreground of the
/// terminal, if we hold that. Without a terminal, a session of its own.
fn own_group() -> nix::Result<()> {
    let terminal = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()]
        .into_iter()
        .find_map(|stream| tcgetpgrp(stream).ok().map(|foreground| (stream, foreground)));
    let Some((terminal, foreground)) = terminal else { return setsid().map(drop) };
    let ours = foreground == getpgrp();
    setpgid(nix::unistd::Pid::from_raw(0), nix::unistd::Pid::from_raw(0))?;
    // Whoever is not in the foreground is stopped for this (SIGTTOU), unless the signal is blocked, as it is here.
    if ours { tcsetpgrp(terminal, getpid()) } else { Ok(()) }
}

/// Resumes an agent that was stopped, as by Ctrl-Z: there is no shell above PID 1, or above the first process
/// of a session, that would ever do so.
fn resume(agent: i32) {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    if let Some(agent) = Pid::from_raw(agent) {
        if let Ok(Some(_)) = waitid(WaitId::Pid(agent), options) {
            reap::signal_group(agent.as_raw_nonzero().get(), Signal::SIGCONT as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_is_two_numbers() {
        assert_eq!("7:3".parse(), Ok(Supervised { agent: 7, go: 3 }));
        for bad in ["", "7", "7:", ":3", "7:3:", "7:3:4", "a:b"] {
            assert!(bad.parse::<Supervised>().is_err(), "{bad:?}");
        }
    }
}
