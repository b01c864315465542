//! A sidecar: a process of ours beside a sandbox, which serves what the sandbox has a socket for, and ends with it.
//!
//! What tells it that the sandbox has ended is a pipe, of which only PID 1 or the client holds the end that could be written to.

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
#[derive(Clone, Copy, Debug)]
pub struct SidecarProgram<'a> {
    pub path: &'a str,
    pub arguments: &'a [&'a str],
    /// The whole of its environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where its warnings go.
    pub stderr: SidecarStderr,
}

/// Where the warnings of a sidecar go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SidecarStderr {
    /// To the standard error of this process.
    Inherited,
    /// Nowhere.
    Null,
}

/// What a sidecar answers when it was told what to do.
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
#[derive(Debug)]
pub(crate) struct SidecarProcess<'a> {
    /// What it is, for errors.
    what: &'static str,
    program: SidecarProgram<'a>,
    caller: Identity,
    /// What is held for as long as the sandbox lives.
    lifeline: Option<OwnedFd>,
    /// Where the sidecar sees its end.
    watched: OwnedFd,
    running: Option<Running>,
}

impl<'a> SidecarProcess<'a> {
    /// Prepares one, which will run as the caller. `what` is what starting it is called in errors.
    pub(crate) fn prepare(
        what: &'static str,
        program: SidecarProgram<'a>,
        caller: Identity,
    ) -> Result<Self, StartError> {
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (watched, lifeline) = pipe.map_err(|errno| StartError::step(what)(errno.into()))?;
        Ok(Self { what, program, caller, lifeline: Some(lifeline), watched, running: None })
    }

    /// Returns what PID 1 is to hold.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        self.lifeline.as_ref().map(AsFd::as_fd)
    }

    /// Starts the process with what it is to do and with what it needs for that, and waits until it serves.
    pub(crate) fn start<S: Serialize>(
        &mut self,
        spec: &S,
        descriptors: &[OwnedFd],
        until: Until,
    ) -> Result<(), StartError> {
        if until == Until::Init {
            self.lifeline = None;
        }
        let failed = StartError::step(self.what);
        let spawn = || {
            let (control, theirs) = ControlSocket::pair()?;
            let mut command = Command::new(self.program.path);
            command.args(self.program.arguments).env_clear().current_dir(DIRECTORY);
            command.envs(self.program.environment.iter().map(|(name, value)| (name, value)));
            let stderr = match self.program.stderr {
                SidecarStderr::Inherited => Stdio::inherit(),
                SidecarStderr::Null => Stdio::null(),
            };
            command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(stderr);
            // What the caller has left open beside the standard streams is not the sidecar's.
            confine::close_from_on_exec(3)?;
            // It makes a session of its own, which who leads a process group could not.
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

    /// Leaves it to its sandbox, which stays: it ends with PID 1.
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

/// A sidecar as it sees itself: what it is to do.
#[derive(Debug)]
pub struct Sidecar<S> {
    pub spec: S,
    /// What it was given for that.
    pub descriptors: Vec<OwnedFd>,
    control: ControlSocket,
    lifeline: OwnedFd,
}

/// The end of the sandbox of a sidecar: readable when that has come.
#[derive(Debug)]
pub struct SandboxEnd(OwnedFd);

impl<S: DeserializeOwned> Sidecar<S> {
    /// Receives what this process is to do from whoever has started it.
    ///
    /// # Errors
    ///
    /// Nobody says so.
    pub fn accept(control: OwnedFd) -> io::Result<Self> {
        let mut control = ControlSocket::from(control);
        let spec = control.receive::<S>()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        // Whoever has started it may have a terminal, whose end is none of its business.
        let _ = rustix::process::setsid();
        let mut descriptors = control.take_descriptors();
        let lifeline = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { spec, descriptors, control, lifeline })
    }

    /// Answers whether it serves from now on. The error is that of what it failed with.
    ///
    /// # Errors
    ///
    /// It does not serve, or the client is gone.
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
        // Nobody writes to it: what happens there is that its last writer is gone.
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
