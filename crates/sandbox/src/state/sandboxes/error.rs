//! Why a sandbox that others find cannot be found or used.

use std::io;
use std::path::PathBuf;

use confine::protocol::Attachment;
use policy::text::escape;

use super::phase::Phase;
use crate::state::directory::StateError;

/// What a sandbox cannot that is not paused, see [`SandboxError::Phase`].
pub const BE_UNPAUSED: &str = "be unpaused";

/// Why a persistent sandbox cannot be found or used.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("there is no sandbox named \"{}\" of yours", .0.escape_debug())]
    NotFound(String),
    #[error("there is a sandbox named \"{name}\" already, and it is {}", phase_word(*phase))]
    NameInUse { name: String, phase: Phase, attachment: Attachment },
    /// Its caller adds to fewer only.
    #[error("there are {found} persistent sandboxes, and from {most} on none is added")]
    TooMany { found: usize, most: usize },
    #[error("sandbox \"{name}\" is {}, and cannot {action}", phase_word(*phase))]
    Phase { name: String, phase: Phase, action: &'static str },
    /// Its record is of another version of this program, or is damaged.
    #[error("the record of sandbox {id} cannot be read: {reason}")]
    Unreadable { id: String, reason: String },
    #[error("sandbox {0} is not removed: its record cannot be read, and it is alive")]
    UnreadableLives(String),
    #[error("sandbox {id} has the name \"{name}\" and is alive, and its record cannot be read")]
    NameHeld { name: String, id: String },
    #[error("PID 1 of sandbox \"{name}\" does not answer: {source}")]
    Unreachable { name: String, source: io::Error },
    /// What the path inside leads to has no cover any more.
    #[error(
        "sandbox \"{name}\" does not hide {} any more: a program on this host has replaced, moved or removed it since the sandbox started, or it cannot be \
         looked at",
        escape::path(path)
    )]
    Shown { name: String, path: PathBuf },
    #[error("the sandbox has no room for another process: {0}")]
    Full(io::Error),
    #[error("cannot read the log of sandbox \"{name}\": {source}")]
    Log { name: String, source: io::Error },
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Creating => "being created",
        Phase::Running => "running",
        Phase::Paused => "paused",
        Phase::Ending => "ending (its command has ended, and its client removes it)",
        Phase::Stopped => "stopped",
    }
}
