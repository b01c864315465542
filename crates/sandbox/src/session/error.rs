//! Why a command was not started.

use std::io;
use std::path::PathBuf;

use policy::plan::Layer;
use policy::text::escape;

use crate::engine::error::EngineError;
use crate::secrets::SecretError;
use crate::state::directory::StateError;
use crate::state::record::RecordError;
use crate::state::sandboxes::SandboxError;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Sandbox(SandboxError),
    #[error("layer {layer} is required and cannot be enforced: {reason}")]
    Layer { layer: Layer, reason: String, remedy: String },
    #[error("{step}: {source}")]
    Step {
        step: String,
        source: io::Error,
        /// What to do about it, where that is known.
        remedy: Option<String>,
    },
    /// The command cannot start in the directory that was named, which is one inside.
    #[error("changing to the working directory {}: {source}", escape::path(path))]
    Workdir { path: PathBuf, source: io::Error },
    /// The plan asks for what this provider cannot do.
    #[error("{asked}: {reason}")]
    Refused { asked: String, reason: String, remedy: String },
}

impl StartError {
    /// Makes an error of the system the failure of a step, for which no remedy is known.
    pub(crate) fn step(name: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Step { step: name.into(), source, remedy: None }
    }

    /// Makes a refusal of what was asked, by a rule, with what would be allowed.
    pub(crate) fn refused(
        asked: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Refused { asked: asked.into(), reason: reason.into(), remedy: remedy.into() }
    }

    /// Makes an error of the records the failure of a start.
    pub(crate) fn recorded(error: RecordError) -> Self {
        Self::step("using the state directory")(io::Error::other(error))
    }
}

/// The state directory cannot be used.
impl From<StateError> for StartError {
    fn from(error: StateError) -> Self {
        Self::recorded(error.into())
    }
}

impl From<SandboxError> for StartError {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::State(error) => error.into(),
            error => Self::Sandbox(error),
        }
    }
}
