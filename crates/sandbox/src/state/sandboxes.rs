//! Sandboxes that stay: one directory for each, with what its clients need to know.
//!
//! Whether one lives is nobody's word: PID 1 holds a lock on a file of the directory for as long as it lives, whatever has become
//! of the process that made it, and the kernel lets go of the lock with it. So what is listed is true after a crash and after
//! a reboot, too.

use std::fs::File;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use confine::log_ring::{self, Log};
use confine::protocol::{SandboxEnd, StayNote};
use confine::report::Report;
use policy::plan::Plan;
use serde::{Deserialize, Serialize};

use crate::host::identity::Identity;
use crate::state::directory::{Holder, Lock, StateDir, StateError};
use crate::state::record::RunId;
use crate::state::version::Version;

/// The directory of sandboxes that stay, in that of the state.
const SANDBOXES: &str = "sandboxes";

/// What is locked while names are given away.
const NAMES: &str = ".names";

/// The files of a sandbox.
const RECORD: &str = "record.json";
const ALIVE: &str = "alive";
const CONTROL: &str = "control";
const NOTE: &str = "note";
const LOGS: [&str; 2] = ["stdout", "stderr"];

/// What is known of a sandbox that stays, whether it lives or not.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxRecord {
    pub version: SandboxVersion,
    pub id: RunId,
    pub name: String,
    /// The user whose sandbox it is.
    pub owner: u32,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// What it was made from.
    pub plan: Plan,
    pub stay: StayPlan,
    /// The user and the group on the host that its commands are.
    pub(crate) agent: Identity,
    /// What is known once it runs.
    pub started: Option<StartedRecord>,
}

/// How a sandbox is to stay.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct StayPlan {
    /// Whether the plan's command runs in it from the start; it ends with that.
    pub command: FirstCommand,
    /// How long it waits for a command before it ends.
    pub idle_timeout: Option<Duration>,
    /// How old it gets.
    pub max_duration: Option<Duration>,
    /// The bytes that the log of each stream of its first command holds.
    pub log_bytes: u64,
}

/// Whether a sandbox that stays runs the command of its plan.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstCommand {
    /// From its start.
    Run,
    /// Not at all: it waits for others.
    None,
}

/// What is known of a sandbox that has started.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StartedRecord {
    /// PID 1, as the process that made the sandbox saw it.
    pub pid: Option<i32>,
    pub report: Report,
}

/// The form of a record. It goes up whenever what one holds means something else.
pub type SandboxVersion = Version<1>;

/// How far a sandbox is in its life: `creating`, then `running`, then `stopped`, and then it is removed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A client is making it.
    Creating,
    /// It can be used.
    Running,
    /// Nothing of it runs any more. Its logs and how it has ended can be read.
    Stopped,
}

impl Phase {
    /// Returns whether commands can run in it.
    pub fn can_exec(self) -> bool {
        self == Self::Running
    }

    /// Returns whether it can be told to end.
    pub fn can_stop(self) -> bool {
        self == Self::Running
    }

    /// Returns whether it can be removed without being ended before.
    pub fn can_be_removed(self) -> bool {
        self == Self::Stopped
    }
}

/// Why a sandbox that stays cannot be found or used.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    State(#[from] StateError),
    /// There is none.
    #[error("there is no sandbox named \"{}\" of yours", .0.escape_debug())]
    NotFound(String),
    /// The name is taken.
    #[error("there is a sandbox named \"{name}\" already, and it is {}", phase_word(*phase))]
    NameInUse { name: String, phase: Phase },
    /// It is not in a state in which that can be done.
    #[error("sandbox \"{name}\" is {}, and cannot {action}", phase_word(*phase))]
    Phase { name: String, phase: Phase, action: &'static str },
    /// Its record is of another version of this program, or is damaged.
    #[error("the record of sandbox {id} cannot be read: {reason}")]
    Unreadable { id: String, reason: String },
    /// PID 1 does not answer.
    #[error("PID 1 of sandbox \"{name}\" does not answer: {source}")]
    Unreachable { name: String, source: io::Error },
    /// A log cannot be read.
    #[error("cannot read the log of sandbox \"{name}\": {source}")]
    Log { name: String, source: io::Error },
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Creating => "being created",
        Phase::Running => "running",
        Phase::Stopped => "stopped",
    }
}

/// The sandboxes of one user.
#[derive(Debug)]
pub struct Sandboxes(StateDir);

/// A sandbox that was found.
#[derive(Debug)]
pub struct StayingSandbox {
    pub record: SandboxRecord,
    pub phase: Phase,
    directory: StateDir,
}

/// A sandbox that is being made. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct NewSandbox<'a> {
    sandboxes: &'a Sandboxes,
    directory: StateDir,
    record: SandboxRecord,
    is_made: bool,
    pub(crate) listener: UnixListener,
    pub(crate) alive: Lock,
    pub(crate) note: File,
    pub(crate) logs: Vec<File>,
}

impl Sandboxes {
    /// Opens the directory of them.
    pub fn open(state: &std::path::Path, owner: Identity) -> Result<Self, StateError> {
        Self::within(&StateDir::open(state, owner)?)
    }

    /// Opens the directory of them in that of the state.
    pub(crate) fn within(state: &StateDir) -> Result<Self, StateError> {
        Ok(Self(state.within(SANDBOXES)?))
    }

    /// Takes a name, and makes the files of a sandbox.
    pub(crate) fn create(&self, record: SandboxRecord) -> Result<NewSandbox<'_>, SandboxError> {
        let names = self.0.lock(NAMES)?;
        self.sweep_named(&names)?;
        if let Some(found) = self.lookup(&record.name)? {
            return Err(SandboxError::NameInUse { name: record.name, phase: found.phase });
        }
        let directory = self.0.within(record.id.as_str())?;
        let make = || -> Result<_, StateError> {
            // Locked before there is a record, so that nobody takes it for one that has ended.
            let alive = directory.write_held(ALIVE, b"")?;
            if !is_held(&directory)? {
                return Err(StateError::File {
                    action: "lock",
                    path: directory.path().join(ALIVE),
                    source: io::Error::other("the file system has no locks"),
                });
            }
            write(&directory, &record)?;
            let logs = match record.stay.command {
                FirstCommand::Run => {
                    LOGS.iter().map(|name| directory.create_new(name)).collect::<Result<_, _>>()?
                }
                FirstCommand::None => Vec::new(),
            };
            Ok((alive, logs, directory.create_new(NOTE)?, directory.listen(CONTROL)?))
        };
        let made = make();
        drop(names);
        match made {
            Ok((alive, logs, note, listener)) => Ok(NewSandbox {
                sandboxes: self,
                directory,
                record,
                is_made: false,
                listener,
                alive,
                note,
                logs,
            }),
            Err(error) => {
                let _ = self.remove_files(&record.id, &directory);
                Err(error.into())
            }
        }
    }

    /// Finds a sandbox by its name, or by its id.
    pub fn find(&self, name: &str) -> Result<StayingSandbox, SandboxError> {
        self.lookup(name)?.ok_or_else(|| SandboxError::NotFound(name.to_owned()))
    }

    /// Finds a sandbox by its name, or by its id; `None` where there is none.
    pub fn lookup(&self, name: &str) -> Result<Option<StayingSandbox>, SandboxError> {
        for found in self.list()? {
            match found {
                Ok(found) if found.record.name == name || found.record.id.as_str() == name => {
                    return Ok(Some(found));
                }
                Err(SandboxError::Unreadable { id, reason }) if id == name => {
                    return Err(SandboxError::Unreadable { id, reason });
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Lists every sandbox, the oldest first; what cannot be read is an error of its own. What a client left half made is none.
    pub fn list(&self) -> Result<Vec<Result<StayingSandbox, SandboxError>>, SandboxError> {
        let mut all = Vec::new();
        for id in self.0.names()?.into_iter().filter_map(|name| RunId::try_from(name).ok()) {
            match self.read(&id) {
                Ok(Some(found)) => all.push(Ok(found)),
                Ok(None) => {}
                Err(error) => all.push(Err(error)),
            }
        }
        all.sort_by_key(|found| found.as_ref().map_or(u64::MAX, |found| found.record.created));
        Ok(all)
    }

    fn read(&self, id: &RunId) -> Result<Option<StayingSandbox>, SandboxError> {
        let Some(directory) = self.0.existing_within(id.as_str())? else { return Ok(None) };
        // Before the record, which says that it runs before whoever made it lets go of it.
        let lives = is_held(&directory)?;
        let Some(text) = directory.read(RECORD)? else { return Ok(None) };
        let unreadable = |reason: String| SandboxError::Unreadable { id: id.as_str().to_owned(), reason };
        let record: SandboxRecord =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        let phase = match (lives, note(&directory)?) {
            (true, Some(StayNote::Stays)) => Phase::Running,
            (true, None) => Phase::Creating,
            (true, Some(StayNote::Ended(_))) | (false, Some(_)) => Phase::Stopped,
            // Its client was killed before it ran.
            (false, None) => return Ok(None),
        };
        Ok(Some(StayingSandbox { record, phase, directory }))
    }

    /// Removes what clients left half made that were killed.
    pub fn sweep(&self) -> Result<(), SandboxError> {
        self.sweep_named(&self.0.lock(NAMES)?)
    }

    /// Does the same while nobody else makes anything.
    fn sweep_named(&self, _names: &Lock) -> Result<(), SandboxError> {
        for id in self.0.names()?.into_iter().filter_map(|name| RunId::try_from(name).ok()) {
            let Some(directory) = self.0.existing_within(id.as_str())? else { continue };
            // What is being made is held, but for what whoever has the names has not begun.
            if !is_held(&directory)? && note(&directory)?.is_none() {
                self.remove_files(&id, &directory)?;
            }
        }
        Ok(())
    }

    /// Removes a sandbox that has ended.
    pub fn remove(&self, sandbox: &StayingSandbox) -> Result<(), SandboxError> {
        let _names = self.0.lock(NAMES)?;
        Ok(self.remove_files(&sandbox.record.id, &sandbox.directory)?)
    }

    fn remove_files(&self, id: &RunId, directory: &StateDir) -> Result<(), StateError> {
        // The record first: without it there is no sandbox. Then whatever there is: a client that was killed may have left a draft.
        directory.remove(RECORD)?;
        directory.names()?.iter().try_for_each(|name| directory.remove(name))?;
        self.0.remove_directory(id.as_str())
    }
}

/// Returns whether somebody holds the sandbox of this directory: its PID 1, or whoever makes it.
fn is_held(directory: &StateDir) -> Result<bool, StateError> {
    Ok(matches!(directory.read_held(ALIVE)?, Some((_, Holder::Lives))))
}

/// Returns what PID 1 of the sandbox of this directory has written about itself. It is data from a stranger: what makes no sense is nothing.
fn note(directory: &StateDir) -> Result<Option<StayNote>, StateError> {
    Ok(directory.read(NOTE)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
}

fn write(directory: &StateDir, record: &SandboxRecord) -> Result<(), StateError> {
    let text = serde_json::to_vec(record).map_err(|error| StateError::File {
        action: "write",
        path: directory.path().join(RECORD),
        source: error.into(),
    })?;
    directory.write(RECORD, &text)
}

/// Returns the time, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl NewSandbox<'_> {
    /// Notes that it runs, and leaves it.
    pub(crate) fn started(mut self, started: StartedRecord) -> Result<SandboxRecord, SandboxError> {
        self.record.started = Some(started);
        write(&self.directory, &self.record)?;
        self.is_made = true;
        Ok(self.record.clone())
    }
}

impl Drop for NewSandbox<'_> {
    fn drop(&mut self) {
        if !self.is_made {
            // What stays is swept by whoever lists sandboxes.
            let _ = self.sandboxes.remove_files(&self.record.id, &self.directory);
        }
    }
}

impl StayingSandbox {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// Connects to PID 1, as its owner.
    pub(crate) fn connect(&self) -> Result<UnixStream, SandboxError> {
        let unreachable = |source| SandboxError::Unreachable { name: self.name().to_owned(), source };
        match self.directory.speak(CONTROL, |stream| stream)? {
            Some(stream) => Ok(stream),
            None => Err(unreachable(io::ErrorKind::ConnectionRefused.into())),
        }
    }

    /// Returns whether it lives now.
    pub(crate) fn lives(&self) -> Result<bool, SandboxError> {
        Ok(is_held(&self.directory)?)
    }

    /// Returns how it has ended, if PID 1 has noted it: it has not where it was killed, or the machine went down.
    pub fn end(&self) -> Result<Option<SandboxEnd>, SandboxError> {
        Ok(match note(&self.directory)? {
            Some(StayNote::Ended(end)) => Some(end),
            Some(StayNote::Stays) | None => None,
        })
    }

    /// Reads the log of standard output (0) or of standard error (1), from the record on that ends after `after`.
    pub(crate) fn log(&self, stream: usize, after: u64) -> Result<Log, SandboxError> {
        let Some(file) = LOGS.get(stream).map_or(Ok(None), |name| self.directory.open_existing(name))? else {
            return Ok(Log::default());
        };
        log_ring::read(&file, self.record.stay.log_bytes, after)
            .map_err(|source| SandboxError::Log { name: self.name().to_owned(), source })
    }
}
