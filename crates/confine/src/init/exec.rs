//! The supervisor of a command in a persistent sandbox: a child of PID 1 that starts the command, reaps what that leaves, forwards
//! signals, enforces the deadline and reports to the client.
//!
//! It is a subreaper, so everything that the command has started stays below it, whatever sessions and parents it has had: that
//! is how a deadline reaches all of it and nothing else. The command has the same user and may kill its supervisor; then PID 1
//! ends what it was for. It may stop it; then PID 1 continues it, and where it stops it again and again, PID 1 keeps the deadline.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::process::{Pid, getppid, set_child_subreaper};

use super::deadlines::{self, GRACE};
use crate::cgroup::KillCounter;
use crate::process::reap::{self, Killed, Reaped};
use crate::process::start::{self, Given, Neighbours, NotStarted};
use crate::process::stdio;
use crate::protocol::{
    Attachment, CommandSpec, ControlSocket, Ending, Event, ExecRequest, Failure, Request, Shortage, Step,
    Usage,
};
use crate::report::Report;
use crate::sys;

/// How long a client may take to send its request.
pub(super) const REQUEST: Duration = Duration::from_secs(10);

/// The status of a supervisor that cannot see what it is to end.
const BLIND: i32 = 125;

/// What a supervisor is given.
pub(super) struct ExecSupervision<'a> {
    /// What all commands of the sandbox are put into.
    pub(super) cgroups: &'a [OwnedFd],
    pub(super) neighbours: Neighbours,
    /// What counts the processes of the sandbox that were killed for lack of memory.
    pub(super) kills: &'a KillCounter,
    /// Who has forked this process, and what it ends with.
    pub(super) parent: Pid,
    /// A pipe to it, for the deadline of the command. That holds for as long as the pipe is open.
    pub(super) deadline: Option<OwnedFd>,
}

/// Receives what a client requests, and supervises it. The returned code is that of the supervisor's process: 0 says that it has
/// left nothing.
pub(super) fn run_for_client(session: OwnedFd, mut supervised: ExecSupervision<'_>) -> u8 {
    let mut session = ControlSocket::from(session);
    match receive(&mut session) {
        Ok(Some((request, passed))) => {
            // Before there is a command that could keep this process from anything.
            let deadline = supervised.deadline.take().zip(request.timeout).map(|(pipe, timeout)| {
                deadlines::notify(&pipe, timeout);
                pipe
            });
            // From here on, a client that receives nothing more knows that all of it was killed.
            let _ = session.send(&Event::Ready, &[]);
            let ExecRequest { command, timeout, attachment } = request;
            run(session, command, None, passed, Life { timeout, attachment, deadline }, &supervised)
        }
        // A client that is gone, or has nothing sensible to say.
        Ok(None) => 0,
        Err(error) => {
            let failure = Failure::Step {
                step: Step::Command,
                errno: error.raw_os_error(),
                message: error.to_string(),
            };
            let _ = session.send(&Event::Failed(failure), &[]);
            0
        }
    }
}

/// Supervises the first command of a sandbox, whose streams this process has, and whose terminal it keeps.
pub(super) fn run_first(
    session: ControlSocket,
    command: CommandSpec,
    terminal: Option<OwnedFd>,
    passed: Vec<OwnedFd>,
    supervised: &ExecSupervision<'_>,
) -> u8 {
    let life = Life { timeout: None, attachment: Attachment::Attached, deadline: None };
    run(session, command, terminal, passed, life, supervised)
}

/// Receives a request, with what the command is passed. Its streams become those of this process.
fn receive(session: &mut ControlSocket) -> io::Result<Option<(ExecRequest, Vec<OwnedFd>)>> {
    set_socket_timeout(session.as_fd(), Timeout::Recv, Some(REQUEST))?;
    let Some(request) = session.receive::<ExecRequest>()? else { return Ok(None) };
    set_socket_timeout(session.as_fd(), Timeout::Recv, None)?;
    let mut passed = session.take_descriptors();
    let streams = passed.split_off(passed.len().min(request.command.passed.len()));
    if streams.len() != 3 || request.command.argv.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an exec without a command or three streams"));
    }
    stdio::replace(&streams)?;
    Ok(Some((request, passed)))
}

/// How long a command may live.
struct Life {
    timeout: Option<Duration>,
    attachment: Attachment,
    /// PID 1 keeps the deadline, too, until this is closed.
    deadline: Option<OwnedFd>,
}

fn run(
    mut session: ControlSocket,
    command: CommandSpec,
    terminal: Option<OwnedFd>,
    passed: Vec<OwnedFd>,
    life: Life,
    supervised: &ExecSupervision<'_>,
) -> u8 {
    let prepared = prepare();
    // What was killed before is not this command's.
    let killed_before = supervised.kills.count();
    let given = Given {
        terminal: terminal.as_ref(),
        cgroups: supervised.cgroups,
        passed: &passed,
        neighbours: supervised.neighbours,
    };
    let started = prepared
        .map_err(start::failed(Step::Signals))
        .map_err(NotStarted::Failed)
        .and_then(|signals| Ok((signals, start::start(&command, &given)?)));
    // Nothing is needed of them any more, and secrets among them are cleared.
    drop((command, passed));
    // Whoever reads the command's output sees its end when the command closes it, and not when we do.
    let _ = stdio::replace_by_null();
    let event = match started {
        Ok((signals, pid)) => {
            let report = Event::Started { report: Report::default(), namespaces: Vec::new() };
            // A client that is gone is noticed in a moment.
            let _ = session.send(&report, &[]);
            let deadline = Deadline::after(life.timeout);
            let running = Running { session: Some(session), signals, pid, life, deadline, ending: None };
            running.supervise(supervised.parent, &|| supervised.kills.count() > killed_before);
            // It hangs up when this closes it, and not whenever nobody happens to have it open.
            drop(terminal);
            return 0;
        }
        Err(NotStarted::Failed(failure)) => Event::Failed(failure),
        Err(NotStarted::Unexecutable { command, errno }) => Event::Unexecutable { command, errno },
    };
    let _ = session.send(&event, &[]);
    0
}

/// Makes this process one that orphans come to, and reads its signals one after the other.
fn prepare() -> io::Result<SignalFd> {
    set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::thread::set_name(c"exec")?;
    let mask = SigSet::from_iter([Signal::SIGCHLD]);
    Ok(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// A command that runs, or has left something that does.
struct Running {
    /// The client, while there is one.
    session: Option<ControlSocket>,
    signals: SignalFd,
    pid: i32,
    life: Life,
    deadline: Deadline,
    ending: Option<Ending>,
}

/// How far the end of a command that has run out of time is.
#[derive(Clone, Copy)]
enum Deadline {
    /// There is none, or no more.
    None,
    /// It ends then.
    At(Instant),
    /// It was requested to end, and is killed then.
    Killed(Instant),
    /// It was killed, and what has not ended by then is killed again.
    KilledAgain(Instant),
}

impl Deadline {
    /// Returns when a command ends that begins now. A time beyond what the clock counts never comes.
    fn after(timeout: Option<Duration>) -> Self {
        timeout.and_then(|timeout| Instant::now().checked_add(timeout)).map_or(Self::None, Self::At)
    }

    fn at(self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::At(at) | Self::Killed(at) | Self::KilledAgain(at) => Some(at),
        }
    }
}

impl Running {
    /// Waits until nothing is left of the command.
    fn supervise(mut self, parent: Pid, was_short_of_memory: &dyn Fn() -> bool) {
        let mut more = false;
        loop {
            let (signalled, requested) = self.wait(self.deadline.at(), more);
            if signalled {
                let _ = self.signals.read_signal();
            }
            if getppid() != Some(parent) {
                // Without isolation nobody else ends what it has started.
                let _ = or_end(reap::kill_descendants());
                return;
            }
            match reap::reap(self.pid) {
                Reaped::Agent(ending) => {
                    self.ending = Some(ending);
                    more = true;
                }
                reaped => more = reaped == Reaped::Some,
            }
            if requested {
                self.on_request();
            }
            match self.deadline {
                Deadline::At(at) if at <= Instant::now() => {
                    self.report(&Event::TimedOut);
                    or_end(reap::signal_descendants(rustix::process::Signal::TERM));
                    self.deadline = Deadline::Killed(Instant::now() + GRACE);
                }
                Deadline::Killed(at) if at <= Instant::now() => {
                    self.deadline = Deadline::None;
                    self.kill();
                    more = true;
                }
                Deadline::KilledAgain(at) if at <= Instant::now() => {
                    self.deadline = Deadline::None;
                    self.again_unless(or_end(reap::kill_descendants_again()));
                }
                Deadline::None | Deadline::At(_) | Deadline::Killed(_) | Deadline::KilledAgain(_) => {}
            }
            if matches!(self.deadline, Deadline::None) {
                // The command has ended in time, or all of it was killed: what goes on in the background may.
                self.life.deadline = None;
            }
            // What was requested to end has the time to.
            let is_ending = matches!(self.deadline, Deadline::Killed(_)) && reap::has_children();
            if let (Some(ending), false, true) = (self.ending, is_ending, self.session.is_some()) {
                if !matches!(self.deadline, Deadline::KilledAgain(_)) {
                    self.deadline = Deadline::None;
                }
                if was_short_of_memory() {
                    self.report(&Event::Short(Shortage::Memory));
                }
                self.report(&Event::Used(used()));
                self.report(&Event::Ended(ending));
                self.session = None;
            }
            if self.ending.is_some() && !is_ending && !reap::has_children() {
                return;
            }
        }
    }

    /// Waits for a signal, a request or a time: returns which of the first two there is.
    fn wait(&self, until: Option<Instant>, now: bool) -> (bool, bool) {
        let session = self.session.as_ref().map(|session| PollFd::new(session, PollFlags::IN));
        let mut ready: Vec<_> =
            std::iter::once(PollFd::new(&self.signals, PollFlags::IN)).chain(session).collect();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = if now { Some(Duration::ZERO) } else { left };
        match poll(&mut ready, left.map(timespec).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // Nothing can be waited for; a moment later it may be.
            Err(_) => std::thread::yield_now(),
        }
        let is_ready = |at: usize| ready.get(at).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
        (is_ready(0), is_ready(1))
    }

    fn on_request(&mut self) {
        let Some(session) = &mut self.session else { return };
        match session.receive() {
            Ok(Some(Request::Signal(signal))) => reap::signal_group(self.pid, signal),
            Ok(Some(Request::Kill)) => self.kill(),
            Ok(Some(
                Request::TerminalReady
                | Request::Leave
                | Request::Wait(_)
                | Request::Prepare { .. }
                | Request::Mount(_)
                | Request::LeaveHost
                | Request::Start(_),
            )) => {}
            Ok(None) | Err(_) => {
                self.session = None;
                if self.life.attachment == Attachment::Attached {
                    self.kill();
                }
            }
        }
    }

    /// Kills everything, again later if that takes longer.
    fn kill(&mut self) {
        self.again_unless(or_end(reap::kill_descendants()));
    }

    fn again_unless(&mut self, killed: Killed) {
        if killed == Killed::NotYet {
            self.deadline = Deadline::KilledAgain(Instant::now() + GRACE);
        }
    }

    fn report(&mut self, event: &Event) {
        if let Some(session) = &mut self.session {
            // A client that is gone needs no report.
            let _ = session.send(event, &[]);
        }
    }
}

/// Ends this process where it cannot end what it is there to end: the command may have taken its descriptors away. PID 1 then does it.
fn or_end<T>(done: io::Result<T>) -> T {
    done.unwrap_or_else(|_| sys::exit_now(BLIND))
}

/// Returns what all that was waited for has used.
fn used() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    let milliseconds = usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds();
    Usage {
        cpu_ms: u64::try_from(milliseconds).unwrap_or_default(),
        // In kilobytes, see getrusage(2).
        max_rss: u64::try_from(usage.max_rss()).unwrap_or_default().saturating_mul(1024),
    }
}

pub(super) fn timespec(left: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_no_clock_reaches_is_no_deadline() {
        assert!(matches!(Deadline::after(Some(Duration::MAX)), Deadline::None));
        assert!(matches!(Deadline::after(None), Deadline::None));
        assert!(Deadline::after(Some(Duration::from_secs(9))).at().is_some(), "the control");
    }
}
