//! The classes of commands.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a command does, as far as its text tells. Several hold at once; whatever is not known counts as [`Self::Execute`].
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandClass {
    /// It reads files and prints.
    Read,
    /// It changes files.
    Write,
    /// It connects to other hosts.
    Network,
    /// It runs a program of which no more is known.
    Execute,
}

impl CommandClass {
    /// Every class, in the order of the keys of `[commands]`.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Execute, Self::Network];

    /// Says what commands of the class do, as in "commands that …".
    pub fn what_they_do(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "change files",
            Self::Network => "use the network",
            Self::Execute => "run programs which are not known to do less",
        }
    }
}

impl fmt::Display for CommandClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Execute => "execute",
        })
    }
}
