//! Rules about commands that a model asks for: which run, which a person is asked about, and which do not run.
//!
//! They are for the person who reads along, and no boundary: a program that may run can do all that its sandbox lets it do. Each command
//! of a shell text is decided by the rules whose pattern it matches, or else by its classes; the strictest decision counts for the whole.

pub use self::class::CommandClass;
#[cfg(feature = "commands")]
pub use self::decide::{CommandReason, CommandVerdict};
pub use self::pattern::{TokenPattern, TokenPatternError};
#[cfg(feature = "commands")]
pub use self::readable::Shell;
pub use self::rules::{CommandRule, CommandRules};

mod class;
#[cfg(feature = "commands")]
mod classify;
#[cfg(feature = "commands")]
mod decide;
#[cfg(feature = "commands")]
mod git;
#[cfg(feature = "commands")]
mod literal;
#[cfg(feature = "commands")]
mod matching;
mod pattern;
#[cfg(feature = "commands")]
mod programs;
#[cfg(feature = "commands")]
mod readable;
mod rules;
#[cfg(feature = "commands")]
mod shell;
#[cfg(feature = "commands")]
mod simple;
#[cfg(feature = "commands")]
mod variables;
#[cfg(feature = "commands")]
mod wrappers;
