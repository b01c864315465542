//! How a command has ended, as far as its exit status says.

use serde::{Deserialize, Serialize};

/// How the agent ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Ending {
    Exited(i32),
    Signaled(i32),
}

impl Ending {
    /// Returns the status that whoever waits for the agent gets: its own, or 128+n for signal n.
    pub fn exit_code(self) -> u8 {
        let code = match self {
            Self::Exited(status) => status,
            Self::Signaled(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}
