//! The pool: sandboxes that are made ahead, one directory for each, which whoever takes one moves away.
//!
//! As for persistent sandboxes, one lives as long as its PID 1 holds a lock.

use std::cmp::Reverse;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use policy::plan::Provider;
use serde::{Deserialize, Serialize};

use crate::host::clock::now;
use crate::host::identity::Identity;
use crate::state::directory::{Lock, StateDir, StateError};
use crate::state::record::RunId;
use crate::state::version::Version;

/// The directory of the pool, in that of the state.
const POOL: &str = "pool";

/// The directory in it of those that were taken.
const TAKEN: &str = "taken";

/// What is locked while one is made or removed.
const MEMBERS: &str = ".members";

/// What is locked while somebody fills the pool.
const FILLING: &str = ".filling";

/// The latest starts, and what is locked while one is noted.
const STARTS: &str = "starts.json";
const STARTS_LOCK: &str = ".starts";

/// Why the pool could not be filled in the background, when that was tried last.
const FAILURE: &str = "failure";

/// How often the pool has been drained.
const DRAINS: &str = "drains";

/// How many starts are remembered.
const MAX_STARTS: usize = 1000;

/// The files of a warm sandbox.
const RECORD: &str = "record.json";
const ALIVE: &str = "alive";
const CONTROL: &str = "control";

/// The form of a record. It goes up whenever what one holds means something else.
pub type WarmVersion = Version<1>;

/// What sandboxes have in common that can be taken for each other: a digest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PoolKey(pub(crate) String);

/// What is known of a warm sandbox.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct WarmRecord {
    pub version: WarmVersion,
    pub id: RunId,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    pub provider: Provider,
    pub image: String,
    /// Who may take it: whose own has the same.
    pub(crate) key: PoolKey,
    /// What is mounted in it of shared directories, down to the files: a digest.
    pub(crate) mounts: String,
    /// The user and the group on the host that its commands are.
    pub(crate) agent: Identity,
    /// PID 1, as the process that made it saw it; 0 where it has no number that is known there.
    pub(crate) pid: i32,
}

/// Whether a sandbox was made ahead.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Temperature {
    /// It was, and was taken from the pool.
    Warm,
    /// It was made when it was asked for.
    Cold,
}

/// How a sandbox has started whose plan has a pool.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct PoolStart {
    pub start: Temperature,
    /// From the first look at the plan until PID 1 got what to run, in milliseconds.
    pub start_ms: f64,
}

/// The sandboxes that are made ahead for one user.
#[derive(Debug)]
pub struct Pool(StateDir);

/// A sandbox that is being made ahead. Dropped before it was added, it leaves nothing.
#[derive(Debug)]
pub(crate) struct NewWarm<'a> {
    pool: &'a Pool,
    id: RunId,
    directory: StateDir,
    is_added: bool,
    pub(crate) listener: UnixListener,
    pub(crate) alive: Lock,
}

/// A sandbox of the pool that is its taker's. Its files go with this; its PID 1 ends when nobody is connected.
#[derive(Debug)]
pub(crate) struct TakenWarm<'a> {
    pool: &'a Pool,
    pub(crate) record: WarmRecord,
    directory: StateDir,
}

impl Pool {
    /// Opens the pool.
    ///
    /// # Errors
    ///
    /// Its directory cannot be used.
    pub fn open(state: &Path, owner: Identity) -> Result<Self, StateError> {
        Self::within(&StateDir::open(state, owner)?)
    }

    /// Returns whether this process has a pool of this owner's: under sudo the state directory is of a user who might name any process in it as
    /// a PID 1.
    pub fn is_usable(owner: Identity) -> bool {
        !rustix::process::geteuid().is_root() || owner.uid == 0
    }

    pub(crate) fn within(state: &StateDir) -> Result<Self, StateError> {
        Ok(Self(state.within(POOL)?))
    }

    /// Waits until nobody else fills the pool. Others wait until the lock is dropped.
    pub(crate) fn begin_filling(&self) -> Result<Lock, StateError> {
        self.0.lock(FILLING)
    }

    /// Lists what waits to be taken, the oldest first. What cannot be read is nobody's to take.
    ///
    /// # Errors
    ///
    /// The directory cannot be listed.
    pub fn list(&self) -> Result<Vec<WarmRecord>, StateError> {
        let mut all = Vec::new();
        for id in ids(&self.0)? {
            if let Some((record, _)) = self.waiting(&id)? {
                all.push(record);
            }
        }
        all.sort_by_key(|record| record.created);
        Ok(all)
    }

    /// Makes the files of a sandbox that is about to be made.
    pub(crate) fn begin(&self, id: &RunId) -> Result<NewWarm<'_>, StateError> {
        let _members = self.0.lock(MEMBERS)?;
        let directory = self.0.within(id.as_str())?;
        let make = || Ok((directory.write_held(ALIVE, b"")?, directory.listen(CONTROL)?));
        match make() {
            Ok((alive, listener)) => {
                Ok(NewWarm { pool: self, id: id.clone(), directory, is_added: false, listener, alive })
            }
            Err(error) => {
                let _ = remove(&self.0, id, &directory);
                Err(error)
            }
        }
    }

    /// Takes one of these: whoever moves its directory away has it, and nobody else. Of several it is the youngest, which has the most time left.
    pub(crate) fn take(&self, key: &PoolKey) -> Result<Option<TakenWarm<'_>>, StateError> {
        let mut all = self.list()?;
        all.retain(|record| record.key == *key);
        all.sort_by_key(|record| Reverse(record.created));
        for record in all {
            if let Some(taken) = self.take_this(&record)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Takes this one; `None` where somebody else has, or it has ended.
    pub(crate) fn take_this(&self, record: &WarmRecord) -> Result<Option<TakenWarm<'_>>, StateError> {
        let Some((record, directory)) = self.waiting(&record.id)? else { return Ok(None) };
        Ok(self.move_away(record, directory))
    }

    /// Moves the directory of one that waited to those that were taken; `None` where somebody else has, whose files they are then.
    fn move_away(&self, record: WarmRecord, directory: StateDir) -> Option<TakenWarm<'_>> {
        self.0.set_aside(record.id.as_str(), TAKEN).ok()?;
        Some(TakenWarm { pool: self, record, directory })
    }

    fn waiting(&self, id: &RunId) -> Result<Option<(WarmRecord, StateDir)>, StateError> {
        let Some(directory) = self.0.existing_within(id.as_str())? else { return Ok(None) };
        if !is_held(&directory)? {
            return Ok(None);
        }
        let record = directory.read(RECORD)?.and_then(|text| serde_json::from_slice(&text).ok());
        Ok(record.filter(|record: &WarmRecord| record.id == *id).map(|record| (record, directory)))
    }

    fn taken(&self) -> Result<StateDir, StateError> {
        self.0.within(TAKEN)
    }

    /// Returns whether PID 1 of the sandbox of this run lives, taken or not.
    pub(crate) fn lives(&self, id: &RunId) -> Result<bool, StateError> {
        for parent in [&self.0, &self.taken()?] {
            if let Some(directory) = parent.existing_within(id.as_str())? {
                return is_held(&directory);
            }
        }
        Ok(false)
    }

    /// Removes the files of those that have ended, and returns which they were.
    pub(crate) fn sweep(&self) -> Result<Vec<RunId>, StateError> {
        let _members = self.0.lock(MEMBERS)?;
        let taken = self.taken()?;
        let mut removed = Vec::new();
        for parent in [&self.0, &taken] {
            for id in ids(parent)? {
                let Some(directory) = parent.existing_within(id.as_str())? else { continue };
                if !is_held(&directory)? {
                    remove(parent, &id, &directory)?;
                    removed.push(id);
                }
            }
        }
        Ok(removed)
    }

    /// Returns how often the pool has been drained.
    ///
    /// # Errors
    ///
    /// The file cannot be read. One that makes no sense is 0.
    pub fn drains(&self) -> Result<u64, StateError> {
        let text = self.0.read(DRAINS)?;
        Ok(text.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or_default())
    }

    /// Notes that the pool is being drained. Whoever calls this fills it meanwhile.
    pub(crate) fn note_drain(&self) -> Result<(), StateError> {
        self.0.write(DRAINS, (self.drains()? + 1).to_string().as_bytes())
    }

    /// Notes why the pool could not be filled; `None` where it could.
    ///
    /// # Errors
    ///
    /// The file cannot be written or removed.
    pub fn note_failure(&self, failure: Option<&str>) -> Result<(), StateError> {
        match failure {
            Some(failure) => self.0.write(FAILURE, failure.as_bytes()),
            None => self.0.remove(FAILURE),
        }
    }

    /// Returns why the pool could not be filled, if that was so when it was tried last.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn failure(&self) -> Result<Option<String>, StateError> {
        Ok(self.0.read(FAILURE)?.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Notes how a sandbox has started.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn note_start(&self, start: PoolStart) -> Result<(), StateError> {
        let _lock = self.0.lock(STARTS_LOCK)?;
        let mut starts = self.starts()?;
        starts.push(start);
        let excess = starts.len().saturating_sub(MAX_STARTS);
        let text = serde_json::to_vec(&starts[excess..]).unwrap_or_default();
        self.0.write(STARTS, &text)
    }

    /// Lists the latest starts, the oldest first.
    ///
    /// # Errors
    ///
    /// The file cannot be read. One that makes no sense is empty.
    pub fn starts(&self) -> Result<Vec<PoolStart>, StateError> {
        Ok(self.0.read(STARTS)?.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
    }
}

/// Lists the runs whose directories are in this one.
fn ids(directory: &StateDir) -> Result<Vec<RunId>, StateError> {
    Ok(directory.names()?.into_iter().filter_map(|name| RunId::try_from(name).ok()).collect())
}

/// Returns whether somebody holds the sandbox of this directory: its PID 1, or whoever makes it.
fn is_held(directory: &StateDir) -> Result<bool, StateError> {
    directory.is_held(ALIVE)
}

fn remove(parent: &StateDir, id: &RunId, directory: &StateDir) -> Result<(), StateError> {
    directory.names()?.iter().try_for_each(|name| directory.remove(name))?;
    parent.remove_directory(id.as_str())
}

impl NewWarm<'_> {
    /// Adds it to the pool. From here on it can be taken.
    pub(crate) fn add(mut self, record: &WarmRecord) -> Result<(), StateError> {
        let text = serde_json::to_vec(record).unwrap_or_default();
        self.directory.write(RECORD, &text)?;
        self.is_added = true;
        Ok(())
    }
}

impl Drop for NewWarm<'_> {
    fn drop(&mut self) {
        if !self.is_added {
            let _ = remove(&self.pool.0, &self.id, &self.directory);
        }
    }
}

impl TakenWarm<'_> {
    /// Connects to its PID 1; `None` where that has ended.
    pub(crate) fn connect(&self) -> Result<Option<UnixStream>, StateError> {
        self.directory.speak(CONTROL, |stream| stream)
    }

    /// Returns how long it has waited, in seconds.
    pub(crate) fn age(&self) -> u64 {
        now().saturating_sub(self.record.created)
    }
}

impl Drop for TakenWarm<'_> {
    fn drop(&mut self) {
        // What stays is found by the next command.
        let _ = self.pool.taken().and_then(|taken| remove(&taken, &self.record.id, &self.directory));
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn record(id: &RunId, key: &str, created: u64) -> WarmRecord {
        WarmRecord {
            version: WarmVersion::default(),
            id: id.clone(),
            created,
            provider: Provider::Docker,
            image: "box:1".to_owned(),
            key: PoolKey(key.to_owned()),
            mounts: String::new(),
            agent: Identity::own(),
            pid: 1,
        }
    }

    fn pool() -> (tempfile::TempDir, Pool) {
        let top = tempfile::tempdir().unwrap();
        let pool = Pool::open(top.path(), Identity::own()).unwrap();
        (top, pool)
    }

    #[test]
    fn each_is_taken_once_and_the_youngest_first() {
        let (_top, pool) = pool();
        let mut held = Vec::new();
        for (key, created) in [("a", 1), ("a", 3), ("a", 2), ("b", 4)] {
            let id = RunId::generate().unwrap();
            let new = pool.begin(&id).unwrap();
            held.push(new.alive.as_fd().try_clone_to_owned().unwrap());
            new.add(&record(&id, key, created)).unwrap();
        }
        let key = PoolKey("a".to_owned());
        assert_eq!(pool.list().unwrap().iter().filter(|one| one.key == key).count(), 3);
        let mut taken = Vec::new();
        while let Some(one) = pool.take(&key).unwrap() {
            taken.push(one);
        }
        assert_eq!(taken.iter().map(|one| one.record.created).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(pool.list().unwrap().len(), 1);
        assert!(pool.lives(&taken[0].record.id).unwrap());
        assert!(pool.take_this(&taken[0].record).unwrap().is_none());
    }

    #[test]
    fn who_comes_second_takes_nothing_away_from_who_has_it() {
        let (_top, pool) = pool();
        let id = RunId::generate().unwrap();
        let new = pool.begin(&id).unwrap();
        let _held = new.alive.as_fd().try_clone_to_owned().unwrap();
        new.add(&record(&id, "a", 1)).unwrap();
        // Both have seen it before either moves it.
        let [first, second] = [(); 2].map(|()| pool.waiting(&id).unwrap().unwrap());
        let _taken = pool.move_away(first.0, first.1).unwrap();
        assert!(pool.move_away(second.0, second.1).is_none());
        assert!(pool.lives(&id).unwrap());
    }

    #[test]
    fn what_has_ended_is_neither_listed_nor_taken_and_goes() {
        let (_top, pool) = pool();
        let id = RunId::generate().unwrap();
        let new = pool.begin(&id).unwrap();
        assert!(pool.list().unwrap().is_empty(), "without a record it is not there yet");
        assert!(pool.sweep().unwrap().is_empty(), "it is being made");
        new.add(&record(&id, "a", 1)).unwrap();
        // Its lock went with the one that made it, as if PID 1 had ended.
        assert!(pool.take(&PoolKey("a".to_owned())).unwrap().is_none());
        assert!(!pool.lives(&id).unwrap());
        assert_eq!(pool.sweep().unwrap(), [id]);
        assert!(pool.sweep().unwrap().is_empty());
    }

    #[test]
    fn two_may_remove_the_same_at_once() {
        let (_top, pool) = pool();
        let id = RunId::generate().unwrap();
        let new = pool.begin(&id).unwrap();
        new.add(&record(&id, "a", 1)).unwrap();
        // Both have found that it has ended before either removes it.
        for directory in [(); 2].map(|()| pool.0.existing_within(id.as_str()).unwrap().unwrap()) {
            remove(&pool.0, &id, &directory).unwrap();
        }
        assert!(ids(&pool.0).unwrap().is_empty());
    }

    #[test]
    fn the_latest_starts_are_remembered() {
        let (_top, pool) = pool();
        let start = |start_ms| PoolStart { start: Temperature::Warm, start_ms };
        pool.0.write(STARTS, &serde_json::to_vec(&vec![start(0.5); MAX_STARTS]).unwrap()).unwrap();
        pool.note_start(start(2.0)).unwrap();
        let starts = pool.starts().unwrap();
        assert_eq!((starts.len(), starts.last().unwrap().start_ms), (MAX_STARTS, 2.0));
        pool.0.write(STARTS, b"\xff not ours").unwrap();
        assert!(pool.starts().unwrap().is_empty());
    }
}
