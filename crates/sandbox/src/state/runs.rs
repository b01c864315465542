//! Records of runs on disk: kept by each client, and swept by the next command.
//!
//! The client holds a lock on its record for as long as it lives. The kernel lets go of it with the process, and shows it
//! alike in every namespace of processes and time.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::plan::{FileId, Protect};
use rustix::fs::{CWD, FlockOperation};

use crate::host::acting::ActingAs;
use crate::host::follow;
use crate::host::identity::Identity;
use crate::state::client::start_time;
use crate::state::directory::{HeldFile, Holder, Lock, StateDir, StateError, draft_writer};
use crate::state::record::form::{self, Head, Rules};
use crate::state::record::unread::{self, UnreadRecord, hosts};
use crate::state::record::{Record, RecordError, Remembered, RunId};
use crate::state::runs::copies::{CopyRecord, KeptCopy};

pub(crate) mod copies;

/// Where records are kept.
#[derive(Debug)]
pub struct Runs(StateDir);

/// A record that is kept until the run has ended in order.
#[derive(Debug)]
#[must_use = "the record is removed when this is dropped"]
pub struct Kept<'a> {
    runs: &'a Runs,
    file: Option<String>,
    stays: Cell<bool>,
    lock: Option<Lock>,
}

/// Runs whose clients live. There may be hundreds with the same rules, which are read once.
#[derive(Debug, Default)]
pub(crate) struct LivingRuns {
    pub(crate) runs: Vec<LivingRun>,
    /// Records that cannot be read, of which somebody holds each.
    pub(crate) unread: Vec<UnreadRecord>,
    /// Rules, by the line that has them.
    rules: HashMap<Vec<u8>, Arc<Protect>>,
}

/// What a run beside another one is to that.
#[derive(Debug)]
pub(crate) struct LivingRun {
    id: RunId,
    pub(crate) boundaries: Vec<Remembered>,
    pub(crate) protect: Arc<Protect>,
}

impl LivingRuns {
    /// Adds the run of a record that somebody holds, if it is this owner's. One that cannot be read is remembered as that.
    fn add(&mut self, file: &HeldFile, owner: u32) {
        let text = match file.read() {
            // Its holder has just removed it.
            Ok(None) => return,
            Ok(Some(text)) => text,
            Err(error) => return self.add_unread(file, &[], error.to_string()),
        };
        let (head, rules) = form::lines(&text);
        let head = match serde_json::from_slice::<Head<'_>>(head) {
            Ok(head) => head,
            Err(error) => return self.add_unread(file, &text, error.to_string()),
        };
        let lives = match file.holder {
            Holder::Lives => true,
            Holder::Unknown => !head.client.is_dead(),
            Holder::Gone => false,
        };
        if !lives || head.owner != owner {
            return;
        }
        let protect = if let Some(known) = self.rules.get(rules) {
            Arc::clone(known)
        } else {
            // One of another version has nearly the same list.
            let protect = match serde_json::from_slice::<Rules<'_>>(rules) {
                Ok(read) => Arc::new(read.into_protect()),
                Err(error) => return self.add_unread(file, &text, error.to_string()),
            };
            Arc::clone(self.rules.entry(rules.to_vec()).or_insert(protect))
        };
        let (id, boundaries) = (head.id.into_owned(), head.boundaries.into_owned());
        self.runs.push(LivingRun { id, boundaries, protect });
    }

    fn add_unread(&mut self, file: &HeldFile, text: &[u8], reason: String) {
        let hosts = hosts(text).unwrap_or_default();
        self.unread.push(UnreadRecord { file: file.path().to_owned(), hosts, reason });
    }
}

/// What was found among the records.
#[derive(Debug, Default)]
pub struct Swept {
    /// The records whose clients are dead.
    pub dead: Vec<Record>,
    pub(crate) living: LivingRuns,
    pub(crate) unread: Vec<UnreadRecord>,
    /// The copies whose clients are dead.
    pub(crate) copies: Vec<CopyRecord>,
}

impl Kept<'_> {
    /// Keeps the record on disk, so that the next command finds it.
    pub fn leave(&self) {
        self.stays.set(true);
    }

    /// Returns what says that the run lives, if it has a record: whoever has a copy of it lets it live on.
    pub(crate) fn lock(&self) -> Option<BorrowedFd<'_>> {
        self.lock.as_ref().map(AsFd::as_fd)
    }
}

/// A process that clears up after a run.
pub(crate) struct Clearing<'a> {
    runs: &'a Runs,
    /// The file that says so, locked as long as the process runs, and its name.
    noted: Option<(String, File)>,
}

impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        if let Some((name, _)) = self.noted.as_ref().filter(|_| !std::thread::panicking()) {
            let _ = self.runs.0.remove(name);
        }
    }
}

impl Runs {
    /// Returns whose records they are.
    pub(crate) fn owner(&self) -> Identity {
        self.0.owner()
    }

    /// Returns where the record of a run lies.
    pub(crate) fn file_of(&self, id: &RunId) -> PathBuf {
        self.0.path().join(file_name(id))
    }

    /// Opens the directory of records.
    pub fn open(state: &StateDir) -> Result<Self, RecordError> {
        Ok(Self(state.within(RUNS)?))
    }

    /// Keeps a record until the guard is dropped. Writes nothing where there is nothing to remember.
    pub fn keep(&self, record: &Record) -> Result<Kept<'_>, RecordError> {
        if record.boundaries.is_empty() && record.cgroups.is_empty() && record.placed.is_none() {
            return Ok(Kept { runs: self, file: None, stays: Cell::new(false), lock: None });
        }
        let file = file_name(&record.id);
        let text = record.to_bytes().map_err(|error| StateError::File {
            action: "write",
            path: PathBuf::from(&file),
            source: error.into(),
        })?;
        let lock = self.0.write_held(&file, &text)?;
        Ok(Kept { runs: self, file: Some(file), stays: Cell::new(false), lock: Some(lock) })
    }

    /// Lists the records whose clients are dead, and only the owner's of this directory.
    ///
    /// Whoever has tidied up after one calls [`Runs::forget`]. What a client left half written is removed here. A record
    /// that cannot be read, because it was torn or has another form, is set aside, unless its client lives: it guards
    /// something, and nobody knows what. Whatever else lies in the directory is not ours.
    pub fn sweep(&self) -> Result<Swept, RecordError> {
        let names = self.0.names()?;
        // Before others are set aside: names come in any order.
        let unread = if names.iter().any(|name| name == UNREAD) { self.unread() } else { Vec::new() };
        let mut swept = Swept { unread, ..Swept::default() };
        for name in names {
            if let Some(writer) = draft_writer(&name) {
                if start_time(writer).is_ok_and(|found| found.is_none()) {
                    // One that stays does no harm.
                    let _ = self.0.remove(&name);
                }
                continue;
            }
            if copies::is_copy(&name) {
                swept.copies.extend(copies::dead(&self.0, &name));
                continue;
            }
            if !is_record(&name) {
                continue;
            }
            let file = match self.0.open_held(&name) {
                Ok(None) => continue,
                Ok(Some(file)) => file,
                Err(error) => {
                    swept.unread.push(self.set_unread_aside(&name, &[], error.to_string()));
                    continue;
                }
            };
            if file.holder == Holder::Lives {
                swept.living.add(&file, self.0.owner().uid);
                continue;
            }
            let text = match file.read() {
                // Its holder has just removed it.
                Ok(None) => continue,
                Ok(Some(text)) => text,
                Err(error) => {
                    swept.unread.push(self.set_unread_aside(&name, &[], error.to_string()));
                    continue;
                }
            };
            match Record::from_bytes(&text) {
                Ok(record) if record.owner != self.0.owner().uid => {}
                Ok(record) if file.holder == Holder::Unknown && !record.client.is_dead() => {
                    swept.living.add(&file, self.0.owner().uid);
                }
                Ok(record) => swept.dead.push(record),
                Err(error) if unread::client(&text).is_some_and(|client| !client.is_dead()) => {
                    swept.living.add_unread(&file, &text, error.to_string());
                }
                Err(error) => swept.unread.push(self.set_unread_aside(&name, &text, error.to_string())),
            }
        }
        Ok(swept)
    }

    /// Adds the runs whose clients live to those that are known already.
    pub(crate) fn add_living(&self, living: &mut LivingRuns) -> Result<(), RecordError> {
        let known: HashSet<String> = living.runs.iter().map(|run| file_name(&run.id)).collect();
        let unread: HashSet<PathBuf> = living.unread.iter().map(|unread| unread.file.clone()).collect();
        let is_unread = |name: &String| unread.contains(&self.0.path().join(name));
        let is_new = |name: &String| is_record(name) && !known.contains(name) && !is_unread(name);
        for name in self.0.names()?.into_iter().filter(is_new) {
            // What cannot be opened is no record of a run that lives, or is gone by now.
            let Ok(Some(file)) = self.0.open_held(&name) else { continue };
            if file.holder != Holder::Gone {
                living.add(&file, self.0.owner().uid);
            }
        }
        Ok(())
    }

    /// Notes that this process begins to clear up after a run, until the guard is dropped. A record after which that has ended processes
    /// several times is set aside, like one that cannot be read: else every later command would end in the same way.
    ///
    /// Several commands may clear up at once. What one does that still runs counts for nothing.
    pub(crate) fn begin_clearing(&self, id: &RunId) -> Result<Clearing<'_>, UnreadRecord> {
        let attempts = attempts_name(id);
        let nothing = Clearing { runs: self, noted: None };
        // Where there is no room for that, it is cleared up all the same.
        let Ok(mut file) = self.0.open_or_make_to_change(&attempts) else { return Ok(nothing) };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(nothing);
        }
        let mut made = Vec::new();
        if file.read_to_end(&mut made).is_ok_and(|_| made.len() >= MAX_ATTEMPTS) {
            // One that stays does no harm.
            let _ = self.0.remove(&attempts);
            let reason = "clearing up after it has ended the process several times";
            return Err(self.set_aside(id, reason.into()));
        }
        let _ = file.write_all(b".");
        Ok(Clearing { runs: self, noted: Some((attempts, file)) })
    }

    /// Moves a record that cannot be used any more to where it is not taken for one.
    pub(crate) fn set_aside(&self, id: &RunId, reason: String) -> UnreadRecord {
        let text = self.0.read(&file_name(id)).ok().flatten().unwrap_or_default();
        self.set_unread_aside(&file_name(id), &text, reason)
    }

    /// Moves a record that cannot be read to where it is not taken for one.
    fn set_unread_aside(&self, name: &str, text: &[u8], reason: String) -> UnreadRecord {
        let (file, reason) = match self.0.set_aside(name, UNREAD) {
            Ok(file) => (file, reason),
            Err(error) => (self.0.path().join(name), format!("{reason}; {error}")),
        };
        UnreadRecord { file, hosts: hosts(text).unwrap_or_default(), reason }
    }

    /// Lists what was set aside and is still there.
    fn unread(&self) -> Vec<UnreadRecord> {
        let Ok(aside) = self.0.within(UNREAD) else { return Vec::new() };
        let unread = |name: String| {
            let text = aside.read(&name).ok().flatten().unwrap_or_default();
            let reason = "it could not be read when it was found".into();
            UnreadRecord { file: aside.path().join(&name), hosts: hosts(&text).unwrap_or_default(), reason }
        };
        aside.names().unwrap_or_default().into_iter().map(unread).collect()
    }

    /// Forgets that a boundary of a run was not searched whole: a later run has searched it, or says so in its own record.
    pub(crate) fn settle(&self, id: &RunId, root: FileId) -> Result<(), RecordError> {
        let Some(text) = self.0.read(&file_name(id))? else { return Ok(()) };
        let Ok(mut record) = Record::from_bytes(&text) else { return Ok(()) };
        for one in record.boundaries.iter_mut().filter(|one| one.baseline.root() == root) {
            one.unsearched = false;
        }
        let is_left =
            |one: &Remembered| one.unsearched || one.stuck.as_ref().is_none_or(|stuck| !stuck.is_empty());
        record.boundaries.retain(is_left);
        if record.boundaries.is_empty() && record.placed.is_none() {
            return self.forget(id);
        }
        self.keep(&record)?.leave();
        Ok(())
    }

    /// Keeps the record of a copy until the guard is dropped.
    pub(crate) fn keep_copy(&self, record: CopyRecord) -> Result<KeptCopy<'_>, RecordError> {
        Ok(copies::keep(&self.0, record)?)
    }

    /// Removes the record of a copy of which nothing is left.
    pub(crate) fn forget_copy(&self, record: &CopyRecord) -> Result<(), RecordError> {
        Ok(copies::forget(&self.0, record)?)
    }

    /// Removes the record of a run after which everything was tidied up.
    pub fn forget(&self, id: &RunId) -> Result<(), RecordError> {
        Ok(self.0.remove(&file_name(id))?)
    }
}

/// Lists the writable boundaries of every run that has a record, in the directory of a user's state. If a record that cannot be read is that of a
/// run which may live, that may be any directory. Other ones name none: the next run sets them aside, and says so. If there is no way to
/// the records, the run that cannot keep its own there says so.
pub(crate) fn shared(state: &Path, owner: Identity) -> Vec<PathBuf> {
    // Looking makes nothing.
    let is_there = || -> io::Result<bool> {
        let _acting = ActingAs::user(owner)?;
        Ok(follow::open(CWD, &state.join(RUNS)).is_ok())
    };
    if !is_there().unwrap_or(false) {
        return Vec::new();
    }
    let read = || -> Result<Vec<PathBuf>, StateError> {
        let runs = StateDir::open(state, owner)?.within(RUNS)?;
        let records = runs.names()?.into_iter().filter(|name| is_record(name));
        // One that is gone by now has ended.
        let opened = records.filter_map(|name| runs.open_held(&name).ok().flatten());
        Ok(opened.flat_map(|file| shared_by(&file)).collect())
    };
    read().unwrap_or_default()
}

/// Lists the writable boundaries of a run by its record.
fn shared_by(file: &HeldFile) -> Vec<PathBuf> {
    let named = match file.read() {
        Ok(None) => return Vec::new(),
        Ok(Some(text)) => hosts(&text),
        Err(_) => None,
    };
    match file.holder {
        Holder::Gone => named.unwrap_or_default(),
        Holder::Lives | Holder::Unknown => named.unwrap_or_else(|| vec![PathBuf::from("/")]),
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| !self.stays.get()) {
            // A record that stays is found by the next command, which tries again.
            let _ = self.runs.0.remove(file);
        }
    }
}

/// The directory of records in that of the state.
const RUNS: &str = "runs";

/// How the name of a record ends.
const SUFFIX: &str = ".json";

/// How often the process may end while it clears up after a run.
const MAX_ATTEMPTS: usize = 3;

/// Where records are put that cannot be read.
const UNREAD: &str = "unread";

fn is_record(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|id| RunId::try_from(id.to_owned()).is_ok())
}

/// Returns the name of the file that has a byte for each time that clearing up after a run has begun.
fn attempts_name(id: &RunId) -> String {
    format!("{}.attempts", id.as_str())
}

fn file_name(id: &RunId) -> String {
    format!("{}{SUFFIX}", id.as_str())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::state::client::Client;
    use crate::state::client::tests::{dead_client, this};
    use crate::state::record::RecordVersion;

    fn runs(top: &tempfile::TempDir) -> Runs {
        let state = StateDir::open(&top.path().join("state"), Identity::own()).unwrap();
        Runs::open(&state).unwrap()
    }

    fn record(client: Client) -> Record {
        Record {
            version: RecordVersion::default(),
            protect: Protect {
                paths: vec![],
                of_git: vec![],
                read_only: vec![],
                allow: vec![],
                unread: vec![],
                depth: 3,
                on_replaced: policy::plan::OnReplaced::End,
            },
            id: RunId::generate().unwrap(),
            owner: rustix::process::getuid().as_raw(),
            client,
            boundaries: vec![],
            cgroups: vec!["/sys/fs/cgroup/sandboxctl-x".into()],
            placed: None,
        }
    }

    /// Returns the first line of a record, to be changed.
    fn head(record: &Record) -> serde_json::Value {
        serde_json::from_slice(form::lines(&record.to_bytes().unwrap()).0).unwrap()
    }

    /// Leaves a record behind, as a client does that is killed.
    fn left(runs: &Runs, record: &Record) {
        runs.keep(record).unwrap().leave();
    }

    #[test]
    fn a_record_of_a_living_client_is_left_alone_and_goes_with_its_guard() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let kept = runs.keep(&record(this())).unwrap();
        assert_eq!(runs.sweep().unwrap().dead, []);
        assert_eq!(runs.0.names().unwrap().len(), 1);
        drop(kept);
        assert_eq!(runs.0.names().unwrap().len(), 0);
    }

    #[test]
    fn who_holds_a_record_lives_whatever_else_it_says() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let elsewhere = Client { time_namespace: 1, ..dead_client() };
        for client in [elsewhere, dead_client(), Client { start_time: this().start_time - 1, ..this() }] {
            let kept = runs.keep(&record(client)).unwrap();
            assert_eq!(runs.sweep().unwrap().dead, [], "{client}");
            kept.leave();
            drop(kept);
            assert_eq!(runs.sweep().unwrap().dead.len(), 1, "{client}");
            runs.forget(&runs.sweep().unwrap().dead[0].id).unwrap();
        }
    }

    #[test]
    fn a_record_of_a_dead_client_is_found_until_it_is_forgotten() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let record = record(dead_client());
        left(&runs, &record);
        assert_eq!(runs.sweep().unwrap().dead, std::slice::from_ref(&record));
        runs.forget(&record.id).unwrap();
        assert_eq!(runs.sweep().unwrap().dead, []);
    }

    #[test]
    fn somebody_elses_record_is_not_swept() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let mut other = record(dead_client());
        other.owner += 1;
        left(&runs, &other);
        assert_eq!(runs.sweep().unwrap().dead, []);
    }

    #[test]
    fn a_record_that_cannot_be_read_is_set_aside_and_found_until_it_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let directory = top.path().join("state/runs");
        let name = "0123456789abcdef.json";
        let mut other = head(&record(dead_client()));
        other["version"] = 999.into();
        other["boundaries"] = serde_json::json!([{ "host": "/some/where" }]);
        let torn = "{\"id\"".to_owned();
        for (text, hosts) in [(other.to_string(), vec![PathBuf::from("/some/where")]), (torn, vec![])] {
            std::fs::write(directory.join(name), text).unwrap();
            for _ in 0..2 {
                let swept = runs.sweep().unwrap();
                assert_eq!(swept.dead, []);
                let [unread] = &swept.unread[..] else { panic!("{swept:?}") };
                assert_eq!(unread.file, directory.join(UNREAD).join(name));
                assert_eq!(unread.hosts, hosts);
            }
            std::fs::remove_file(directory.join(UNREAD).join(name)).unwrap();
            assert_eq!(runs.sweep().unwrap().unread, []);
        }
    }

    #[test]
    fn a_record_that_is_too_long_to_be_read_counts_for_every_directory_while_it_is_held() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let state = top.path().join("state");
        let record = record(this());
        let kept = runs.keep(&record).unwrap();
        let swept = runs.sweep().unwrap();
        assert_eq!((swept.living.runs.len(), swept.living.unread.len()), (1, 0), "the control");
        assert_eq!(shared(&state, Identity::own()), [] as [PathBuf; 0], "the control");
        // As an earlier version wrote it.
        File::options().append(true).open(runs.file_of(&record.id)).unwrap().set_len(65 << 20).unwrap();
        let mut living = runs.sweep().unwrap().living;
        runs.add_living(&mut living).unwrap();
        let [unread] = &living.unread[..] else { panic!("{living:?}") };
        assert!(unread.file == runs.file_of(&record.id) && unread.concerns(Path::new("/anywhere")));
        assert_eq!(shared(&state, Identity::own()), [Path::new("/")]);
        kept.leave();
        drop(kept);
        let swept = runs.sweep().unwrap();
        assert_eq!((swept.unread.len(), swept.living.unread.len()), (1, 0), "{swept:?}");
        assert_eq!(shared(&state, Identity::own()), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_record_that_would_be_too_long_is_not_written() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let long = Record { cgroups: vec!["x".repeat(65 << 20).into()], ..record(this()) };
        let error = runs.keep(&long).unwrap_err();
        assert!(matches!(error, RecordError::State(StateError::TooLong { .. })), "{error}");
        assert_eq!(runs.0.names().unwrap().len(), 0);
    }

    #[test]
    fn a_record_that_ends_every_command_is_set_aside() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let record = record(dead_client());
        left(&runs, &record);
        // Neither what comes to its end counts, nor what others do meanwhile.
        for _ in 0..=MAX_ATTEMPTS {
            let first = runs.begin_clearing(&record.id).ok();
            let meanwhile: Vec<_> =
                (0..=MAX_ATTEMPTS).map(|_| runs.begin_clearing(&record.id).ok()).collect();
            assert!(first.is_some() && meanwhile.iter().all(Option::is_some));
        }
        for _ in 0..MAX_ATTEMPTS {
            // The lock goes with the process, and the file stays.
            let mut clearing = runs.begin_clearing(&record.id).ok().unwrap();
            assert!(clearing.noted.take().is_some());
            assert_eq!(runs.sweep().unwrap().dead, std::slice::from_ref(&record));
        }
        let unread = runs.begin_clearing(&record.id).err().unwrap();
        assert_eq!(unread.hosts, record.boundaries.iter().map(|one| one.host.clone()).collect::<Vec<_>>());
        let swept = runs.sweep().unwrap();
        assert_eq!((swept.dead.len(), swept.unread.len()), (0, 1), "{swept:?}");
        assert_eq!(runs.0.names().unwrap(), [UNREAD]);
    }

    #[test]
    fn a_record_of_another_version_stays_while_its_client_lives() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let name = "0123456789abcdef.json";
        // As the first version wrote it: without a number of its own, a time namespace or a lock.
        let mut first = head(&record(this()));
        first.as_object_mut().unwrap().remove("version");
        first["client"].as_object_mut().unwrap().remove("time_namespace");
        std::fs::write(top.path().join("state/runs").join(name), first.to_string()).unwrap();
        let swept = runs.sweep().unwrap();
        assert!(swept.unread.is_empty() && swept.dead.is_empty(), "{swept:?}");
        assert_eq!(swept.living.unread.len(), 1, "{swept:?}");
        assert_eq!(runs.0.names().unwrap(), [name]);
    }

    #[test]
    fn odd_entries_keep_nobody_from_anything() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let directory = top.path().join("state/runs");
        std::fs::create_dir(directory.join("0123456789abcdef.json")).unwrap();
        std::fs::create_dir(directory.join("a directory")).unwrap();
        std::fs::write(directory.join("notes.json"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere", directory.join("0123456789abcdee.json")).unwrap();
        let record = record(dead_client());
        left(&runs, &record);
        let swept = runs.sweep().unwrap();
        assert_eq!(swept.dead, [record], "the control");
        assert_eq!(swept.unread.len(), 2, "{swept:?}");
    }

    #[test]
    fn unfinished_drafts_of_dead_writers_are_removed() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let directory = top.path().join("state/runs");
        std::fs::write(directory.join(format!(".x.json.{}.0.draft", dead_client().pid)), "").unwrap();
        let own_draft = format!(".x.json.{}.0.draft", std::process::id());
        std::fs::write(directory.join(&own_draft), "").unwrap();
        assert_eq!(runs.sweep().unwrap().dead, []);
        assert_eq!(runs.0.names().unwrap(), [own_draft]);
    }

    #[test]
    fn nothing_to_remember_writes_nothing() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let _kept = runs.keep(&Record { cgroups: vec![], ..record(this()) }).unwrap();
        assert_eq!(runs.0.names().unwrap().len(), 0);
    }

    /// Checks the order of magnitude; the budget is for a release build.
    #[test]
    fn keeping_and_removing_a_record_is_cheap() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let record = record(this());
        let best = (0..100)
            .map(|_| {
                let start = Instant::now();
                drop(runs.keep(&record).unwrap());
                start.elapsed()
            })
            .min()
            .unwrap();
        assert!(best < Duration::from_millis(2), "{best:?}");
    }
}
