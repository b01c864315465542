//! The command line of Docker as a build uses it: with the caller's own context, builders and credentials.
//!
//! Unlike a container, a build needs no directory of this machine, so an engine elsewhere will do.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::error::BuildError;
use crate::engine::{self, Engine, EngineError, Kind, Surroundings};

/// How long a question may take. An engine elsewhere has to be reached first.
const QUESTION: Duration = Duration::from_secs(60);

/// Docker with buildx, whose engine answers.
#[derive(Debug)]
pub(super) struct Docker {
    program: PathBuf,
    /// How its engine keeps images.
    pub(super) store: Store,
}

/// How an engine keeps images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Store {
    /// In containerd: also those of several platforms, with attestations.
    Containerd,
    /// As engines did before: one platform an image.
    Classic,
}

impl Docker {
    /// Finds Docker and buildx, and makes sure that the engine answers.
    pub(super) fn find(surroundings: &Surroundings) -> Result<Self, BuildError> {
        // It tells apart what can be wrong with an engine on this machine.
        match Engine::find(Kind::Docker, surroundings) {
            Ok(_) | Err(EngineError::Remote { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let program = which::which_in_global(Kind::Docker.command(), Some(&surroundings.path))
            .ok()
            .and_then(|mut found| found.next())
            .ok_or(EngineError::NotInstalled { kind: Kind::Docker })?;
        let mut docker = Self { program, store: Store::Classic };
        if let Err(EngineError::Refused { message, .. }) = docker.ask(["buildx", "version"]) {
            return Err(BuildError::NoBuildx { said: message });
        }
        docker.store = store(&docker.ask(["info", "--format", "{{json .DriverStatus}}"])?);
        Ok(docker)
    }

    /// A call of it. The environment is the caller's.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null());
        command
    }

    /// The same for one that draws on the terminal from the background, where `stty tostop` would stop it for good.
    pub(super) fn command_on_terminal(&self) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TTOU; exec \"$@\"", "sh"]).arg(&self.program).stdin(Stdio::null());
        command
    }

    /// Calls it for an answer of a few lines.
    pub(super) fn ask<S: AsRef<OsStr>>(
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
        engine::output(Kind::Docker, self.command().args(arguments), patience)
    }
}

/// The answer of `docker info`.
fn store(status: &str) -> Store {
    if status.contains("io.containerd.snapshotter") { Store::Containerd } else { Store::Classic }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_says_how_it_keeps_images() {
        assert_eq!(store("[[\"driver-type\",\"io.containerd.snapshotter.v1\"]]\n"), Store::Containerd);
        assert_eq!(
            store("[[\"Backing Filesystem\",\"extfs\"],[\"Supports d_type\",\"true\"]]"),
            Store::Classic
        );
    }
}
