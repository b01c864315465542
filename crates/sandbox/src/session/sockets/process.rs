//! The process that relays for a sandbox that stays: it has nothing but the relays, is the caller, and ends with PID 1.
//!
//! While a client waits for its command, the relays are threads of the client. A sandbox that stays has no client, so this process has them.
//! What tells it that PID 1 has ended is a pipe, of which PID 1 holds the only end that could be written to.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::{Command, Stdio};

use confine::protocol::ControlSocket;
use policy::plan::{Plan, Socket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use serde::{Deserialize, Serialize};

use super::SocketRelays;
use crate::host::child::{Group, Running};
use crate::host::identity::Identity;
use crate::host::programs::DIRECTORY;
use crate::session::error::StartError;

/// The program that relays: it calls [`serve`] with its standard input, a socket.
#[derive(Clone, Copy)]
pub struct RelayProgram<'a> {
    pub path: &'a str,
    pub arguments: &'a [&'a str],
}

/// What the process is to do. Descriptors: the sockets that listen inside, in the same order, then the pipe that says whether PID 1 lives.
#[derive(Debug, Deserialize, Serialize)]
struct RelaySpec {
    /// The paths of the sockets on the host.
    hosts: Vec<Vec<u8>>,
}

/// What the process says.
#[derive(Debug, Deserialize, Serialize)]
enum RelayEvent {
    /// Whoever connects inside is served.
    Ready,
    /// Nobody is.
    Failed(String),
}

/// The relays of a sandbox that is going to stay. The process ends with this, unless it is left.
pub(crate) struct RelayProcess<'a> {
    program: RelayProgram<'a>,
    sockets: &'a [Socket],
    caller: Identity,
    /// What PID 1 holds for as long as it lives.
    lifeline: Option<OwnedFd>,
    /// Where the process sees its end.
    watched: OwnedFd,
    running: Option<Running>,
}

impl<'a> RelayProcess<'a> {
    /// Prepares one, where the plan has sockets of the host.
    pub(crate) fn prepare(
        plan: &'a Plan,
        program: Option<RelayProgram<'a>>,
        caller: Identity,
    ) -> Result<Option<Self>, StartError> {
        if plan.sockets.is_empty() {
            return Ok(None);
        }
        let program = program.ok_or_else(|| {
            StartError::refused(
                "sockets of the host in a sandbox that stays",
                "the caller of this library has named no program that relays them",
                "name one in `Launch::relay`",
            )
        })?;
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (watched, lifeline) =
            pipe.map_err(|errno| StartError::step("making a pipe for the socket relay")(errno.into()))?;
        let lifeline = Some(lifeline);
        Ok(Some(Self { program, sockets: &plan.sockets, caller, lifeline, watched, running: None }))
    }

    /// Returns what PID 1 is to hold.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        self.lifeline.as_ref().map(AsFd::as_fd)
    }

    /// Starts the process with the sockets that listen inside, once PID 1 holds its end of the pipe, and waits until it serves.
    pub(crate) fn start(&mut self, listeners: &[OwnedFd]) -> Result<(), StartError> {
        self.lifeline = None;
        let failed = StartError::step("starting the socket relay");
        let spawn = || {
            let (control, theirs) = ControlSocket::pair()?;
            let mut command = Command::new(self.program.path);
            command.args(self.program.arguments).env_clear().current_dir(DIRECTORY);
            command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
            // What the caller has left open beside the standard streams is not the relay's.
            confine::close_from_on_exec(3)?;
            // It makes a session of its own, which who leads a process group could not.
            Ok((control, Running::spawn_as(self.caller, &mut command, Group::Ours)?))
        };
        let (mut control, running) = spawn().map_err(failed)?;
        self.running = Some(running);
        let hosts = self.sockets.iter().map(|socket| socket.host.as_os_str().as_bytes().to_vec()).collect();
        let spec = RelaySpec { hosts };
        let descriptors: Vec<_> = listeners.iter().chain([&self.watched]).map(AsFd::as_fd).collect();
        control.send(&spec, &descriptors).map_err(failed)?;
        match control.receive().map_err(failed)? {
            Some(RelayEvent::Ready) => Ok(()),
            Some(RelayEvent::Failed(reason)) => Err(failed(io::Error::other(reason))),
            None => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Leaves it to its sandbox, which stays: it ends with PID 1.
    pub(crate) fn leave(self) {
        if let Some(running) = self.running {
            running.leave();
        }
    }
}

/// Relays until the sandbox has ended, as the user of this process. Whoever has started this process says over `control` what to relay.
///
/// # Errors
///
/// Nobody says what to relay, or nothing can be.
pub fn serve(control: OwnedFd) -> io::Result<()> {
    let mut control = ControlSocket::from(control);
    let spec = control.receive::<RelaySpec>()?.ok_or(io::ErrorKind::UnexpectedEof)?;
    // Whoever has started it may have a terminal, whose end is none of its business.
    let _ = rustix::process::setsid();
    let mut descriptors = control.take_descriptors();
    let lifeline = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
    let hosts = spec.hosts.into_iter().map(|host| OsString::from_vec(host).into()).collect();
    let relays = match SocketRelays::start(hosts, descriptors, Identity::own()) {
        Ok(relays) => relays,
        Err(error) => {
            control.send(&RelayEvent::Failed(error.to_string()), &[])?;
            return Err(error);
        }
    };
    control.send(&RelayEvent::Ready, &[])?;
    drop(control);
    // Nobody writes to it: what happens there is that its last writer is gone.
    while let Err(errno) = poll(&mut [PollFd::new(&lifeline, PollFlags::IN)], None) {
        if errno != Errno::INTR {
            return Err(errno.into());
        }
    }
    relays.finish();
    Ok(())
}
