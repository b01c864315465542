//! The rules of a sandbox, as data.
//!
//! Configuration comes in as text and leaves as a [`plan::Plan`]: what a provider is told to do, fully
//! resolved. In between, every question has one answer, a [`verdict::Verdict`] that names the rule that
//! decided.
//!
//! This crate opens no file, reads no variable and has no unsafe code: whoever calls it gathers the facts.
#![forbid(unsafe_code)]

pub mod config;
pub mod covering;
mod document;
pub mod env;
pub mod json_bytes;
pub mod judge;
pub mod layer;
pub mod limits;
pub mod network;
pub mod overrides;
pub mod path;
pub mod plan;
pub mod policy;
pub mod problem;
pub mod protect;
pub mod recipe;
pub mod reference;
pub mod schema;
pub mod shown;
pub mod suggest;
pub mod trust;
pub mod user;
pub mod variables;
pub mod verdict;
pub mod workspace;
