//! The command line of Docker as a build uses it: with the caller's own context, builders and credentials.
//!
//! Unlike a container, a build needs no directory of this machine, so an engine elsewhere will do.

use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::error::BuildError;
use crate::deadline::Deadline;
use crate::engine::{Engine, EngineError, Kind, Running, Surroundings};

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
        let kind = Kind::Docker;
        let failed = |source| EngineError::Call { kind, source };
        let child = self
            .command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut running = Running::new(child).map_err(failed)?;
        let (stdout, stderr) = readers(&mut running.child);
        let status = running.wait(Deadline::after(patience)).map_err(failed)?;
        let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
        match status {
            Some(status) if status.success() => Ok(text(stdout)),
            Some(_) => Err(EngineError::told(kind, &text(stderr))),
            None => Err(EngineError::Timeout { kind, waited: patience }),
        }
    }
}

type Reader = std::thread::JoinHandle<String>;

/// What a child says is read beside the wait for it: whoever fills a pipe that nobody reads never ends.
fn readers(child: &mut Child) -> (Reader, Reader) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    (std::thread::spawn(move || all_of(stdout)), std::thread::spawn(move || all_of(stderr)))
}

fn all_of(reader: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut reader) = reader {
        // What was read until then is all there is to show.
        let _ = reader.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
