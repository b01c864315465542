//! Providers: who carries a plan out.

use std::io;
use std::path::Path;
use std::time::Duration;

use confine::control::Ending;
use confine::report::Report;
use policy::plan::{Layer, Plan, Provider};
use rustix::io::Errno;

pub use self::attendance::Parent;
pub use self::container::exec::{FindError, Found, Sought, find};

use crate::capture::Captured;
use crate::engine::{self, EngineError};
use crate::host_uid::Identity;
use crate::secrets::SecretError;
use crate::{detect, secrets};

mod agent;
mod attendance;
mod boundaries;
mod container;
mod local;
mod native;
mod orders;
mod remedy;
mod streams;
mod supervise;

/// One run of a plan, as the caller asks for it.
pub struct Launch<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// Reads the values of the plan's secrets. Called once at most, and as late as can be.
    pub secrets: &'a mut secrets::Reader<'a>,
    /// Where the standard streams lead.
    pub streams: Streams,
    /// Who asks: under sudo not root, but the user behind it.
    pub caller: Identity,
    /// The caller's state directory: records of runs.
    pub state: &'a Path,
    /// The directory of this process's own user: what is believed without asking who has written it. Under sudo it is one of
    /// root's, else the state directory.
    pub own: &'a Path,
    /// The directory where running sandboxes of root lock their host user ids.
    pub locks: &'a Path,
    /// What leads to container engines.
    pub engines: &'a engine::Surroundings,
    /// The process that everything is to end with.
    pub parent: Option<&'a Parent>,
    /// Told what happens while the sandbox runs.
    pub notice: &'a mut dyn FnMut(Notice),
}

/// Where the standard streams of the agent lead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Streams {
    /// The caller's own: a terminal is relayed through a pty, everything else is handed over byte-exact.
    Inherit,
    /// Output is captured, bounded by the plan's `output_bytes`; input is empty.
    Capture,
}

/// What happens while a sandbox runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Notice {
    /// Everything is in place and the agent is about to start.
    Started(Report),
    /// Something a person should know.
    Warning(String),
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// What became of the agent.
    pub end: End,
    /// What was enforced.
    pub report: Report,
    /// The agent's output, where it was captured.
    pub output: Option<Output>,
    /// Things the agent made that would run on the host later, with what was done about them.
    pub detected: Vec<detect::Finding>,
    /// From the start of the agent to its end.
    pub duration: Duration,
}

/// What the agent wrote.
#[derive(Debug)]
pub struct Output {
    /// To its standard output.
    pub stdout: Captured,
    /// To its standard error.
    pub stderr: Captured,
}

/// What became of the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    /// It ended by itself with this status.
    Exited(u8),
    /// A signal ended it.
    Signaled(i32),
    /// It ran out of time and everything inside was killed.
    TimedOut(Duration),
    /// A program of the host took the protection of a path away, and what lies there now would run on the host:
    /// everything inside was killed. The path is that inside.
    Unprotected(Box<detect::Finding>),
    /// There is no such command inside.
    NotFound(String),
    /// The command is there but cannot be executed; with the reason.
    NotExecutable(String, String),
}

impl End {
    /// What an error number of execve(2) means, as [`confine::command`] gives it.
    fn unexecutable(command: String, errno: i32) -> Self {
        match Errno::from_raw_os_error(errno) {
            Errno::NOENT => Self::NotFound(command),
            Errno::NOEXEC => {
                Self::NotExecutable(command, "not a program, or its interpreter is missing".into())
            }
            errno => Self::NotExecutable(command, io::Error::from(errno).to_string()),
        }
    }
}

impl From<Ending> for End {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Exited(status) => Self::Exited(u8::try_from(status).unwrap_or(u8::MAX)),
            Ending::Signaled(signal) => Self::Signaled(signal),
        }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The container engine did not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The value of a secret cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A required layer cannot be enforced here.
    #[error("layer {layer} is required and cannot be enforced: {reason}")]
    Layer {
        /// The layer.
        layer: Layer,
        /// Why it cannot.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A step of the set-up failed.
    #[error("{step}: {source}")]
    Step {
        /// What was being done.
        step: String,
        /// What the system said.
        source: io::Error,
        /// What to do about it, where that is known.
        remedy: Option<String>,
    },
    /// The plan asks for what this provider cannot do.
    #[error("{asked}: {reason}")]
    Refused {
        /// What was asked.
        asked: String,
        /// Which rule refuses it.
        reason: String,
        /// What would be allowed.
        remedy: String,
    },
}

/// A second command in a sandbox that runs, as the caller asks for it.
pub struct Entry<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// Where.
    pub sandbox: &'a Found,
    /// Reads the values of the plan's secrets. Called once at most.
    pub secrets: &'a mut secrets::Reader<'a>,
    /// Where the standard streams lead.
    pub streams: Streams,
    /// The process that the command is to end with.
    pub parent: Option<&'a Parent>,
}

/// Runs the command of a plan in a sandbox that runs already.
pub fn enter(entry: Entry<'_>) -> Result<Outcome, StartError> {
    container::exec::enter(entry)
}

/// Runs a plan to its end.
pub fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    refuse_under_sudo(launch.plan, launch.caller)?;
    match launch.plan.provider {
        Provider::Native => native::run(launch),
        Provider::Local => local::run(launch),
        Provider::Docker | Provider::Podman => container::run(launch),
    }
}

/// Refuses what would give the user behind sudo more than they have: with these, they say what root runs.
fn refuse_under_sudo(plan: &Plan, caller: Identity) -> Result<(), StartError> {
    if !rustix::process::geteuid().is_root() || caller.uid == 0 {
        return Ok(());
    }
    let refused = |asked: &str, reason: &str, remedy: &str| {
        Err(StartError::Refused { asked: asked.into(), reason: reason.into(), remedy: remedy.into() })
    };
    let has_prefix = plan.container.as_ref().is_some_and(|container| container.host_path_prefix.is_some());
    if plan.provider == Provider::Local {
        refused(
            "the provider local under sudo",
            "it isolates nothing, so the command would run as root for the user behind sudo",
            "run it without sudo; as root alone, `env -u SUDO_UID sandboxctl …`",
        )
    } else if has_prefix {
        refused(
            "`container.host_path_prefix` under sudo",
            "root's engine would mount what the user behind sudo puts at that prefix",
            "leave it out, or run sandboxctl without sudo",
        )
    } else {
        Ok(())
    }
}
