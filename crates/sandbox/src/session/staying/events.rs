//! Following events: what the journal says, and what the records and notes of sandboxes do, each thing once.
//!
//! Everything is looked at again whenever the kernel says that a file has changed (inotify(7)), so that nothing wakes up while
//! nothing happens. A PID 1 that is killed changes no file: its end closes the connection of whoever waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use confine::protocol::Purpose;
use nix::errno::Errno as NixErrno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::host::clock::now_ms;
use crate::state::directory::{StateDir, StateError};
use crate::state::event::{EventKind, Milestone, SandboxEvent};
use crate::state::journal::{JOURNAL, Lines, Tail};
use crate::state::record::RunId;
use crate::state::sandboxes::{NOTE, Phase, SandboxError, Sandboxes, StayingSandbox};

/// How long to wait until a PID 1 is looked at again that has closed a connection and still lives: its descriptors close one after the
/// other. Each time it is twice as long, because it may also have enough others who wait.
const FIRST_DELAY: Duration = Duration::from_millis(1);

/// How long that gets.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// What has happened since it was asked last.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    /// The oldest first.
    pub events: Vec<SandboxEvent>,
    /// What a person should know: records and lines of the journal that cannot be read.
    pub warnings: Vec<String>,
}

/// The events of one user's sandboxes.
#[derive(Debug)]
pub struct EventStream<'a> {
    sandboxes: &'a Sandboxes,
    tail: Tail,
    inotify: Inotify,
    /// What was before this moment, in milliseconds since 1970, is history that was not asked for.
    since: u64,
    /// What is there already, until it is looked at.
    history: Option<Lines>,
    /// What has happened to each sandbox that cannot happen again.
    known: BTreeMap<RunId, BTreeSet<Milestone>>,
    /// Which have a directory that is watched, and whether their note is.
    watched: BTreeMap<RunId, Watched>,
    living: BTreeMap<RunId, Living>,
    /// Sandboxes whose records cannot be read, of which somebody was notified.
    unreadable: BTreeSet<String>,
    is_over: bool,
}

/// What is watched of a sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Watched {
    Directory,
    DirectoryAndNote,
}

/// A sandbox that lives, and how its end is noticed.
#[derive(Debug)]
struct Living {
    end: EndWatch,
    delay: Duration,
}

/// How the end of a sandbox is noticed.
#[derive(Debug)]
enum EndWatch {
    /// This connection closes.
    Connection(UnixStream),
    /// It is checked then.
    CheckAt(Instant),
}

/// What is to be looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Changed {
    Journal,
    Everything,
}

impl<'a> EventStream<'a> {
    /// Begins to follow: with what happens from now on, or, with a moment in milliseconds since 1970, with what has happened since
    /// then, as far as the journal reaches back.
    ///
    /// # Errors
    ///
    /// The state directory cannot be read or watched.
    pub fn begin(sandboxes: &'a Sandboxes, since: Option<u64>) -> Result<Self, SandboxError> {
        // What clients have left that were killed, so that their ends are known.
        sandboxes.sweep()?;
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)
            .map_err(|errno| unwatchable(sandboxes.directory(), errno))?;
        // From here on nothing is missed; what happens between two looks at the same is seen twice, and known then.
        let changes = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_DELETE;
        watch(&inotify, sandboxes.directory(), sandboxes.directory(), changes)?;
        let now = now_ms();
        let (history, tail) = match since {
            None => (Lines::default(), sandboxes.journal().end()?),
            Some(_) => sandboxes.journal().whole()?,
        };
        Ok(Self {
            sandboxes,
            tail,
            inotify,
            since: since.unwrap_or(now),
            history: Some(history),
            known: BTreeMap::new(),
            watched: BTreeMap::new(),
            living: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            is_over: false,
        })
    }

    /// Waits until something has happened, but for the first time, and returns it; `None` where nothing more happens until then, in milliseconds
    /// since 1970.
    ///
    /// # Errors
    ///
    /// The state directory cannot be read or watched.
    pub fn next(&mut self, until: Option<u64>) -> Result<Option<EventBatch>, SandboxError> {
        let mut changed = Some(Changed::Everything).filter(|_| self.history.is_some());
        while !self.is_over {
            // Asked before the last check, so that nothing is missed that was before.
            self.is_over = until.is_some_and(|until| now_ms() >= until);
            let is_first = self.history.is_some();
            let mut batch = match changed {
                _ if self.is_over => self.collect(Changed::Everything)?,
                Some(changed) => self.collect(changed)?,
                None => EventBatch::default(),
            };
            batch.events.retain(|event| until.is_none_or(|until| event.time_ms <= until));
            if is_first || !batch.events.is_empty() || !batch.warnings.is_empty() {
                return Ok(Some(batch));
            }
            changed = self.wait(until)?;
        }
        Ok(None)
    }

    /// Collects the events of what has changed.
    fn collect(&mut self, changed: Changed) -> Result<EventBatch, SandboxError> {
        let mut batch = EventBatch::default();
        let history = self.history.take();
        let is_first = history.is_some();
        let mut new = Vec::new();
        if changed == Changed::Everything {
            self.scan(&mut new, &mut batch.warnings)?;
        }
        let mut lines = history.unwrap_or_default();
        let more = self.tail.read()?;
        lines.events.extend(more.events);
        lines.malformed.extend(more.malformed);
        if lines.events.iter().any(|event| !self.known.contains_key(&event.id)) {
            // Whose record came after the look at them, so that what it says of the beginning is said first.
            self.scan(&mut new, &mut batch.warnings)?;
        }
        if is_first {
            new.retain(|event| event.time_ms >= self.since);
        }
        for event in lines.events {
            let milestone = event.kind.milestone();
            let is_new = milestone
                .is_none_or(|milestone| self.known.entry(event.id.clone()).or_default().insert(milestone));
            // What a record has said is in the journal when it is removed, however long ago it was.
            let is_history = is_first || matches!(milestone, Some(Milestone::Birth | Milestone::Death));
            if is_new && (!is_history || event.time_ms >= self.since) {
                new.push(event);
            }
        }
        if let Some(first) = lines.malformed.first() {
            let count = lines.malformed.len();
            batch.warnings.push(format!(
                "lines of the journal of events that cannot be read are left out: {count}, the first because of: {first}"
            ));
        }
        // What came first is first, and of one moment what has to.
        new.sort_by_key(|event| (event.time_ms, rank(&event.kind)));
        batch.events = new;
        Ok(batch)
    }

    /// Looks at every sandbox, and adds what is not known of it.
    fn scan(&mut self, new: &mut Vec<SandboxEvent>, warnings: &mut Vec<String>) -> Result<(), SandboxError> {
        let mut listed = BTreeSet::new();
        // Whatever is watched from now on is looked at after that.
        let ids = self.watch_new()?;
        for found in self.sandboxes.list()? {
            let sandbox = match found {
                Ok(sandbox) => sandbox,
                Err(error) => {
                    let warning = error.to_string();
                    if self.unreadable.insert(warning.clone()) {
                        warnings.push(warning);
                    }
                    continue;
                }
            };
            listed.insert(sandbox.record.id.clone());
            match sandbox.phase {
                Phase::Creating => {}
                Phase::Running | Phase::Paused => {
                    // Whoever makes it is about to write when that was, into its record and the journal.
                    if sandbox.record.birth.is_some() {
                        self.add(new, Milestone::Birth, sandbox.birth_event());
                    }
                    self.await_end(&sandbox);
                }
                Phase::Ending | Phase::Stopped => {
                    if sandbox.phase == Phase::Ending {
                        self.await_removal(&sandbox.record.id);
                    } else {
                        self.living.remove(&sandbox.record.id);
                    }
                    self.add(new, Milestone::Birth, sandbox.birth_event());
                    let is_known = |known: &BTreeSet<Milestone>| known.contains(&Milestone::Death);
                    if !self.known.get(&sandbox.record.id).is_some_and(is_known) {
                        self.add(new, Milestone::Death, sandbox.death_event()?);
                    }
                }
            }
        }
        let mut gone = self.living.keys().filter(|id| !listed.contains(*id));
        if gone.any(|id| ids.contains(id)) {
            // It has ended with its client, which was killed: nobody else says so.
            self.sandboxes.sweep()?;
        }
        self.living.retain(|id, _| listed.contains(id));
        self.watched.retain(|id, _| ids.contains(id));
        // Nothing more is said of what has no record, once it is known to be removed.
        self.known.retain(|id, known| listed.contains(id) || !known.contains(&Milestone::Removal));
        Ok(())
    }

    fn add(&mut self, new: &mut Vec<SandboxEvent>, milestone: Milestone, event: SandboxEvent) {
        if self.known.entry(event.id.clone()).or_default().insert(milestone) {
            new.push(event);
        }
    }

    /// Watches the directories and notes that are not watched yet, and returns all that there are.
    fn watch_new(&mut self) -> Result<BTreeSet<RunId>, SandboxError> {
        let ids: BTreeSet<RunId> = self.sandboxes.ids()?.collect();
        for id in &ids {
            let watched = self.watched.get(id).copied();
            if watched == Some(Watched::DirectoryAndNote) {
                continue;
            }
            // What is no directory has a warning of its own.
            let Ok(Some(directory)) = self.sandboxes.directory().existing_within(id.as_str()) else {
                continue;
            };
            if watched.is_none() {
                // Not what is changed in it, which would be the logs, too.
                let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
                watch(&self.inotify, &directory, &directory, changes)?;
            }
            let note: Option<File> = directory.open_existing(NOTE)?;
            if let Some(note) = &note {
                watch(&self.inotify, &directory, note, AddWatchFlags::IN_MODIFY)?;
            }
            let watched = if note.is_some() { Watched::DirectoryAndNote } else { Watched::Directory };
            self.watched.insert(id.clone(), watched);
        }
        Ok(ids)
    }

    /// Sees to it that the end of a sandbox is noticed that lives.
    fn await_end(&mut self, sandbox: &StayingSandbox) {
        let first = || Living { end: EndWatch::CheckAt(Instant::now()), delay: FIRST_DELAY };
        let living = self.living.entry(sandbox.record.id.clone()).or_insert_with(first);
        if matches!(living.end, EndWatch::CheckAt(at) if at <= Instant::now()) {
            living.end = match sandbox.open(Purpose::Wait, None) {
                Ok(stream) => EndWatch::Connection(stream),
                // It is about to end.
                Err(_) => living.check_later(),
            };
        }
    }

    /// Sees to it that one is looked at again that its client removes: where that was killed, nothing else says so.
    fn await_removal(&mut self, id: &RunId) {
        let living = self
            .living
            .entry(id.clone())
            .or_insert(Living { end: EndWatch::CheckAt(Instant::now()), delay: FIRST_DELAY });
        if !matches!(living.end, EndWatch::CheckAt(at) if at > Instant::now()) {
            living.end = living.check_later();
        }
    }

    /// Waits until something changes, and returns what.
    fn wait(&mut self, until: Option<u64>) -> Result<Option<Changed>, SandboxError> {
        let now = Instant::now();
        let checks = self.living.values().filter_map(|living| match living.end {
            EndWatch::CheckAt(at) => Some(at.saturating_duration_since(now)),
            EndWatch::Connection(_) => None,
        });
        let left = until.map(|until| Duration::from_millis(until.saturating_sub(now_ms())));
        let timeout = checks.chain(left).min();
        let timeout = timeout.map(|timeout| Timespec::try_from(timeout).unwrap_or_default());
        let connected: Vec<(&RunId, BorrowedFd<'_>)> = self
            .living
            .iter()
            .filter_map(|(id, living)| match &living.end {
                EndWatch::Connection(stream) => Some((id, stream.as_fd())),
                EndWatch::CheckAt(_) => None,
            })
            .collect();
        let mut fds = vec![PollFd::new(&self.inotify, PollFlags::IN)];
        fds.extend(connected.iter().map(|(_, stream)| PollFd::from_borrowed_fd(*stream, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(unwatchable(self.sandboxes.directory(), errno)),
        }
        let closed: Vec<RunId> = connected
            .iter()
            .zip(&fds[1..])
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|((id, _), _)| (*id).clone())
            .collect();
        drop(fds);
        let mut changed = None;
        for id in &closed {
            if let Some(living) = self.living.get_mut(id) {
                living.end = living.check_later();
            }
            changed = Some(Changed::Everything);
        }
        let now = Instant::now();
        if self.living.values().any(|living| matches!(living.end, EndWatch::CheckAt(at) if at <= now)) {
            changed = Some(Changed::Everything);
        }
        // What exactly has changed is seen in the files.
        while let Ok(events) = self.inotify.read_events() {
            for event in &events {
                let name = event.name.as_deref().map(|name| name.to_string_lossy());
                // One without a name is of a note, or there were too many.
                if !name.is_some_and(|name| name.starts_with('.')) {
                    changed = Some(Changed::Everything);
                } else if event.name.as_deref().is_some_and(|name| name == JOURNAL) {
                    changed = changed.or(Some(Changed::Journal));
                }
            }
            if events.is_empty() {
                break;
            }
        }
        Ok(changed)
    }
}

impl Living {
    /// Returns when to check next, later each time.
    fn check_later(&mut self) -> EndWatch {
        let delay = self.delay;
        self.delay = (delay * 2).min(MAX_DELAY);
        EndWatch::CheckAt(Instant::now() + delay)
    }
}

/// Returns the place of an event among those of one moment.
fn rank(kind: &EventKind) -> u8 {
    match kind.milestone() {
        Some(Milestone::Birth) => 0,
        None => 1,
        Some(Milestone::Death) => 2,
        Some(Milestone::Removal) => 3,
    }
}

/// Watches what was opened, whatever has its name now.
fn watch(
    inotify: &Inotify,
    directory: &StateDir,
    opened: impl AsFd,
    changes: AddWatchFlags,
) -> Result<(), SandboxError> {
    let path = Path::new("/proc/self/fd").join(opened.as_fd().as_raw_fd().to_string());
    match inotify.add_watch(&path, changes) {
        // What is not there any more was removed meanwhile.
        Ok(_) | Err(NixErrno::ENOENT) => Ok(()),
        Err(errno) => Err(unwatchable(directory, errno)),
    }
}

fn unwatchable(directory: &StateDir, error: impl Into<io::Error>) -> SandboxError {
    StateError::File { action: "watch", path: directory.path().to_owned(), source: error.into() }.into()
}
