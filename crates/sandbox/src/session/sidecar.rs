//! A sidecar: a process of ours beside a sandbox, which serves sockets that PID 1 listens on, and ends with the sandbox.
//!
//! It sees the end of the sandbox on a pipe: only PID 1 or the client holds the end that could be written to.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use confine::protocol::ControlSocket;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::host::programs::DIRECTORY;
use crate::session::error::StartError;

/// How long a sidecar may take to end with its sandbox before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// The program of a sidecar: it calls [`Sidecar::accept`] with its standard input, a socket.
pub struct SidecarProgram<'a> {
    pub path: &'a str,
    pub arguments: &'a [&'a str],
    /// The whole of its environment, which may hold credentials.
    pub environment: Vec<(OsString, OsString)>,
}

/// What a sidecar answers to its spec.
#[derive(Debug, Deserialize, Serialize)]
enum SidecarEvent {
    Ready,
    Failed(String),
}

/// Whose end a sidecar watches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Until {
    /// That of PID 1, which holds the lifeline.
    Init,
    /// That of this process, which holds it.
    Client,
}

/// A sidecar as its client has it. It ends with this, unless it is left.
pub(crate) struct SidecarProcess<'a> {
    /// The step of starting it, for errors.
    step: &'static str,
    program: SidecarProgram<'a>,
    caller: Identity,
    /// What is held for as long as the sandbox lives.
    lifeline: Option<OwnedFd>,
    /// Where the sidecar sees its end.
    watched: OwnedFd,
    running: Option<Running>,
}

impl<'a> SidecarProcess<'a> {
    /// Prepares one, which will run as the caller. `step` is the step of starting it, for errors.
    pub(crate) fn prepare(
        step: &'static str,
        program: SidecarProgram<'a>,
        caller: Identity,
    ) -> Result<Self, StartError> {
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (watched, lifeline) = pipe.map_err(|errno| StartError::step(step)(errno.into()))?;
        Ok(Self { step, program, caller, lifeline: Some(lifeline), watched, running: None })
    }

    /// Returns what PID 1 is to hold.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        self.lifeline.as_ref().map(AsFd::as_fd)
    }

    /// Starts the process with its spec and these descriptors, and waits until it serves. Its environment is cleared here then. What it
    /// prints on standard error is seen as long as this process is there, and then by nobody.
    pub(crate) fn start<S: Serialize>(
        &mut self,
        spec: &S,
        descriptors: &[OwnedFd],
        until: Until,
    ) -> Result<(), StartError> {
        if until == Until::Init {
            self.lifeline = None;
        }
        let failed = StartError::step(self.step);
        let environment = std::mem::take(&mut self.program.environment);
        let spawn = || {
            let (control, theirs) = ControlSocket::pair()?;
            let mut command = Command::new(self.program.path);
            command.args(self.program.arguments).env_clear().current_dir(DIRECTORY);
            command.envs(environment);
            let stderr = match until {
                Until::Client => Stdio::inherit(),
                Until::Init => Stdio::null(),
            };
            command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(stderr);
            // What the caller has left open beside the standard streams is not the sidecar's.
            confine::close_from_on_exec(3)?;
            // It will make a session of its own, which the leader of a process group could not.
            Ok((control, Running::spawn_as(self.caller, &mut command, Group::Ours)?))
        };
        let (mut control, running) = spawn().map_err(failed)?;
        self.running = Some(running);
        let descriptors: Vec<_> = descriptors.iter().chain([&self.watched]).map(AsFd::as_fd).collect();
        control.send(spec, &descriptors).map_err(failed)?;
        match control.receive().map_err(failed)? {
            Some(SidecarEvent::Ready) => Ok(()),
            Some(SidecarEvent::Failed(reason)) => Err(failed(io::Error::other(reason))),
            None => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Leaves it to its persistent sandbox: it ends with PID 1.
    pub(crate) fn leave(self) {
        if let Some(running) = self.running {
            running.leave();
        }
    }

    /// Has it end, and waits for that. It is killed where it takes long.
    pub(crate) fn finish(mut self) {
        self.lifeline = None;
        if let Some(mut running) = self.running.take() {
            let _ = running.wait(Deadline::after(GRACE));
        }
    }
}

/// A sidecar in its own process: its spec, and what it was given.
#[derive(Debug)]
pub struct Sidecar<S> {
    pub spec: S,
    pub descriptors: Vec<OwnedFd>,
    control: ControlSocket,
    lifeline: OwnedFd,
}

/// The end of the sandbox of a sidecar: readable when that has come.
#[derive(Debug)]
pub struct SandboxEnd(OwnedFd);

impl<S: DeserializeOwned> Sidecar<S> {
    /// Receives the spec from the client that has started this process.
    ///
    /// # Errors
    ///
    /// The client is gone, or has sent something else.
    pub fn accept(control: OwnedFd) -> io::Result<Self> {
        let mut control = ControlSocket::from(control);
        let spec = control.receive::<S>()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        // The hangup of the client's terminal must not end it.
        let _ = rustix::process::setsid();
        let mut descriptors = control.take_descriptors();
        let lifeline = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { spec, descriptors, control, lifeline })
    }

    /// Answers the client that it serves from now on, or why it does not.
    ///
    /// # Errors
    ///
    /// `served`, if that is one, or the client is gone.
    pub fn answer<T>(mut self, served: io::Result<T>) -> io::Result<(T, SandboxEnd)> {
        match served {
            Ok(value) => {
                self.control.send(&SidecarEvent::Ready, &[])?;
                Ok((value, SandboxEnd(self.lifeline)))
            }
            Err(error) => {
                self.control.send(&SidecarEvent::Failed(error.to_string()), &[])?;
                Err(error)
            }
        }
    }
}

impl SandboxEnd {
    /// Waits for it.
    ///
    /// # Errors
    ///
    /// Those of poll(2).
    pub fn wait(&self) -> io::Result<()> {
        // Nobody writes to it: it becomes readable when its last writer is gone.
        while let Err(errno) = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        Ok(())
    }
}

impl AsFd for SandboxEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
