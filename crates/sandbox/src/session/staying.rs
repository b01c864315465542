//! Persistent sandboxes: what can be done with one that was made before.

pub(crate) mod attend;
pub mod control;
pub mod copy;
pub mod events;
pub mod exec;
mod hiding;
pub mod logs;
mod recording;
pub mod spawn;
