//! Attendance: whether anybody is left on the host who waits for a run.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use super::streams::is_nameless;
use crate::host::terminal::{StreamKind, check_stream};
use crate::session::error::StartError;

/// The process that has started this one, whatever becomes of its number.
#[derive(Debug)]
pub struct Parent(OwnedFd);

impl Parent {
    /// Opens a descriptor of it. A signal on the death of a parent (`PR_SET_PDEATHSIG`) would follow a thread of it.
    ///
    /// # Errors
    ///
    /// It has ended meanwhile, or cannot be seen from the PID namespace of this process.
    pub fn of_this_process() -> io::Result<Self> {
        let unseen = || io::Error::other("the parent is in another PID namespace");
        let parent = getppid().ok_or_else(unseen)?;
        let held = pidfd_open(parent, PidfdFlags::empty())?;
        // Until here its number could have become somebody else's.
        if getppid() == Some(parent) { Ok(Self(held)) } else { Err(io::Error::other("the parent has ended")) }
    }

    fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for Parent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Refuses to go on with a start that nobody waits for any more: from the moment that its command runs it is watched.
pub(crate) fn refuse_deserted(parent: Option<&Parent>) -> Result<(), StartError> {
    match parent {
        Some(parent) if parent.has_ended() => Err(StartError::Step {
            step: "starting the command".into(),
            source: io::Error::other(
                "the process that started this one has ended, which everything ends with",
            ),
            remedy: None,
        }),
        _ => Ok(()),
    }
}

/// Why nobody waits for a run any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Deserted {
    /// The process that the run was to end with has ended.
    ByParent,
    /// Standard input has closed, and nobody reads what is written.
    ByStreams,
}

/// Who may be waiting for a run.
pub(crate) struct Attendance<'a> {
    parent: Option<&'a Parent>,
    streams: [Far; 3],
    is_reported: bool,
}

/// The far end of a standard stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Far {
    /// A file, a terminal, a pipe with a name: somebody may use it at any time.
    Unknown,
    /// `/dev/null`: nothing ever reads or writes there.
    Nothing,
    /// A process has it open.
    There,
    /// A process had it open, and none has any more.
    Gone,
}

impl<'a> Attendance<'a> {
    /// Watches the standard streams of this process, and the parent if there is one.
    pub(crate) fn new(parent: Option<&'a Parent>) -> Self {
        let far = |stream: BorrowedFd<'_>| match check_stream(stream) {
            Ok(StreamKind::Pipe) if is_nameless(stream) => Far::There,
            Ok(StreamKind::Socket) => Far::There,
            Ok(StreamKind::Null) => Far::Nothing,
            _ => Far::Unknown,
        };
        Self { parent, streams: STANDARD.map(|stream| far(stream())), is_reported: false }
    }

    /// Lists what to wait for. Only what cannot be undone is, so each is ready once.
    pub(crate) fn fds(&self) -> Vec<(AttendedSource, BorrowedFd<'_>)> {
        if self.is_reported {
            return Vec::new();
        }
        let streams = self.streams.iter().zip(STANDARD).enumerate();
        let streams = streams.filter(|(_, (far, _))| **far == Far::There);
        let streams = streams.map(|(at, (_, stream))| (AttendedSource::Stream(at), stream()));
        self.parent.iter().map(|parent| (AttendedSource::Parent, parent.as_fd())).chain(streams).collect()
    }

    /// Reports once that nobody is left, where something of [`Self::fds`] was ready.
    pub(crate) fn on_ready(&mut self, source: AttendedSource, events: PollFlags) -> Option<Deserted> {
        match source {
            AttendedSource::Parent => return self.report_once(Deserted::ByParent),
            // A pipe that nobody can write to any more, or read from; a socket without the other one.
            AttendedSource::Stream(at) if events.intersects(PollFlags::HUP | PollFlags::ERR) => {
                self.streams[at] = Far::Gone;
            }
            AttendedSource::Stream(_) => {}
        }
        if is_deserted(self.streams) { self.report_once(Deserted::ByStreams) } else { None }
    }

    fn report_once(&mut self, deserted: Deserted) -> Option<Deserted> {
        (!std::mem::replace(&mut self.is_reported, true)).then_some(deserted)
    }
}

/// Who has something to say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AttendedSource {
    Parent,
    /// The number of a standard stream.
    Stream(usize),
}

/// Returns which events to wait for: none that a stream has while its other end is open.
pub(crate) fn events(source: AttendedSource) -> PollFlags {
    match source {
        AttendedSource::Parent => PollFlags::IN,
        AttendedSource::Stream(_) => PollFlags::empty(),
    }
}

const STANDARD: [fn() -> BorrowedFd<'static>; 3] =
    [rustix::stdio::stdin, rustix::stdio::stdout, rustix::stdio::stderr];

/// Returns whether whoever gave these streams is gone: input has ended, and of the outputs at least one had a reader and
/// none has one now.
fn is_deserted([input, output, error]: [Far; 3]) -> bool {
    let silent = |far| matches!(far, Far::Gone | Far::Nothing);
    input == Far::Gone && silent(output) && silent(error) && (output == Far::Gone || error == Far::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_deserted_when_its_input_has_closed_and_no_output_has_a_reader() {
        use Far::{Gone, Nothing, There, Unknown};
        for streams in [[Gone, Gone, Gone], [Gone, Gone, Nothing], [Gone, Nothing, Gone]] {
            assert!(is_deserted(streams), "{streams:?}");
        }
        for streams in [
            // Input that is nobody's: cron, nohup, `< /dev/null`.
            [Nothing, Gone, Gone],
            [Unknown, Gone, Gone],
            // `… | sandboxctl run … | head`, on a terminal.
            [Gone, Gone, Unknown],
            [There, Gone, Gone],
            // Output that is looked at later, or never was to be.
            [Gone, Unknown, Gone],
            [Gone, Nothing, Nothing],
            [Gone, There, Gone],
        ] {
            assert!(!is_deserted(streams), "{streams:?}");
        }
    }

    #[test]
    fn a_parent_that_lives_is_held() {
        let parent = Parent::of_this_process().unwrap();
        let mut attendance =
            Attendance { parent: Some(&parent), streams: [Far::Unknown; 3], is_reported: false };
        assert_eq!(attendance.fds().len(), 1);
        assert_eq!(attendance.on_ready(AttendedSource::Parent, PollFlags::IN), Some(Deserted::ByParent));
        assert_eq!(attendance.on_ready(AttendedSource::Parent, PollFlags::IN), None);
        assert_eq!(attendance.fds().len(), 0);
    }
}
