//! The line to the client of a second command, on which our program says what became of the command.
//!
//! Its streams and its exit code are the command's, and beside it lives an agent that is the same user: whatever stands
//! there, either could have said. So the client listens at the meeting point, and believes whoever begins with a word that
//! it gave to nobody but our program. That has it in its environment, which processes of the agent cannot look into
//! (landlock), and takes it away before the command begins.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;

use crate::control::{Control, Ending, Event, Failure};
use crate::report::Report;

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
        write!(f, "{}:{}", self.socket.display(), self.word)
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

/// The end of our program.
#[derive(Debug)]
pub struct Line(Control);

impl Line {
    /// Calls the client.
    pub fn open(address: &Address) -> io::Result<Self> {
        let mut control = Control::meet(&address.socket)?;
        control.send(&address.word, &[])?;
        Ok(Self(control))
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
