//! The shell tool: one command in a sandbox that stays, as an agent asks for it, with bounded output, a deadline, and the way to cancel it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use policy::rules::limits::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::host::capture::{Capture, Excess, Progress};
use crate::secrets::SecretValue;
use crate::session::error::StartError;
use crate::session::outcome::{End, Outcome, Output};
use crate::session::staying::spawn::{Command, RunningCommand};
use crate::state::sandboxes::StayingSandbox;

pub use self::cancel::Cancel;
pub use self::note::note;
pub use self::output::ShellText;

mod cancel;
pub mod jobs;
pub mod note;
mod output;

/// What is to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Script {
    /// Text for `sh -c`.
    Shell(String),
    /// A program with its arguments; never empty.
    Argv(Vec<String>),
}

/// A command as an agent asks for it.
pub struct ShellRequest {
    pub script: Script,
    /// Where it starts; relative to where commands of the sandbox start.
    pub cwd: Option<PathBuf>,
    /// Variables, in place of those of the sandbox.
    pub env: Vec<(String, String)>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// How long it may run, in place of the limit of the sandbox.
    pub timeout: Option<Duration>,
    /// The most that is kept of each stream.
    pub output_bytes: u64,
    /// The values of the secrets of the sandbox, by variable.
    pub secrets: Vec<(String, SecretValue)>,
}

/// What has become of a command.
#[derive(Debug)]
pub struct ShellOutcome {
    pub end: ShellEnd,
    pub stdout: ShellText,
    pub stderr: ShellText,
    pub duration: Duration,
    /// Whether the kernel has killed a process of the sandbox for lack of memory meanwhile; `None` where nothing counts that.
    pub oom_killed: Option<bool>,
    /// That the policy has made it fail, where that is certain.
    pub note: Option<String>,
}

/// How a command has ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShellEnd {
    /// As the sandbox says.
    Ended(End),
    /// Whoever had asked for it did not want it any more, and all that it had started was killed.
    Cancelled,
}

impl ShellEnd {
    /// Returns the exit status, as shells have it; `None` where it has none of its own.
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Ended(End::Exited(status)) => Some(*status),
            Self::Ended(End::NotFound(_)) => Some(127),
            Self::Ended(End::NotExecutable(..)) => Some(126),
            Self::Ended(End::Signaled(_) | End::TimedOut(_) | End::Unprotected(_) | End::Shown(_))
            | Self::Cancelled => None,
        }
    }

    /// Returns the signal that has ended it.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Self::Ended(End::Signaled(signal)) => Some(*signal),
            Self::Ended(_) | Self::Cancelled => None,
        }
    }

    /// Returns whether it ran out of time.
    pub fn is_timed_out(&self) -> bool {
        matches!(self, Self::Ended(End::TimedOut(_)))
    }
}

impl ShellRequest {
    /// Makes the command for a sandbox.
    fn command(self, sandbox: &StayingSandbox) -> (Command, Vec<u8>) {
        let mut argv = match self.script {
            Script::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), text],
            Script::Argv(argv) => argv,
        }
        .into_iter();
        let program: OsString = argv.next().unwrap_or_default().into();
        let mut command = Command::new(program).args(argv).output_bytes(self.output_bytes);
        if let Some(cwd) = self.cwd {
            command = command.workdir(sandbox.record.plan.agent.workdir.join(cwd));
        }
        for (name, value) in self.env {
            command = command.env(name, value);
        }
        for (name, value) in self.secrets {
            command = command.secret(name, value);
        }
        if let Some(timeout) = self.timeout {
            command = command.timeout(timeout);
        }
        (command, self.stdin)
    }
}

/// Runs a command to its end, or until `cancel` is raised.
///
/// # Errors
///
/// Those of [`StayingSandbox::spawn`], and that what it writes cannot be read.
pub fn run(
    sandbox: &StayingSandbox,
    request: ShellRequest,
    cancel: &Cancel,
) -> Result<ShellOutcome, StartError> {
    let limit = Bytes(request.output_bytes);
    let (command, stdin) = request.command(sandbox);
    let running = sandbox.spawn(command)?;
    let (end, outcome) = attend(running, &stdin, limit, cancel)?;
    let Some(Output { stdout, stderr }) = outcome.output else {
        return Err(StartError::step("reading the output of the command")(io::ErrorKind::InvalidData.into()));
    };
    let note = match &end {
        ShellEnd::Ended(end) => note(&sandbox.record.plan, end, &stdout.bytes, &stderr.bytes),
        ShellEnd::Cancelled => None,
    };
    Ok(ShellOutcome {
        end,
        stdout: stdout.into(),
        stderr: stderr.into(),
        duration: outcome.duration,
        oom_killed: outcome.oom_killed,
        note,
    })
}

/// Feeds a command, reads what it writes, and waits for its end.
fn attend(
    mut running: RunningCommand,
    stdin: &[u8],
    limit: Bytes,
    cancel: &Cancel,
) -> Result<(ShellEnd, Outcome), StartError> {
    let reading = StartError::step("reading the output of the command");
    let streams = [running.stdout.take(), running.stderr.take()];
    let [stdout, stderr] =
        streams.map(|stream| Capture::of(stream.map(OwnedFd::from), limit, Excess::Dropped));
    let mut captures = [stdout.map_err(reading)?, stderr.map_err(reading)?];
    let mut input = running.stdin.take();
    if let Some(input) = &input {
        rustix::io::ioctl_fionbio(input, true).map_err(|errno| reading(errno.into()))?;
    }
    let mut unwritten = stdin;
    let mut is_cancelled = false;
    loop {
        if unwritten.is_empty() {
            input = None;
        }
        let mut ready = vec![PollFd::from_borrowed_fd(running.control(), PollFlags::IN)];
        // Raised, it stays readable.
        let wanted = if is_cancelled { PollFlags::empty() } else { PollFlags::IN };
        ready.push(PollFd::from_borrowed_fd(cancel.as_fd(), wanted));
        ready.extend(
            captures
                .iter()
                .filter_map(Capture::pipe)
                .map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)),
        );
        ready.extend(input.iter().map(|input| PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT)));
        match poll(&mut ready, running.has_ended().then_some(&NOW)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(reading(errno.into())),
        }
        let has_event = !ready[0].revents().is_empty() || running.has_ended();
        let wants_end = !is_cancelled && !ready[1].revents().is_empty();
        drop(ready);
        if wants_end {
            is_cancelled = true;
            running.kill()?;
        }
        if let Some(file) = &input {
            match rustix::io::write(file, unwritten) {
                Ok(written) => unwritten = &unwritten[written..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                // It reads no more.
                Err(_) => unwritten = &[],
            }
        }
        let end = if has_event { running.on_event()? } else { None };
        for capture in &mut captures {
            // After the end, what is there is read, and what others may still write is not waited for.
            while capture.on_ready().map_err(reading)? == Progress::Open
                && end.is_some()
                && is_readable(capture)
            {}
        }
        if let Some(end) = end {
            let [stdout, stderr] = captures.map(Capture::finish);
            let outcome = running.outcome(end, Some(Output { stdout, stderr }));
            let end = if is_cancelled { ShellEnd::Cancelled } else { ShellEnd::Ended(outcome.end.clone()) };
            return Ok((end, outcome));
        }
    }
}

/// A deadline that is over.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Returns whether something can be read from it, or its end can be seen.
fn is_readable(capture: &Capture) -> bool {
    capture.pipe().is_some_and(|pipe| {
        poll(&mut [PollFd::from_borrowed_fd(pipe, PollFlags::IN)], Some(&NOW)).is_ok_and(|ready| ready > 0)
    })
}
