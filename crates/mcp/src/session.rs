//! What one client has: its default sandbox, those that it has made, and its jobs. All of it ends with the client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use policy::rules::sandbox_name::is_sandbox_name;
use sandbox::shell::jobs::Jobs;
use sandbox::{FileTools, Sandbox};

use crate::failure::Failure;
use crate::program::Program;

mod files;

/// How many sandboxes one client has at most, the default one included.
pub(crate) const MOST: usize = 8;

/// How long everything inside may take to end by itself, when the client has gone.
const GRACE: Duration = Duration::from_secs(2);

/// What one client has.
pub(crate) struct Session {
    pub(crate) program: Arc<Program>,
    pub(crate) jobs: Jobs,
    /// The name of the default sandbox, whether or not it is there.
    default: String,
    sandboxes: Mutex<BTreeMap<String, Held>>,
    /// Held while the default sandbox is being made, so that it is made once.
    making: Mutex<()>,
}

/// A sandbox of a client.
struct Held {
    sandbox: Arc<Sandbox>,
    kept: Kept,
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
    pub(crate) notice: Option<&'static str>,
}

/// What a model is told when its sandbox is a new one.
const MADE_AGAIN: &str = "the sandbox had ended, because its idle time or its age was over, and was made again: files outside of the shared directories are gone";

impl Session {
    /// Makes that of a client who has nothing yet.
    pub(crate) fn new(program: Arc<Program>, default: String) -> Self {
        Self {
            program,
            jobs: Jobs::default(),
            default,
            sandboxes: Mutex::default(),
            making: Mutex::default(),
        }
    }

    /// Returns the sandbox of this name, or the default one, which is made where it is not there.
    pub(crate) fn sandbox(&self, name: Option<&str>) -> Result<Found, Failure> {
        match name.filter(|name| *name != self.default) {
            Some(name) => {
                let sandbox = self.held(name).ok_or_else(|| self.unknown(name))?;
                Ok(Found { sandbox, notice: None })
            }
            None => self.default(),
        }
    }

    fn default(&self) -> Result<Found, Failure> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.held(&self.default);
        if let Some(sandbox) = &held {
            if sandbox.lives()? {
                return Ok(Found { sandbox: Arc::clone(sandbox), notice: None });
            }
            // Its name is free when it is removed.
            (self.program.remove)(sandbox, Duration::ZERO)?;
            self.lock().remove(&self.default);
        }
        let sandbox = self.make(self.default.clone(), Kept::Removed)?;
        Ok(Found { sandbox, notice: held.map(|_| MADE_AGAIN) })
    }

    /// Makes another sandbox.
    pub(crate) fn create(&self, name: Option<String>, kept: Kept) -> Result<Arc<Sandbox>, Failure> {
        let name = match name {
            Some(name) if is_sandbox_name(&name) => name,
            Some(name) => {
                return Err(Failure::Asked(format!(
                    "{name:?} is no name for a sandbox: one has ASCII letters and digits, `-`, `_` and `.`, at most 63, and begins with a letter or digit"
                )));
            }
            None => fresh_name()?,
        };
        if self.lock().len() >= MOST {
            return Err(Failure::Asked(format!(
                "there are {MOST} sandboxes already, which is the most; remove one with `sandbox_remove`"
            )));
        }
        self.make(name, kept)
    }

    fn make(&self, name: String, kept: Kept) -> Result<Arc<Sandbox>, Failure> {
        let mut plan = self.program.plan.clone();
        plan.name.clone_from(&name);
        let sandbox = Arc::new((self.program.make)(&plan)?);
        self.lock().insert(name, Held { sandbox: Arc::clone(&sandbox), kept, files: Arc::default() });
        Ok(sandbox)
    }

    /// Removes a sandbox of this client; returns what was moved aside.
    pub(crate) fn remove(&self, name: &str, grace: Duration) -> Result<Vec<String>, Failure> {
        let sandbox = self.held(name).ok_or_else(|| self.unknown(name))?;
        let moved = (self.program.remove)(&sandbox, grace)?;
        self.lock().remove(name);
        Ok(moved)
    }

    /// Returns a sandbox of this client that is there already.
    pub(crate) fn held(&self, name: &str) -> Option<Arc<Sandbox>> {
        self.lock().get(name).map(|held| Arc::clone(&held.sandbox))
    }

    /// Lists the sandboxes of this client.
    pub(crate) fn all(&self) -> Vec<Arc<Sandbox>> {
        self.lock().values().map(|held| Arc::clone(&held.sandbox)).collect()
    }

    /// Returns the name of the default sandbox.
    pub(crate) fn default_name(&self) -> &str {
        &self.default
    }

    /// Says that there is no such sandbox.
    pub(crate) fn unknown(&self, name: &str) -> Failure {
        let names: Vec<_> = self.lock().keys().map(|name| format!("`{name}`")).collect();
        let there = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        Failure::Asked(format!(
            "there is no sandbox {name:?} of this session; there are: {there}; without a name the default one, `{}`, is used",
            self.default
        ))
    }

    /// Ends everything that is not to stay.
    pub(crate) fn end(&self) {
        self.jobs.end();
        let all = std::mem::take(&mut *self.lock());
        for Held { sandbox, kept, .. } in all.into_values() {
            if kept == Kept::Removed {
                if let Err(failure) = (self.program.remove)(&sandbox, GRACE) {
                    self.log(&failure);
                }
            }
        }
    }

    /// Logs the reason of a failure that a model is not told.
    pub(crate) fn log(&self, failure: &Failure) {
        if let Failure::Host { what, reason } = failure {
            (self.program.log)(&format!("{what}: {reason}"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a name that no other sandbox has.
pub(crate) fn fresh_name() -> Result<String, Failure> {
    Ok(format!("mcp-{}", random_hex::<8>().map_err(Failure::host("making a name"))?))
}

/// Returns random bytes of the kernel's, in hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> std::io::Result<String> {
    let mut bytes = [0; BYTES];
    let mut filled = 0;
    while filled < BYTES {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}
