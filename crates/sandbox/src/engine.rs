//! Container engines: Docker and Podman, driven by their own command lines.
//!
//! The command lines honour contexts, credentials and rootless set-ups, so nothing of that is done again here. Every call
//! has a deadline: an engine that hangs must not hang us. What has to be fast, and only reads, is asked on the engine's
//! socket where it has one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::host::acting::ActingAs;
use crate::host::child::Group;
use crate::host::programs::Programs;

pub(crate) use self::call::output;
use self::error::{EngineError, SettingsError};
use self::kind::{EngineKind, Rights};
use self::socket::{Endpoint, Socket};
use self::surroundings::Surroundings;

mod call;
pub(crate) mod csv;
pub mod error;
pub mod error_patterns;
pub(crate) mod image;
pub mod kind;
pub(crate) mod socket;
pub mod surroundings;

/// How long an engine may take to start a container that it has the image of.
pub(crate) const START: Duration = Duration::from_secs(60);

/// How long a question may take that an engine answers from memory.
const QUESTION: Duration = Duration::from_secs(20);

/// An engine that has answered.
#[derive(Clone, Debug)]
pub struct Engine {
    kind: EngineKind,
    program: PathBuf,
    programs: Programs,
    rights: Rights,
    socket: Option<Socket>,
}

impl Engine {
    /// Finds an engine and makes sure that it answers.
    pub fn find(kind: EngineKind, surroundings: &Surroundings) -> Result<Self, EngineError> {
        let programs = surroundings.programs.clone();
        let program = programs
            .find(kind.command())
            .ok_or_else(|| EngineError::NotInstalled { kind, left_out: programs.left_out() })?;
        match kind {
            EngineKind::Docker => {
                // Under sudo root says nothing of paths of the user's that they could not find out themselves.
                let acting = ActingAs::user(surroundings.reader)
                    .map_err(|source| EngineError::Call { kind, source })?;
                // They say which other programs Docker starts, and whom it talks to. Each may be a link.
                for name in ["", "config.json", "contexts", "cli-plugins", "buildx"] {
                    refuse_writable(&programs, &surroundings.docker_config.join(name))?;
                }
                let socket = match Endpoint::of_docker(surroundings)? {
                    Endpoint::Local(path) => {
                        refuse_writable(&programs, &path)?;
                        Socket::new(if surroundings.is_behind_sudo() {
                            settled(&programs, path)?
                        } else {
                            path
                        })
                    }
                    Endpoint::Remote(address) => return Err(EngineError::Remote { address }),
                };
                drop(acting);
                let served_by = socket.ping()?;
                let rights = if served_by == 0 {
                    Rights::Rootful
                } else {
                    socket.require_rootless()?;
                    Rights::Rootless(served_by)
                };
                Ok(Self { kind, program, programs, rights, socket: Some(socket) })
            }
            EngineKind::Podman => {
                if let Some(address) = &surroundings.podman_connection {
                    return Err(EngineError::Connection { address: address.to_string_lossy().into_owned() });
                }
                // It has no daemon: whoever calls it is the engine.
                let rights =
                    if surroundings.uid == 0 { Rights::Rootful } else { Rights::Rootless(surroundings.uid) };
                let engine = Self { kind, program, programs, rights, socket: None };
                engine.query(["version", "--format", "{{.Client.Version}}"])?;
                Ok(engine)
            }
        }
    }

    /// Returns the address of its socket, as `DOCKER_HOST` has it; `None` where it has no socket.
    pub fn address(&self) -> Option<String> {
        self.socket.as_ref().map(Socket::address)
    }

    /// Returns which engine it is.
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Returns whose rights it has.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Returns whether the number of a process here means the same process to it.
    pub(crate) fn shares_processes(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.shares_processes().unwrap_or(false))
    }

    /// Prepares a call of its command line, with the socket that has answered, whatever else is set.
    pub fn command(&self) -> Command {
        let mut command = self.programs.command_as(&self.program, self.kind.command());
        if let Some(socket) = &self.socket {
            command.env_remove("DOCKER_CONTEXT").env("DOCKER_HOST", socket.address());
        }
        command.stdin(Stdio::null());
        command
    }

    /// Calls the command line for an answer of a few lines.
    pub fn query<S: AsRef<OsStr>>(
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
        output(self.kind, self.command().args(arguments), Group::Ours, patience)
    }

    /// Returns the socket it answers on, if it has one.
    pub(crate) fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }
}

/// Refuses to go by a file that an agent may write, or to talk to a socket that an agent may listen on.
fn refuse_writable(programs: &Programs, path: &Path) -> Result<(), EngineError> {
    match programs.writable().of(path) {
        None => Ok(()),
        Some(directory) => Err(EngineError::Settings {
            path: path.to_owned(),
            source: SettingsError::Writable(directory.to_owned()),
        }),
    }
}

/// Resolves the path by which root reaches a socket under sudo. Nobody else may be able to lead it to a socket of theirs,
/// which would be given root's passwords of registries, and answer in the engine's place.
fn settled(programs: &Programs, socket: PathBuf) -> Result<PathBuf, EngineError> {
    match programs.settled(&socket) {
        Ok(Ok(path)) => Ok(path),
        Ok(Err(place)) => Err(EngineError::Exchangeable { socket, place }),
        Err(source) => Err(EngineError::Stopped { kind: EngineKind::Docker, socket, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::host::identity::Identity;
    use crate::state::writable::Writable;

    #[test]
    fn no_link_of_proc_leads_root_to_a_socket_for_somebody_else() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let socket = top.path().canonicalize().unwrap().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let held = std::fs::File::open(top.path()).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}/socket", held.as_raw_fd()));
        let user = Identity { uid: 1001, gid: 1001 };
        let programs = Programs::new(&BTreeMap::new(), Writable::default(), user);
        std::fs::set_permissions(top.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(path.canonicalize().is_ok(), "the control: there is such a link");
        let _acting = ActingAs::user(user).unwrap();
        // Whether it may be used is another question.
        assert!(
            !matches!(settled(&programs, socket), Err(EngineError::Stopped { .. })),
            "the control: its path"
        );
        assert!(matches!(settled(&programs, path), Err(EngineError::Stopped { .. })));
    }
}
