//! The shell tool: one command in a persistent sandbox, as an agent asks for it, with bounded output, a deadline, and the way to cancel it.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use policy::rules::limits::Bytes;

use crate::secrets::SecretValue;
use crate::session::error::StartError;
use crate::session::outcome::{End, Output};
use crate::session::staying::attend::Wanted;
use crate::session::staying::spawn::Command;
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
    /// Makes it of the end of a command that was attended to.
    fn of(end: End, wanted: Wanted) -> Self {
        match wanted {
            Wanted::ToItsEnd => Self::Ended(end),
            Wanted::NoMore => Self::Cancelled,
        }
    }

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
    let mut running = sandbox.spawn(command)?;
    let mut output = Output::default();
    let (end, wanted) = running
        .attend(&stdin, Some(cancel.as_fd()), &mut |stream, piece| output.add(stream, piece, limit))?;
    let outcome = running.outcome(end, None);
    let Output { stdout, stderr } = output;
    let end = ShellEnd::of(outcome.end, wanted);
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

/// Starts a command that goes on by itself, without input and with output that nobody gets; returns how it has ended where it could not be
/// executed.
///
/// # Errors
///
/// Those of [`StayingSandbox::spawn`].
pub fn detach(sandbox: &StayingSandbox, request: ShellRequest) -> Result<Option<End>, StartError> {
    sandbox.detach(request.command(sandbox).0)
}
