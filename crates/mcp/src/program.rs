//! What the program that serves supplies: how sandboxes are made and removed, which only it can say.

use std::time::Duration;

use policy::plan::Plan;
use sandbox::provider::launch::Lifeline;
use sandbox::secrets::SecretValue;
use sandbox::shell::Cancel;
use sandbox::{Attachment, Sandbox};

use crate::failure::Failure;

/// A sandbox that was made.
pub struct Made {
    pub sandbox: Sandbox,
    /// What it lives by, where it is attached to this process.
    pub lifeline: Option<Lifeline>,
}

/// Makes a sandbox from a plan.
pub type Make = dyn Fn(&Plan, Attachment) -> Result<Made, Failure> + Send + Sync;

/// Removes a sandbox, which somebody else may have removed before, and quarantines what its commands have made that would run on the host; returns what was quarantined, as paths inside.
pub type Remove = dyn Fn(&Sandbox, Duration) -> Result<Vec<String>, Failure> + Send + Sync;

/// Reads the values of the secrets of a plan, by variable.
pub type ReadSecrets = dyn Fn(&Plan) -> Result<Vec<(String, SecretValue)>, Failure> + Send + Sync;

/// What a person has answered on the terminal of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TerminalAnswer {
    Allowed,
    Refused,
    /// Nothing in time, or the question was taken back.
    Unanswered,
    /// The terminal is somebody else's at the moment.
    NobodyThere,
}

/// Asks a person on the terminal of the server, who has so long to answer; raised, the flag takes the question back.
pub type AskTerminal = dyn Fn(&str, Duration, &Cancel) -> TerminalAnswer + Send + Sync;

/// Whether a person is asked.
pub enum Questions {
    /// By the client, where it can ask, else on the terminal of the server, if it has one.
    Asked { terminal: Option<Box<AskTerminal>> },
    /// Never: whatever needs an answer is refused.
    Refused,
}

/// What the program supplies.
pub struct Program {
    /// What every sandbox is made from, but for its name.
    pub plan: Plan,
    /// Whether the name of the plan was chosen by somebody: the first default sandbox has it.
    pub is_named: bool,
    /// Whether a person is asked where the rules about commands say so.
    pub questions: Questions,
    pub version: &'static str,
    pub make: Box<Make>,
    pub remove: Box<Remove>,
    pub secrets: Box<ReadSecrets>,
    /// Takes a line for the person who runs the server.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}
