//! Where the owner of a sandbox reaches its egress proxy while it runs: a socket in the state directory, which is the owner's alone.
//!
//! The agent cannot name it: the directory is in no sandbox. The proxy has the listener from its client, so it needs no right to
//! any file, and looks at the user of whoever connects besides.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use confine::protocol::{ControlSocket, EgressAnswer, EgressQuestion, EgressRequest, EgressRules, EnvEntry};

use super::logs::{LOGS, SUFFIX, sandbox_of};
use crate::host::identity::Identity;
use crate::state::directory::{StateDir, StateError};
use crate::state::record::{RecordError, RunId};

/// How long an answer may take. The proxy has everything at hand.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a proxy was not reached, or has refused.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error("no sandbox named \"{}\" of yours runs with an allow-list of hosts", .0.escape_debug())]
    NotFound(String),
    #[error("{count} sandboxes named \"{name}\" of yours run")]
    Several { name: String, count: usize },
    /// It has refused, and nothing has changed.
    #[error("{0}")]
    Refused(String),
    #[error("the egress proxy does not answer: {0}")]
    Lost(#[from] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
}

/// The socket of one sandbox, as its client has made it. It goes with this, unless it is left.
pub(super) struct LiveSocket {
    living: Living,
    is_left: bool,
}

/// A sandbox that lives, as its owner reaches it.
#[derive(Clone, Debug)]
pub struct Living {
    directory: Arc<StateDir>,
    socket: String,
}

/// The questions of a sandbox, one after the other. As long as there is one of these, somebody answers.
#[derive(Debug)]
pub struct Questions(ControlSocket);

/// What whoever answers questions is notified of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum News {
    /// Somebody waits to reach a host.
    Asked(EgressQuestion),
    /// Nobody waits for the answer to this question any more.
    Settled(u64),
}

impl LiveSocket {
    /// Listens for requests about a sandbox of this name.
    pub(super) fn listen(
        directory: StateDir,
        sandbox: &str,
        run: &RunId,
    ) -> Result<(Self, UnixListener), RecordError> {
        let socket = name(sandbox, run);
        let listener = directory.listen(&socket)?;
        let living = Living { directory: Arc::new(directory), socket };
        Ok((Self { living, is_left: false }, listener))
    }

    /// Returns the sandbox, for who answers its questions.
    pub(super) fn living(&self) -> Living {
        self.living.clone()
    }

    /// Leaves it to its egress proxy, which goes on without this process.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }
}

fn name(sandbox: &str, run: &RunId) -> String {
    format!("{sandbox}.{}{SUFFIX}", run.as_str())
}

impl Drop for LiveSocket {
    fn drop(&mut self) {
        if !self.is_left {
            // What is not removed here is swept by the next command.
            let _ = self.living.directory.remove(&self.living.socket);
        }
    }
}

/// Removes what clients left that were killed: sockets on which nobody listens any more.
pub(super) fn sweep(directory: &StateDir) -> Result<(), StateError> {
    for name in directory.names()?.into_iter().filter(|name| name.ends_with(SUFFIX)) {
        if !directory.is_listening(&name)? {
            directory.remove(&name)?;
        }
    }
    Ok(())
}

impl Living {
    /// Finds the one living sandbox of this name.
    pub fn find(state: &Path, caller: Identity, sandbox: &str) -> Result<Self, LiveError> {
        let directory = StateDir::open(state, caller)?.within(LOGS)?;
        let is_its = |name: &String| sandbox_of(name) == Some(sandbox);
        let mut found = Vec::new();
        for name in directory.names()?.into_iter().filter(is_its) {
            if directory.is_listening(&name)? {
                found.push(name);
            } else {
                directory.remove(&name)?;
            }
        }
        let count = found.len();
        match (found.pop(), count) {
            (Some(socket), 1) => Ok(Self { directory: Arc::new(directory), socket }),
            (Some(_), count) => Err(LiveError::Several { name: sandbox.to_owned(), count }),
            (None, _) => Err(LiveError::NotFound(sandbox.to_owned())),
        }
    }

    /// Lists every sandbox of the caller's that lives, with its name.
    pub fn all(state: &Path, caller: Identity) -> Result<Vec<(String, Self)>, LiveError> {
        let directory = Arc::new(StateDir::open(state, caller)?.within(LOGS)?);
        let mut living = Vec::new();
        for socket in directory.names()? {
            let Some(name) = sandbox_of(&socket) else { continue };
            if directory.is_listening(&socket)? {
                living.push((
                    name.to_owned(),
                    Self { directory: Arc::clone(&directory), socket: socket.clone() },
                ));
            }
        }
        living.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(living)
    }

    /// Connects to its egress proxy, and begins with a request there. What is sent later would be sent as this process, and not as the
    /// caller: nothing is.
    pub(super) fn begin(&self, request: &EgressRequest) -> Result<ControlSocket, LiveError> {
        let begin = |stream: UnixStream| {
            let mut socket = ControlSocket::from(OwnedFd::from(stream));
            socket.send(request, &[]).map(|()| socket)
        };
        let gone = || LiveError::Lost(io::ErrorKind::ConnectionRefused.into());
        Ok(self.directory.speak(&self.socket, begin)?.ok_or_else(gone)??)
    }

    /// Asks its egress proxy, and returns what is in force then.
    pub fn ask(&self, request: &EgressRequest) -> Result<EgressRules, LiveError> {
        let gone = || LiveError::Lost(io::ErrorKind::ConnectionRefused.into());
        match self.directory.speak(&self.socket, |stream| call(stream, request))?.ok_or_else(gone)?? {
            EgressAnswer::Rules(rules) => Ok(rules),
            EgressAnswer::Refused(reason) => Err(LiveError::Refused(reason)),
            _ => Err(LiveError::Lost(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Begins to answer its questions: from now on, what no rule says anything of waits for that.
    pub fn answer_questions(&self) -> Result<Questions, LiveError> {
        self.begin(&EgressRequest::AnswerQuestions).map(Questions)
    }
}

impl Questions {
    /// Waits for what happens next; `None` once the sandbox has ended.
    pub fn receive(&mut self) -> io::Result<Option<News>> {
        match self.0.receive()? {
            Some(EgressAnswer::Question(question)) => Ok(Some(News::Asked(question))),
            Some(EgressAnswer::Settled { question }) => Ok(Some(News::Settled(question))),
            Some(_) => Err(io::ErrorKind::InvalidData.into()),
            None => Ok(None),
        }
    }
}

impl AsFd for Questions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns what the commands of a sandbox have in their environment because of its egress proxy; nothing where it has none, or that
/// has ended.
pub fn variables(
    state: &Path,
    caller: Identity,
    sandbox: &str,
    run: &RunId,
) -> Result<Vec<EnvEntry>, LiveError> {
    let directory = StateDir::open(state, caller)?.within(LOGS)?;
    let asked = |stream| call(stream, &EgressRequest::Variables);
    match directory.speak(&name(sandbox, run), asked)?.transpose()? {
        None => Ok(Vec::new()),
        Some(EgressAnswer::Variables(variables)) => Ok(variables),
        Some(_) => Err(LiveError::Lost(io::ErrorKind::InvalidData.into())),
    }
}

fn call(stream: UnixStream, request: &EgressRequest) -> io::Result<EgressAnswer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut socket = ControlSocket::from(OwnedFd::from(stream));
    socket.send(request, &[])?;
    socket.receive()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
