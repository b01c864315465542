//! Providers of sandboxes, and what they need on the host.
//!
//! A provider gets a [`policy::plan::Plan`], never configuration. This crate returns data: it does not print,
//! and it reads neither the home directory nor the environment of its caller.
#![forbid(unsafe_code)]

pub mod boundary;
pub mod doctor;
pub mod engine;
pub mod host;
pub mod image;
pub mod provider;
pub mod secrets;
pub mod session;
pub mod state;
