//! An exec session: how the entrypoint, started by an engine in a container that runs, learns what to run there.
//!
//! An engine keeps what it receives of an exec, its argument list can be read by every user of the host, and its own settings
//! add to it. So the engine starts the entrypoint alone, and the entrypoint gets everything else over the control socket of
//! the session, the three streams included. Beside it lives an agent that is the same user: whatever stands in the streams
//! or in the exit code, either could have said. So the client listens at a rendezvous, and believes whoever begins with a
//! token that it gave to nobody but the entrypoint. That has it in its environment, which processes of the agent cannot
//! look into (landlock), and takes it away before the command begins.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::init_spec::{EnvEntry, Grant, ProcessLimits};

/// Where the client of an exec listens, and the token that it waits for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rendezvous {
    /// Its socket, as the container sees it.
    pub socket: PathBuf,
    pub token: String,
}

impl fmt::Display for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.socket.to_string_lossy(), self.token)
    }
}

impl FromStr for Rendezvous {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.rsplit_once(':') {
            Some((socket, token)) if socket.starts_with('/') && !token.is_empty() => {
                Ok(Self { socket: PathBuf::from(socket), token: token.to_owned() })
            }
            _ => Err("expected the path of a socket, a colon and a token"),
        }
    }
}

/// What an exec is to run, and how it is confined.
#[derive(Debug, Deserialize, Serialize)]
pub struct ExecSpec {
    /// The command with its arguments; never empty.
    pub argv: Vec<Vec<u8>>,
    /// Its whole environment, secrets included.
    pub env: Vec<EnvEntry>,
    /// Where it starts.
    pub workdir: PathBuf,
    /// Its umask: the caller's.
    pub umask: u32,
    pub process_limits: ProcessLimits,
    /// The user that it runs as.
    pub user: ExecUser,
    /// What landlock lets it write.
    pub writable: Vec<PathBuf>,
    /// What landlock allows besides: its streams.
    pub grants: Vec<Grant>,
    /// Which of its streams, if any, is its terminal.
    pub terminal: Option<u8>,
}

/// The user that an exec runs as.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum ExecUser {
    /// The user `agent`.
    Agent,
    /// Root of a user namespace that is not the host's.
    NamespaceRoot,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendezvous_is_read_as_it_is_written() {
        let rendezvous = Rendezvous { socket: "/s1".into(), token: "t1".to_owned() };
        assert_eq!(rendezvous.to_string().parse(), Ok(rendezvous));
        for bad in ["", "/s1", ":t1", "/s1:", "s1:t1"] {
            assert!(bad.parse::<Rendezvous>().is_err(), "{bad:?}");
        }
    }
}
