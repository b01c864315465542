//! Finding sandboxes, by their names and all of them. What is found is true: whether one lives is read from its lock.

use std::io;
use std::os::unix::fs::FileExt;

use confine::protocol::{Attachment, StayNote};
use policy::rules::sandbox_name::is_sandbox_name;

use super::claim::Claim;
use super::{
    ALIVE, NOTE, Phase, RECORD, SandboxError, SandboxRecord, Sandboxes, StayingSandbox, has_noted, is_held,
    note,
};
use crate::host::clock::now_ms;
use crate::state::directory::{StateDir, StateError};
use crate::state::record::RunId;

impl Sandboxes {
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
    pub(super) fn claim(&self, id: &RunId) -> Result<Option<Claim>, StateError> {
        let Some(directory) = self.0.existing_within(id.as_str())? else { return Ok(None) };
        let alive = directory.open_held(ALIVE)?;
        Ok(Some(Claim { id: id.clone(), directory, alive }))
    }

    /// Returns which of these has a name or an id. There are two while one that has ended is started again, and the new one has the name.
    pub(super) fn named(
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
        Ok(all.into_iter().min_by_key(|found| (found.phase == Phase::Stopped, found.record.age())))
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
        all.sort_by_key(|found| found.as_ref().map_or((u64::MAX, u64::MAX), |found| found.record.age()));
        Ok(all)
    }

    pub(super) fn read(&self, id: &RunId) -> Result<Option<StayingSandbox>, SandboxError> {
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
}
