//! Container engines: Docker and Podman, driven by their own command lines.
//!
//! The command lines honour contexts, credentials and rootless set-ups, so nothing of that is done anew here. Every call
//! has a deadline: an engine that hangs must not hang us. What has to be fast, and only reads, is asked on the engine's
//! socket where it has one.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use policy::plan::Provider;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use self::socket::{Endpoint, Socket};
use crate::deadline::Deadline;

pub mod error;
pub mod image;
pub(crate) mod socket;

pub use self::error::EngineError;

/// How long a question may take that an engine answers from memory.
const QUESTION: Duration = Duration::from_secs(20);

/// Which engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
}

impl Kind {
    /// The engine of a provider that runs containers.
    pub(crate) fn of(provider: Provider) -> Self {
        if provider == Provider::Podman { Self::Podman } else { Self::Docker }
    }

    /// The name of its command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

/// What a caller has that leads to engines.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where programs are looked for.
    pub path: OsString,
    /// `DOCKER_HOST`.
    pub docker_host: Option<OsString>,
    /// `DOCKER_CONTEXT`.
    pub docker_context: Option<OsString>,
    /// The directory with Docker's settings: `DOCKER_CONFIG`, or `.docker` in the home directory.
    pub docker_config: PathBuf,
    /// The user that asks.
    pub uid: u32,
}

/// Whose an engine is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rights {
    /// It runs as root of the host.
    Rootful,
    /// It runs as this user of the host, within a user namespace.
    Rootless(u32),
}

/// An engine that has answered.
#[derive(Clone, Debug)]
pub struct Engine {
    kind: Kind,
    program: PathBuf,
    rights: Rights,
    socket: Option<Socket>,
}

impl Engine {
    /// Finds an engine and makes sure that it answers.
    pub fn find(kind: Kind, surroundings: &Surroundings) -> Result<Self, EngineError> {
        let program = which::which_in_global(kind.command(), Some(&surroundings.path))
            .ok()
            .and_then(|mut found| found.next())
            .ok_or(EngineError::NotInstalled { kind })?;
        match kind {
            Kind::Docker => {
                let socket = match Endpoint::of_docker(surroundings)? {
                    Endpoint::Local(path) => Socket::new(path),
                    Endpoint::Remote(address) => return Err(EngineError::Remote { address }),
                };
                let served_by = socket.ping()?;
                let rights = if served_by == 0 { Rights::Rootful } else { Rights::Rootless(served_by) };
                Ok(Self { kind, program, rights, socket: Some(socket) })
            }
            Kind::Podman => {
                // It has no daemon: whoever calls it is the engine.
                let rights =
                    if surroundings.uid == 0 { Rights::Rootful } else { Rights::Rootless(surroundings.uid) };
                let engine = Self { kind, program, rights, socket: None };
                engine.ask(["version", "--format", "{{.Client.Version}}"])?;
                Ok(engine)
            }
        }
    }

    /// Where it answers, as `DOCKER_HOST` has it; `None` where it has no socket.
    pub fn address(&self) -> Option<String> {
        self.socket.as_ref().map(Socket::address)
    }

    /// Which engine it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whose it is.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// A call of its command line, with the socket that has answered, whatever else is set.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(socket) = &self.socket {
            command.env_remove("DOCKER_CONTEXT").env("DOCKER_HOST", socket.address());
        }
        command.stdin(Stdio::null());
        command
    }

    /// Calls the command line for an answer of a few lines.
    pub fn ask<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, EngineError> {
        self.call(arguments, QUESTION)
    }

    /// Calls the command line, and gives back what it prints. What it says of a failure becomes the error.
    pub fn call<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        patience: Duration,
    ) -> Result<String, EngineError> {
        output(self.kind, self.command().args(arguments), patience)
    }

    /// The socket it answers on, if it has one.
    pub(crate) fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }
}

/// Runs a call of an engine's command line to its end, or kills it when its time is over. What it prints is the answer;
/// what it says of a failure becomes the error.
pub(crate) fn output(kind: Kind, call: &mut Command, patience: Duration) -> Result<String, EngineError> {
    let failed = |source| EngineError::Call { kind, source };
    let child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut running = Running::new(child).map_err(failed)?;
    // Read beside the wait: whoever fills a pipe that nobody reads never ends.
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let stdout = std::thread::spawn(move || all_of(stdout));
    let stderr = std::thread::spawn(move || all_of(stderr));
    let status = running.wait(Deadline::after(patience)).map_err(failed)?;
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    match status {
        Some(status) if status.success() => Ok(text(stdout)),
        Some(_) => Err(EngineError::told(kind, &text(stderr))),
        None => Err(EngineError::Timeout { kind, waited: patience }),
    }
}

fn all_of(reader: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut reader) = reader {
        // What was read until then is all there is to show.
        let _ = reader.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A call of the command line that is under way. It ends with this at the latest.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) pidfd: OwnedFd,
}

impl Running {
    pub(crate) fn new(child: Child) -> io::Result<Self> {
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { pidfd: pidfd_open(pid, PidfdFlags::empty())?, child })
    }

    /// Waits for its end; `None` where the time is over before.
    pub(crate) fn wait(&mut self, until: Deadline) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if until.is_over() {
                return Ok(None);
            }
            let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
            rustix::io::retry_on_intr(|| poll(&mut ended, until.left().as_ref()))?;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is still ours, so neither call can hit anybody else.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
