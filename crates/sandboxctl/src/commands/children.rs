//! Children of a sandbox: sandboxes that its agent asks for over a socket inside, and that are made out here, beside their parent.
//!
//! This is the process that serves the socket, which `run` and `create` start. It starts a process for each child (`child.rs`). All of them are the caller, as
//! every other client is.

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

/// Returns the arguments of the process that serves the socket: its warnings are wanted where those of its sandbox are.
pub(crate) fn arguments(is_quiet: bool) -> &'static [&'static str] {
    if is_quiet { &["children", "--quiet"] } else { &["children"] }
}

/// How long to wait for what nothing tells: descriptors or threads that this process can have again.
const RETRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// `children`: starts what the agent asks for until the sandbox has ended, and with it every child.
pub(crate) fn serve(ui: &Ui) -> Result<ExitCode, CommandError> {
    // Whoever may call this as root by sudo, and nothing else, would have root run a plan of theirs.
    refuse_sudo("the process for children", "sandboxctl run")?;
    // Variables that secrets are read from are passed to children, and shown to nobody by this process.
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
    // What wakes this loop when a connection has ended, so that another one can be taken.
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
