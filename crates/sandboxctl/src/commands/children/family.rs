//! The children of one sandbox: how many live, and what a request becomes.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

use policy::child::ChildRequest;
use policy::plan::Plan;
use sandbox::state::record::RunId;

use super::super::run_process::{Cancellation, Canceller, RunEnvironment, Running};
use super::answer::{Answer, Refusal, Told};
use crate::context::Context;
use crate::ui::Ui;

/// The arguments of the process that a child runs in.
const CHILD: [&str; 3] = ["child", "--format=json", "--quiet"];

/// A sandbox and its children.
pub(super) struct Family<'a> {
    ui: &'a Ui,
    /// The plan of the sandbox whose agent asks.
    plan: Plan,
    id: RunId,
    stays: bool,
    /// What children are started with, credentials in variables included.
    environment: Vec<(OsString, OsString)>,
    living: AtomicU32,
}

/// A child that runs. It counts as living until this is dropped.
pub(super) struct Child<'a> {
    family: &'a Family<'a>,
    request_id: Option<String>,
    name: String,
    running: Running,
    _place: Place<'a>,
}

/// One of as many places as there may be children.
struct Place<'a>(&'a AtomicU32);

impl Drop for Place<'_> {
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

    /// Starts the child that a line asks for, or answers why not. Dropping the canceller ends it.
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
        // What could not be in any case is not asked for again.
        let place = self.take_place().ok_or_else(|| refused(&Refusal::TooMany))?;
        // Credentials of others are in no environment of its process, where other programs of the user see them.
        let (all, own) = (self.plan.credential_variables(), plan.credential_variables());
        let is_its =
            |name: &OsString| !all.iter().any(|other| name == other) || own.iter().any(|own| name == own);
        let environment: Vec<_> = self.environment.iter().filter(|(name, _)| is_its(name)).cloned().collect();
        let started = serde_json::to_vec(&plan).map_err(Into::into).and_then(|plan| {
            Running::start(&CHILD.map(OsString::from), RunEnvironment::Only(&environment), &plan)
        });
        let (running, canceller) = started.map_err(|error| {
            self.warn(&format!("child {name} cannot be started: {error}"));
            refused(&Refusal::NotStarted)
        })?;
        let child = Child { family: self, request_id: request.id.clone(), name, running, _place: place };
        Ok((child, canceller))
    }

    fn take_place(&self) -> Option<Place<'_>> {
        let max = self.plan.children.as_ref().map_or(0, |children| children.max.get());
        let more = |living: u32| (living < max).then_some(living + 1);
        self.living.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Place(&self.living))
    }

    /// Says something to whoever runs the sandbox.
    fn warn(&self, message: &str) {
        self.ui.warning(message);
    }

    /// Says what a child has left to say: where its parent has a client on its standard error, else in the journal of events.
    fn tell(&self, name: &str, told: &Told) {
        for warning in &told.warnings {
            self.warn(&format!("child {name}: {warning}"));
        }
        if self.stays {
            let recorded = Context::gather()
                .map_err(Into::into)
                .and_then(|context| super::super::sandboxes::open(&context))
                .and_then(|sandboxes| Ok(sandboxes.find(self.id.as_str())?))
                .map(|sandbox| sandbox.child_ended(name, told.exit_code, told.warnings.clone()));
            // Nobody is there who could be warned of that.
            drop(recorded);
        }
    }
}

impl Child<'_> {
    /// Waits for its end, and returns the answer.
    pub(super) fn finish(self) -> Answer {
        let Self { family, request_id, name, running, _place } = self;
        let (answer, told) = Answer::of(request_id.as_deref(), &name, running.finish(Cancellation::Soon));
        family.tell(&name, &told);
        answer
    }
}
