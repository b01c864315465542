//! `children`: the sidecar that serves the socket on which an agent requests children; `run` and `create` start it.
//!
//! It starts one process for each child (`child.rs`). All of them run as the caller.

use std::io;

use anyhow::Context as _;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use sandbox::session::children;
use sandbox::session::sidecar::SandboxEnd;

use self::connection::Connections;
use self::family::Family;
use crate::context::refuse_sudo;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

mod answer;
mod connection;
mod family;

/// Returns the arguments of the sidecar, which is as quiet as the client.
pub(crate) fn arguments(is_quiet: bool) -> &'static [&'static str] {
    if is_quiet { &["children", "--quiet"] } else { &["children"] }
}

/// How long to wait for descriptors or threads, of which this process has had too many.
const RETRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Serves the socket until the sandbox has ended, and ends every child then.
pub(crate) fn serve(ui: &Ui) -> Result<ExitCode, CommandError> {
    // A user whom sudo lets run nothing but this program could have root run a plan of their own.
    refuse_sudo("the process for children", "sandboxctl run")?;
    // It passes variables with credentials on to children, and other programs of the user must not read them here.
    confine::capabilities::not_dumpable().context("cannot keep the environment private")?;
    let control = rustix::io::dup(rustix::stdio::stdin()).context("standard input")?;
    let parent = children::accept(control)
        .context("cannot start children of a sandbox; `sandboxctl run` starts this command by itself")?;
    let environment = std::env::vars_os().collect();
    confine::clear_variables(&parent.plan.credential_variables());
    let listener = parent.listener.try_clone().context("the socket for children")?;
    let end = parent.end;
    let family = Family::new(ui, parent.plan, parent.id, parent.stays, environment);
    serve_until(&family, &listener, &end).context("cannot serve the socket for children")?;
    Ok(ExitCode::Success)
}

/// Serves whoever connects until the sandbox has ended.
fn serve_until(
    family: &Family<'_>,
    listener: &std::os::unix::net::UnixListener,
    end: &SandboxEnd,
) -> io::Result<()> {
    // Written to by a connection that has ended: another one can be accepted then.
    let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    std::thread::scope(|scope| {
        let mut connections = Connections::new(scope, family, end, &ended);
        let mut is_short = false;
        loop {
            let mut fds = vec![PollFd::new(end, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
            if connections.has_room() && !is_short {
                fds.push(PollFd::new(listener, PollFlags::IN));
            }
            match poll(&mut fds, is_short.then_some(&RETRY)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if !fds[0].revents().is_empty() {
                // Each connection sees the same, and ends its children; the scope waits for that.
                return Ok(());
            }
            let mut count = [0; 8];
            let _ = rustix::io::read(&ended, &mut count);
            is_short = connections.accept(listener).is_err();
        }
    })
}
