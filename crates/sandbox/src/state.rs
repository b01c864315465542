//! What outlives one command, in the caller's state directory.

mod archive;
pub(crate) mod client;
pub mod directory;
pub mod event;
pub mod homes;
pub mod in_force;
pub mod journal;
pub mod plans;
pub mod pool;
pub mod record;
pub mod runs;
pub mod sandboxes;
pub mod trust;
pub mod version;
pub mod walk_cache;
pub mod writable;
