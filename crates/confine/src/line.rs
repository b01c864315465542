//! The line to the client of an exec: what to run comes in on it, and what became of the command goes out.
//!
//! An engine keeps what it is told of an exec, its argument list can be read by every user of the host, and its own settings add
//! to it. So the engine is told of our program alone, and our program gets everything else here, the three streams
//! included. The command's streams and exit code are its own, and beside it lives an agent that is the same user: whatever
//! stands there, either could have said. So the client listens at the meeting point, and believes whoever begins with a
//! word that it gave to nobody but our program. That has it in its environment, which processes of the agent cannot look
//! into (landlock), and takes it away before the command begins.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::control::{Control, Ending, Event, Failure, Request};
use crate::report::Report;
use crate::start::{Grant, Variable};
use crate::{sys, terminal};

/// How our program is told that it is there for an exec, and that its client waits at the [`ADDRESS`].
pub const ARGUMENT: &str = "--exec";

/// The variable with the [`Address`].
pub const ADDRESS: &str = "SANDBOX_CLIENT";

/// The step that fails where the agent cannot start in its directory; its path follows.
pub const WORKDIR: &str = "changing to the working directory";

/// Where a client listens, and the word that it waits for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Its socket, as the container sees it.
    pub socket: PathBuf,
    /// The word.
    pub word: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.socket.to_string_lossy(), self.word)
    }
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.rsplit_once(':') {
            Some((socket, word)) if socket.starts_with('/') && !word.is_empty() => {
                Ok(Self { socket: PathBuf::from(socket), word: word.to_owned() })
            }
            _ => Err("expected the path of a socket, a colon and a word"),
        }
    }
}

/// What a client wants to be run. Descriptors: the three standard streams.
#[derive(Debug, Deserialize, Serialize)]
pub struct ExecRequest {
    /// The command with its arguments; never empty.
    pub argv: Vec<Vec<u8>>,
    /// Its whole environment.
    pub env: Vec<Variable>,
    /// Where it starts.
    pub workdir: PathBuf,
    /// Its umask: the caller's.
    pub umask: u32,
    /// Who it runs as.
    pub agent: Agent,
    /// What landlock lets it write.
    pub writable: Vec<PathBuf>,
    /// What landlock allows besides: its streams.
    pub grants: Vec<Grant>,
    /// Which of its streams, if any, is its terminal.
    pub terminal: Option<u8>,
}

/// Who the agent of a container is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Agent {
    /// The user `agent`.
    Named,
    /// Root of a user namespace that is not the host's.
    RootInside,
}

/// Takes the streams of a request in place of those that an engine has connected with itself, and the terminal among them
/// as this session's own.
pub fn take_streams(streams: &[OwnedFd], terminal: Option<u8>) -> io::Result<()> {
    for (stream, number) in streams.iter().zip(0..) {
        sys::duplicate_onto(stream.as_fd(), number)?;
    }
    match terminal.and_then(|number| streams.get(usize::from(number))) {
        Some(stream) => Ok(terminal::control(stream.as_fd())?),
        None => Ok(()),
    }
}

/// The end of our program.
#[derive(Debug)]
pub struct Line(Control);

impl Line {
    /// Calls the client, and hears what it wants: with the three streams.
    pub fn open(address: &Address) -> io::Result<(Self, ExecRequest, Vec<OwnedFd>)> {
        let mut control = Control::meet(&address.socket)?;
        control.send(&address.word, &[])?;
        let request = control.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let streams = control.take_descriptors();
        if streams.len() == 3 {
            return Ok((Self(control), request, streams));
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a request without three streams"))
    }

    /// What the client says next; `None` when it is gone.
    pub(crate) fn request(&mut self) -> io::Result<Option<Request>> {
        self.0.receive()
    }

    /// Says that all is in place, and that the command is about to be executed.
    pub fn started(&mut self) {
        self.tell(&Event::Started(Report::default()));
    }

    /// Says which step has failed.
    pub fn failed(&mut self, step: String, errno: Option<i32>, message: String) {
        self.tell(&Event::Failed(Failure::Step { step, errno, message }));
    }

    /// Says that the command could not be executed.
    pub fn unexecutable(&mut self, command: String, errno: i32) {
        self.tell(&Event::Unexecutable { command, errno });
    }

    /// Says how the command has ended.
    pub(crate) fn ended(&mut self, ending: Ending) {
        self.tell(&Event::Ended(ending));
    }

    /// Another descriptor of the same line.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }

    fn tell(&mut self, event: &Event) {
        // A client that is gone needs to be told nothing.
        let _ = self.0.send(event, &[]);
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Line {
    fn from(socket: OwnedFd) -> Self {
        Self(Control::from(socket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let address = Address { socket: "/s1".into(), word: "w1".to_owned() };
        assert_eq!(address.to_string().parse(), Ok(address));
        for bad in ["", "/s1", ":w1", "/s1:", "s1:w1"] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
    }
}
