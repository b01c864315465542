//! A process of this host that a provider has started: its end, the end of its time, and what it writes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::{End, Output, Parent};
use crate::capture::{Capture, Progress};

/// The process group of a process, which says what is killed when its time is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Group {
    /// One of its own, with its children.
    Own,
    /// That of this process, where Ctrl-C of a terminal reaches it.
    Ours,
}

/// Waits for the end of the command or of its time, and reads what it writes. The command is killed when `parent` ends.
pub(super) fn watch(
    pid: u32,
    group: Group,
    mut captures: Option<[Capture; 2]>,
    timeout: Option<Duration>,
    parent: Option<&Parent>,
) -> io::Result<(Option<Duration>, Option<Output>)> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut timed_out = None;
    let mut parent = parent;
    // It may have ended by itself this very moment.
    let kill = || match group {
        Group::Own => drop(kill_process_group(pid, Signal::KILL)),
        Group::Ours => drop(kill_process(pid, Signal::KILL)),
    };
    loop {
        let Ready { gone, deserted } =
            wait(&pidfd, captures.as_ref(), deadline.filter(|_| timed_out.is_none()), parent)?;
        if deserted {
            parent = None;
            kill();
        }
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
            kill();
        }
    }
}

/// What has ended.
struct Ready {
    /// The command.
    gone: bool,
    /// The parent.
    deserted: bool,
}

/// Waits for something to happen.
fn wait(
    pidfd: &OwnedFd,
    captures: Option<&[Capture; 2]>,
    deadline: Option<Instant>,
    parent: Option<&Parent>,
) -> io::Result<Ready> {
    // Without a parent the command is asked twice.
    let parent_or_command = parent.map_or(pidfd.as_fd(), AsFd::as_fd);
    let mut fds =
        vec![PollFd::new(pidfd, PollFlags::IN), PollFd::from_borrowed_fd(parent_or_command, PollFlags::IN)];
    fds.extend(captures.into_iter().flatten().map(|capture| PollFd::new(capture, PollFlags::IN)));
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(Ready {
            gone: !fds[0].revents().is_empty(),
            deserted: parent.is_some() && !fds[1].revents().is_empty(),
        }),
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
