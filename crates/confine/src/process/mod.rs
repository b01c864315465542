//! Processes inside: how a command is executed, supervised and reaped, and what it is connected with.

pub mod command;
pub mod reap;
pub(crate) mod start;
pub mod stdio;
pub mod supervise;
pub mod terminal;
