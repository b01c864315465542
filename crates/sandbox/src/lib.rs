//! Providers of sandboxes, and what they need on the host.
//!
//! A provider gets a [`policy::plan::Plan`], never configuration. This crate returns data: it does not print,
//! and it reads neither the home directory nor the environment of its caller.
#![forbid(unsafe_code)]

pub mod acting;
mod apart;
mod beneath;
pub mod boundary;
pub mod capture;
pub mod deadline;
pub mod detect;
pub mod doctor;
pub mod engine;
mod host;
pub mod host_uid;
pub mod image;
mod init_program;
pub mod programs;
pub mod protect;
pub mod provider;
pub mod quarantine;
pub mod record;
#[cfg(test)]
mod root_only;
pub mod secrets;
pub mod small_file;
pub mod state;
pub mod terminal;
pub mod toolchain;
pub mod trust;
pub mod walk;
pub mod writable;
