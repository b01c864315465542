//! The real program, static, in real containers.
//!
//! `SANDBOX_TEST_FEATURES`, a list with commas, says with which engines: `docker`, `podman`; and whether in an emulator, too:
//! `emulation`. An engine that is named and
//! does not answer is a failure; with one that is not named nothing is done, and that is said. Images, and a rootless
//! Docker, are named by the variables that `tests/engine env` prints.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(clippy::print_stdout, reason = "what was not run is said")]

mod container;
mod emulation;
#[path = "../support/ended.rs"]
mod ended;
mod engine;
mod environment;
mod execution;
mod image;
mod init;
mod start_modes;
mod terminal;
mod user_namespaces;
mod users;
