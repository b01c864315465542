//! Rules about commands that a model asks for: which run, which a person is asked about, and which do not run.
//!
//! They are for the person who reads along, and no boundary: a program that may run can do all that its sandbox lets it do. Each command
//! of a shell text is decided by the rules whose pattern it matches, or else by its classes; the strictest decision counts for the whole.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(feature = "commands")]
pub use self::decide::{CommandReason, CommandVerdict};
pub use self::pattern::{TokenPattern, TokenPatternError};
use crate::rules::verdict::Decision;

#[cfg(feature = "commands")]
mod classify;
#[cfg(feature = "commands")]
mod decide;
#[cfg(feature = "commands")]
mod git;
#[cfg(feature = "commands")]
mod matching;
mod pattern;
#[cfg(feature = "commands")]
mod programs;
#[cfg(feature = "commands")]
mod shell;
#[cfg(feature = "commands")]
mod simple;
#[cfg(feature = "commands")]
mod wrappers;

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

/// The rules of one sandbox.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CommandRules {
    pub read: Decision,
    pub write: Decision,
    pub execute: Decision,
    pub network: Decision,
    /// In the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CommandRule>,
}

impl Default for CommandRules {
    fn default() -> Self {
        let all = Decision::Allow;
        Self { read: all, write: all, execute: all, network: all, rules: Vec::new() }
    }
}

impl CommandRules {
    /// Returns what is decided about commands of a class that no pattern names.
    pub fn of_class(&self, class: CommandClass) -> Decision {
        match class {
            CommandClass::Read => self.read,
            CommandClass::Write => self.write,
            CommandClass::Execute => self.execute,
            CommandClass::Network => self.network,
        }
    }

    /// Returns whether every command runs without a question.
    pub fn allow_everything(&self) -> bool {
        let classes = CommandClass::ALL.iter().map(|class| self.of_class(*class));
        classes.chain(self.rules.iter().map(|rule| rule.decision)).all(|decision| decision == Decision::Allow)
    }
}

/// What is decided about the commands that match a pattern, whatever their class.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CommandRule {
    pub name: String,
    pub pattern: TokenPattern,
    pub decision: Decision,
    /// Why, in the words of whoever wrote the rule.
    pub reason: Option<String>,
}
