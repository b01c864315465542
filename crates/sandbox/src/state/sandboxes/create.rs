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
    /// Takes a name, and makes the files of a sandbox, where fewer than `most` persistent ones are there. One of that name that has ended, and
    /// whose place it takes, is removed when the new one runs.
    pub(crate) fn create(
        &self,
        record: SandboxRecord,
        replaces: Option<&RunId>,
        most: Option<usize>,
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
        if let Some(most) = most {
            self.check_room(&names, most)?;
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

impl Sandboxes {
    /// Checks that fewer than `most` sandboxes are there that outlive whoever has made them, while nobody else makes one. One whose record cannot
    /// be read may be such a sandbox.
    fn check_room(&self, _names: &Lock, most: usize) -> Result<(), SandboxError> {
        let counts = |found: Result<Option<StayingSandbox>, SandboxError>| match found {
            Ok(Some(found)) => found.record.stay.attachment == Attachment::Detached,
            Ok(None) => false,
            Err(_) => true,
        };
        let found = self.ids()?.filter(|id| counts(self.read(id))).count();
        if found < most { Ok(()) } else { Err(SandboxError::TooMany { found, most }) }
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;

    use policy::plan::FileId;

    use super::super::{RECORD, SANDBOXES, SandboxVersion, StayPlan};
    use super::*;
    use crate::doctor::throw_away_plan;
    use crate::host::identity::Identity;

    fn state() -> tempfile::TempDir {
        let state = tempfile::tempdir().unwrap();
        fs::set_permissions(state.path(), Permissions::from_mode(0o700)).unwrap();
        state
    }

    fn record(name: &str, attachment: Attachment) -> SandboxRecord {
        let plan = throw_away_plan((Path::new("/"), FileId { device: 1, inode: 1 }));
        SandboxRecord {
            version: SandboxVersion::default(),
            id: RunId::generate().unwrap(),
            name: name.to_owned(),
            owner: Identity::own().uid,
            created: 1,
            plan,
            stay: StayPlan {
                command: FirstCommand::None,
                attachment,
                idle_timeout: None,
                max_duration: None,
                log_bytes: 0,
            },
            image_env: Vec::new(),
            agent: Identity::own().into(),
            started: None,
            birth: None,
        }
    }

    #[test]
    fn what_outlives_its_client_counts_and_what_cannot_be_read_does_too() {
        let state = state();
        let sandboxes = Sandboxes::open(state.path(), Identity::own()).unwrap();
        let create = |name: &str, attachment, most| sandboxes.create(record(name, attachment), None, most);
        let _attached = create("attached", Attachment::Attached, Some(1)).unwrap();
        let _one = create("one", Attachment::Detached, Some(1)).unwrap();
        let refused = create("two", Attachment::Detached, Some(1)).unwrap_err();
        assert!(matches!(refused, SandboxError::TooMany { found: 1, most: 1 }), "{refused}");
        create("any-number", Attachment::Detached, None).unwrap();
        drop(create("two", Attachment::Detached, Some(2)).unwrap());
        // One that has ended, whose record is damaged or of another version.
        let unreadable = state.path().join(SANDBOXES).join("00000000000000aa");
        fs::create_dir(&unreadable).unwrap();
        for (name, content) in [(ALIVE, ""), (RECORD, "{}"), (NOTE, "\0")] {
            fs::write(unreadable.join(name), content).unwrap();
        }
        let refused = create("two", Attachment::Detached, Some(2)).unwrap_err();
        assert!(matches!(refused, SandboxError::TooMany { found: 2, most: 2 }), "{refused}");
    }

    #[test]
    fn clients_that_count_at_once_make_no_more_than_may_be_there() {
        const CLIENTS: usize = 12;
        let state = state();
        let (begin, end) = (Barrier::new(CLIENTS), Barrier::new(CLIENTS));
        let client = |number: usize, most| {
            // Each has descriptors of its own, as another process has.
            let sandboxes = Sandboxes::open(state.path(), Identity::own()).unwrap();
            begin.wait();
            let made =
                sandboxes.create(record(&format!("number-{number}"), Attachment::Detached), None, most);
            end.wait();
            made.is_ok()
        };
        let made = |most| {
            thread::scope(|scope| {
                let client = &client;
                let all: Vec<_> =
                    (0..CLIENTS).map(|number| scope.spawn(move || client(number, most))).collect();
                all.into_iter().map(|one| one.join().unwrap()).filter(|is_made| *is_made).count()
            })
        };
        assert_eq!(made(Some(5)), 5);
        assert_eq!(made(None), CLIENTS, "the control: without a bound");
    }
}
