//! PID 1 of every sandbox.
//!
//! Started for `sandboxctl` it learns what to run from a control socket; started by a container engine or by hand, from its
//! environment and its arguments. It either executes the agent in its place or stays and supervises it.

mod container;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use confine::guard;
use confine::init::{self, ClientLocation};
use confine::mount::setns;
use confine::process::supervise;
use confine::protocol::{CONTROL_ARGUMENT, HOST_ARGUMENT, RENDEZVOUS_ARGUMENT, SETNS_ARGUMENT};

/// musl's own maps and unmaps pages for most of what it is asked for, which was a fifth of a sandbox's start.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let first = arguments.first().and_then(|first| first.to_str()).unwrap_or_default();
    ExitCode::from(if first.as_bytes() == CONTROL_ARGUMENT.to_bytes() {
        // When the control socket is gone, so is the client.
        init::run(ClientLocation::Inherited).unwrap_or(container::FAILED)
    } else if first == RENDEZVOUS_ARGUMENT {
        let directory = arguments.get(1).map(PathBuf::from).unwrap_or_default();
        init::run(ClientLocation::Rendezvous(directory)).unwrap_or_else(|error| {
            container::print(container::FAILED, &format!("cannot receive requests of the client: {error}"))
        })
    } else if first == guard::ARGUMENT {
        guard::run(arguments.get(1).map(Path::new)).unwrap_or(container::FAILED)
    } else if first == HOST_ARGUMENT {
        init::host::run().unwrap_or(container::FAILED)
    } else if first == SETNS_ARGUMENT {
        setns::run().unwrap_or(container::FAILED)
    } else if let Some(supervised) = first.strip_prefix(supervise::ARGUMENT) {
        supervised
            .parse()
            .map_err(anyhow::Error::from)
            .and_then(|supervised| Ok(supervise::run(supervised)?))
            .unwrap_or_else(|error| {
                container::print(container::FAILED, &format!("cannot supervise the agent: {error:#}"))
            })
    } else {
        container::run(&arguments, std::env::vars_os().collect())
    })
}
