//! Programs of the host that are run to their end: no longer than they may take, with as much of their output as is wanted,
//! and not beyond the end of this process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus};

use policy::rules::limits::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, kill_process_group, pidfd_open, pidfd_send_signal};

use super::guard::GroupGuard;
use super::left;
use crate::host::capture::{Capture, Captured, Excess, Progress};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;

/// The most that is kept of what a program says on either stream, where nobody says otherwise.
pub(crate) const MOST: Bytes = Bytes(8 << 20);

/// The process group of a program, which says what is killed with it.
#[derive(Debug)]
pub enum Group {
    /// That of this process, where Ctrl-C of a terminal reaches it. Nothing is killed but the program itself.
    Ours,
    /// One of its own, with its children.
    Own,
    /// One that ends when this process ends, however it does.
    Guarded(GroupGuard),
}

impl Group {
    /// Starts children that end with this process, and then removes a directory.
    pub(crate) fn guarded(directory: Option<&Path>) -> io::Result<Self> {
        GroupGuard::new(directory).map(Self::Guarded)
    }
}

/// Why nobody waits for a program any longer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    Ended(ExitStatus),
    TimedOut,
    /// The process that it is to end with has ended.
    Deserted,
    /// It says more than is taken.
    TooMuch,
}

/// A program that was started. It ends with this at the latest, unless it is left.
#[derive(Debug)]
pub struct Running {
    pub(crate) child: Child,
    pub(crate) pidfd: OwnedFd,
    group: Group,
    is_left: bool,
}

impl Running {
    /// Starts a program.
    pub fn spawn(command: &mut Command, group: Group) -> io::Result<Self> {
        match &group {
            Group::Ours => {}
            Group::Own => drop(command.process_group(0)),
            Group::Guarded(guard) => drop(command.process_group(guard.group().as_raw_nonzero().get())),
        }
        let child = command.spawn()?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(Self { pidfd, child, group, is_left: false })
    }

    /// Leaves it to itself: it goes on without this process.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
        // Without a descriptor it cannot be collected by a process that lives on, and stays a zombie there.
        if let Ok(pidfd) = self.pidfd.try_clone() {
            left::leave(pidfd);
        }
    }

    /// Starts a program of this user's. Root gives it nothing of its own: neither its groups, its capabilities, its open descriptors,
    /// the keys of its session, nor the terminal that it was called from.
    pub(crate) fn spawn_as(user: Identity, command: &mut Command, group: Group) -> io::Result<Self> {
        if geteuid().is_root() && user != Identity::own() {
            confine::become_user_in(command, user.uid, user.gid);
        }
        Self::spawn(command, group)
    }

    /// Takes its standard input, if that is a pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Returns how it has ended, if it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Captures its standard output, if that is a pipe.
    pub(crate) fn stdout(&mut self, limit: Bytes, excess: Excess) -> io::Result<Capture> {
        Capture::of(self.child.stdout.take().map(Into::into), limit, excess)
    }

    /// Captures its standard error, if that is a pipe.
    pub(crate) fn stderr(&mut self, limit: Bytes, excess: Excess) -> io::Result<Capture> {
        Capture::of(self.child.stderr.take().map(Into::into), limit, excess)
    }

    /// Waits for its end; `None` where the time is over before.
    pub(crate) fn wait(&mut self, until: Deadline) -> io::Result<Option<ExitStatus>> {
        Ok(self.finish_with_output(until)?.0)
    }

    /// Waits for its end, and keeps what it says on its pipes, if it has any: stdout and stderr.
    pub fn finish_with_output(&mut self, until: Deadline) -> io::Result<(Option<ExitStatus>, [Captured; 2])> {
        let mut captures = [self.stdout(MOST, Excess::Dropped)?, self.stderr(MOST, Excess::Dropped)?];
        let status = match self.watch(until, None, &mut captures)? {
            Stop::Ended(status) => Some(status),
            Stop::TimedOut | Stop::Deserted | Stop::TooMuch => None,
        };
        Ok((status, captures.map(Capture::finish)))
    }

    /// Waits for its end, and kills it where anything else comes first: nothing that it was waited for goes on.
    pub(crate) fn finish(
        &mut self,
        until: Deadline,
        parent: Option<BorrowedFd<'_>>,
        captures: &mut [Capture],
    ) -> io::Result<(Stop, ExitStatus)> {
        let stop = self.watch(until, parent, captures);
        if !matches!(stop, Ok(Stop::Ended(_))) {
            self.kill();
        }
        let status = self.child.wait()?;
        for capture in captures {
            capture.on_ready()?;
        }
        Ok((stop?, status))
    }

    /// Waits until one thing or the other stops it. Whoever else holds its streams is not waited for: what it leaves behind may
    /// hold them as long as it likes.
    fn watch(
        &mut self,
        until: Deadline,
        parent: Option<BorrowedFd<'_>>,
        captures: &mut [Capture],
    ) -> io::Result<Stop> {
        let mut deserted = false;
        loop {
            // Before the pipes are read: what it has said until its end is in them then.
            let status = self.child.try_wait()?;
            for capture in &mut *captures {
                if capture.on_ready()? == Progress::Full {
                    return Ok(Stop::TooMuch);
                }
            }
            if let Some(status) = status {
                return Ok(Stop::Ended(status));
            } else if deserted {
                return Ok(Stop::Deserted);
            } else if until.is_over() {
                return Ok(Stop::TimedOut);
            }
            let pipes = captures.iter().filter_map(Capture::pipe);
            let wanted: Vec<_> = parent.into_iter().chain(pipes).map(|fd| (fd, PollFlags::IN)).collect();
            let (_, ready) = self.poll(until, &wanted)?;
            deserted = parent.is_some() && !ready[0].is_empty();
        }
    }

    /// Waits until it has ended, the time is over, or one of these descriptors is ready. Says whether it has ended, and what
    /// each of them is ready for.
    pub fn poll(
        &self,
        until: Deadline,
        wanted: &[(BorrowedFd<'_>, PollFlags)],
    ) -> io::Result<(bool, Vec<PollFlags>)> {
        let own = (self.pidfd.as_fd(), PollFlags::IN);
        let all = std::iter::once(&own).chain(wanted);
        let mut fds: Vec<_> = all.map(|(fd, events)| PollFd::from_borrowed_fd(*fd, *events)).collect();
        // Whoever is interrupted looks at what is left of the time before it waits on.
        match poll(&mut fds, until.left().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok((!fds[0].revents().is_empty(), fds[1..].iter().map(PollFd::revents).collect()))
    }

    /// Sends a signal to it alone. One that has ended gets none.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Sends a signal to all of its group. One in our own group has Ctrl-C from elsewhere, and gets nothing from here.
    pub(crate) fn send(&mut self, signal: Signal) {
        match &self.group {
            Group::Guarded(guard) => guard.send(signal),
            // As long as it is not waited for, nobody else has its number.
            Group::Own if matches!(self.child.try_wait(), Ok(None)) => {
                let _ = kill_process_group(Pid::from_child(&self.child), signal);
            }
            Group::Own | Group::Ours => {}
        }
    }

    /// Kills it, and its group where that is its own.
    pub(crate) fn kill(&mut self) {
        self.send(Signal::KILL);
        // One that was waited for is not touched.
        let _ = self.child.kill();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_left && !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}
