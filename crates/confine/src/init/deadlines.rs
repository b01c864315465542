//! Deadlines of commands that PID 1 keeps beside their supervisors.
//!
//! A command has the user of its supervisor and may stop that again and again, and so keep it from ending the command in time. Nobody
//! inside stops PID 1.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// How long what has run out of time may take to end by itself.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long after the deadline and the grace of a command its supervisor is killed: killing the command may take it twice two seconds.
const SUPERVISOR_GRACE: Duration = Duration::from_secs(5);

/// How long a supervisor has that was stopped until its time was over.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// The deadlines of all commands.
#[derive(Default)]
pub(super) struct Deadlines(Vec<Deadline>);

/// When a supervisor has to have ended its command.
struct Deadline {
    supervisor: i32,
    /// The pipe by which the supervisor says how long the command may live, in milliseconds. It closes it when the command has ended.
    pipe: Option<OwnedFd>,
    at: Option<Instant>,
    /// Whether the time is over, and the supervisor has its last moment.
    is_over: bool,
}

/// Makes the pipe of a supervisor: the end to read from, and the one to write to.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
}

/// Writes how long a command may live. Until the pipe is closed, its deadline holds.
pub(super) fn notify(pipe: &OwnedFd, timeout: Duration) {
    let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    // If PID 1 has gone, nobody keeps anything.
    let _ = rustix::io::write(pipe, &milliseconds.to_ne_bytes());
}

impl Deadlines {
    /// Adds a supervisor, which may send a deadline.
    pub(super) fn add(&mut self, supervisor: i32, pipe: OwnedFd) {
        self.0.push(Deadline { supervisor, pipe: Some(pipe), at: None, is_over: false });
    }

    /// Forgets a supervisor that has ended.
    pub(super) fn remove(&mut self, supervisor: i32) {
        self.0.retain(|one| one.supervisor != supervisor);
    }

    /// Forgets all: in a supervisor, which has copies.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Lists the pipes to read from.
    pub(super) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().filter_map(|one| one.pipe.as_ref()).map(AsFd::as_fd)
    }

    /// Reads from those of the pipes that are ready, given in the order of [`Self::pipes`].
    pub(super) fn on_ready(&mut self, ready: &[bool]) {
        for (deadline, _) in
            self.0.iter_mut().filter(|one| one.pipe.is_some()).zip(ready).filter(|(_, is_ready)| **is_ready)
        {
            deadline.read();
        }
    }

    /// Returns when there is something to do next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().filter_map(|one| one.at).min()
    }

    /// Takes the supervisors that are to be killed now: what is left of their commands ends with them.
    pub(super) fn take_late(&mut self) -> Vec<i32> {
        let now = Instant::now();
        let mut late = Vec::new();
        for deadline in self.0.iter_mut().filter(|one| one.at.is_some_and(|at| at <= now)) {
            if deadline.is_over {
                deadline.at = None;
                late.push(deadline.supervisor);
            } else {
                // All of it may have been stopped until now.
                (deadline.is_over, deadline.at) = (true, now.checked_add(LAST_MOMENT));
            }
        }
        late
    }

    /// Gives all supervisors the time to end what is due: they were stopped.
    pub(super) fn postpone(&mut self) {
        let earliest = Instant::now() + GRACE + SUPERVISOR_GRACE;
        for at in self.0.iter_mut().filter_map(|one| one.at.as_mut()) {
            *at = earliest.max(*at);
        }
    }
}

impl Deadline {
    /// Reads what the supervisor has written, or that it has closed the pipe: then there is no deadline, or no more.
    fn read(&mut self) {
        let mut milliseconds = [0; 8];
        let read = self.pipe.as_ref().map(|pipe| rustix::io::read(pipe, &mut milliseconds));
        if read == Some(Ok(8)) {
            let timeout = Duration::from_millis(u64::from_ne_bytes(milliseconds));
            self.at = timeout
                .checked_add(GRACE + SUPERVISOR_GRACE)
                .and_then(|after| Instant::now().checked_add(after));
        } else if !matches!(read, Some(Err(Errno::AGAIN | Errno::INTR))) {
            (self.pipe, self.at) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the deadline of one supervisor.
    fn notified(timeout: Option<Duration>) -> (Deadlines, OwnedFd) {
        let (reader, writer) = pipe().unwrap();
        let mut deadlines = Deadlines::default();
        deadlines.add(7, reader);
        if let Some(timeout) = timeout {
            notify(&writer, timeout);
            deadlines.on_ready(&[true]);
        }
        (deadlines, writer)
    }

    #[test]
    fn a_deadline_holds_until_its_pipe_is_closed() {
        let (mut deadlines, writer) = notified(Some(Duration::from_secs(9)));
        let left = deadlines.next().unwrap() - Instant::now();
        assert!(left > Duration::from_secs(15) && left <= Duration::from_secs(16), "{left:?}");
        // Nothing is to be read, which says nothing.
        deadlines.on_ready(&[true]);
        assert!(deadlines.next().is_some());
        drop(writer);
        deadlines.on_ready(&[true]);
        assert!(deadlines.next().is_none() && deadlines.pipes().next().is_none());
    }

    #[test]
    fn who_is_late_has_a_last_moment_and_is_taken_once() {
        let (mut deadlines, _writer) = notified(Some(Duration::ZERO));
        let over = Instant::now().checked_sub(Duration::from_secs(1));
        deadlines.0[0].at = over;
        assert!(deadlines.take_late().is_empty());
        assert!(deadlines.next().unwrap() > Instant::now());
        deadlines.0[0].at = over;
        assert_eq!(deadlines.take_late(), [7]);
        assert!(deadlines.take_late().is_empty() && deadlines.next().is_none());
    }

    #[test]
    fn a_time_that_never_comes_is_no_deadline() {
        let (mut endless, _writer) = notified(Some(Duration::MAX));
        assert!(endless.take_late().is_empty());
        assert!(notified(None).0.next().is_none());
    }
}
