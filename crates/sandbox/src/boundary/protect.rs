//! Protected paths as mounts: which files of a writable boundary become read-only, and what must be pinned.
//!
//! Everything here is data for whoever mounts. A link is never mounted, nor mounted through: what it leads to
//! is protected where it lies, if that is inside the boundary. The link itself can then still be replaced,
//! which is noticed afterwards, see [`crate::boundary::detect`].

pub mod commits;
pub(crate) mod filters;
pub mod mounts;
pub(crate) mod objects;
pub mod path_list;
pub mod reach;
pub(crate) mod references;
pub mod search;
