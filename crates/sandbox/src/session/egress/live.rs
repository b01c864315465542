//! Where the owner of a sandbox reaches its egress proxy while it runs: a socket in the state directory, which is the owner's alone.
//!
//! The agent cannot name it: the directory is in no sandbox. The proxy has the listener from its client, so it needs no right to
//! any file, and looks at the user of whoever connects besides.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use confine::protocol::{ControlSocket, EgressAnswer, EgressRequest, EgressRules, EnvEntry};

use super::logs::{LOGS, SUFFIX};
use crate::host::identity::Identity;
use crate::provider::container::find::FoundSandbox;
use crate::state::directory::{StateDir, StateError};
use crate::state::record::{RecordError, RunId};

/// How long an answer may take. The proxy has everything at hand.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a proxy was not reached, or has refused.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is none.
    #[error("no sandbox named \"{}\" of yours runs with an allow-list of hosts", .0.escape_debug())]
    NotFound(String),
    /// There is more than one.
    #[error("{count} sandboxes named \"{name}\" of yours run")]
    Several { name: String, count: usize },
    /// It has refused, and nothing has changed.
    #[error("{0}")]
    Refused(String),
    /// It did not answer.
    #[error("the egress proxy does not answer: {0}")]
    Lost(#[from] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
}

/// The socket of one sandbox. It goes with this.
pub(super) struct LiveSocket {
    directory: StateDir,
    name: String,
}

impl LiveSocket {
    /// Listens for requests about a sandbox of this name.
    pub(super) fn listen(
        directory: StateDir,
        sandbox: &str,
        run: &RunId,
    ) -> Result<(Self, UnixListener), RecordError> {
        let name = name(sandbox, run);
        let listener = directory.listen(&name)?;
        Ok((Self { directory, name }, listener))
    }
}

fn name(sandbox: &str, run: &RunId) -> String {
    format!("{sandbox}.{}{SUFFIX}", run.as_str())
}

impl Drop for LiveSocket {
    fn drop(&mut self) {
        // One that stays is swept by the next command.
        let _ = self.directory.remove(&self.name);
    }
}

/// Removes what clients left that were killed: sockets on which nobody listens any more.
pub(super) fn sweep(directory: &StateDir) -> Result<(), StateError> {
    for name in directory.names()?.into_iter().filter(|name| name.ends_with(SUFFIX)) {
        if directory.connect(&name)?.is_none() {
            directory.remove(&name)?;
        }
    }
    Ok(())
}

/// Connects to the egress proxy of the one living sandbox of this name.
pub(super) fn connect(state: &Path, caller: Identity, sandbox: &str) -> Result<UnixStream, LiveError> {
    let directory = StateDir::open(state, caller)?.within(LOGS)?;
    let is_its = |name: &String| {
        let rest = name.strip_suffix(SUFFIX).and_then(|name| name.split_once('.'));
        rest.is_some_and(|(name, _)| name == sandbox)
    };
    let mut found = Vec::new();
    for name in directory.names()?.into_iter().filter(is_its) {
        match directory.connect(&name)? {
            Some(stream) => found.push(stream),
            None => directory.remove(&name)?,
        }
    }
    let count = found.len();
    match (found.pop(), count) {
        (Some(stream), 1) => Ok(stream),
        (Some(_), count) => Err(LiveError::Several { name: sandbox.to_owned(), count }),
        (None, _) => Err(LiveError::NotFound(sandbox.to_owned())),
    }
}

/// Asks the egress proxy of a living sandbox, and returns what is in force then.
pub fn ask(
    state: &Path,
    caller: Identity,
    sandbox: &str,
    request: &EgressRequest,
) -> Result<EgressRules, LiveError> {
    match call(connect(state, caller, sandbox)?, request)? {
        EgressAnswer::Rules(rules) => Ok(rules),
        EgressAnswer::Refused(reason) => Err(LiveError::Refused(reason)),
        EgressAnswer::Variables(_) => Err(LiveError::Lost(io::ErrorKind::InvalidData.into())),
    }
}

/// Returns what the commands of a sandbox have in their environment because of its egress proxy; nothing where it has none, or that
/// has ended.
pub fn variables(state: &Path, caller: Identity, sandbox: &FoundSandbox) -> Result<Vec<EnvEntry>, LiveError> {
    let directory = StateDir::open(state, caller)?.within(LOGS)?;
    let Some(stream) = directory.connect(&name(sandbox.name(), &sandbox.run))? else { return Ok(Vec::new()) };
    match call(stream, &EgressRequest::Variables)? {
        EgressAnswer::Variables(variables) => Ok(variables),
        EgressAnswer::Rules(_) | EgressAnswer::Refused(_) => {
            Err(LiveError::Lost(io::ErrorKind::InvalidData.into()))
        }
    }
}

fn call(stream: UnixStream, request: &EgressRequest) -> io::Result<EgressAnswer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut socket = ControlSocket::from(OwnedFd::from(stream));
    socket.send(request, &[])?;
    socket.receive()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
