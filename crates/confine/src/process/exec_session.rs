//! The entrypoint's end of an exec session, see [`ExecSpec`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::protocol::{ControlSocket, Ending, Event, ExecSpec, Failure, Rendezvous, Request, Shortage, Step};
use crate::report::Report;

/// A connected session.
#[derive(Debug)]
pub struct ExecSession(ControlSocket);

impl ExecSession {
    /// Connects to the client, and receives what to run, with the three streams.
    pub fn connect(rendezvous: &Rendezvous) -> io::Result<(Self, ExecSpec, Vec<OwnedFd>)> {
        let mut control = ControlSocket::connect(&rendezvous.socket)?;
        control.send(&rendezvous.token, &[])?;
        match control.receive()? {
            Some(Request::Exec(spec)) => {
                let streams = control.take_descriptors();
                if streams.len() == 3 {
                    return Ok((Self(control), *spec, streams));
                }
                Err(io::Error::new(io::ErrorKind::InvalidData, "an exec without three streams"))
            }
            Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a request that is no exec")),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Receives the next request; `None` when the client is gone.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Request>> {
        self.0.receive()
    }

    /// Reports that all is in place, and that the command is about to be executed.
    pub fn started(&mut self) {
        self.send(&Event::Started { report: Report::default(), namespaces: Vec::new() });
    }

    /// Reports which step has failed.
    pub fn failed(&mut self, step: Step, errno: Option<i32>, message: String) {
        self.send(&Event::Failed(Failure::Step { step, errno, message }));
    }

    /// Reports that the command could not be executed.
    pub fn unexecutable(&mut self, command: String, errno: i32) {
        self.send(&Event::Unexecutable { command, errno });
    }

    /// Reports what the command was short of.
    pub(crate) fn short(&mut self, shortage: Shortage) {
        self.send(&Event::Short(shortage));
    }

    /// Reports how the command has ended.
    pub(crate) fn ended(&mut self, ending: Ending) {
        self.send(&Event::Ended(ending));
    }

    /// Duplicates the descriptor of the session.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }

    fn send(&mut self, event: &Event) {
        // A client that is gone needs no report.
        let _ = self.0.send(event, &[]);
    }
}

impl AsFd for ExecSession {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for ExecSession {
    fn from(socket: OwnedFd) -> Self {
        Self(ControlSocket::from(socket))
    }
}
