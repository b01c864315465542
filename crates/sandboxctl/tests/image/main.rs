//! Images from outside: really built for two platforms, pushed, pulled and run, and nothing left of a build that was
//! killed.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod ended;
mod engines;
mod onbuild;
mod own_dockerfile;
mod progress;
mod project;
mod stock;

#[path = "../support/machine.rs"]
#[expect(dead_code, reason = "nobody runs a sandbox here")]
mod machine;
