//! A container that was started: the engine's command that runs it, until PID 1 has come and until it is gone.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

use policy::text::escape;
use rustix::event::PollFlags;
use tracing::debug;

use super::arguments::Run;
use super::rendezvous::{InitConnection, RendezvousDir};
use super::{inspect, sweep};
use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::engine::{self, Engine};
use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::host::programs::PROXIES;
use crate::session::attendance::{Parent, refuse_deserted};
use crate::session::error::StartError;

/// A container that the engine's command runs. It is gone with this at the latest.
pub(super) struct Started<'a> {
    engine: &'a Engine,
    run: Run<'a>,
    command: Running,
    is_gone: bool,
    /// Leaves it to the next command.
    leave: &'a dyn Fn(),
}

impl<'a> Started<'a> {
    pub(super) fn run(
        engine: &'a Engine,
        words: &[OsString],
        run: Run<'a>,
        rendezvous: &RendezvousDir,
        leave: &'a dyn Fn(),
    ) -> Result<Self, StartError> {
        let failed = |source| EngineError::Call { kind: engine.kind(), source };
        let call = |words: &[OsString]| {
            let mut command = engine.command();
            for name in PROXIES {
                command.env_remove(name);
            }
            // It holds the place of the rendezvous, should we be killed while it is at work.
            command.args(words).stdin(rendezvous.lock().map_err(failed)?);
            Ok::<_, EngineError>(command)
        };
        let start;
        let words = match engine.kind() {
            EngineKind::Docker => words,
            EngineKind::Podman => {
                let made = engine::output(engine.kind(), &mut call(words)?, Group::Own, engine::START)
                    .and_then(|container| accepted(engine, container.trim()));
                let container = made.inspect_err(|_| {
                    if sweep::remove(engine, run).is_err() {
                        leave();
                    }
                })?;
                start = ["start", "--attach", "--sig-proxy=false", &container].map(OsString::from);
                &start[..]
            }
        };
        // A group of its own: Ctrl-C is for the agent, and comes there by way of us.
        let mut command = call(words)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        debug!(arguments = ?command.get_args(), "calls {}", engine.kind());
        let command = Running::spawn(&mut command, Group::Own).map_err(failed)?;
        Ok(Self { engine, run, command, is_gone: false, leave })
    }

    /// Waits until PID 1 has come, or the engine has said why it does not.
    pub(super) fn wait_for_init(
        &mut self,
        rendezvous: &RendezvousDir,
        patience: Duration,
        parent: Option<&Parent>,
    ) -> Result<InitConnection, StartError> {
        let failed = StartError::step("waiting for PID 1");
        let until = Deadline::after(patience);
        loop {
            if let Some(connection) = rendezvous.accept().map_err(failed)? {
                return Ok(connection);
            }
            if self.command.child.try_wait().map_err(failed)?.is_some() {
                let (_, [_, said]) = self.command.finish_with_output(until).map_err(failed)?;
                return Err(EngineError::from_stderr(
                    self.engine.kind(),
                    &String::from_utf8_lossy(&said.bytes),
                )
                .into());
            }
            if until.is_over() {
                return Err(EngineError::Timeout { kind: self.engine.kind(), waited: patience }.into());
            }
            refuse_deserted(parent)?;
            let fds = std::iter::once(rendezvous.as_fd()).chain(parent.map(AsFd::as_fd));
            let wanted: Vec<_> = fds.map(|fd| (fd, PollFlags::IN)).collect();
            self.command.poll(until, &wanted).map_err(failed)?;
        }
    }

    /// Removes the container, whatever runs in it, and waits until that is done.
    pub(super) fn force(&self) {
        // The engine may just be removing it by itself. What stays, the next command removes.
        let _ = sweep::remove(self.engine, self.run);
    }

    /// Waits until the engine has removed the container, whose PID 1 has ended.
    pub(super) fn finish(&mut self) {
        let ended = self.command.wait(Deadline::after(sweep::REMOVAL));
        // One that was killed has removed nothing.
        self.is_gone = matches!(ended, Ok(Some(status)) if status.code().is_some());
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            // While it is at work it may still make the container.
            self.command.kill();
            let _ = self.command.child.wait();
            if sweep::remove(self.engine, self.run).is_err() {
                (self.leave)();
            }
        }
    }
}

/// Checks a container that Podman has created: the runtime must not receive annotations that are not ours. Annotations
/// stand in an image's manifest, which its id does not name: another image of the same content, pulled meanwhile, brings
/// its own.
fn accepted(engine: &Engine, container: &str) -> Result<String, EngineError> {
    let gone = || EngineError::refused(engine.kind(), format!("container {container} has gone"));
    match inspect::inspect(engine, container)?.ok_or_else(gone)?.unexpected_annotation() {
        None => Ok(container.to_owned()),
        Some(key) => {
            let message = format!(
                "the container has the annotation `{}`, which Podman would hand to the runtime; none but descriptions are \
                 allowed, be they of the image or of containers.conf",
                escape::line(key)
            );
            Err(EngineError::refused(engine.kind(), message))
        }
    }
}
