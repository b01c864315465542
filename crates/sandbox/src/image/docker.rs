//! The command line of Docker as a build uses it: with the caller's own context, builders and credentials.
//!
//! Unlike a container, a build needs no directory of this machine, so an engine elsewhere will do.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::error::BuildError;
use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;
use crate::engine::kind::EngineKind;
use crate::engine::surroundings::Surroundings;
use crate::engine::{self, Engine};
use crate::host::child::Group;
use crate::host::programs::Programs;

/// How long a question may take. An engine elsewhere has to be reached first.
const QUESTION: Duration = Duration::from_secs(60);

/// Docker with buildx, whose engine answers.
#[derive(Debug)]
pub(super) struct Docker {
    program: PathBuf,
    programs: Programs,
    directory: PathBuf,
    pub(super) store: ImageStore,
}

/// How an engine keeps images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ImageStore {
    /// In containerd: also those of several platforms, with attestations.
    Containerd,
    /// As engines did before: one platform an image.
    Classic,
}

impl Docker {
    /// Finds Docker and buildx, and makes sure that the engine answers.
    pub(super) fn find(surroundings: &Surroundings) -> Result<Self, BuildError> {
        // It distinguishes what can be wrong with an engine on this machine.
        let address = match Engine::find(EngineKind::Docker, surroundings) {
            Ok(engine) => engine.address().unwrap_or_default(),
            Err(EngineError::Remote { address }) => address,
            Err(error) => return Err(error.into()),
        };
        let (kind, programs) = (EngineKind::Docker, surroundings.programs.clone());
        let program = programs
            .find(kind.command())
            .ok_or_else(|| EngineError::NotInstalled { kind, left_out: programs.left_out() })?;
        let directory = surroundings.directory.clone();
        let mut docker = Self { program, programs, directory, store: ImageStore::Classic };
        if let Err(EngineError::Refused { message, .. }) = docker.query(["buildx", "version"]) {
            return Err(BuildError::NoBuildx { message });
        }
        let status = docker.query(["info", "--format", "{{json .DriverStatus}}"]);
        docker.store = store(&status.map_err(|error| elsewhere(error, address))?);
        Ok(docker)
    }

    /// Returns the context whose engine is used. Its own builder has the same name.
    pub(super) fn context(&self) -> Result<String, EngineError> {
        Ok(self.query(["context", "inspect", "--format", "{{.Name}}"])?.trim().to_owned())
    }

    /// Prepares a call of it in the caller's directory: what is passed on to it may name files from there.
    pub(super) fn command(&self) -> Command {
        let mut command = self.programs.command_as(&self.program, EngineKind::Docker.command());
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Calls it for an answer of a few lines.
    pub(super) fn query<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, EngineError> {
        self.call(arguments, QUESTION)
    }

    /// Calls it, and gives back what it prints. What it says of a failure becomes the error.
    pub(super) fn call<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        patience: Duration,
    ) -> Result<String, EngineError> {
        engine::output(EngineKind::Docker, self.command().args(arguments), Group::Ours, patience)
    }
}

/// Classifies a failure to query an engine elsewhere.
fn elsewhere(error: EngineError, address: String) -> BuildError {
    match error {
        EngineError::Refused { cause: Some(FailureCause::Forbidden), message, .. } => {
            BuildError::Forbidden { address, message }
        }
        EngineError::Refused { cause: Some(FailureCause::Unreachable), message, .. } => {
            BuildError::Unreachable { address, message }
        }
        error => error.into(),
    }
}

/// Parses the output of `docker info`.
fn store(status: &str) -> ImageStore {
    if status.contains("io.containerd.snapshotter") { ImageStore::Containerd } else { ImageStore::Classic }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_cannot_be_reached_is_distinguished_from_one_that_refuses() {
        let classified = |message: &str| {
            elsewhere(
                EngineError::from_stderr(EngineKind::Docker, message),
                "tcp://192.0.2.1:2375".to_owned(),
            )
        };
        for message in [
            "Cannot connect to the Docker daemon at tcp://127.0.0.1:1. Is the docker daemon running?",
            "failed to connect to the docker API at tcp://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
            "error during connect: Get \"http://a.invalid:2375/v1.50/info\": dial tcp: lookup a.invalid: no such host",
            "Get \"http://192.0.2.1:2375/v1.50/info\": dial tcp 192.0.2.1:2375: i/o timeout",
        ] {
            assert!(matches!(classified(message), BuildError::Unreachable { .. }), "{message}");
        }
        for message in [
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
            "error during connect: command [ssh -- there] has exited with exit status 255: Permission denied (publickey)",
        ] {
            assert!(matches!(classified(message), BuildError::Forbidden { .. }), "{message}");
        }
        let refused = classified("client version 1.50 is too new");
        assert!(matches!(refused, BuildError::Engine(EngineError::Refused { .. })), "{refused}");
    }

    #[test]
    fn an_engine_says_how_it_keeps_images() {
        assert_eq!(store("[[\"driver-type\",\"io.containerd.snapshotter.v1\"]]\n"), ImageStore::Containerd);
        assert_eq!(
            store("[[\"Backing Filesystem\",\"extfs\"],[\"Supports d_type\",\"true\"]]"),
            ImageStore::Classic
        );
    }
}
