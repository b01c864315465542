//! What can go wrong with a build, distinguished by what is to be done about it.

use std::path::PathBuf;
use std::{fmt, io};

use policy::build_spec::Platform;
use policy::text::escape;

use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine, which is not on this machine, does not answer.
    #[error("no docker engine answers on {address}: {message}")]
    Unreachable { address: String, message: String },
    /// The engine, which is not on this machine, is not for this user.
    #[error("the docker engine on {address} is not for this user: {message}")]
    Forbidden { address: String, message: String },
    #[error("docker has no buildx, which builds images: {message}")]
    NoBuildx { message: String },
    /// A builder that was asked for cannot be used.
    #[error("the builder \"{builder}\" cannot be used: {source}")]
    Builder { builder: String, source: BuilderError },
    /// No builder can do all of what is asked.
    #[error("the builder \"{builder}\" ({driver}) cannot do this: {}", listed(lacks, ToString::to_string))]
    Lacks {
        builder: String,
        driver: String,
        /// What it cannot do; never empty.
        lacks: Vec<Lack>,
    },
    #[error(
        "the builder \"{builder}\" ({driver}) cannot do this: {}; and a builder that can could not be made: {source}",
        listed(lacks, ToString::to_string)
    )]
    NoBuilder {
        /// The name of the one there is.
        builder: String,
        driver: String,
        /// What it cannot do; never empty.
        lacks: Vec<Lack>,
        /// What is wrong with the new one.
        source: Box<BuilderError>,
    },
    /// An image that the build starts from cannot be fetched.
    #[error("the image {image} cannot be fetched: {message}")]
    Fetch { image: String, cause: Option<FailureCause>, message: String },
    #[error("the image cannot be pushed: {message}")]
    Push { cause: Option<FailureCause>, message: String },
    #[error("a step runs programs for {platform}, and nothing here emulates that processor")]
    Emulator { platform: String },
    #[error("there is no space left for the build: {message}")]
    DiskFull { message: String },
    #[error("{}", failed(step.as_deref(), message))]
    Step {
        /// The step, as the Dockerfile has it.
        step: Option<String>,
        cause: Option<FailureCause>,
        message: String,
        /// The last lines that it printed.
        printed: Vec<String>,
    },
    /// An engine that gets the image of an own Dockerfile would make no sandbox of it.
    #[error("the image makes no sandbox where an engine starts it: {}", listed(unfit, of_platform))]
    Unfit {
        /// What is wrong, for each platform; never empty.
        unfit: Vec<(Platform, Unfit)>,
    },
    /// The caller ended it.
    #[error("the build was ended by signal {0}")]
    Ended(i32),
    #[error("{}: {source}", escape::path(path))]
    File { path: PathBuf, source: io::Error },
    #[error("{what} cannot be understood: {source}")]
    Answer { what: &'static str, source: serde_json::Error },
}

/// Why a builder cannot be used, or made.
#[derive(Debug, thiserror::Error)]
pub enum BuilderError {
    /// It could not be asked for.
    #[error(transparent)]
    Engine(EngineError),
    /// Buildx, or it itself, says why.
    #[error("{0}")]
    Refused(String),
    #[error("it does not run")]
    Stopped,
    #[error("it has no {0}")]
    Incomplete(&'static str),
    #[error("it is the engine of the context \"{context}\", and the image is for that of \"{wanted}\"")]
    Elsewhere { context: String, wanted: String },
}

impl From<EngineError> for BuilderError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused { message, .. } => Self::Refused(message),
            error => Self::Engine(error),
        }
    }
}

fn failed(step: Option<&str>, message: &str) -> String {
    match step {
        Some(step) => format!("the build failed at `{step}`: {message}"),
        None => format!("the build failed: {message}"),
    }
}

/// Joins several causes to one line.
fn listed<T>(causes: &[T], describe: impl Fn(&T) -> String) -> String {
    causes.iter().map(describe).collect::<Vec<_>>().join("; ")
}

fn of_platform((platform, unfit): &(Platform, Unfit)) -> String {
    format!("{platform}: {unfit}")
}

/// What a builder cannot do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Lack {
    /// Steps for this platform: its processor is another one, and nothing emulates it.
    Emulator(Platform),
    /// Several platforms in one image.
    Platforms,
    Attestations,
    /// A cache outside.
    Cache,
    /// An image on disk, which the check of an own Dockerfile looks at.
    Layout,
    /// An image of several platforms, or with attestations, for an engine that cannot keep one.
    Store,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulator(platform) => write!(f, "nothing emulates {platform} here"),
            Self::Platforms => f.write_str("it makes no image of several platforms"),
            Self::Attestations => f.write_str("it attests nothing"),
            Self::Cache => f.write_str("it keeps no cache elsewhere"),
            Self::Layout => f.write_str("it gives no image out to be checked"),
            Self::Store => f.write_str("the engine keeps no image of several platforms or with attestations"),
        }
    }
}

/// What is wrong with an image.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Unfit {
    /// It has no entrypoint where it has to be.
    NoEntrypoint { path: String },
    /// It does not start the entrypoint.
    Starts { instead: Vec<String> },
    /// The entrypoint is no program that Linux executes.
    NoProgram { path: String },
    /// The entrypoint is for another processor.
    Machine { path: String },
    /// The entrypoint asks for a loader, which not every image has.
    Dynamic { path: String },
    /// Nobody may execute it.
    Mode { path: String },
    /// There is no user with uid 1000.
    NoUser,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEntrypoint { path } => write!(f, "there is no {path}"),
            Self::Starts { instead } if instead.is_empty() => f.write_str("it has no ENTRYPOINT"),
            Self::Starts { instead } => {
                write!(f, "its ENTRYPOINT is {instead:?}, and not the entrypoint of sandboxes")
            }
            Self::NoProgram { path } => write!(f, "{path} is no program"),
            Self::Machine { path } => write!(f, "{path} is for another processor"),
            Self::Dynamic { path } => write!(f, "{path} is not static"),
            Self::Mode { path } => write!(f, "not everybody may execute {path}"),
            Self::NoUser => f.write_str("/etc/passwd has no user with uid 1000"),
        }
    }
}
