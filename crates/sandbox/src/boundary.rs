//! Boundaries: directories of the host that a sandbox shares, and what is protected in them.

pub(crate) mod aliases;
pub mod detect;
pub mod error;
pub(crate) mod hard_links;
pub(crate) mod hidden_paths;
pub(crate) mod hide;
pub mod protect;
pub mod quarantine;
pub mod resolve;
pub mod root;
pub mod walk;
