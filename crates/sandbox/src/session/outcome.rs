//! What is reported to a caller about a command: while it runs, and when it has ended.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use confine::protocol::{EgressCounts, Ending, Shortage, Usage};
use confine::report::{Report, Status};
use policy::plan::{Layer, Plan};
use policy::text::escape;
use rustix::io::Errno;
use serde::Serialize;

use crate::boundary::detect::finding::Finding;
use crate::host::capture::Captured;
use crate::state::pool::PoolStart;
use crate::state::record::RunId;

/// What happens while a sandbox runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Notice {
    /// Everything is in place and the agent is about to start.
    Started(Report),
    /// Something a person should know.
    Warning(String),
    /// What the agent has made and would run on the host, seen while it runs.
    Detected(Finding),
    /// What the agent of a run that has ended had made, and was quarantined by a later command; a warning says so to people.
    Quarantined {
        run: RunId,
        /// The shared directory, on the host.
        boundary: PathBuf,
        finding: Finding,
    },
}

impl Notice {
    /// Warns that the command was short of something, and names what bounds it.
    pub(crate) fn shortage(shortage: &Shortage, plan: &Plan) -> Self {
        Self::Warning(match shortage {
            Shortage::Memory => {
                let limit = plan.limits.memory.map_or_else(String::new, |limit| format!(" of {limit}"));
                format!("the limit of memory{limit} was reached, and a process inside was killed")
            }
            Shortage::Tmpfs(path) => format!(
                "{} inside is full; it is a tmpfs, which `[limits] tmp_size` (here {}) and `[limits] memory` bound",
                escape::path(path),
                plan.limits.tmp_size
            ),
            Shortage::Network => "a program inside wanted to reach something by the network, and this sandbox has none; `--allow-host \
                                  HOST` lets it reach a host"
                .to_owned(),
        })
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub report: Report,
    /// PID 1 of a sandbox that the run has made.
    pub init: Option<InitIds>,
    /// The agent's output, where it was captured.
    pub output: Option<Output>,
    /// Things the agent made that would run on the host later, with what was done about them.
    pub detected: Vec<Finding>,
    /// What has passed through the egress proxy, where there was one.
    pub egress: Option<EgressCounts>,
    /// What it has used, where that was counted.
    pub usage: Option<Usage>,
    /// Whether the kernel has killed a process of the sandbox for lack of memory meanwhile; `None` where nothing counts that.
    pub oom_killed: Option<bool>,
    /// From the start of the agent to its end.
    pub duration: Duration,
    pub pool: Option<PoolStart>,
}

impl Outcome {
    /// Returns that of a command of which nothing more is known than how it has ended.
    pub(crate) fn of(end: End, duration: Duration) -> Self {
        Self {
            end,
            report: Report::default(),
            init: None,
            output: None,
            detected: Vec::new(),
            egress: None,
            usage: None,
            oom_killed: None,
            duration,
            pool: None,
        }
    }
}

/// What PID 1 of a sandbox was on the host.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct InitIds {
    /// Its process id, as this process sees it; `None` where it is in a PID namespace that is not seen from here.
    pub pid: Option<i32>,
    /// The inode number of each of its namespaces, by its name in `/proc/PID/ns`.
    pub namespaces: BTreeMap<String, u64>,
}

/// What the agent wrote.
#[derive(Debug, Default)]
pub struct Output {
    pub stdout: Captured,
    pub stderr: Captured,
}

/// What became of the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    Exited(u8),
    Signaled(i32),
    /// It ran out of time and everything inside was killed.
    TimedOut(Duration),
    /// A program of the host took the protection of a path away, and what lies there now would run on the host:
    /// everything inside was killed. The path is that inside.
    Unprotected(Box<Finding>),
    /// A program of the host replaced something that was hidden, which takes its cover off: everything inside was killed. The path is that inside.
    Shown(PathBuf),
    /// There is no such command inside.
    NotFound(String),
    /// The command is there but cannot be executed; with the reason.
    NotExecutable(String, String),
}

impl End {
    /// Returns the status that whoever waits for the command gets, as shells have it; `None` where it is not the command's own.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Exited(status) => Some(*status),
            Self::Signaled(signal) => Some(Ending::Signaled(*signal).exit_code()),
            Self::TimedOut(_) => Some(124),
            Self::NotFound(_) => Some(127),
            Self::NotExecutable(..) => Some(126),
            Self::Unprotected(_) | Self::Shown(_) => None,
        }
    }

    /// Classifies an error number of execve(2), as [`confine::process::command`] returns it.
    pub(crate) fn unexecutable(command: String, errno: i32) -> Self {
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

/// Returns whether a process was killed for lack of memory; `None` where the sandbox has no limit that would count that.
pub(crate) fn oom_killed(shortages: &[Shortage], report: &Report) -> Option<bool> {
    let is_limited = report.layer(Layer::Memory).is_some_and(|line| line.status != Status::Not);
    let was_killed = shortages.contains(&Shortage::Memory);
    (was_killed || is_limited).then_some(was_killed)
}
