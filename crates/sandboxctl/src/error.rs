//! Errors as people and programs see them: a stable code, a cause, and what to do next.
//!
//! Every library error becomes a [`CommandError`] here or in the command that calls the library; `main` prints it once.

use std::fmt::{self, Display};
use std::io;

use confine::protocol::Attachment;
use policy::config::problem::{self, Location, Problem};
use policy::text::escape;
use sandbox::engine::error::EngineError;
use sandbox::secrets::SecretError;
use sandbox::session::error::StartError;
use sandbox::session::passed::PassError;
use sandbox::session::staying::copy::CopyError;
use sandbox::state::directory::StateError;
use sandbox::state::homes::HomeError;
use sandbox::state::sandboxes::{BE_UNPAUSED, Phase, SandboxError};
use sandbox::state::trust::TrustError;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::code::Code;
use crate::text;

pub(crate) mod code;
mod tools;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) code: Code,
    /// What was asked and what stood in the way.
    pub(crate) cause: anyhow::Error,
    /// What to do next, one step a line.
    pub(crate) hints: Vec<String>,
    /// More for programs, shaped by the code; null where there is no more.
    pub(crate) details: Value,
}

impl CommandError {
    /// Makes an error without hints.
    pub(crate) fn new(code: Code, cause: impl Into<anyhow::Error>) -> Self {
        Self { code, cause: cause.into(), hints: Vec::new(), details: Value::Null }
    }

    /// Makes an error that is only a sentence.
    pub(crate) fn message(code: Code, message: impl fmt::Display) -> Self {
        Self::new(code, anyhow::Error::msg(message.to_string()))
    }

    /// Makes one error of everything that is wrong with a configuration. There is at least one problem.
    pub(crate) fn problems(mut problems: Vec<Problem>) -> Self {
        problem::sort(&mut problems);
        let all = |is: fn(&Problem) -> bool| problems.iter().all(is);
        let code = if all(|problem| matches!(problem.location, Location::Flag(_) | Location::Environment(_)))
        {
            if all(|problem| problem.code == problem::ProblemCode::NotSupportedYet) {
                Code::UsageUnsupported
            } else {
                Code::UsageInvalid
            }
        } else {
            Code::ConfigInvalid
        };
        let failure = match problems.as_mut_slice() {
            [problem] => {
                let hint = problem.hint.take();
                let failure = Self::message(code, text::one_line(&problem.to_string()));
                problem.hint.clone_from(&hint);
                hint.into_iter().fold(failure, Self::hint)
            }
            problems => {
                let lines: Vec<_> = problems
                    .iter()
                    .map(|problem| format!("\n  {}", text::one_line(&problem.to_string())))
                    .collect();
                Self::message(code, format_args!("{} problems:{}", problems.len(), lines.concat()))
            }
        };
        failure.details(json!({ "problems": problems }))
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds what was being done.
    pub(crate) fn context(mut self, what: String) -> Self {
        self.cause = self.cause.context(what);
        self
    }

    /// Adds more for programs.
    pub(crate) fn details(mut self, details: impl Serialize) -> Self {
        self.details = serde_json::to_value(details).unwrap_or_default();
        self
    }

    /// Returns the error as the one JSON object that a program gets in place of data.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "error": {
                "code": self.code.as_str(),
                "message": format!("{:#}", self.cause),
                "hint": (!self.hints.is_empty()).then(|| self.hints.join("\n")),
                "details": self.details,
                "retryable": self.code.retryable(),
            }
        })
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(cause: anyhow::Error) -> Self {
        Self::new(Code::ToolFailed, cause)
    }
}

/// A home directory that cannot be used.
impl From<HomeError> for CommandError {
    fn from(error: HomeError) -> Self {
        match &error {
            HomeError::Missing { .. } => {
                Self::new(Code::HomeNotFound, error).hint("`sandboxctl home ls` lists those that are there")
            }
            HomeError::InUse { .. } => {
                Self::new(Code::HomeInUse, error).hint("try again when the sandboxes that have it have ended")
            }
            HomeError::MountPoint { name, path, .. } => {
                let path = escape::path(path);
                let hint = format!(
                    "remove it from inside, or share the directory elsewhere: `sandboxctl shell --home {name}`, then `rm -r {path}`"
                );
                Self::new(Code::StartFailed, error).hint(hint)
            }
            HomeError::Files { .. } | HomeError::State(_) => Self::new(Code::ToolFailed, error),
        }
    }
}

/// A sandbox that could not be started.
impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        let (code, hint, details) = match &error {
            StartError::Engine(engine) => (of_engine(engine), engine.remedy(), Value::Null),
            StartError::Secret(SecretError { name, origin, .. }) => {
                (Code::SecretUnavailable, None, json!({ "secret": name, "source": origin }))
            }
            StartError::Sandbox(error) => return Self::of_sandbox(error, &error),
            StartError::Layer { layer, reason, remedy } => {
                (Code::LayerUnenforceable, Some(remedy.clone()), json!({ "layer": layer, "reason": reason }))
            }
            StartError::Step { step, remedy, .. } => {
                (Code::StartFailed, remedy.clone(), json!({ "step": step }))
            }
            StartError::Workdir { .. } => {
                let remedy =
                    "`--workdir` or `[agent] workdir` names a directory inside that the agent may enter";
                (Code::StartFailed, Some(remedy.to_owned()), json!({ "step": error.to_string() }))
            }
            StartError::Refused { asked, reason, remedy } => {
                (Code::PolicyDenied, Some(remedy.clone()), json!({ "requested": asked, "reason": reason }))
            }
        };
        // `Step` carries its source in its own message: the chain below it would say it twice.
        let failure = hint.into_iter().fold(Self::message(code, &error).details(details), Self::hint);
        match code {
            Code::PolicyDenied => failure.hint("this is a rule, not a fault: trying again changes nothing"),
            _ => failure,
        }
    }
}

/// A state directory that cannot be used.
impl From<StateError> for CommandError {
    fn from(error: StateError) -> Self {
        SandboxError::State(error).into()
    }
}

/// A persistent sandbox cannot be found or used.
impl From<SandboxError> for CommandError {
    fn from(error: SandboxError) -> Self {
        Self::of_sandbox(&error, &error)
    }
}

impl CommandError {
    fn of_sandbox(error: &SandboxError, message: &dyn Display) -> Self {
        match error {
            SandboxError::NotFound(_) => Self::message(Code::SandboxNotFound, message)
                .hint("`sandboxctl ls --all` lists those that are there"),
            SandboxError::NameInUse { phase, .. } if phase.can_be_removed() => {
                Self::message(Code::SandboxNameInUse, message).hint("`sandboxctl rm` removes it")
            }
            SandboxError::NameInUse { phase: Phase::Ending, .. }
            | SandboxError::Phase { phase: Phase::Ending, .. } => {
                Self::message(Code::SandboxEnding, message).hint("try again in a moment; `sandboxctl wait` prints how it has ended")
            }
            SandboxError::NameInUse { attachment: Attachment::Attached, .. } => {
                Self::message(Code::SandboxNameInUse, message)
                    .hint("`sandboxctl exec` runs commands in it; the name is free when its own command has ended")
            }
            SandboxError::NameInUse { .. } => Self::message(Code::SandboxNameInUse, message)
                .hint("`sandboxctl exec` runs commands in it; `create --reuse` uses it if it was made from the same"),
            SandboxError::Phase { phase: Phase::Running, action: BE_UNPAUSED, .. } => {
                Self::message(Code::SandboxState, message).hint("it is not paused, and there is nothing to do")
            }
            SandboxError::Phase { phase, .. } => {
                let failure = Self::message(Code::SandboxState, message);
                match phase {
                    Phase::Running => failure.hint("`sandboxctl stop` ends it; `rm --force` does, too"),
                    Phase::Paused => failure.hint("`sandboxctl unpause` lets its processes go on"),
                    Phase::Stopped => failure.hint("`sandboxctl start` makes it again"),
                    Phase::Creating | Phase::Ending => failure.hint("try again in a moment"),
                }
            }
            SandboxError::TooMany { .. } => Self::message(Code::SandboxTooMany, message)
                .hint("`sandboxctl rm --force NAME` removes one, and `sandboxctl prune` all that have ended"),
            SandboxError::Full(_) => Self::message(Code::SandboxFull, message)
                .hint("end something in it, and try again; `--pids-limit` or `[limits] pids` allows more when it is made"),
            SandboxError::Shown { name, .. } => Self::message(Code::SandboxShown, message)
                .hint(format!("`sandboxctl stop {name}` and `sandboxctl start {name}` hide what is there now")),
            SandboxError::Unreachable { .. } => Self::message(Code::SandboxUnreachable, message)
                .hint("`sandboxctl rm --force` kills it and removes it"),
            SandboxError::Unreadable { .. } => Self::message(Code::ToolFailed, message)
                .hint("another version of sandboxctl may have written it; `sandboxctl rm --force ID` removes it when it has ended"),
            SandboxError::UnreadableLives(_) | SandboxError::NameHeld { .. } => {
                let code = match error {
                    SandboxError::NameHeld { .. } => Code::SandboxNameInUse,
                    _ => Code::ToolFailed,
                };
                Self::message(code, message)
                    .hint("another version of sandboxctl may have made it, and can end it")
            }
            SandboxError::State(_) | SandboxError::Log { .. } => Self::message(Code::ToolFailed, message),
        }
    }
}

/// What is not copied.
impl From<CopyError> for CommandError {
    fn from(error: CopyError) -> Self {
        match &error {
            CopyError::Sandbox(of_sandbox) => Self::of_sandbox(of_sandbox, &error),
            CopyError::NoSandbox => {
                Self::new(Code::UsageInvalid, error).hint("a path in a sandbox is NAME:PATH")
            }
            CopyError::Stream(source) if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::new(Code::OutputClosed, error)
            }
            CopyError::Host(_)
            | CopyError::Inside { .. }
            | CopyError::Stream(_)
            | CopyError::Acting(_)
            | CopyError::Record(_) => Self::new(Code::CopyFailed, error),
        }
    }
}

/// A descriptor that is not passed.
impl From<PassError> for CommandError {
    fn from(error: PassError) -> Self {
        let (code, hint) = match &error {
            PassError::Standard(_) => {
                (Code::UsageInvalid, "leave it out: numbers from 3 on can be passed besides")
            }
            PassError::Twice(_) => (Code::UsageInvalid, "name each descriptor once"),
            PassError::Many(_) => {
                (Code::UsageInvalid, "share a directory with what the command needs: `--volume HOST:GUEST`")
            }
            PassError::High { .. } => (Code::UsageInvalid, "open it at a lower number, such as `5<FILE`"),
            PassError::Closed(_) => (
                Code::UsageInvalid,
                "open it for `sandboxctl`, and not close-on-exec: in a shell by `sandboxctl run --pass-fd 5 -- CMD 5<FILE`",
            ),
            PassError::Refused { .. } | PassError::Path(_) => (
                Code::PolicyDenied,
                "a regular file, a pipe, a connected Unix stream socket or /dev/null would be allowed",
            ),
            PassError::Terminal(_) => (
                Code::PolicyDenied,
                "make it one of standard input, output and error, or pass the bytes through a pipe",
            ),
            PassError::System { .. } => (Code::StartFailed, "close descriptors that nobody needs"),
        };
        Self::message(code, format_args!("--pass-fd: {error}")).hint(hint)
    }
}

/// Returns the code for an error of a container engine.
pub(crate) fn of_engine(error: &EngineError) -> Code {
    match error {
        EngineError::NotInstalled { .. } => Code::EngineNotInstalled,
        EngineError::Stopped { .. } => Code::EngineUnreachable,
        EngineError::Permission { .. } => Code::EngineForbidden,
        EngineError::Remote { .. }
        | EngineError::Connection { .. }
        | EngineError::PassedOn { .. }
        | EngineError::Exchangeable { .. }
        | EngineError::Unseen { .. }
        | EngineError::Settings { .. } => Code::EngineElsewhere,
        EngineError::Limit { .. } => Code::LayerUnenforceable,
        EngineError::Timeout { .. } => Code::EngineTimedOut,
        EngineError::NoImage { .. } => Code::ImageMissing,
        EngineError::Pull { .. } => Code::ImageNotFetched,
        EngineError::Architecture { .. } | EngineError::NoPlatform { .. } => Code::ImageArchitecture,
        EngineError::NameInUse { .. } => Code::SandboxNameInUse,
        EngineError::DiskFull { .. } => Code::EngineDiskFull,
        EngineError::Runtime { .. } => Code::EngineRuntime,
        EngineError::Answer { .. } | EngineError::Refused { .. } | EngineError::Call { .. } => {
            Code::EngineFailed
        }
    }
}

/// A configuration file that cannot be used, or trust that cannot be kept.
impl From<TrustError> for CommandError {
    fn from(error: TrustError) -> Self {
        let code = match &error {
            TrustError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Code::ConfigNotFound
            }
            TrustError::Owner { .. }
            | TrustError::Shared { .. }
            | TrustError::NotConfiguration { .. }
            | TrustError::Read { .. } => Code::ConfigInvalid,
            TrustError::Damaged { .. } | TrustError::State(_) => Code::ToolFailed,
        };
        Self::message(code, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_every_key_whether_or_not_there_is_more_to_say() {
        let error = CommandError::message(Code::ToolFailed, "it broke").to_json();
        assert_eq!(
            error,
            json!({ "error": {
                "code": "tool.failed", "message": "it broke", "hint": null, "details": null, "retryable": false
            } })
        );
    }
}
