//! The rules of one sandbox about commands.

use serde::{Deserialize, Serialize};

use super::class::CommandClass;
use super::pattern::TokenPattern;
use crate::rules::verdict::Decision;

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
