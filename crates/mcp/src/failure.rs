//! Why a tool did not do what it was asked for, in words for a model: no path of the host is in them.

use policy::query::Denial;
use policy::rules::path::PathError;
use sandbox::session::error::StartError;
use sandbox::session::staying::copy::CopyError;
use sandbox::shell::jobs::JobError;
use sandbox::state::sandboxes::SandboxError;
use sandbox::tools::{ATTACHMENTS, ToolError};

/// Why a tool did not do it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    InvalidArguments(String),
    #[error("there is a sandbox named {0:?} already; choose another name, or leave the name out")]
    NameInUse(String),
    /// A rule is against it, or what is there.
    #[error(transparent)]
    Denied(#[from] Box<Denial>),
    #[error("busy: {0}; this call was not begun, and can be made again when others have ended")]
    Busy(&'static str),
    /// Whoever had asked for it did not want it any more.
    #[error("cancelled: all that the call had started was ended")]
    Cancelled,
    /// It failed on the host. What is said there may name paths of the host.
    #[error(
        "{what} failed on the host of the sandbox; the log of the server has the reason, for the person who runs it"
    )]
    Host { what: &'static str, reason: String },
}

impl Failure {
    /// Makes a failure of the host of an error.
    pub fn host(what: &'static str) -> impl Fn(std::io::Error) -> Self + Copy {
        move |error| Self::Host { what, reason: error.to_string() }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Denied(denial) => Self::Denied(Box::new(denial)),
            ToolError::Sandbox(error) => error.into(),
            // What the system says of a path inside.
            ToolError::System { .. } | ToolError::Changed { .. } => Self::InvalidArguments(error.to_string()),
            ToolError::Plan(_) | ToolError::Acting(_) => {
                Self::Host { what: "opening the files of the sandbox", reason: error.to_string() }
            }
        }
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Sandbox(error) => error.into(),
            CopyError::Inside { message, .. } => Self::InvalidArguments(format!(
                "the worker has no place for the attachments in {ATTACHMENTS}: {message}; have fewer or smaller ones"
            )),
            error => Self::Host { what: "handing over the attachments", reason: error.to_string() },
        }
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::NameInUse { name, .. } => Self::NameInUse(name),
            SandboxError::NotFound(_) | SandboxError::Phase { .. } => {
                Self::InvalidArguments(error.to_string())
            }
            SandboxError::Shown { .. } => Self::InvalidArguments(format!(
                "{error}. Nothing was begun. A sandbox that is made now hides it again: `sandbox_stop` ends this one, and the next command makes the \
                 default one again; in place of another one, `sandbox_create` makes a new one"
            )),
            error => Self::Host { what: "using the sandbox", reason: error.to_string() },
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Sandbox(error) => error.into(),
            // Each is about what the call names, and about what is inside.
            StartError::Workdir { .. } => Self::InvalidArguments(format!(
                "`cwd`: {error}; it is a directory in the sandbox that commands may enter, and without it they start in the working directory"
            )),
            error => Self::Host { what: "running the command", reason: error.to_string() },
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Start(error) => error.into(),
            JobError::Cancelled | JobError::Ended => Self::Cancelled,
            error => Self::InvalidArguments(error.to_string()),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::InvalidArguments(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_may_name_a_path_of_the_host_is_not_shown_to_a_model() {
        let error = StartError::Step {
            step: "opening /home/me/.local/state".into(),
            source: io::ErrorKind::NotFound.into(),
            remedy: None,
        };
        let failure = Failure::from(error);
        assert!(!failure.to_string().contains("/home/me"), "{failure}");
        let Failure::Host { reason, .. } = failure else { panic!("{failure:?}") };
        assert!(reason.contains("/home/me"));
    }

    #[test]
    fn what_the_model_has_named_is_shown_to_it() {
        let failure = Failure::from(SandboxError::NotFound("work".to_owned()));
        assert_eq!(failure.to_string(), "there is no sandbox named \"work\" of yours");
    }
}
