//! The client's side of a running sandbox: one loop that waits for whatever happens next.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use confine::protocol::{ControlSocket, Event, Request, Shortage, Usage};
use confine::report::Report;
use nix::sys::signal::Signal;
use policy::plan::{Network, Plan, Provider, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::attendance::{self, Attendance, AttendedSource, Deserted};
use super::boundaries::{Boundaries, Guard, Losses};
use super::egress::EgressProxy;
use super::remedy;
use super::sockets::SocketRelays;
use super::streams::Streams;
use crate::boundary::detect::finding::Finding;
use crate::host::capture::Capture;
use crate::host::identity::Identity;
use crate::host::pipe::{PipeSource, Pipes};
use crate::host::terminal::{Relay, RelaySource, Signals};
use crate::session::error::StartError;
use crate::session::outcome::{End, Notice, Output};
use crate::session::scans::Scans;

/// How long a sandbox may take to end once it was requested to, before its PID 1 is killed from outside.
const GRACE: Duration = Duration::from_secs(2);

/// How long after SIGTERM or SIGHUP an agent may go on.
const TERMINATION: Duration = Duration::from_secs(10);

/// How many times Ctrl-C interrupts before it kills.
const INTERRUPTS: u32 = 3;

/// How long a terminal may take to show what is left, once everything inside has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Signals that are passed on.
const FORWARDED: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];

/// What a sandbox left behind.
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) report: Report,
    /// The namespaces of PID 1.
    pub(crate) namespaces: BTreeMap<String, u64>,
    pub(crate) output: Option<Output>,
    pub(crate) shortages: Vec<Shortage>,
    /// What it has used, where somebody inside has counted.
    pub(crate) usage: Option<Usage>,
}

impl Ended {
    /// Warns of what the command was short of. That there is no network is nothing to a command that has succeeded.
    pub(crate) fn warn_of_shortages(&self, plan: &Plan, notice: &mut dyn FnMut(Notice)) {
        let has_failed = !matches!(self.end, End::Exited(0));
        for shortage in &self.shortages {
            if *shortage != Shortage::Network || (has_failed && plan.network == Network::None) {
                notice(Notice::shortage(shortage, plan));
            }
        }
    }
}

/// What it means that the other side is gone, and has not said how the command has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Gone {
    /// PID 1 was killed, and everything with it.
    Sandbox,
    /// The supervisor of an exec was, and PID 1 has ended what it was for.
    Exec,
}

/// A sandbox, or an exec in one, that is being watched.
pub(crate) struct Watch<'a> {
    pub(crate) provider: Provider,
    pub(crate) control: ControlSocket,
    /// Ends PID 1 from outside and everything inside with it, and waits until that is so.
    pub(crate) end: &'a dyn Fn(),
    pub(crate) streams: Streams,
    /// The agent's terminal, where that is there already.
    pub(crate) relay: Option<Relay>,
    /// Who is on the other side.
    pub(crate) gone: Gone,
    pub(crate) timeout: Option<Duration>,
    /// The deadline that is enforced inside, beside the command.
    pub(crate) timeout_inside: Option<Duration>,
    /// The sockets of the host that the agent may connect to, and as whom.
    pub(crate) sockets: Option<(&'a [Socket], Identity)>,
    /// Starts the process that starts children, with the socket for it; `None` where there are none.
    pub(crate) children: Option<&'a mut dyn FnMut(OwnedFd) -> Result<(), StartError>>,
    pub(crate) egress: Option<&'a mut EgressProxy>,
    /// Whether anybody is left who waits for it.
    pub(crate) attendance: Attendance<'a>,
    /// Completes the report with what only the outside knows, before anybody is notified.
    pub(crate) complete: &'a dyn Fn(&mut Report),
    /// What is protected, and what the agent makes beside it: of whoever has shared it, and nobody else looks.
    pub(crate) boundaries: Option<&'a Boundaries<'a>>,
    pub(crate) notice: &'a mut dyn FnMut(Notice),
}

/// What the loop knows.
struct State {
    began: Instant,
    report: Report,
    namespaces: BTreeMap<String, u64>,
    end: Option<End>,
    shortages: Vec<Shortage>,
    usage: Option<Usage>,
    /// Ways to sockets of the host, once the agent has any.
    sockets: Option<SocketRelays>,
    started: bool,
    /// Whether the request of an exec has arrived: from then on its end is that of the command.
    accepted: bool,
    /// When everything inside is requested to end.
    deadline: Option<(Instant, Option<Duration>)>,
    kill: Kill,
    timed_out: Option<Duration>,
    /// What took the place of something protected.
    unprotected: Option<Finding>,
    /// A path inside that was hidden and is shown.
    shown: Option<PathBuf>,
    interrupts: u32,
    scans: Scans,
}

/// How far the end of what is inside was enforced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kill {
    NotYet,
    /// PID 1 was requested to end everything; at this time it is killed from outside.
    Requested(Instant),
    /// It was killed from outside, or what it had written is waited for no more.
    Forced,
}

impl State {
    /// Checks whether there is something to wait for: the end, and then the reader of what was written last.
    fn goes_on(&self, pipes: &Pipes<'_>) -> bool {
        self.end.is_none() || (self.kill != Kill::Forced && !pipes.is_delivered())
    }
}

/// Waits until the sandbox has ended.
pub(crate) fn supervise(mut watch: Watch<'_>, signals: &Signals) -> Result<Ended, StartError> {
    let mut state = State {
        began: Instant::now(),
        report: Report::default(),
        namespaces: BTreeMap::new(),
        end: None,
        shortages: Vec::new(),
        usage: None,
        sockets: None,
        started: false,
        accepted: false,
        deadline: watch.timeout.map(|timeout| (Instant::now() + timeout, Some(timeout))),
        kill: Kill::NotYet,
        timed_out: None,
        unprotected: None,
        shown: None,
        interrupts: 0,
        scans: Scans::of_run(Instant::now()),
    };
    let mut relay = watch.relay.take();
    let mut captures = watch.streams.captures.take();
    let mut pipes = std::mem::take(&mut watch.streams.pipes);

    while state.goes_on(&pipes) {
        let ready = wait(&watch, signals, relay.as_ref(), captures.as_ref(), &pipes, &state)
            .map_err(supervise_error)?;
        if let (Some(captures), true) = (&mut captures, ready.plain.contains(&PlainSource::Captures)) {
            drain(captures).map_err(supervise_error)?;
        }
        if let Some(relay) = relay.as_mut() {
            for (source, events) in ready.relay {
                relay.on_ready(source, events).map_err(supervise_error)?;
            }
            relay.on_tick().or_else(hung_up).map_err(supervise_error)?;
        }
        for (source, events) in ready.pipes {
            pipes.on_ready(source, events).map_err(|errno| supervise_error(errno.into()))?;
        }
        pipes.on_tick().map_err(|errno| supervise_error(errno.into()))?;
        if ready.plain.contains(&PlainSource::Signals) {
            while let Some(signal) = signals.read().map_err(supervise_error)? {
                if let Some(relay) = relay.as_mut() {
                    relay.on_signal(signal).or_else(hung_up).map_err(supervise_error)?;
                }
                on_signal(signal, &mut watch.control, &mut state).map_err(supervise_error)?;
            }
        }
        for (source, events) in ready.attendance {
            if let Some(deserted) = watch.attendance.on_ready(source, events) {
                on_deserted(deserted, &mut watch.control, &mut state).map_err(supervise_error)?;
            }
        }
        on_time(&mut watch, &mut state)?;
        if ready.plain.contains(&PlainSource::Control) {
            if let Err(error) = on_event(&mut watch, &mut state, &mut relay) {
                // A start that fails when its time is over was ended for that.
                if state.timed_out.is_none() {
                    return Err(error);
                }
                (watch.end)();
                state.end = Some(End::Signaled(Signal::SIGKILL as i32));
            }
        }
        for warning in state.sockets.iter().flat_map(SocketRelays::take_warnings) {
            (watch.notice)(Notice::Warning(warning));
        }
        if let Some(egress) = &mut watch.egress {
            if ready.plain.contains(&PlainSource::Egress) {
                egress.on_ready();
            }
            // Before the start it is the start that fails, and at the end every proxy ends.
            if state.started && state.end.is_none() {
                if let Some(warning) = egress.take_warning() {
                    (watch.notice)(Notice::Warning(warning));
                }
                // A program that has the whole screen goes on: it is reported at the end.
                for warning in relay.is_none().then(|| egress.take_unreached()).into_iter().flatten() {
                    (watch.notice)(Notice::Warning(warning));
                }
            }
        }
    }

    // Everything inside is gone; what it wrote may still be on its way.
    let last = Instant::now() + DRAIN_TIMEOUT;
    while let Some(captures) = captures.as_mut().filter(|_| Instant::now() < last) {
        let pipes = captures.iter().filter_map(Capture::pipe);
        let mut fds: Vec<_> = pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)).collect();
        if fds.is_empty() {
            break;
        }
        let left = last.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        rustix::io::retry_on_intr(|| poll(&mut fds, Some(&left)))
            .map_err(|errno| supervise_error(errno.into()))?;
        drop(fds);
        drain(captures).map_err(supervise_error)?;
    }
    if let Some(relay) = relay {
        relay.finish(DRAIN_TIMEOUT).or_else(hung_up).map_err(supervise_error)?;
    }
    for warning in state.sockets.take().map(SocketRelays::finish).unwrap_or_default() {
        (watch.notice)(Notice::Warning(warning));
    }
    let output = captures.map(|[stdout, stderr]| Output { stdout: stdout.finish(), stderr: stderr.finish() });
    let end = match (state.unprotected, state.timed_out, state.end) {
        _ if state.shown.is_some() => End::Shown(state.shown.unwrap_or_default()),
        (Some(finding), ..) => End::Unprotected(Box::new(finding)),
        (_, Some(timeout), _) => End::TimedOut(timeout),
        (_, _, Some(end)) => end,
        (_, _, None) => End::Signaled(Signal::SIGKILL as i32),
    };
    let State { report, namespaces, shortages, usage, .. } = state;
    Ok(Ended { end, report, namespaces, output, shortages, usage })
}

fn supervise_error(source: io::Error) -> StartError {
    StartError::Step { step: "watching the sandbox".into(), source, remedy: None }
}

/// Ignores the errors of a terminal that was closed. That is no failure of the sandbox: the signal for it has its own
/// meaning.
fn hung_up(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        Some(Errno::IO | Errno::NXIO | Errno::NOTTY) => Ok(()),
        _ => Err(error),
    }
}

/// A source of which it is enough to know that it is ready.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PlainSource {
    Control,
    Signals,
    Captures,
    Egress,
}

/// What is ready.
#[derive(Default)]
struct Ready {
    plain: Vec<PlainSource>,
    relay: Vec<(RelaySource, PollFlags)>,
    pipes: Vec<(PipeSource, PollFlags)>,
    attendance: Vec<(AttendedSource, PollFlags)>,
}

fn wait(
    watch: &Watch<'_>,
    signals: &Signals,
    relay: Option<&Relay>,
    captures: Option<&[Capture; 2]>,
    pipes: &Pipes<'_>,
    state: &State,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
    // After the end there is nobody on the other side.
    let control = state.end.is_none().then(|| watch.control.as_fd());
    fds.extend(control.map(|control| PollFd::from_borrowed_fd(control, PollFlags::IN)));
    let proxied = fds.len();
    let egress = watch.egress.as_ref().and_then(|egress| egress.as_fd());
    fds.extend(egress.map(|egress| PollFd::from_borrowed_fd(egress, PollFlags::IN)));
    let first = fds.len();
    let captured = captures.into_iter().flatten().filter_map(Capture::pipe);
    fds.extend(captured.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
    let relayed = fds.len();
    let waiting = relay.map(Relay::fds).unwrap_or_default();
    fds.extend(waiting.iter().map(|(_, fd, events)| PollFd::from_borrowed_fd(*fd, *events)));
    let piped = fds.len();
    let waiting_pipes = pipes.fds();
    fds.extend(waiting_pipes.iter().map(|(_, fd, events)| PollFd::from_borrowed_fd(*fd, *events)));
    let attended = fds.len();
    let attendance = watch.attendance.fds();
    let attendant = |(source, fd): &(_, _)| PollFd::from_borrowed_fd(*fd, attendance::events(*source));
    fds.extend(attendance.iter().map(attendant));
    let guarded = fds.len();
    let guard = watch.boundaries.map(Boundaries::guard);
    fds.extend(guard.and_then(Guard::as_fd).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let now = Instant::now();
    let kill = if let Kill::Requested(at) = state.kill { Some(at) } else { None };
    let next =
        [state.deadline.map(|(at, _)| at), kill, Some(state.scans.next()), guard.and_then(Guard::next)]
            .into_iter()
            .flatten()
            .min();
    let left = next.map(|at| at.saturating_duration_since(now));
    let ticks = relay.and_then(Relay::tick).into_iter().chain(pipes.tick());
    let timeout = left.into_iter().chain(ticks).min().map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let ready = |fds: &[PollFd<'_>]| fds.iter().any(|fd| !fd.revents().is_empty());
    if let Some(guard) = guard.filter(|_| ready(&fds[guarded..])) {
        guard.on_ready();
    }
    Ok(Ready {
        plain: [
            (PlainSource::Signals, &fds[..1]),
            (PlainSource::Control, &fds[1..proxied]),
            (PlainSource::Egress, &fds[proxied..first]),
            (PlainSource::Captures, &fds[first..relayed]),
        ]
        .into_iter()
        .filter(|(_, fds)| ready(fds))
        .map(|(source, _)| source)
        .collect(),
        relay: events(waiting.iter().map(|(source, ..)| *source), &fds[relayed..piped]),
        pipes: events(waiting_pipes.iter().map(|(source, ..)| *source), &fds[piped..attended]),
        attendance: events(attendance.iter().map(|(source, _)| *source), &fds[attended..guarded]),
    })
}

/// Lists which sources are ready, and for what.
fn events<S>(sources: impl Iterator<Item = S>, fds: &[PollFd<'_>]) -> Vec<(S, PollFlags)> {
    let events = sources.zip(fds.iter().map(PollFd::revents));
    events.filter(|(_, events)| !events.is_empty()).collect()
}

fn drain(captures: &mut [Capture; 2]) -> io::Result<()> {
    captures.iter_mut().try_for_each(|capture| capture.on_ready().map(drop))
}

/// Passes a signal on; remembers when interrupting turns into killing.
fn on_signal(signal: Signal, control: &mut ControlSocket, state: &mut State) -> io::Result<()> {
    if !FORWARDED.contains(&signal) {
        return Ok(());
    }
    if state.end.is_some() {
        state.kill = Kill::Forced;
        return Ok(());
    }
    send(control, &Request::Signal(signal as i32))?;
    match signal {
        Signal::SIGINT => {
            state.interrupts += 1;
            if state.interrupts >= INTERRUPTS {
                state.deadline = Some((Instant::now(), None));
            }
        }
        Signal::SIGTERM | Signal::SIGHUP => {
            let at = Instant::now() + TERMINATION;
            state.deadline = Some(state.deadline.filter(|(earlier, _)| *earlier < at).unwrap_or((at, None)));
        }
        _ => {}
    }
    Ok(())
}

/// Ends what nobody waits for: with its parent at once, else as when a terminal hangs up.
fn on_deserted(deserted: Deserted, control: &mut ControlSocket, state: &mut State) -> io::Result<()> {
    match deserted {
        Deserted::ByParent => {
            state.deadline = Some((Instant::now(), None));
            Ok(())
        }
        Deserted::ByStreams => on_signal(Signal::SIGHUP, control, state),
    }
}

/// Sends PID 1 a request. One that is gone needs none: its end is on its way to us.
fn send(control: &mut ControlSocket, request: &Request) -> io::Result<()> {
    match control.send(request, &[]) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Ends what is out of time: first by PID 1, then without it.
fn on_time(watch: &mut Watch<'_>, state: &mut State) -> Result<(), StartError> {
    let Losses { warnings, ends, shown } = watch.boundaries.map(Boundaries::losses).unwrap_or_default();
    for warning in warnings {
        (watch.notice)(Notice::Warning(warning));
    }
    let now = Instant::now();
    if let (Some(finding), None) = (ends, &state.unprotected) {
        state.unprotected = Some(finding);
        state.deadline = Some((now, None));
    }
    if let (Some(path), None) = (shown, &state.shown) {
        state.shown = Some(path);
        state.deadline = Some((now, None));
    }
    if let Some((_, timeout)) = state.deadline.filter(|(at, _)| *at <= now) {
        state.timed_out = state.timed_out.or(timeout);
        state.deadline = None;
        if !matches!(state.kill, Kill::Requested(_)) {
            state.kill = Kill::Requested(now + GRACE);
        }
        if state.end.is_none() {
            send(&mut watch.control, &Request::Kill).map_err(supervise_error)?;
        }
    }
    if matches!(state.kill, Kill::Requested(at) if at <= now) {
        state.kill = Kill::Forced;
        if state.end.is_none() {
            (watch.end)();
            // Nobody out here can end what does not listen in there.
            if watch.gone == Gone::Exec {
                state.end = Some(End::Signaled(Signal::SIGKILL as i32));
            }
        }
    }
    if state.scans.next() <= now {
        let detected = watch.boundaries.map(Boundaries::detect).unwrap_or_default();
        for finding in detected.findings {
            (watch.notice)(Notice::Detected(finding));
        }
        state.scans.follow(Instant::now(), detected.is_unconfirmed);
    }
    Ok(())
}

fn on_event(watch: &mut Watch<'_>, state: &mut State, relay: &mut Option<Relay>) -> Result<(), StartError> {
    let event_error =
        |source| StartError::Step { step: "reading events from PID 1".into(), source, remedy: None };
    let event = watch.control.receive::<Event>().map_err(event_error)?;
    if let Some(Event::Failed(_)) = event {
        // It is missed inside, and knows why it is not there.
        if let Some(reason) = watch.egress.as_mut().and_then(|egress| egress.failure()) {
            return Err(StartError::step("starting the egress proxy")(io::Error::other(reason)));
        }
    }
    match event {
        Some(Event::Failed(failure)) => Err(remedy::failure(watch.provider, failure)),
        Some(Event::Terminal) => {
            let master = watch.control.take_descriptors().pop();
            let master =
                master.ok_or_else(|| event_error(io::Error::other("a terminal without a descriptor")))?;
            // Under sudo it may be the user who answers for PID 1: what is shown on a terminal that was opened out here stays.
            let ends = watch
                .streams
                .ends()
                .filter(|_| relay.is_none())
                .ok_or_else(|| event_error(io::Error::other("a terminal nobody asked for")))?;
            *relay = Some(Relay::new(master, ends).map_err(event_error)?);
            send(&mut watch.control, &Request::TerminalReady).map_err(event_error)
        }
        Some(Event::Sockets) => {
            let mut listeners = watch.control.take_descriptors();
            if let Some(start) = &mut watch.children {
                let listener =
                    listeners.pop().ok_or_else(|| event_error(io::ErrorKind::InvalidData.into()))?;
                start(listener)?;
            }
            let (sockets, caller) =
                watch.sockets.ok_or_else(|| event_error(io::Error::other("sockets nobody asked for")))?;
            let hosts = sockets.iter().map(|socket| socket.host.clone()).collect();
            state.sockets = Some(SocketRelays::start(hosts, listeners, caller).map_err(event_error)?);
            Ok(())
        }
        Some(Event::Started { report, namespaces }) => {
            state.namespaces = namespaces.into_iter().collect();
            state.started = true;
            state.report = report;
            (watch.complete)(&mut state.report);
            (watch.notice)(Notice::Started(state.report.clone()));
            Ok(())
        }
        Some(Event::Unexecutable { command, errno }) => {
            state.end = Some(End::unexecutable(command, errno));
            Ok(())
        }
        Some(Event::Short(shortage)) => {
            state.shortages.push(shortage);
            Ok(())
        }
        Some(Event::TimedOut) => {
            state.timed_out = watch.timeout_inside;
            Ok(())
        }
        Some(Event::Used(usage)) => {
            state.usage = Some(usage);
            Ok(())
        }
        Some(Event::Ready) if watch.gone == Gone::Exec => {
            state.accepted = true;
            Ok(())
        }
        Some(Event::Ready | Event::Stays) => {
            Err(event_error(io::Error::other("a sandbox that was to end is persistent")))
        }
        Some(Event::Ended(ending)) => {
            state.end = Some(ending.into());
            Ok(())
        }
        None if state.started || state.accepted => {
            if watch.gone == Gone::Exec {
                // Where a supervisor was kept from its work until the time was over, PID 1 has killed it.
                let is_over = |timeout: &Duration| state.began.elapsed() >= *timeout;
                state.timed_out = state.timed_out.or(watch.timeout_inside.filter(is_over));
                state.end = Some(End::Signaled(Signal::SIGKILL as i32));
                return Ok(());
            }
            // Its socket closes before everything inside has ended, and nobody else would end one that has only closed
            // its socket.
            (watch.end)();
            let why = if watch.provider.runs_containers() {
                "; the kernel does that where the limit of memory is reached and nothing else is left to kill"
            } else {
                ""
            };
            (watch.notice)(Notice::Warning(format!(
                "PID 1 of the sandbox was killed, and everything inside with it{why}"
            )));
            state.end = Some(End::Signaled(Signal::SIGKILL as i32));
            Ok(())
        }
        None => Err(event_error(io::Error::other("PID 1 ended before it started anything"))),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use policy::rules::limits::Bytes;

    use super::*;
    use crate::session::agent::Agent;
    use crate::session::streams::Stdio;

    /// Watches a PID 1 that reports nothing and ends when it is requested to, or by itself at once.
    fn watch_what_never_starts(timeout: Option<Duration>) -> Result<Ended, StartError> {
        let (control, theirs) = ControlSocket::pair().unwrap();
        let theirs = RefCell::new(Some(theirs));
        let end = || drop(theirs.borrow_mut().take());
        if timeout.is_none() {
            end();
        }
        let agent = Agent::for_test(rustix::process::geteuid().as_raw());
        let mut streams = Streams::open(Stdio::Capture, Bytes(1), agent.owner(), Identity::own()).unwrap();
        streams.close_inside();
        let watch = Watch {
            provider: Provider::Native,
            control,
            end: &end,
            streams,
            relay: None,
            gone: Gone::Sandbox,
            timeout,
            timeout_inside: None,
            sockets: None,
            children: None,
            egress: None,
            attendance: Attendance::new(None),
            complete: &|_| {},
            boundaries: None,
            notice: &mut |_| {},
        };
        supervise(watch, &Signals::block().unwrap())
    }

    #[test]
    fn a_deadline_that_passes_before_the_start_is_a_deadline() {
        let ended = watch_what_never_starts(Some(Duration::ZERO)).unwrap();
        assert_eq!(ended.end, End::TimedOut(Duration::ZERO));
        // The control: what ends by itself was never started.
        assert!(watch_what_never_starts(None).is_err());
    }
}
