//! A sandbox that is being made: it takes a name, has files, and leaves nothing where it does not come to run.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixListener;

use super::{
    ALIVE, Birth, CONTROL, FirstCommand, LOGS, NAMES, NOTE, PATIENCE, PAUSE, Phase, SandboxError,
    SandboxRecord, Sandboxes, StartedRecord, StayingSandbox, is_held, note, write,
};
use confine::protocol::Attachment;

use crate::host::clock::now_ms;
use crate::host::deadline::Deadline;
use crate::state::directory::{Lock, StateDir, StateError};
use crate::state::event::BirthOrigin;
use crate::state::journal::Recorded;
use crate::state::record::RunId;

/// A sandbox that is being made. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct NewSandbox<'a> {
    sandboxes: &'a Sandboxes,
    directory: StateDir,
    record: SandboxRecord,
    /// Whose place it takes.
    replaced: Option<StayingSandbox>,
    is_made: bool,
    /// `None` once PID 1 has it: who connects then sees when that is gone.
    pub(crate) listener: Option<UnixListener>,
    pub(crate) alive: Lock,
    pub(crate) note: File,
    pub(crate) logs: Vec<File>,
}

impl Sandboxes {
    /// Takes a name, and makes the files of a sandbox. One of that name that has ended, and whose place it takes, is removed when the new
    /// one runs.
    pub(crate) fn create(
        &self,
        record: SandboxRecord,
        replaces: Option<&RunId>,
    ) -> Result<NewSandbox<'_>, SandboxError> {
        let until = Deadline::after(PATIENCE);
        let (names, found) = loop {
            let names = self.0.lock(NAMES)?;
            let may_have = self.sweep_named(&names, Some(&record.name))?;
            let ids: Vec<RunId> = may_have.iter().map(|claim| claim.id.clone()).collect();
            match self.named(ids, &record.name)? {
                None => match may_have.iter().find(|claim| claim.lives_as(&record.name)) {
                    Some(claim) if self.0.existing_within(claim.id.as_str())?.is_some() => {
                        let id = claim.id.as_str().to_owned();
                        return Err(SandboxError::NameHeld { name: record.name, id });
                    }
                    _ => break (names, None),
                },
                Some(found) if found.phase == Phase::Ending && !until.is_over() => {
                    drop(names);
                    std::thread::sleep(PAUSE);
                }
                found => break (names, found),
            }
        };
        let is_replaced =
            |found: &StayingSandbox| found.phase.can_be_removed() && replaces == Some(&found.record.id);
        let (replaced, found) = match found {
            Some(found) if is_replaced(&found) => (Some(found), None),
            found => (None, found),
        };
        if let Some(found) = found {
            let attachment = found.record.stay.attachment;
            return Err(SandboxError::NameInUse { name: record.name, phase: found.phase, attachment });
        }
        let directory = self.0.within(record.id.as_str())?;
        let make = || -> Result<_, StateError> {
            // Locked before there is a record, so that nobody takes it for one that has ended.
            let alive = directory.write_held(ALIVE, record.name.as_bytes())?;
            if !is_held(&directory)? {
                return Err(StateError::File {
                    action: "lock",
                    path: directory.path().join(ALIVE),
                    source: io::Error::other("the file system has no locks"),
                });
            }
            let note = directory.create_new(NOTE)?;
            write(&directory, &record)?;
            let logs = match record.stay.command {
                FirstCommand::Run if record.stay.attachment == Attachment::Detached => {
                    LOGS.iter().map(|name| directory.create_new(name)).collect::<Result<_, _>>()?
                }
                FirstCommand::Run | FirstCommand::None => Vec::new(),
            };
            Ok((alive, logs, note, directory.listen(CONTROL)?))
        };
        let made = make();
        drop(names);
        match made {
            Ok((alive, logs, note, listener)) => Ok(NewSandbox {
                sandboxes: self,
                directory,
                record,
                replaced,
                is_made: false,
                listener: Some(listener),
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
}

impl NewSandbox<'_> {
    /// Notes that it runs, and leaves it. From then on the journal says of the one whose place it has taken what its record did.
    pub(crate) fn started(
        mut self,
        started: StartedRecord,
    ) -> Result<(SandboxRecord, Recorded), SandboxError> {
        let origin = if self.replaced.is_some() { BirthOrigin::Started } else { BirthOrigin::Created };
        self.record.started = Some(started);
        self.record.birth = Some(Birth { origin, at: now_ms() });
        write(&self.directory, &self.record)?;
        let mut recorded = Recorded::Yes;
        if let Some(replaced) = self.replaced.take() {
            recorded = self.sandboxes.journal().add(&replaced.life()?);
            self.sandboxes.remove_files(&replaced.record.id, &replaced.directory)?;
        }
        self.is_made = true;
        Ok((self.record.clone(), recorded))
    }
}

impl NewSandbox<'_> {
    /// Notes that it begins now: its command may have ended before its client knows that it runs.
    pub(crate) fn begin_attached(&mut self) {
        self.record.birth = Some(Birth { origin: BirthOrigin::Created, at: now_ms() });
    }

    /// Notes that it runs with the client that has made it. Others find it from then on.
    pub(crate) fn note_attached(&mut self, started: StartedRecord) -> Result<(), SandboxError> {
        self.record.started = Some(started);
        Ok(write(&self.directory, &self.record)?)
    }

    /// Removes it, which has ended with its command. From then on the journal says what its record did.
    pub(crate) fn remove(mut self) -> Result<Recorded, SandboxError> {
        let Some(directory) = self.sandboxes.0.existing_within(self.record.id.as_str())? else {
            return Ok(Recorded::Yes);
        };
        let Some(noted) = note(&directory)? else {
            // It has never run, of which nobody is notified.
            return Ok(Recorded::Yes);
        };
        self.is_made = true;
        let ended = StayingSandbox {
            record: self.record.clone(),
            phase: Phase::Ending,
            noted: Some(noted),
            directory,
            journal: self.sandboxes.journal(),
        };
        self.sandboxes.remove_ended(&ended)
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
