//! Removing sandboxes: those that have ended, and what clients have left that were killed.

use confine::protocol::Attachment;
use serde::Deserialize;
use tracing::warn;

use super::claim::Claim;
use super::{
    NAMES, PATIENCE, PAUSE, Phase, RECORD, SandboxError, SandboxRecord, Sandboxes, StayPlan, StayingSandbox,
    has_noted, note,
};
use crate::host::deadline::Deadline;
use crate::state::directory::{Lock, StateDir, StateError};
use crate::state::event::EventKind;
use crate::state::journal::Recorded;
use crate::state::record::RunId;

impl Sandboxes {
    /// Removes what clients left half made, or half removed, that were killed.
    pub fn sweep(&self) -> Result<(), SandboxError> {
        self.sweep_named(&self.0.lock(NAMES)?, None).map(drop)
    }

    /// Does the same while nobody else makes anything, and lists what may have a name. What cannot be looked at keeps nobody from another name.
    pub(super) fn sweep_named(&self, _names: &Lock, name: Option<&str>) -> Result<Vec<Claim>, SandboxError> {
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
    pub(super) fn remove_ended(&self, sandbox: &StayingSandbox) -> Result<Recorded, SandboxError> {
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

    pub(super) fn remove_files(&self, id: &RunId, directory: &StateDir) -> Result<(), StateError> {
        // The record first: without it there is no sandbox. Then whatever there is: a client that was killed may have left a draft.
        directory.remove(RECORD)?;
        directory.names()?.iter().try_for_each(|name| directory.remove(name))?;
        self.0.remove_directory(id.as_str())
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::{ALIVE, CONTROL, NOTE, SANDBOXES};
    use super::*;
    use crate::host::identity::Identity;

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
