//! The journal: what clients have done to persistent sandboxes, in lines of JSON in the state directory.
//!
//! Nobody serves it. Each client adds its own lines under a lock, so that none is torn. When there is no room, the journal becomes
//! the old one, in the place of the old one of before. What the records of sandboxes say themselves is added when they are
//! removed, and not before: as long as there is a record, it is the truth.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::state::directory::{Lock, StateDir, StateError};
use crate::state::event::SandboxEvent;
use crate::state::version::Version;

/// The file that is written. Nothing else in the directory begins with its name but what belongs to it.
pub(crate) const JOURNAL: &str = ".events";

/// What was written before that.
const OLD: &str = ".events.old";

/// What is locked by whoever writes.
const LOCK: &str = ".events.lock";

/// How long each of the two files gets, in bytes.
const MAX_LENGTH: u64 = 2 << 20;

/// A line, as it is written.
#[derive(Deserialize, Serialize)]
struct Line {
    version: Version<1>,
    #[serde(flatten)]
    event: SandboxEvent,
}

/// Whether what was done is in the journal. It is done all the same.
#[derive(Debug)]
#[must_use = "where it is not in the journal, somebody should know"]
pub enum Recorded {
    Yes,
    /// It is not, for this reason.
    No(StateError),
}

impl Recorded {
    /// Returns what to warn of.
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Yes => None,
            Self::No(error) => Some(format!("`sandboxctl events` will not show this: {error}")),
        }
    }
}

/// The journal of one user's sandboxes.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    directory: Arc<StateDir>,
}

/// What was read of the journal: events, and what was no event.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) events: Vec<SandboxEvent>,
    /// Why lines were left out.
    pub(crate) malformed: Vec<String>,
}

/// How far a journal was read.
#[derive(Debug)]
pub(crate) struct Tail {
    directory: Arc<StateDir>,
    /// The file, and where the first line begins that was not read.
    at: Option<(File, u64)>,
}

impl Journal {
    pub(crate) fn new(directory: Arc<StateDir>) -> Self {
        Self { directory }
    }

    /// Adds events.
    pub(crate) fn add(&self, events: &[SandboxEvent]) -> Recorded {
        match self.add_within(events, MAX_LENGTH) {
            Ok(()) => Recorded::Yes,
            Err(error) => Recorded::No(error),
        }
    }

    /// Keeps everybody else from writing, until this is dropped.
    pub(crate) fn lock(&self) -> Result<Lock, StateError> {
        self.directory.lock(LOCK)
    }

    fn add_within(&self, events: &[SandboxEvent], max_length: u64) -> Result<(), StateError> {
        let failed = |source| self.directory.failed("write", JOURNAL, source);
        let mut text = Vec::new();
        for event in events {
            let line = Line { version: Version, event: event.clone() };
            serde_json::to_writer(&mut text, &line).map_err(|error| failed(error.into()))?;
            text.push(b'\n');
        }
        let _lock = self.lock()?;
        let mut file = self.directory.open_or_make_to_change(JOURNAL)?;
        let mut length = file.metadata().map_err(failed)?.len();
        if length > 0 && length + text.len() as u64 > max_length {
            self.directory.rename(JOURNAL, OLD)?;
            file = self.directory.open_or_make_to_change(JOURNAL)?;
            length = 0;
        }
        let mut write = || {
            let mut last = [b'\n'];
            if length > 0 {
                file.read_exact_at(&mut last, length - 1)?;
            }
            if last != [b'\n'] {
                // What the machine went down over. Nobody reads on there.
                text.insert(0, b'\n');
            }
            file.write_all_at(&text, length)
        };
        write().map_err(|error| {
            // On a full disk there is half a line.
            let _ = file.set_len(length);
            failed(error)
        })
    }

    /// Reads everything.
    pub(crate) fn whole(&self) -> Result<(Lines, Tail), StateError> {
        let (old, file) = {
            let _lock = self.lock()?;
            (self.directory.open_existing(OLD)?, self.directory.open_existing(JOURNAL)?)
        };
        let mut lines = Lines::default();
        if let Some(old) = old {
            self.directory.read_lines(OLD, &old, 0, &mut lines)?;
        }
        let mut tail = Tail { directory: Arc::clone(&self.directory), at: file.map(|file| (file, 0)) };
        tail.read_into(&mut lines)?;
        Ok((lines, tail))
    }

    /// Passes over what was written until now.
    pub(crate) fn end(&self) -> Result<Tail, StateError> {
        let _lock = self.lock()?;
        let at = match self.directory.open_existing(JOURNAL)? {
            Some(file) => {
                let length =
                    file.metadata().map_err(|source| self.directory.failed("stat", JOURNAL, source))?.len();
                Some((file, length))
            }
            None => None,
        };
        Ok(Tail { directory: Arc::clone(&self.directory), at })
    }
}

impl Tail {
    /// Reads what is new.
    pub(crate) fn read(&mut self) -> Result<Lines, StateError> {
        let mut lines = Lines::default();
        self.read_into(&mut lines)?;
        Ok(lines)
    }

    fn read_into(&mut self, lines: &mut Lines) -> Result<(), StateError> {
        loop {
            let current = self.directory.open_existing(JOURNAL)?;
            // Looked for first: once it has another name, nobody adds to it.
            if let Some((file, offset)) = &mut self.at {
                *offset = self.directory.read_lines(JOURNAL, file, *offset, lines)?;
            }
            let Some(current) = current else { return Ok(()) };
            match &self.at {
                Some((file, _)) if is_same(file, &current) => return Ok(()),
                Some((file, _)) => {
                    let old = self.directory.open_existing(OLD)?;
                    // Two have become old since.
                    if let Some(old) = old.filter(|old| !is_same(old, file) && !is_same(old, &current)) {
                        self.directory.read_lines(OLD, &old, 0, lines)?;
                    }
                }
                None => {}
            }
            self.at = Some((current, 0));
        }
    }
}

impl StateDir {
    /// Reads the lines of a file that are whole, and returns where the rest begins.
    fn read_lines(
        &self,
        name: &str,
        mut file: &File,
        offset: u64,
        lines: &mut Lines,
    ) -> Result<u64, StateError> {
        let mut content = Vec::new();
        let read = file
            .seek(SeekFrom::Start(offset))
            // It was written by nobody but clients of ours, and may have been damaged by anybody.
            .and_then(|_| file.take(4 * MAX_LENGTH).read_to_end(&mut content));
        read.map_err(|source| self.failed("read", name, source))?;
        let Some(end) = content.iter().rposition(|byte| *byte == b'\n') else { return Ok(offset) };
        for line in content[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                Ok(line) => lines.events.push(line.event),
                Err(error) => lines.malformed.push(error.to_string()),
            }
        }
        Ok(offset + end as u64 + 1)
    }
}

/// Returns whether two descriptors are of the same file.
fn is_same(one: &File, other: &File) -> bool {
    let identity = |file: &File| -> io::Result<(u64, u64)> {
        let metadata = file.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    };
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use policy::plan::Provider;

    use super::*;
    use crate::host::identity::Identity;
    use crate::state::event::EventKind;
    use crate::state::record::RunId;

    fn journal(path: &Path) -> Journal {
        Journal::new(Arc::new(StateDir::open(path, Identity::own()).unwrap()))
    }

    fn event(time_ms: u64) -> SandboxEvent {
        SandboxEvent {
            time_ms,
            sandbox: "one".to_owned(),
            id: RunId::try_from("0123456789abcdef".to_owned()).unwrap(),
            provider: Provider::Native,
            kind: EventKind::Pause,
        }
    }

    fn times(lines: &Lines) -> Vec<u64> {
        lines.events.iter().map(|event| event.time_ms).collect()
    }

    #[test]
    fn what_is_added_is_read_once_by_each_who_reads_on() {
        let top = tempfile::tempdir().unwrap();
        let journal = journal(top.path());
        let mut first = journal.end().unwrap();
        assert_eq!(times(&first.read().unwrap()), [] as [u64; 0]);
        journal.add_within(&[event(1), event(2)], MAX_LENGTH).unwrap();
        let mut second = journal.end().unwrap();
        journal.add_within(&[event(3)], MAX_LENGTH).unwrap();
        assert_eq!(times(&first.read().unwrap()), [1, 2, 3]);
        assert_eq!(times(&second.read().unwrap()), [3]);
        assert_eq!(times(&first.read().unwrap()), [] as [u64; 0]);
        let (lines, mut tail) = journal.whole().unwrap();
        assert_eq!(times(&lines), [1, 2, 3]);
        assert_eq!(times(&tail.read().unwrap()), [] as [u64; 0]);
    }

    #[test]
    fn it_has_a_greatest_length_and_who_reads_on_misses_nothing_that_is_there() {
        let top = tempfile::tempdir().unwrap();
        let journal = journal(top.path());
        let (mut every, mut rare) = (journal.end().unwrap(), journal.end().unwrap());
        let mut seen = Vec::new();
        let line = 120;
        for time in 1..=100 {
            journal.add_within(&[event(time)], 10 * line).unwrap();
            seen.extend(times(&every.read().unwrap()));
            if time % 12 == 0 {
                rare.read().unwrap();
            }
        }
        assert_eq!(seen, (1..=100).collect::<Vec<_>>());
        let lengths: Vec<u64> =
            [JOURNAL, OLD].iter().map(|name| fs::metadata(top.path().join(name)).unwrap().len()).collect();
        assert!(lengths.iter().all(|length| *length <= 10 * line), "{lengths:?}");
        let (lines, _) = journal.whole().unwrap();
        let kept = times(&lines);
        assert!(kept.len() >= 10 && kept.len() <= 20, "{kept:?}");
        assert_eq!(kept, (101 - kept.len() as u64..=100).collect::<Vec<_>>());
        // Whoever has missed two ends of a file reads what is left of them.
        let mut late = Tail { directory: Arc::clone(&journal.directory), at: None };
        late.at = Some((tempfile::tempfile().unwrap(), 0));
        assert_eq!(times(&late.read().unwrap()), kept);
    }

    #[test]
    fn what_is_damaged_is_left_out_and_the_rest_is_read() {
        let top = tempfile::tempdir().unwrap();
        let journal = journal(top.path());
        journal.add_within(&[event(1)], MAX_LENGTH).unwrap();
        let path = top.path().join(JOURNAL);
        let whole = fs::read(&path).unwrap();
        let other = String::from_utf8(whole.clone()).unwrap().replace("\"version\":1", "\"version\":99");
        assert_ne!(other.as_bytes(), whole);
        // A line of another version, one that is none, and one that the machine went down over.
        fs::write(&path, [&whole, other.as_bytes(), b"\xff{}\n", &whole[..whole.len() / 2]].concat())
            .unwrap();
        journal.add_within(&[event(2)], MAX_LENGTH).unwrap();
        let (lines, _) = journal.whole().unwrap();
        assert_eq!(times(&lines), [1, 2]);
        assert_eq!(lines.malformed.len(), 3, "{:?}", lines.malformed);
        assert!(lines.malformed[0].contains("version 99"), "{:?}", lines.malformed);
    }

    #[test]
    fn where_it_cannot_be_written_that_is_said() {
        let top = tempfile::tempdir().unwrap();
        let journal = journal(top.path());
        fs::create_dir(top.path().join(JOURNAL)).unwrap();
        let recorded = journal.add(&[event(1)]);
        assert!(recorded.warning().is_some_and(|warning| warning.contains(JOURNAL)), "{recorded:?}");
        fs::remove_dir(top.path().join(JOURNAL)).unwrap();
        assert!(journal.add(&[event(1)]).warning().is_none(), "the control");
    }
}
