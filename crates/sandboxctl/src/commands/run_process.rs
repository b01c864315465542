//! A `run` of this same program in a process of its own, which nothing is shared with: a task of a batch, or a child of a sandbox.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use policy::rules::limits::Bytes;
use rustix::event::PollFlags;
use rustix::process::Signal;
use sandbox::host::capture::{Capture, Captured};
use sandbox::host::child::{Group, Running};
use sandbox::host::deadline::Deadline;

/// How long a `run` may take to end after SIGTERM: it gives its command ten seconds, and clears up then.
const GRACE: Duration = Duration::from_secs(20);

/// How much is kept of what it says on standard error.
const MAX_STDERR: Bytes = Bytes(64 << 10);

/// How a `run` has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// What a `run` has as its environment.
#[derive(Clone, Copy)]
pub(super) enum RunEnvironment<'a> {
    /// That of this process.
    Ours,
    Only(&'a [(OsString, OsString)]),
}

/// How soon a `run` ends that is cancelled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cancellation {
    /// Its command has ten seconds for that.
    Patient,
    /// Its command has one.
    Soon,
}

impl Cancellation {
    /// Lists what it is sent, and when: interrupted three times, it does not wait for its command.
    fn signals(self) -> impl Iterator<Item = (Duration, Signal)> {
        let soon = [1000, 1100, 1200].map(|ms| (Duration::from_millis(ms), Signal::INT));
        let soon = soon.into_iter().filter(move |_| self == Self::Soon);
        std::iter::once((Duration::ZERO, Signal::TERM)).chain(soon).chain([(GRACE, Signal::KILL)])
    }
}

/// Has a `run` end when it is dropped.
pub(super) struct Canceller(#[expect(dead_code, reason = "what counts is that it is closed")] UnixStream);

/// A `run`, which has ended when this is gone.
pub(super) struct RunProcess {
    running: Running,
    /// Closed at its other end when it is cancelled.
    cancelled: UnixStream,
    stdout: Capture,
    stderr: Capture,
}

impl RunProcess {
    /// Starts this program with these arguments. Dropping what is returned beside it has it end soon. It reads `input` on its standard input, which is a pipe:
    /// a `run` whose three pipes have lost their other ends is ended, even if its parent was gone before it could look for that.
    pub(super) fn start(
        arguments: &[OsString],
        environment: RunEnvironment<'_>,
        input: &[u8],
    ) -> io::Result<(Self, Canceller)> {
        let (cancelled, on_cancel) = UnixStream::pair()?;
        // How much it prints is bounded by what it keeps of the command's output.
        let (stdout, to_stdout) = Capture::open(Bytes(u64::MAX))?;
        let (stderr, to_stderr) = Capture::open(MAX_STDERR)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("sandboxctl").args(arguments);
        if let RunEnvironment::Only(variables) = environment {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        command.stdin(Stdio::piped()).stdout(to_stdout).stderr(to_stderr);
        // Ctrl-C is for whoever has started it, and cancels its runs one by one.
        let mut running = Running::spawn(&mut command, Group::Own)?;
        // One that has ended already says why on its other streams.
        match running.stdin().map_or(Ok(()), |mut stdin| stdin.write_all(input)) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
        Ok((Self { running, cancelled, stdout, stderr }, Canceller(on_cancel)))
    }

    /// Waits for its end, which comes soon where it is cancelled.
    pub(super) fn finish(self, cancellation: Cancellation) -> io::Result<Ended> {
        let Self { mut running, cancelled, mut stdout, mut stderr } = self;
        let mut is_cancelled = false;
        let mut signals: VecDeque<(Instant, Signal)> = VecDeque::new();
        loop {
            // Before the pipes are read: what it has said until its end is in them then.
            let status = running.ended()?;
            stdout.on_ready()?;
            stderr.on_ready()?;
            if let Some(status) = status {
                return Ok(Ended { status, stdout: stdout.finish(), stderr: stderr.finish() });
            }
            while signals.front().is_some_and(|(at, _)| *at <= Instant::now()) {
                let Some((_, signal)) = signals.pop_front() else { break };
                // Where it is killed, its PID 1 sees that it is gone, and ends everything inside. Dropped, it is killed with its helpers.
                running.signal(signal);
            }
            let next = signals.front().map(|(at, _)| at.saturating_duration_since(Instant::now()));
            let cancelled = (!is_cancelled).then_some(cancelled.as_fd());
            let pipes = [&stdout, &stderr].into_iter().filter_map(Capture::pipe);
            let wanted: Vec<_> = cancelled.into_iter().chain(pipes).map(|fd| (fd, PollFlags::IN)).collect();
            let (_, ready) = running.poll(next.map_or(Deadline::NEVER, Deadline::after), &wanted)?;
            if !is_cancelled && !ready[0].is_empty() {
                is_cancelled = true;
                let now = Instant::now();
                signals.extend(cancellation.signals().map(|(after, signal)| (now + after, signal)));
            }
        }
    }
}
