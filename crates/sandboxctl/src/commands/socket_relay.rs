//! `socket-relay`: the process that relays sockets of the host for a persistent sandbox; `create` and `run --detach` start it.

use anyhow::Context as _;
use sandbox::session::sockets::process;

use crate::context::refuse_sudo;
use crate::error::CommandError;
use crate::exit_code::ExitCode;

/// The arguments of the relay.
pub(crate) const ARGUMENTS: &[&str] = &["socket-relay"];

/// Relays until the sandbox has ended.
pub(crate) fn serve() -> Result<ExitCode, CommandError> {
    // Whoever may call this as root by sudo, and nothing else, would have root connect where they say.
    refuse_sudo("the socket relay", "sandboxctl create")?;
    let control = rustix::io::dup(rustix::stdio::stdin()).context("standard input")?;
    process::serve(control)
        .context("cannot relay for a sandbox; `sandboxctl create` starts this command by itself")?;
    Ok(ExitCode::Success)
}
