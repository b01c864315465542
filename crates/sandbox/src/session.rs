//! One command in a sandbox, from its start to its end, whichever provider carries it out.

pub(crate) mod agent;
pub mod attendance;
pub(crate) mod boundaries;
pub mod children;
pub(crate) mod closed;
mod cut_off_copies;
pub mod egress;
pub(crate) mod environment;
pub mod error;
pub(crate) mod held_secrets;
pub mod outcome;
pub mod passed;
pub(crate) mod remedy;
mod scans;
pub mod sidecar;
pub mod sockets;
pub mod staying;
pub mod streams;
pub(crate) mod supervise;
