//! A container that was started: the engine's command that runs it, until PID 1 has come and until it is gone.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

use policy::text::escape;
use rustix::event::PollFlags;
use tracing::debug;

use super::arguments::Run;
use super::inspect::ContainerPhase;
use super::rendezvous::{InitConnection, RendezvousListener};
use super::{inspect, sweep};
use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::engine::{self, Engine};
use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::host::programs::PROXIES;
use crate::session::attendance::{Parent, refuse_deserted};
use crate::session::error::StartError;

/// How long an engine may take to call a container running whose agent has started.
const STARTING: Duration = Duration::from_secs(5);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(50);

/// A container that the engine's command runs. It is gone with this at the latest.
pub(super) struct Started<'a> {
    engine: &'a Engine,
    run: Run<'a>,
    /// The engine's command that runs it; `None` where another client has started it.
    command: Option<Running>,
    /// The container, where its id is known.
    container: Option<String>,
    is_gone: bool,
    /// Leaves it to the next command.
    leave: &'a dyn Fn(),
}

impl<'a> Started<'a> {
    pub(super) fn run(
        engine: &'a Engine,
        words: &[OsString],
        run: Run<'a>,
        rendezvous: &RendezvousListener,
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
        let mut known = None;
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
                known = Some(container);
                &start[..]
            }
        };
        // A group of its own: Ctrl-C is for the agent, and comes there by way of us.
        let mut command = call(words)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        debug!(arguments = ?command.get_args(), "calls {}", engine.kind());
        let command = Running::spawn(&mut command, Group::Own).map_err(failed)?;
        Ok(Self { engine, run, command: Some(command), container: known, is_gone: false, leave })
    }

    /// Takes over a container that another client has started, and has left.
    pub(super) fn taken(engine: &'a Engine, run: Run<'a>, leave: &'a dyn Fn()) -> Self {
        Self { engine, run, command: None, container: None, is_gone: false, leave }
    }

    /// Waits until PID 1 has connected, or the engine has printed why it does not.
    pub(super) fn wait_for_init(
        &mut self,
        rendezvous: &RendezvousListener,
        patience: Duration,
        parent: Option<&Parent>,
    ) -> Result<InitConnection, StartError> {
        let failed = StartError::step("waiting for PID 1");
        let until = Deadline::after(patience);
        let Some(command) = &mut self.command else { return Err(failed(io::ErrorKind::Unsupported.into())) };
        loop {
            if let Some(connection) = rendezvous.accept().map_err(failed)? {
                return Ok(connection);
            }
            if command.child.try_wait().map_err(failed)?.is_some() {
                let (_, [_, stderr]) = command.finish_with_output(until).map_err(failed)?;
                return Err(EngineError::from_stderr(
                    self.engine.kind(),
                    &String::from_utf8_lossy(&stderr.bytes),
                )
                .into());
            }
            if until.is_over() {
                return Err(EngineError::Timeout { kind: self.engine.kind(), waited: patience }.into());
            }
            refuse_deserted(parent)?;
            let fds = std::iter::once(rendezvous.as_fd()).chain(parent.map(AsFd::as_fd));
            let wanted: Vec<_> = fds.map(|fd| (fd, PollFlags::IN)).collect();
            command.poll(until, &wanted).map_err(failed)?;
        }
    }

    /// Removes the container, whatever runs in it, and waits until that is done.
    pub(super) fn force(&self) {
        // The engine may just be removing it by itself. What stays, the next command removes.
        let _ = sweep::remove(self.engine, self.run);
    }

    /// Leaves a persistent container. The engine goes on without its command, and removes the container when that has ended.
    pub(super) fn leave(mut self) {
        if let Some(command) = &mut self.command {
            // Podman has no daemon: what its command does not note, nobody does, and our PID 1 is faster than that.
            let until = Deadline::after(STARTING);
            let is_starting = |container: &String| {
                let inspected = inspect::inspect(self.engine, container);
                inspected
                    .is_ok_and(|found| found.is_some_and(|found| found.phase() == ContainerPhase::Starts))
            };
            while self.container.as_ref().is_some_and(is_starting) && !until.is_over() {
                std::thread::sleep(PAUSE);
            }
            command.kill();
            let _ = command.child.wait();
        }
        self.is_gone = true;
    }

    /// Waits until the engine has removed the container, whose PID 1 has ended. Of one that was taken nobody says so; the engine removes it
    /// all the same.
    pub(super) fn finish(&mut self) {
        let Some(command) = &mut self.command else {
            self.is_gone = true;
            return;
        };
        let ended = command.wait(Deadline::after(sweep::REMOVAL));
        // One that was killed has removed nothing.
        self.is_gone = matches!(ended, Ok(Some(status)) if status.code().is_some());
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            // While it is at work it may still make the container.
            if let Some(command) = &mut self.command {
                command.kill();
                let _ = command.child.wait();
            }
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
