//! The host: its files, users, programs, terminals and toolchains.

pub mod acting;
pub(crate) mod beneath;
pub mod capture;
pub(crate) mod cgroups;
pub mod child;
pub mod clock;
pub mod deadline;
pub mod elevation;
pub(crate) mod follow;
mod guard;
pub mod identity;
pub(crate) mod init_program;
pub mod left;
pub mod links;
pub mod make;
pub mod mounted;
pub(crate) mod pipe;
pub mod programs;
pub mod project;
pub(crate) mod recorded_agent;
pub mod replaced_file;
#[cfg(test)]
pub(crate) mod root_only;
pub mod small_file;
pub(crate) mod stamp;
pub mod terminal;
pub mod toolchain;
