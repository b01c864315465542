//! Sandboxes that stay: one directory for each, with what its clients need to know.
//!
//! Whether one lives is nobody's word: PID 1 holds a lock on a file of the directory for as long as it lives, whatever has become
//! of the process that made it, and the kernel lets go of the lock with it. So what is listed is true after a crash and after
//! a reboot, too.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use confine::log_ring::{self, Log};
use confine::protocol::{Attachment, SandboxEnd, StayNote};
use confine::report::Report;
use policy::plan::Plan;
use policy::rules::sandbox_name::is_sandbox_name;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::host::clock::now_ms;
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::state::directory::{HeldFile, Holder, Lock, StateDir, StateError};
use crate::state::event::{BirthOrigin, Death, DeathCause, EventKind, SandboxEvent};
use crate::state::journal::{Journal, Recorded};
use crate::state::pool::PoolStart;
use crate::state::record::RunId;
use crate::state::version::Version;

pub use self::error::{BE_UNPAUSED, SandboxError};
pub use self::phase::Phase;

pub(crate) mod create;
mod error;
mod phase;

/// The directory of sandboxes that stay, in that of the state.
const SANDBOXES: &str = "sandboxes";

/// What is locked while names are given away.
const NAMES: &str = ".names";

/// The files of a sandbox.
const RECORD: &str = "record.json";

/// What PID 1 holds. It contains the name, so that whoever looks for one reads no more of hundreds of others.
const ALIVE: &str = "alive";

/// More than the longest name.
const NAME: usize = 64;

const CONTROL: &str = "control";
pub(crate) const NOTE: &str = "note";

/// How long the client of a command that has ended may take to clear up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two looks at that.
const PAUSE: Duration = Duration::from_millis(10);

/// More than the longest note.
const NOTE_LENGTH: usize = 64;

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
    /// The variables of its image, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) image_env: Vec<String>,
    /// The user and the group on the host that its commands are.
    pub(crate) agent: Identity,
    /// What is known once it runs.
    pub started: Option<StartedRecord>,
    /// How it has come to be, once it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
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
    /// How it has started, where its plan has a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolStart>,
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

    /// Lists the ids of everything that has a directory: what is being made, too, and what was left half made.
    pub(crate) fn ids(&self) -> Result<impl Iterator<Item = RunId> + use<>, StateError> {
        Ok(self.0.names()?.into_iter().filter_map(|name| RunId::try_from(name).ok()))
    }

    /// Finds a sandbox by its name, or by its id.
    pub fn find(&self, name: &str) -> Result<StayingSandbox, SandboxError> {
        self.lookup(name)?.ok_or_else(|| SandboxError::NotFound(name.to_owned()))
    }

    /// Finds a sandbox by its name, or by its id; `None` where there is none.
    pub fn lookup(&self, name: &str) -> Result<Option<StayingSandbox>, SandboxError> {
        loop {
            let claims = self.ids()?.filter_map(|id| self.claim(&id).ok().flatten());
            let may_have: Vec<_> = claims.filter(|claim| claim.may_be(name)).map(|claim| claim.id).collect();
            let found = self.named(may_have.iter().cloned(), name)?;
            // One that was started again was removed, and the one in its place may be younger than the list.
            let is_gone = |id: &RunId| Ok(self.0.existing_within(id.as_str())?.is_none());
            if found.is_some()
                || !may_have.iter().map(is_gone).collect::<Result<Vec<_>, StateError>>()?.contains(&true)
            {
                return Ok(found);
            }
        }
    }

    /// Looks at what says which sandbox a directory is of; `None` where it is gone.
    fn claim(&self, id: &RunId) -> Result<Option<Claim>, StateError> {
        let Some(directory) = self.0.existing_within(id.as_str())? else { return Ok(None) };
        let alive = directory.open_held(ALIVE)?;
        Ok(Some(Claim { id: id.clone(), directory, alive }))
    }

    /// Returns which of these has a name or an id. There are two while one that has ended is started again, and the new one has the name.
    fn named(
        &self,
        ids: impl IntoIterator<Item = RunId>,
        name: &str,
    ) -> Result<Option<StayingSandbox>, SandboxError> {
        let mut all: Vec<StayingSandbox> = Vec::new();
        for id in ids {
            match self.read(&id) {
                Ok(Some(found)) if found.record.name == name || found.record.id.as_str() == name => {
                    all.push(found);
                }
                Err(SandboxError::Unreadable { id, reason }) if id == name => {
                    return Err(SandboxError::Unreadable { id, reason });
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(all.into_iter().min_by_key(|found| (found.phase == Phase::Stopped, found.record.created)))
    }

    /// Lists every sandbox, the oldest first; what cannot be read is an error of its own. What a client left half made is none.
    pub fn list(&self) -> Result<Vec<Result<StayingSandbox, SandboxError>>, SandboxError> {
        let mut all = Vec::new();
        for id in self.ids()? {
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
        // And so is its note: the record of what stays is whole.
        let mut noted = note(&directory)?;
        let Some(text) = directory.read(RECORD)? else { return Ok(None) };
        let unreadable = |reason: String| SandboxError::Unreadable { id: id.as_str().to_owned(), reason };
        let record: SandboxRecord =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if !is_sandbox_name(&record.name) {
            return Err(unreadable("it has a name that no sandbox has".to_owned()));
        }
        if !lives && record.stay.attachment == Attachment::Attached {
            // Its client removes it, or was killed with it.
            return Ok(None);
        }
        let phase = match (lives, noted) {
            // PID 1 is gone, and its client holds the name until it has removed the rest.
            (true, Some(StayNote::Ended(_))) if record.stay.attachment == Attachment::Attached => {
                Phase::Ending
            }
            // The lock is the truth, whatever somebody has noticed.
            (true, Some(StayNote::Stays | StayNote::Killed { .. })) => Phase::Running,
            (true, Some(StayNote::Paused)) => Phase::Paused,
            // What it has noted is of another version, but it runs, or has.
            (true, None) if has_noted(&directory)? => Phase::Running,
            (false, None) if has_noted(&directory)? => Phase::Stopped,
            (true, None) => Phase::Creating,
            (_, Some(StayNote::Ended(_))) | (false, Some(StayNote::Killed { .. })) => Phase::Stopped,
            (false, Some(StayNote::Stays | StayNote::Paused)) => {
                noted = Some(self.note_killed(&directory));
                Phase::Stopped
            }
            // Its client was killed before it ran.
            (false, None) => return Ok(None),
        };
        Ok(Some(StayingSandbox { record, phase, noted, directory, journal: self.journal() }))
    }

    /// Notes that the PID 1 of the sandbox of this directory was found killed, and returns what is noted then: all who notice say the same.
    /// Where it was removed meanwhile, nothing is made.
    fn note_killed(&self, directory: &StateDir) -> StayNote {
        let killed = StayNote::Killed { noticed: now_ms() };
        let write = || -> Result<StayNote, StateError> {
            let _lock = self.journal().lock()?;
            if let Some(noticed @ StayNote::Killed { .. }) = note(directory)? {
                return Ok(noticed);
            }
            if let Some(file) = directory.open_existing_to_write(NOTE)? {
                let bytes = postcard::to_allocvec(&killed).map_err(io::Error::other);
                let written = bytes.and_then(|bytes| file.write_all_at(&bytes, 0));
                written.map_err(|source| directory.failed("write", NOTE, source))?;
            }
            Ok(killed)
        };
        // Where that cannot be noted, whoever looks next does.
        write().unwrap_or(killed)
    }

    /// Returns whether the sandbox of this run lives.
    pub(crate) fn lives(&self, id: &RunId) -> Result<bool, SandboxError> {
        Ok(self.0.existing_within(id.as_str())?.map_or(Ok(false), |directory| is_held(&directory))?)
    }

    /// Removes what clients left half made, or half removed, that were killed.
    pub fn sweep(&self) -> Result<(), SandboxError> {
        self.sweep_named(&self.0.lock(NAMES)?, None).map(drop)
    }

    /// Does the same while nobody else makes anything, and lists what may have a name. What cannot be looked at keeps nobody from another name.
    fn sweep_named(&self, _names: &Lock, name: Option<&str>) -> Result<Vec<Claim>, SandboxError> {
        let mut may_have = Vec::new();
        for id in self.ids()? {
            let swept = self.claim(&id).and_then(|claim| match claim {
                // What is being made is held, but for what whoever has the names has not begun. Who removes one begins with its record.
                Some(claim) if !claim.is_held() && is_left(&claim.directory)? => {
                    self.remove_left(&claim)?;
                    Ok(None)
                }
                claim => Ok(claim.filter(|claim| name.is_some_and(|name| claim.may_be(name)))),
            });
            match swept {
                Ok(claim) => may_have.extend(claim),
                Err(error) => warn!("{error}"),
            }
        }
        Ok(may_have)
    }

    /// Removes what a client has left that was killed, and records what has happened to it.
    fn remove_left(&self, left: &Claim) -> Result<(), StateError> {
        let record = left.directory.read(RECORD)?;
        let record = record.and_then(|text| serde_json::from_slice::<SandboxRecord>(&text).ok());
        let noted = note(&left.directory)?;
        if let (Some(record), Some(_)) = (record, noted) {
            let Some(directory) = self.0.existing_within(left.id.as_str())? else { return Ok(()) };
            let left =
                StayingSandbox { record, phase: Phase::Stopped, noted, directory, journal: self.journal() };
            if let Ok(mut life) = left.life() {
                life.push(left.event(EventKind::Remove));
                if let Some(warning) = self.journal().add(&life).warning() {
                    warn!("{warning}");
                }
            }
        }
        self.remove_files(&left.id, &left.directory)
    }

    /// Removes a sandbox by its id whose record cannot be read.
    ///
    /// # Errors
    ///
    /// Somebody holds it, so that it lives, or it cannot be removed.
    pub fn remove_unreadable(&self, id: &str) -> Result<(), SandboxError> {
        let _names = self.0.lock(NAMES)?;
        let known = RunId::try_from(id.to_owned()).ok();
        let claim = known.map(|id| self.claim(&id)).transpose()?.flatten();
        let claim = claim.ok_or_else(|| SandboxError::NotFound(id.to_owned()))?;
        if claim.is_held() {
            return Err(SandboxError::UnreadableLives(claim.id.as_str().to_owned()));
        }
        Ok(self.remove_files(&claim.id, &claim.directory)?)
    }

    /// Removes a sandbox that has ended. From then on the journal says what its record did.
    ///
    /// # Errors
    ///
    /// It is there no more, or cannot be removed; or its client, with which it ends, is not done with it within ten seconds.
    pub fn remove(&self, sandbox: &StayingSandbox) -> Result<Recorded, SandboxError> {
        if sandbox.record.stay.attachment == Attachment::Attached {
            // Until then its egress proxy and its container may have the name.
            let until = Deadline::after(PATIENCE);
            while sandbox.lives()? {
                if until.is_over() {
                    let (name, phase) = (sandbox.name().to_owned(), Phase::Ending);
                    return Err(SandboxError::Phase { name, phase, action: "be removed" });
                }
                std::thread::sleep(PAUSE);
            }
            return match self.remove_ended(sandbox) {
                // Its client has done it.
                Err(SandboxError::NotFound(_)) => Ok(Recorded::Yes),
                removed => removed,
            };
        }
        self.remove_ended(sandbox)
    }

    /// Removes one that nobody holds any more but, if anybody, whoever removes it.
    fn remove_ended(&self, sandbox: &StayingSandbox) -> Result<Recorded, SandboxError> {
        let _names = self.0.lock(NAMES)?;
        if sandbox.directory.read(RECORD)?.is_none() {
            return Err(SandboxError::NotFound(sandbox.name().to_owned()));
        }
        // First: who is killed in between leaves a sandbox that can be removed again, and of which nothing is said twice.
        let mut life = sandbox.life()?;
        life.push(sandbox.event(EventKind::Remove));
        let recorded = self.journal().add(&life);
        self.remove_files(&sandbox.record.id, &sandbox.directory)?;
        Ok(recorded)
    }

    fn remove_files(&self, id: &RunId, directory: &StateDir) -> Result<(), StateError> {
        // The record first: without it there is no sandbox. Then whatever there is: a client that was killed may have left a draft.
        directory.remove(RECORD)?;
        directory.names()?.iter().try_for_each(|name| directory.remove(name))?;
        self.0.remove_directory(id.as_str())
    }
}

/// The directory of a sandbox, and the file that says its name and is held while it lives.
#[derive(Debug)]
struct Claim {
    id: RunId,
    directory: StateDir,
    alive: Option<HeldFile>,
}

impl Claim {
    fn is_held(&self) -> bool {
        self.alive.as_ref().is_some_and(|alive| alive.holder == Holder::Lives)
    }

    /// Returns the name that its file says. One without a name is of an earlier version of this program, and its record has it.
    fn name(&self) -> Option<Vec<u8>> {
        let name = self.alive.as_ref()?.read_start(NAME).ok().flatten()?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Returns whether the sandbox may have this name or id.
    fn may_be(&self, name: &str) -> bool {
        self.id.as_str() == name || self.name().is_none_or(|own| own == name.as_bytes())
    }

    /// Returns whether the sandbox lives and has this name, whatever its record says.
    fn lives_as(&self, name: &str) -> bool {
        self.is_held() && self.name().is_some_and(|own| own == name.as_bytes())
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

/// Returns whether a directory that nobody holds was left by a client that was killed: half made, half removed, or that of a sandbox which
/// has ended with it.
fn is_left(directory: &StateDir) -> Result<bool, StateError> {
    #[derive(Deserialize)]
    struct Stays {
        stay: StayPlan,
    }
    let has_run = has_noted(directory)?;
    let Some(record) = directory.read(RECORD)?.filter(|_| has_run) else { return Ok(true) };
    let stays = serde_json::from_slice::<Stays>(&record);
    Ok(stays.is_ok_and(|record| record.stay.attachment == Attachment::Attached))
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_left_half_made_or_half_removed_is_swept() {
        let state = tempfile::tempdir().unwrap();
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let sandboxes = Sandboxes::open(state.path(), Identity::own()).unwrap();
        let make = |id: &str, files: &[(&str, &[u8])]| {
            let directory = state.path().join(SANDBOXES).join(id);
            fs::create_dir(&directory).unwrap();
            for (name, content) in files {
                fs::write(directory.join(name), content).unwrap();
            }
            directory
        };
        let ended = make("00000000000000aa", &[(ALIVE, b""), (RECORD, b"{}"), (NOTE, b"\0")]);
        let half_made = make("00000000000000bb", &[(ALIVE, b""), (RECORD, b"{}"), (NOTE, b"")]);
        let half_removed = make("00000000000000cc", &[(ALIVE, b""), (NOTE, b"\0"), (CONTROL, b"")]);
        let being_made = make("00000000000000dd", &[(NOTE, b"")]);
        let directory = sandboxes.0.existing_within("00000000000000dd").unwrap().unwrap();
        let _alive = directory.write_held(ALIVE, b"").unwrap();
        sandboxes.sweep().unwrap();
        assert!(ended.exists(), "it has ended, and nobody has removed it");
        assert!(being_made.exists(), "it is held");
        assert!(!half_made.exists());
        assert!(!half_removed.exists());
    }
}
