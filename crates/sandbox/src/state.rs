//! What outlives one command, in the caller's state directory.

pub(crate) mod client;
pub mod directory;
pub mod record;
pub mod trust;
pub mod writable;
