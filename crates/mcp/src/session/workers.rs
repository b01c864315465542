//! The workers of a client: sandboxes for one task each, which no other call can name.

use std::sync::Arc;
use std::time::Duration;

use policy::plan::Worker;
use policy::text::escape;
use sandbox::provider::launch::Lifeline;
use sandbox::{Attachment, Sandbox};

use super::{AtWork, Session, Stage, fresh_name};
use crate::failure::Failure;
use crate::program::Made;

/// A worker's sandbox, removed when this is dropped.
pub(crate) struct Hired<'a> {
    session: &'a Session,
    pub(crate) sandbox: Arc<Sandbox>,
    /// Dropped, it ends the sandbox; so does the end of this process, however it ends.
    _lifeline: Option<Lifeline>,
    is_removed: bool,
    /// Given up last: until then it counts.
    _place: WorkPlace<'a>,
}

/// The place of a worker, until it is removed.
struct WorkPlace<'a>(&'a Session, String);

impl Drop for WorkPlace<'_> {
    fn drop(&mut self) {
        self.0.lock().workers.retain(|at_work| at_work.name != self.1);
    }
}

impl Session {
    /// Returns a worker by its name in the configuration.
    pub(crate) fn worker(&self, name: &str) -> Result<&Worker, Failure> {
        let workers = &self.program.plan.workers;
        workers.iter().find(|worker| worker.name == name).ok_or_else(|| {
            let names: Vec<_> = workers.iter().map(|worker| format!("`{}`", worker.name)).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::InvalidArguments(format!(
                "there is no worker \"{}\"; there are: {there}",
                escape::line(name)
            ))
        })
    }

    /// Makes the sandbox of a worker.
    pub(crate) fn hire(&self, worker: &Worker) -> Result<Hired<'_>, Failure> {
        let making = self.reserve(|| {
            Failure::Busy("as many sandboxes of this session are there as there may be at once")
        })?;
        let name = fresh_name()?;
        let place = self.begin_work(worker, &name)?;
        let mut plan = worker.plan.clone();
        plan.name.clone_from(&name);
        let Made { sandbox, lifeline } = (self.program.make)(&plan, Attachment::Attached)?;
        let sandbox = Arc::new(sandbox);
        let mut state = self.lock();
        let has_ended = state.stage == Stage::Ended;
        if let Some(at_work) = state.workers.iter_mut().find(|at_work| at_work.name == name) {
            at_work.sandbox = Some(Arc::clone(&sandbox));
        }
        making.settle(&mut state);
        drop(state);
        let hired = Hired { session: self, sandbox, _lifeline: lifeline, is_removed: false, _place: place };
        // Nobody waits for it any more, and nobody else has seen it.
        if has_ended { Err(Failure::Cancelled) } else { Ok(hired) }
    }

    /// Takes the place of a worker, of whom only so many are at work at once.
    fn begin_work(&self, worker: &Worker, name: &str) -> Result<WorkPlace<'_>, Failure> {
        let mut state = self.lock();
        let at_work = state.workers.iter().filter(|at_work| at_work.worker == worker.name).count();
        if u32::try_from(at_work).is_ok_and(|at_work| at_work >= worker.max.get()) {
            return Err(Failure::Busy("as many of this worker are at work as there may be at once"));
        }
        state.workers.push(AtWork { worker: worker.name.clone(), name: name.to_owned(), sandbox: None });
        Ok(WorkPlace(self, name.to_owned()))
    }
}

impl Hired<'_> {
    /// Removes the sandbox; returns what it has made that would run on the host and was quarantined.
    pub(crate) fn dismiss(mut self) -> Result<Vec<String>, Failure> {
        self.is_removed = true;
        (self.session.program.remove)(&self.sandbox, Duration::ZERO)
    }
}

impl Drop for Hired<'_> {
    fn drop(&mut self) {
        if !self.is_removed {
            self.session.remove_or_log(&self.sandbox, Duration::ZERO);
        }
    }
}
