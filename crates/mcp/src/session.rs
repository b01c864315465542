//! What one client has: its default sandbox, those that it has made, and its jobs. All of it ends with the client.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use policy::rules::sandbox_name::is_sandbox_name;
use sandbox::provider::launch::Lifeline;
use sandbox::shell::jobs::Jobs;
use sandbox::{Attachment, EndCause, FileTools, Sandbox};

use crate::failure::Failure;
use crate::program::{Made, Program};

mod files;
mod names;
mod workers;

pub(crate) use self::names::{fresh_name, random_hex};

/// How many sandboxes one client has at most, the default one included.
pub(crate) const MOST: usize = 8;

/// How long everything inside may take to end by itself, when the client has gone.
const GRACE: Duration = Duration::from_secs(2);

/// What one client has.
pub(crate) struct Session {
    pub(crate) program: Arc<Program>,
    pub(crate) jobs: Jobs,
    state: Mutex<State>,
    /// Notified when a sandbox that was being made is there, or will not be.
    settled: Condvar,
    /// Held while the default sandbox is being made, so that it is made once.
    making: Mutex<()>,
}

struct State {
    stage: Stage,
    /// The name of the default sandbox, whether or not it is there.
    default: String,
    sandboxes: BTreeMap<String, Held>,
    /// Those for one task, which no call can name.
    workers: Vec<AtWork>,
    /// How many are being made.
    making: usize,
}

/// A worker at work.
struct AtWork {
    /// Which one it is, by its name in the configuration.
    worker: String,
    /// The name of its sandbox.
    name: String,
    /// `None` while it is being made.
    sandbox: Option<Arc<Sandbox>>,
}

/// Whether the client is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Open,
    /// It has gone, and what it had was taken: what is made now is removed by whoever makes it.
    Ended,
}

/// A sandbox of a client.
struct Held {
    sandbox: Arc<Sandbox>,
    kept: Kept,
    /// Dropped, it ends the sandbox; so does the end of this process, however it ends.
    _lifeline: Option<Lifeline>,
    /// Its file tools, from their first use on. Locked while they are being opened, so that they are opened once.
    files: Arc<Mutex<Option<Arc<FileTools>>>>,
}

/// Whether a sandbox stays when its client has gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kept {
    Removed,
    Stays,
}

/// A sandbox to use.
pub(crate) struct Found {
    pub(crate) sandbox: Arc<Sandbox>,
    /// What the model should know of it.
    pub(crate) notice: Option<String>,
}

impl Session {
    /// Makes that of a client who has nothing yet.
    pub(crate) fn new(program: Arc<Program>, default: String) -> Self {
        let state =
            State { stage: Stage::Open, default, sandboxes: BTreeMap::new(), workers: Vec::new(), making: 0 };
        Self {
            program,
            jobs: Jobs::default(),
            state: Mutex::new(state),
            settled: Condvar::new(),
            making: Mutex::default(),
        }
    }

    /// Returns the sandbox of this name, or the default one, which is made where it is not there. It hides what it is to hide.
    pub(crate) fn sandbox(&self, name: Option<&str>) -> Result<Found, Failure> {
        let found = self.living(name)?;
        for warning in found.sandbox.check_hidden()? {
            (self.program.log)(&warning);
        }
        Ok(found)
    }

    fn living(&self, name: Option<&str>) -> Result<Found, Failure> {
        let Some(name) = name.filter(|name| *name != self.default_name()) else { return self.default() };
        let sandbox = self.held(name).ok_or_else(|| self.unknown(name))?;
        if sandbox.lives()? {
            return Ok(Found { sandbox, notice: None });
        }
        Err(Failure::InvalidArguments(format!(
            "sandbox {name:?} {}: nothing can be done with it any more; `sandbox_remove` removes it, and `sandbox_create` makes another one",
            why_ended(&sandbox)
        )))
    }

    fn default(&self) -> Result<Found, Failure> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.default_name();
        let mut notices = Vec::new();
        if let Some(sandbox) = self.held(&name) {
            if sandbox.lives()? {
                return Ok(Found { sandbox, notice: None });
            }
            notices.push(format!(
                "the sandbox {}; it was made again: files outside of the shared directories are gone, and what ran has ended",
                why_ended(&sandbox)
            ));
            // Its name is free when it is removed. Where it cannot be, the next one has another name.
            if let Err(failure) = (self.program.remove)(&sandbox, Duration::ZERO) {
                self.log(&failure);
            }
            self.lock().sandboxes.remove(&name);
        }
        let sandbox = match self.make(name, Kept::Removed) {
            Err(Failure::NameInUse(name)) => {
                let other = fresh_name()?;
                let notice =
                    format!("another sandbox has the name {name:?}, so this one is called `{other}`");
                (self.program.log)(&notice);
                notices.push(notice);
                self.lock().default.clone_from(&other);
                self.make(other, Kept::Removed)?
            }
            made => made?,
        };
        Ok(Found { sandbox, notice: (!notices.is_empty()).then(|| notices.join("; ")) })
    }

    /// Makes another sandbox.
    pub(crate) fn create(&self, name: Option<String>, kept: Kept) -> Result<Arc<Sandbox>, Failure> {
        let name = match name {
            Some(name) if is_sandbox_name(&name) => name,
            Some(name) => {
                return Err(Failure::InvalidArguments(format!(
                    "{name:?} is no name for a sandbox: one has ASCII letters and digits, `-`, `_` and `.`, at most 63, and begins with a letter or digit"
                )));
            }
            None => fresh_name()?,
        };
        self.make(name, kept)
    }

    fn make(&self, name: String, kept: Kept) -> Result<Arc<Sandbox>, Failure> {
        let place = self.reserve(|| {
            Failure::InvalidArguments(format!(
                "there are {MOST} sandboxes already, or about to be, which is the most; remove one with `sandbox_remove`"
            ))
        })?;
        let mut plan = self.program.plan.clone();
        plan.name.clone_from(&name);
        let attachment = match kept {
            Kept::Removed => Attachment::Attached,
            Kept::Stays => Attachment::Detached,
        };
        let Made { sandbox, lifeline } = (self.program.make)(&plan, attachment)?;
        let sandbox = Arc::new(sandbox);
        let mut state = self.lock();
        if state.stage == Stage::Ended {
            drop(state);
            // Nobody has heard of it, and nobody will.
            self.remove_or_log(&sandbox, Duration::ZERO);
            return Err(Failure::Cancelled);
        }
        let held = Held { sandbox: Arc::clone(&sandbox), kept, _lifeline: lifeline, files: Arc::default() };
        state.sandboxes.insert(name, held);
        place.settle(&mut state);
        Ok(sandbox)
    }

    /// Takes the place of a sandbox that is about to be made; `full` is what there is to say where there is none.
    fn reserve(&self, full: impl FnOnce() -> Failure) -> Result<Place<'_>, Failure> {
        let mut state = self.lock();
        if state.stage == Stage::Ended {
            return Err(Failure::Cancelled);
        }
        let at_work = state.workers.iter().filter(|worker| worker.sandbox.is_some()).count();
        if state.sandboxes.len() + at_work + state.making >= MOST {
            return Err(full());
        }
        state.making += 1;
        Ok(Place(self))
    }

    /// Removes a sandbox of this client; returns what was quarantined.
    pub(crate) fn remove(&self, name: &str, grace: Duration) -> Result<Vec<String>, Failure> {
        let sandbox = self.held(name).ok_or_else(|| self.unknown(name))?;
        let moved = (self.program.remove)(&sandbox, grace)?;
        let mut state = self.lock();
        // Meanwhile another one may have come to the name.
        if state.sandboxes.get(name).is_some_and(|held| Arc::ptr_eq(&held.sandbox, &sandbox)) {
            state.sandboxes.remove(name);
        }
        Ok(moved)
    }

    /// Returns a sandbox of this client that is there already.
    pub(crate) fn held(&self, name: &str) -> Option<Arc<Sandbox>> {
        self.lock().sandboxes.get(name).map(|held| Arc::clone(&held.sandbox))
    }

    /// Lists the sandboxes of this client.
    pub(crate) fn all(&self) -> Vec<Arc<Sandbox>> {
        self.lock().sandboxes.values().map(|held| Arc::clone(&held.sandbox)).collect()
    }

    /// Returns the name of the default sandbox.
    pub(crate) fn default_name(&self) -> String {
        self.lock().default.clone()
    }

    /// Returns the name of the sandbox that a call means, whether or not the default one is there yet.
    pub(crate) fn meant(&self, name: Option<&str>) -> Result<String, Failure> {
        match name {
            None => Ok(self.default_name()),
            Some(name) if name == self.default_name() || self.held(name).is_some() => Ok(name.to_owned()),
            Some(name) => Err(self.unknown(name)),
        }
    }

    /// Says that there is no such sandbox.
    pub(crate) fn unknown(&self, name: &str) -> Failure {
        let state = self.lock();
        let names: Vec<_> = state.sandboxes.keys().map(|name| format!("`{name}`")).collect();
        let there = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        Failure::InvalidArguments(format!(
            "there is no sandbox {name:?} of this session; there are: {there}; without a name the default one, `{}`, is used",
            state.default
        ))
    }

    /// Ends everything that is not to stay, and waits for sandboxes that are just being made: whoever makes them removes them.
    pub(crate) fn end(&self) {
        self.jobs.end();
        let (all, at_work) = {
            let mut state = self.lock();
            state.stage = Stage::Ended;
            let at_work: Vec<_> = state.workers.iter().filter_map(|one| one.sandbox.clone()).collect();
            (std::mem::take(&mut state.sandboxes), at_work)
        };
        // Whoever waits for one of them hears that it has ended, and removes it.
        for sandbox in at_work {
            self.remove_or_log(&sandbox, Duration::ZERO);
        }
        for Held { sandbox, kept, _lifeline, .. } in all.into_values() {
            if kept == Kept::Removed {
                self.remove_or_log(&sandbox, GRACE);
            }
        }
        let settled = self.settled.wait_while(self.lock(), |state| state.making > 0);
        drop(settled);
    }

    fn remove_or_log(&self, sandbox: &Sandbox, grace: Duration) {
        if let Err(failure) = (self.program.remove)(sandbox, grace) {
            self.log(&failure);
        }
    }

    /// Logs the reason of a failure that a model does not get.
    pub(crate) fn log(&self, failure: &Failure) {
        if let Failure::Host { what, reason } = failure {
            (self.program.log)(&format!("{what}: {reason}"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a sandbox that is being made, until it is there or will not be.
struct Place<'a>(&'a Session);

impl Place<'_> {
    /// Gives it to the sandbox, which is in the state from now on: it is counted once.
    fn settle(self, state: &mut State) {
        state.making -= 1;
        self.0.settled.notify_all();
        std::mem::forget(self);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().making -= 1;
        self.0.settled.notify_all();
    }
}

/// Says in words how a sandbox has ended.
fn why_ended(sandbox: &Sandbox) -> &'static str {
    match sandbox.end().ok().flatten().map(|end| end.cause) {
        Some(EndCause::Stopped) => "was stopped",
        Some(EndCause::Idle) => "has ended, because its idle time was over",
        Some(EndCause::Aged) => "has ended, because it had reached its maximum age",
        // Its note is gone with its files.
        Some(EndCause::Command(_)) | None => "was killed, or removed by somebody else",
    }
}
