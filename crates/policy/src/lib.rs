//! The rules of a sandbox, as data.
//!
//! Configuration comes in as text and leaves as a [`plan::Plan`]: what a provider has to do, fully
//! resolved. In between, every question has one answer, a [`rules::verdict::Verdict`] that names the rule that
//! decided.
//!
//! This crate opens no file, reads no variable and has no unsafe code: the caller gathers the facts.
#![forbid(unsafe_code)]

pub mod agents;
pub mod build_spec;
pub mod child;
pub mod classify;
pub mod commands;
pub mod config;
pub mod plan;
mod policy;
pub mod protect;
pub mod query;
pub mod rules;
pub mod subset;
pub mod text;
pub mod variables;

pub use self::policy::{
    BoundaryRequest, HostDirectory, HostFacts, HostHome, LinkedWorktree, NotShared, Policy, Presence,
    ProjectSays, Purpose, SocketRequest, ToolchainParts, Unavailable, WorkerRequest, without_containers,
};
