//! A process of this host that a provider has started: its end, the end of its time, and what it writes.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::{End, Output};
use crate::capture::{Capture, Progress};

/// The process group of a process, which says what is killed when its time is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Group {
    /// One of its own, with its children.
    Own,
    /// That of this process, where Ctrl-C of a terminal reaches it.
    Ours,
}

/// Waits for the end of the command or of its time, and reads what it writes.
pub(super) fn watch(
    pid: u32,
    group: Group,
    mut captures: Option<[Capture; 2]>,
    timeout: Option<Duration>,
) -> io::Result<(Option<Duration>, Option<Output>)> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut timed_out = None;
    loop {
        let gone = wait(&pidfd, captures.as_ref(), deadline.filter(|_| timed_out.is_none()))?;
        if let Some(captures) = &mut captures {
            for capture in captures {
                let _: Progress = capture.on_ready()?;
            }
        }
        if gone {
            let output =
                captures.map(|[stdout, stderr]| Output { stdout: stdout.finish(), stderr: stderr.finish() });
            return Ok((timed_out, output));
        }
        if timed_out.is_none() && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            timed_out = timeout;
            // It may have ended by itself this very moment.
            let _ = match group {
                Group::Own => kill_process_group(pid, Signal::KILL),
                Group::Ours => kill_process(pid, Signal::KILL),
            };
        }
    }
}

/// Waits for something to happen; whether the command is gone.
fn wait(pidfd: &OwnedFd, captures: Option<&[Capture; 2]>, deadline: Option<Instant>) -> io::Result<bool> {
    let mut fds = vec![PollFd::new(pidfd, PollFlags::IN)];
    fds.extend(captures.into_iter().flatten().map(|capture| PollFd::new(capture, PollFlags::IN)));
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(errno) => Err(errno.into()),
    }
}

/// What became of it.
pub(super) fn ended(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => End::Signaled(signal.unwrap_or(0)),
    }
}
