//! Persistent sandboxes: one directory for each, with what its clients need to know.
//!
//! Whether one lives is nobody's word: PID 1 holds a lock on a file of the directory for as long as it lives, whatever has become
//! of the process that made it, and the kernel lets go of the lock with it. So what is listed is true after a crash and after
//! a reboot, too.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use confine::log_ring::{self, Log};
use confine::protocol::{Attachment, SandboxEnd, StayNote};
use confine::report::Report;
use policy::plan::{FileId, Plan};
use serde::{Deserialize, Serialize};

use crate::boundary::detect::origin::Time;
use crate::host::clock::now_ms;
use crate::host::identity::Identity;
use crate::host::recorded_agent::RecordedAgent;
use crate::state::directory::{StateDir, StateError};
use crate::state::event::{BirthOrigin, Death, DeathCause, EventKind, SandboxEvent};
use crate::state::journal::{Journal, Recorded};
use crate::state::pool::PoolStart;
use crate::state::record::RunId;
use crate::state::version::Version;

pub use self::error::{BE_UNPAUSED, SandboxError};
pub use self::phase::Phase;

mod claim;
pub(crate) mod create;
mod error;
mod lookup;
mod phase;
mod remove;

/// The directory of persistent sandboxes, in that of the state.
const SANDBOXES: &str = "sandboxes";

/// What is locked while names are given away.
const NAMES: &str = ".names";

/// The files of a sandbox.
const RECORD: &str = "record.json";

/// What PID 1 holds. It contains the name, so that whoever looks for one reads no more of hundreds of others.
const ALIVE: &str = "alive";

const CONTROL: &str = "control";
pub(crate) const NOTE: &str = "note";

/// How long the client of a command that has ended may take to clear up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two looks at that.
const PAUSE: Duration = Duration::from_millis(10);

/// More than the longest note.
const NOTE_LENGTH: usize = 64;

const LOGS: [&str; 2] = ["stdout", "stderr"];

/// What is known of a persistent sandbox, whether it lives or not.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxRecord {
    pub version: SandboxVersion,
    pub id: RunId,
    pub name: String,
    /// The user whose sandbox it is.
    pub owner: u32,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    pub plan: Plan,
    pub stay: StayPlan,
    /// The variables of its image, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) image_env: Vec<String>,
    /// The user and the group on the host that its commands are.
    pub(crate) agent: RecordedAgent,
    /// What is known once it runs.
    pub started: Option<StartedRecord>,
    /// How it has come to be, once it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
}

impl SandboxRecord {
    /// Returns what orders sandboxes by when they were made, those of one second by when they have run. What is being made is the youngest.
    fn age(&self) -> (u64, u64) {
        (self.created, self.birth.map_or(u64::MAX, |birth| birth.at))
    }
}

/// How a sandbox has come to be, and when that was, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Birth {
    pub origin: BirthOrigin,
    pub at: u64,
}

/// How a sandbox is to stay.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct StayPlan {
    /// Whether the plan's command runs in it from the start; it ends with that.
    pub command: FirstCommand,
    /// Whether it ends with the client that has made it, and is then removed.
    #[serde(default)]
    pub attachment: Attachment,
    /// How long it waits for a command before it ends.
    pub idle_timeout: Option<Duration>,
    /// How old it gets.
    pub max_duration: Option<Duration>,
    /// The bytes that the log of each stream of its first command holds.
    pub log_bytes: u64,
}

/// Whether a persistent sandbox runs the command of its plan.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolStart>,
    /// What it hides, where no client watches over that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<CoveredPath>,
}

/// A hidden path, as it was when the sandbox started. Whatever is there later and is another file has no cover.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CoveredPath {
    /// Which boundary of the plan it lies in.
    pub(crate) boundary: usize,
    /// Relative to that.
    #[serde(with = "policy::text::json_bytes::path")]
    pub(crate) path: PathBuf,
    pub(crate) file_id: FileId,
    /// When it was made, where that tells it from another file that is given its number.
    pub(crate) born: Option<Time>,
    /// The directories that it lies in and that are mounts of their own, from the outermost one.
    pub(crate) mounts: Vec<FileId>,
}

/// The form of a record. It goes up whenever what one holds means something else.
pub type SandboxVersion = Version<1>;

/// The sandboxes of one user.
#[derive(Debug)]
pub struct Sandboxes(Arc<StateDir>);

/// A sandbox that was found.
#[derive(Debug)]
pub struct StayingSandbox {
    pub record: SandboxRecord,
    pub phase: Phase,
    /// What its note was then: it may be removed at any time.
    noted: Option<StayNote>,
    directory: StateDir,
    journal: Journal,
}

impl Sandboxes {
    /// Opens the directory of them.
    pub fn open(state: &std::path::Path, owner: Identity) -> Result<Self, StateError> {
        Self::within(&StateDir::open(state, owner)?)
    }

    /// Opens the directory of them in that of the state.
    pub(crate) fn within(state: &StateDir) -> Result<Self, StateError> {
        Ok(Self(Arc::new(state.within(SANDBOXES)?)))
    }

    /// Returns the journal of what happens to them.
    pub(crate) fn journal(&self) -> Journal {
        Journal::new(Arc::clone(&self.0))
    }

    /// Returns the directory of them.
    pub(crate) fn directory(&self) -> &StateDir {
        &self.0
    }
}

/// The note of PID 1 of one sandbox, whatever becomes of its directory.
#[derive(Debug)]
pub(crate) struct OpenNote(File);

impl OpenNote {
    /// Returns how the sandbox has ended, if PID 1 has noted it by now.
    pub(crate) fn end(&self) -> Option<SandboxEnd> {
        let mut bytes = [0; NOTE_LENGTH];
        let length = self.0.read_at(&mut bytes, 0).ok()?;
        match postcard::from_bytes(&bytes[..length]).ok()? {
            StayNote::Ended(end) => Some(end),
            StayNote::Stays | StayNote::Paused | StayNote::Killed { .. } => None,
        }
    }
}

/// Returns whether somebody holds the sandbox of this directory: its PID 1, or whoever makes it.
fn is_held(directory: &StateDir) -> Result<bool, StateError> {
    directory.is_held(ALIVE)
}

/// Returns what PID 1 of the sandbox of this directory has written about itself. It is data from a stranger: what makes no sense is nothing.
fn note(directory: &StateDir) -> Result<Option<StayNote>, StateError> {
    Ok(directory.read(NOTE)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
}

/// Returns whether PID 1 has noted anything, even where this version cannot read it.
fn has_noted(directory: &StateDir) -> Result<bool, StateError> {
    Ok(directory.read(NOTE)?.is_some_and(|note| !note.is_empty()))
}

fn write(directory: &StateDir, record: &SandboxRecord) -> Result<(), StateError> {
    let text = serde_json::to_vec(record).map_err(|error| StateError::File {
        action: "write",
        path: directory.path().join(RECORD),
        source: error.into(),
    })?;
    directory.write(RECORD, &text)
}

impl StayingSandbox {
    /// Returns the state directory that it is kept in.
    pub(crate) fn state(&self) -> &Path {
        self.directory.path().ancestors().nth(2).unwrap_or(Path::new("/"))
    }

    /// Returns whose it is.
    pub(crate) fn owner(&self) -> Identity {
        self.directory.owner()
    }

    /// Returns the user and the group on the host that its commands are, as far as its record is believed.
    pub(crate) fn agent(&self) -> Identity {
        self.record.agent.believed(self.owner())
    }

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
    pub fn lives(&self) -> Result<bool, SandboxError> {
        Ok(is_held(&self.directory)?)
    }

    /// Returns how it has ended, if PID 1 has noted it: it has not where it was killed, or the machine went down.
    pub fn end(&self) -> Result<Option<SandboxEnd>, SandboxError> {
        Ok(match note(&self.directory)? {
            Some(StayNote::Ended(end)) => Some(end),
            Some(StayNote::Stays | StayNote::Paused | StayNote::Killed { .. }) | None => None,
        })
    }

    /// Opens its note, which can be read through that even when the sandbox was removed; `None` where it is already.
    pub(crate) fn open_note(&self) -> Result<Option<OpenNote>, SandboxError> {
        let file = self.directory.open_existing(NOTE)?;
        Ok(file.map(OpenNote))
    }

    /// Returns how one has ended that was removed, as the journal says; `None` where that does not know.
    pub(crate) fn recorded_end(&self) -> Result<Option<SandboxEnd>, SandboxError> {
        let (lines, _) = self.journal.whole()?;
        let end = |event: SandboxEvent| match event.kind {
            EventKind::Die(cause) if event.id == self.record.id => cause.end(event.time_ms),
            _ => None,
        };
        Ok(lines.events.into_iter().find_map(end))
    }

    /// Returns how one has ended that is stopped, as far as anybody knows.
    pub(crate) fn death(&self) -> Result<Death, SandboxError> {
        // What is removed meanwhile has ended as it was seen to.
        Ok(match note(&self.directory)?.or(self.noted) {
            Some(StayNote::Ended(end)) => Death { cause: end.cause.into(), at: end.at },
            Some(StayNote::Killed { noticed }) => Death { cause: DeathCause::Killed, at: noticed },
            Some(StayNote::Stays | StayNote::Paused) | None => {
                Death { cause: DeathCause::Killed, at: now_ms() }
            }
        })
    }

    /// Returns an event of this moment.
    pub(crate) fn event(&self, kind: EventKind) -> SandboxEvent {
        self.event_at(now_ms(), kind)
    }

    fn event_at(&self, time_ms: u64, kind: EventKind) -> SandboxEvent {
        let SandboxRecord { id, name, plan, .. } = &self.record;
        SandboxEvent { time_ms, sandbox: name.clone(), id: id.clone(), provider: plan.provider, kind }
    }

    /// Returns the event of its beginning.
    pub(crate) fn birth_event(&self) -> SandboxEvent {
        let unknown = Birth { origin: BirthOrigin::Created, at: self.record.created.saturating_mul(1000) };
        let birth = self.record.birth.unwrap_or(unknown);
        let kind = match birth.origin {
            BirthOrigin::Created => EventKind::Create,
            BirthOrigin::Started => EventKind::Start,
        };
        self.event_at(birth.at, kind)
    }

    /// Returns the event of its end, where it is stopped.
    pub(crate) fn death_event(&self) -> Result<SandboxEvent, SandboxError> {
        let Death { cause, at } = self.death()?;
        Ok(self.event_at(at, EventKind::Die(cause)))
    }

    /// Returns what its record and its note say of one that is stopped.
    fn life(&self) -> Result<Vec<SandboxEvent>, SandboxError> {
        Ok(vec![self.birth_event(), self.death_event()?])
    }

    /// Records that a child which its agent has started has ended, and what there is to say of it.
    pub fn child_ended(&self, child: &str, exit_code: Option<u8>, warnings: Vec<String>) -> Recorded {
        self.record_event(EventKind::Child { child: child.to_owned(), exit_code, warnings })
    }

    /// Returns the journal that says what happens to it.
    pub(crate) fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// Adds to the journal what was done to it.
    pub(crate) fn record_event(&self, kind: EventKind) -> Recorded {
        self.journal.add(&[self.event(kind)])
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
