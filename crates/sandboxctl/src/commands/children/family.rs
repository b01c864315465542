//! The children of one sandbox: how many are alive, and how a request becomes one.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

use policy::child::ChildRequest;
use policy::plan::Plan;
use sandbox::state::record::RunId;

use super::super::run_process::{Cancellation, Canceller, RunEnvironment, RunProcess};
use super::answer::{Answer, ChildEnd, Refusal};
use crate::context::Context;
use crate::ui::Ui;

/// The arguments of the process that a child runs in.
const CHILD: [&str; 3] = ["child", "--format=json", "--quiet"];

/// A sandbox and its children.
pub(super) struct Family<'a> {
    ui: &'a Ui,
    /// The plan of the parent.
    plan: Plan,
    id: RunId,
    stays: bool,
    /// The environment of the client, credentials included.
    environment: Vec<(OsString, OsString)>,
    /// How many children are alive, or have an answer that nobody has read.
    living: AtomicU32,
}

/// A child that runs. It is ended when this is dropped.
pub(super) struct Child<'a> {
    family: &'a Family<'a>,
    request_id: Option<String>,
    name: String,
    running: RunProcess,
    slot: Slot<'a>,
}

/// One of `[children] max`, which is free for another child when this is dropped.
pub(super) struct Slot<'a>(&'a AtomicU32);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<'a> Family<'a> {
    pub(super) fn new(
        ui: &'a Ui,
        plan: Plan,
        id: RunId,
        stays: bool,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        Self { ui, plan, id, stays, environment, living: AtomicU32::new(0) }
    }

    /// Starts the child that a line requests, or returns the answer that refuses it. Dropping the canceller ends the child.
    pub(super) fn start(&self, line: &[u8]) -> Result<(Child<'_>, Canceller), Answer> {
        let request = ChildRequest::parse(line)
            .map_err(|(id, mistakes)| Answer::refused(id.as_deref(), &Refusal::Invalid(mistakes)))?;
        let refused = |refusal: &Refusal| Answer::refused(request.id.as_deref(), refusal);
        let name = RunId::generate().map_err(|error| {
            self.warn(&format!("a child cannot be named: {error}"));
            refused(&Refusal::NotStarted)
        })?;
        let name = name.as_str().to_owned();
        let plan =
            self.plan.child(&request, name.clone()).map_err(|mistakes| refused(&Refusal::Wider(mistakes)))?;
        // Last: what is refused in any case is no use to request again.
        let slot = self.take_slot().ok_or_else(|| refused(&Refusal::TooMany))?;
        // Other programs of the user can read the environment of its process, so credentials that it does not get are not in there.
        let (all, own) = (self.plan.credential_variables(), plan.credential_variables());
        let is_its =
            |name: &OsString| !all.iter().any(|other| name == other) || own.iter().any(|own| name == own);
        let environment: Vec<_> = self.environment.iter().filter(|(name, _)| is_its(name)).cloned().collect();
        let started = serde_json::to_vec(&plan).map_err(Into::into).and_then(|plan| {
            RunProcess::start(&CHILD.map(OsString::from), RunEnvironment::Only(&environment), &plan)
        });
        let (running, canceller) = started.map_err(|error| {
            self.warn(&format!("child {name} cannot be started: {error}"));
            refused(&Refusal::NotStarted)
        })?;
        let child = Child { family: self, request_id: request.id.clone(), name, running, slot };
        Ok((child, canceller))
    }

    fn take_slot(&self) -> Option<Slot<'_>> {
        let max = self.plan.children.as_ref().map_or(0, |children| children.max.get());
        let more = |living: u32| (living < max).then_some(living + 1);
        self.living.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Slot(&self.living))
    }

    /// Prints a warning on the standard error of the parent's client.
    fn warn(&self, message: &str) {
        self.ui.warning(message);
    }

    /// Reports the end of a child on standard error, and, where the parent stays and has no client, in the journal of events.
    fn report(&self, name: &str, end: &ChildEnd) {
        for warning in &end.warnings {
            self.warn(&format!("child {name}: {warning}"));
        }
        if self.stays {
            let recorded = Context::gather()
                .map_err(Into::into)
                .and_then(|context| super::super::sandboxes::open(&context))
                .and_then(|sandboxes| Ok(sandboxes.find(self.id.as_str())?))
                .map(|sandbox| sandbox.child_ended(name, end.exit_code, end.warnings.clone()));
            // Where that fails, nobody is there to be warned.
            drop(recorded);
        }
    }
}

impl<'a> Child<'a> {
    /// Waits for its end, and returns the answer, and the slot that is to be kept as long as the answer is: nothing else bounds how many there are.
    pub(super) fn finish(self) -> (Answer, Slot<'a>) {
        let Self { family, request_id, name, running, slot } = self;
        let (answer, end) = Answer::of(request_id.as_deref(), &name, running.finish(Cancellation::Soon));
        family.report(&name, &end);
        (answer, slot)
    }
}
