//! Records of runs: what the next command needs to know to tidy up after a client that was killed.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::detect::Baseline;
use crate::host_uid::Identity;
use crate::state::{StateDir, StateError, draft_writer};

/// Why records cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The kernel did not say who this process is.
    #[error("read {what} of this process: {source}")]
    Process {
        /// What was to be read.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// What one run leaves behind if its client is killed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    /// The run. Unique, and the name of the record's file.
    pub id: RunId,
    /// The user whose run it is.
    pub owner: u32,
    /// The process that drives the run.
    pub client: Client,
    /// The writable boundaries, with what was in them at the start.
    pub boundaries: Vec<Remembered>,
    /// Control groups that were made for the run.
    pub cgroups: Vec<PathBuf>,
    /// The engine that has a container of the run.
    pub placed: Option<Placed>,
}

/// Where the container of a run is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Placed {
    /// The command of the engine.
    pub engine: String,
    /// The socket that it answers on, if it has one.
    pub socket: Option<String>,
}

/// A writable boundary of a run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Remembered {
    /// The directory on the host.
    pub host: PathBuf,
    /// What was in it.
    pub baseline: Baseline,
}

/// The name of a run: sixteen hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct RunId(String);

/// A process, told apart from every later one that gets its number.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Client {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did: field 22 of `/proc/<pid>/stat`, see proc(5).
    pub start_time: u64,
    /// The PID namespace in which the number means this process. A container may share its caller's state
    /// directory; from there nobody can tell whether the process lives.
    pub pid_namespace: u64,
}

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
}

impl Kept<'_> {
    /// Has the record stay: the next command is to look again.
    pub fn leave(&self) {
        self.stays.set(true);
    }
}

impl RunId {
    /// A new one, by chance.
    pub fn generate() -> Result<Self, RecordError> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|errno| RecordError::Process { what: "random bytes", source: errno.into() })?;
        Ok(Self(format!("{:016x}", u64::from_ne_bytes(random))))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // It becomes part of a file's name.
        let valid = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if valid { Ok(Self(text)) } else { Err("a run is named by sixteen hexadecimal digits") }
    }
}

impl Client {
    /// The calling process.
    pub fn this() -> Result<Self, RecordError> {
        let pid = std::process::id();
        let failed = |what| move |source| RecordError::Process { what, source };
        let start_time = start_time(pid).map_err(failed("the start time"))?.ok_or_else(|| {
            RecordError::Process { what: "the start time", source: io::ErrorKind::NotFound.into() }
        })?;
        Ok(Self { pid, start_time, pid_namespace: pid_namespace().map_err(failed("the PID namespace"))? })
    }

    /// Whether it has ended. Of a process of another namespace nobody can tell.
    pub(crate) fn is_dead(&self) -> bool {
        pid_namespace().is_ok_and(|namespace| !self.may_live(namespace))
    }

    /// Whether it lives, or cannot be told dead.
    fn may_live(&self, namespace: u64) -> bool {
        namespace != self.pid_namespace
            || start_time(self.pid).map_or(true, |found| found == Some(self.start_time))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.pid, self.start_time, self.pid_namespace)
    }
}

impl FromStr for Client {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = "a process is named by three numbers";
        let mut numbers = text.split(':').map(|number| number.parse::<u64>().map_err(|_| malformed));
        let mut next = || numbers.next().unwrap_or(Err(malformed));
        let pid = u32::try_from(next()?).map_err(|_| malformed)?;
        let (start_time, pid_namespace) = (next()?, next()?);
        if numbers.next().is_some() { Err(malformed) } else { Ok(Self { pid, start_time, pid_namespace }) }
    }
}

impl Runs {
    /// Whose records they are.
    pub(crate) fn owner(&self) -> Identity {
        self.0.owner()
    }

    /// Opens the directory of records.
    pub fn open(state: &StateDir) -> Result<Self, RecordError> {
        Ok(Self(state.within("runs")?))
    }

    /// Keeps a record until the guard is dropped. Writes nothing where there is nothing to remember.
    pub fn keep(&self, record: &Record) -> Result<Kept<'_>, RecordError> {
        if record.boundaries.is_empty() && record.cgroups.is_empty() && record.placed.is_none() {
            return Ok(Kept { runs: self, file: None, stays: Cell::new(false) });
        }
        let file = file_name(&record.id);
        let text = serde_json::to_vec(record).map_err(|error| StateError::File {
            action: "write",
            path: PathBuf::from(&file),
            source: error.into(),
        })?;
        self.0.write(&file, &text)?;
        Ok(Kept { runs: self, file: Some(file), stays: Cell::new(false) })
    }

    /// The records whose clients are dead, and only the owner's of this directory.
    ///
    /// Whoever has tidied up after one calls [`Runs::forget`]. What a client left half written is removed here,
    /// and so is a record that cannot be read: it was torn by a crash of the machine, which ended the run and
    /// its control groups too.
    pub fn sweep(&self) -> Result<Vec<Record>, RecordError> {
        let names = self.0.names()?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let namespace =
            pid_namespace().map_err(|source| RecordError::Process { what: "the PID namespace", source })?;
        let mut dead = Vec::new();
        for name in names {
            if let Some(writer) = draft_writer(&name) {
                if start_time(writer).is_ok_and(|found| found.is_none()) {
                    self.0.remove(&name)?;
                }
                continue;
            }
            let Some(text) = self.0.read(&name)? else { continue };
            match serde_json::from_slice::<Record>(&text) {
                Ok(record) if record.owner != self.0.owner().uid || record.client.may_live(namespace) => {}
                Ok(record) => dead.push(record),
                Err(_) => self.0.remove(&name)?,
            }
        }
        Ok(dead)
    }

    /// Removes the record of a run after which everything was tidied up.
    pub fn forget(&self, id: &RunId) -> Result<(), RecordError> {
        Ok(self.0.remove(&file_name(id))?)
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

fn file_name(id: &RunId) -> String {
    format!("{}.json", id.0)
}

/// When a process started; `None` where there is no such process.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let stat = match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // The second field is the command's name in parentheses, which may itself hold spaces and parentheses.
    let after_name = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&stat[after_name..])
        .split_ascii_whitespace()
        .nth(19)
        .and_then(|field| field.parse().ok())
        .map(Some)
        .ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat has no field 22"))
        })
}

fn is_gone(error: &io::Error) -> bool {
    // ESRCH: the process died between the look-up and the read.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(nix::libc::ESRCH)
}

fn pid_namespace() -> io::Result<u64> {
    Ok(rustix::fs::stat("/proc/self/ns/pid")?.st_ino)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn runs(top: &tempfile::TempDir) -> Runs {
        let state = StateDir::open(&top.path().join("state"), Identity::own()).unwrap();
        Runs::open(&state).unwrap()
    }

    fn record(client: Client) -> Record {
        Record {
            id: RunId::generate().unwrap(),
            owner: rustix::process::getuid().as_raw(),
            client,
            boundaries: vec![],
            cgroups: vec!["/sys/fs/cgroup/sandboxctl-x".into()],
            placed: None,
        }
    }

    fn dead_client() -> Client {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let client =
            Client { pid: child.id(), start_time: start_time(child.id()).unwrap().unwrap(), ..this() };
        child.kill().unwrap();
        child.wait().unwrap();
        client
    }

    fn this() -> Client {
        Client::this().unwrap()
    }

    #[test]
    fn a_record_of_a_living_client_is_left_alone_and_goes_with_its_guard() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let kept = runs.keep(&record(this())).unwrap();
        assert_eq!(runs.sweep().unwrap(), []);
        assert_eq!(runs.0.names().unwrap().len(), 1);
        drop(kept);
        assert_eq!(runs.0.names().unwrap().len(), 0);
    }

    #[test]
    fn a_client_is_read_as_it_is_written() {
        assert_eq!(this().to_string().parse(), Ok(this()));
        for bad in ["", "1", "1:2", "1:2:3:4", "a:2:3", "4294967296:2:3"] {
            assert!(bad.parse::<Client>().is_err(), "{bad:?}");
        }
        assert!(!this().is_dead() && dead_client().is_dead());
    }

    #[test]
    fn a_record_of_a_dead_client_is_found_until_it_is_forgotten() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let record = record(dead_client());
        std::mem::forget(runs.keep(&record).unwrap());
        assert_eq!(runs.sweep().unwrap(), std::slice::from_ref(&record));
        runs.forget(&record.id).unwrap();
        assert_eq!(runs.sweep().unwrap(), []);
    }

    #[test]
    fn a_later_process_with_the_same_number_is_another() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let earlier = Client { start_time: this().start_time - 1, ..this() };
        std::mem::forget(runs.keep(&record(earlier)).unwrap());
        assert_eq!(runs.sweep().unwrap().len(), 1);
    }

    #[test]
    fn what_lives_elsewhere_cannot_be_told_dead() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let elsewhere = Client { pid_namespace: 1, ..dead_client() };
        std::mem::forget(runs.keep(&record(elsewhere)).unwrap());
        assert_eq!(runs.sweep().unwrap(), []);
        assert_eq!(runs.0.names().unwrap().len(), 1);
    }

    #[test]
    fn somebody_elses_record_is_not_swept() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let mut other = record(dead_client());
        other.owner += 1;
        std::mem::forget(runs.keep(&other).unwrap());
        assert_eq!(runs.sweep().unwrap(), []);
    }

    #[test]
    fn torn_records_and_unfinished_drafts_of_dead_writers_are_removed() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let directory = top.path().join("state/runs");
        std::fs::write(directory.join("0123456789abcdef.json"), "{\"id\"").unwrap();
        std::fs::write(directory.join(format!(".x.json.{}.0.draft", dead_client().pid)), "").unwrap();
        let own_draft = format!(".x.json.{}.0.draft", std::process::id());
        std::fs::write(directory.join(&own_draft), "").unwrap();
        assert_eq!(runs.sweep().unwrap(), []);
        assert_eq!(runs.0.names().unwrap(), [own_draft]);
    }

    #[test]
    fn nothing_to_remember_writes_nothing() {
        let top = tempfile::tempdir().unwrap();
        let runs = runs(&top);
        let _kept = runs.keep(&Record { cgroups: vec![], ..record(this()) }).unwrap();
        assert_eq!(runs.0.names().unwrap().len(), 0);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let top = tempfile::tempdir().unwrap();
        let program = top.path().join("a) S 1 (b");
        // By another process: what this one has open for writing, a child of another test may hold open, and then
        // nobody can execute it (ETXTBSY).
        assert!(Command::new("cp").arg("/bin/sleep").arg(&program).status().unwrap().success());
        let mut child = Command::new(&program).arg("1000").spawn().unwrap();
        let started = start_time(child.id()).unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(started >= this().start_time, "{started}");
    }

    #[test]
    fn refuses_a_run_id_that_is_a_path() {
        for text in ["../../etc/passwd", "", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert!(serde_json::from_value::<RunId>(text.into()).is_err(), "{text}");
        }
    }

    /// The budget is for a release build; what is asserted here is the order of magnitude.
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
