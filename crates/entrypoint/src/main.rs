//! PID 1 of every sandbox.
//!
//! Started for `sandboxctl` it takes its orders from a control socket; started by a container engine or by hand it takes
//! them from its environment and its arguments, and either becomes the agent or stays beside it.

mod container;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use confine::init::{self, Orders};
use confine::{guard, join, line, supervise};

/// musl's own maps and unmaps pages for most of what it is asked for, which was a fifth of a sandbox's start.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let first = arguments.first().and_then(|first| first.to_str()).unwrap_or_default();
    ExitCode::from(if first.as_bytes() == init::CONTROL_ARGUMENT.to_bytes() {
        // When the control socket is gone, so is whoever could be told.
        init::run(Orders::Inherited).unwrap_or(container::FAILED)
    } else if first == init::MEET_ARGUMENT {
        let place = arguments.get(1).map(PathBuf::from).unwrap_or_default();
        init::run(Orders::Met(place)).unwrap_or_else(|error| {
            container::say(container::FAILED, &format!("cannot take orders from the client: {error}"))
        })
    } else if first == line::ARGUMENT {
        container::exec(&std::env::vars_os().collect::<Vec<_>>())
    } else if first == guard::ARGUMENT {
        guard::run(arguments.get(1).map(Path::new)).unwrap_or(container::FAILED)
    } else if first == join::ARGUMENT {
        join::run().unwrap_or(container::FAILED)
    } else if let Some(charge) = first.strip_prefix(supervise::ARGUMENT) {
        charge
            .parse()
            .map_err(anyhow::Error::from)
            .and_then(|charge| Ok(supervise::run(charge)?))
            .unwrap_or_else(|error| {
                container::say(container::FAILED, &format!("cannot supervise the agent: {error:#}"))
            })
    } else {
        container::run(&arguments, std::env::vars_os().collect())
    })
}
