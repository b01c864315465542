//! Walks: everything beneath a directory, in parallel, by descriptors alone. No link is followed, and no path is walked from its beginning
//! again.

use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use policy::query::{FileKind, Query, Resolved};
use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use serde::Serialize;

use super::ignored::Ignored;
use super::place::kind;
use crate::host::beneath::kind_of;

/// How many names of a directory are read at once, in bytes.
const NAMES: usize = 64 << 10;

/// How many files of a directory are one piece of work, where each is opened.
const FILES: usize = 128;

/// How many threads walk, at most.
const MAX_THREADS: usize = 16;

/// How many entries are visited between two looks at the clock.
const GLANCE: usize = 256;

/// How far a walk goes at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// How many entries it visits.
    pub entries: usize,
    /// How many directories deep it goes; 1 is what is in the first one.
    pub depth: usize,
    /// How long it takes.
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: 1_000_000, depth: 128, time: Duration::from_secs(30) }
    }
}

/// Why a walk has stopped before its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// It has visited as many entries as it may.
    Entries,
    /// There are directories deeper than it goes. Everything else was visited.
    Depth,
    /// Its time was over.
    Time,
    /// It has found as much as it may.
    Found,
}

/// What of a tree is visited.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Selection {
    /// Names that begin with a dot, too.
    pub hidden: bool,
    /// Only what no `.gitignore` names.
    pub gitignore: bool,
}

/// Something that a walk visits.
pub(super) struct Visited<'w> {
    pub(super) directory: BorrowedFd<'w>,
    pub(super) name: &'w CStr,
    pub(super) kind: FileKind,
    /// The path as the sandbox sees it.
    pub(super) path: &'w Path,
    /// How many bytes of it are the directory that the walk began in, with the slash after it.
    pub(super) below: usize,
    /// The boundary that it lies in.
    pub(super) place: usize,
}

impl Visited<'_> {
    /// Returns the path as seen from where the walk began.
    pub(super) fn relative(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path.as_os_str().as_bytes()[self.below..]))
    }
}

/// What a walk has come to.
pub(super) struct Walked<T> {
    /// What each thread has found.
    pub(super) found: Vec<T>,
    pub(super) stopped: Option<Stopped>,
    /// How many directories could not be read.
    pub(super) unreadable: usize,
}

/// What is done with each thing that a walk visits. Every thread has one of its own.
pub(super) trait Visitor: Send {
    fn visit(&mut self, visited: &Visited<'_>, progress: &Progress);
}

/// How far a walk is.
pub(super) struct Progress {
    bounds: Bounds,
    until: Instant,
    visited: AtomicUsize,
    unreadable: AtomicUsize,
    stop: AtomicBool,
    stopped: Mutex<Option<Stopped>>,
}

impl Progress {
    pub(super) fn new(bounds: Bounds) -> Self {
        let now = Instant::now();
        Self {
            bounds,
            until: now.checked_add(bounds.time).unwrap_or(now),
            visited: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            stopped: Mutex::new(None),
        }
    }

    /// Returns why not everything was visited, if it was not.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the walk.
    pub(super) fn stop(&self, why: Stopped) {
        self.note(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the walk goes on: there is time, and nobody has stopped it.
    pub(super) fn goes_on(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        if Instant::now() >= self.until {
            self.stop(Stopped::Time);
            return false;
        }
        true
    }

    /// Notes why not everything is visited. What has stopped the walk says more than what was left out.
    fn note(&self, why: Stopped) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*stopped, None | Some(Stopped::Depth)) {
            *stopped = Some(why);
        }
    }
}

/// A directory that is open.
struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
    /// The boundary that it lies in, and the path as seen from there.
    place: usize,
    relative: PathBuf,
    depth: usize,
    ignored: Option<Arc<Ignored>>,
}

/// A piece of work.
enum Task {
    /// To read a directory; one whose parent is open.
    Enter { parent: Arc<Directory>, name: CString },
    /// To visit files of one.
    Visit { directory: Arc<Directory>, names: Vec<CString> },
    /// To begin.
    Begin(Arc<Directory>),
}

/// What is still to be done. The last piece that was found comes first, so few directories stay open.
#[derive(Default)]
struct Queue {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

#[derive(Default)]
struct Tasks {
    waiting: Vec<Task>,
    running: usize,
    idle: usize,
}

impl Queue {
    fn add(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut queue = self.lock();
        queue.waiting.extend(tasks);
        if queue.idle > 0 {
            self.changed.notify_all();
        }
    }

    fn take(&self) -> Option<Task> {
        let mut tasks = self.lock();
        loop {
            if let Some(task) = tasks.waiting.pop() {
                tasks.running += 1;
                return Some(task);
            }
            if tasks.running == 0 {
                return None;
            }
            tasks.idle += 1;
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
            tasks.idle -= 1;
        }
    }

    fn done(&self) {
        let mut tasks = self.lock();
        tasks.running -= 1;
        if tasks.running == 0 && tasks.idle > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether visiting a file takes longer than finding it, so that the files of one directory are shared out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effort {
    Names,
    Contents,
}

/// A walk of one tree.
pub(super) struct Walk<'q> {
    query: &'q Query,
    selection: Selection,
    effort: Effort,
    progress: Progress,
    queue: Queue,
    /// The length of the path that it begins at, with the slash after it.
    below: usize,
    /// Whether boundaries lie within, and whether something is hidden in any.
    has_inner: bool,
    has_hidden: bool,
}

impl<'q> Walk<'q> {
    pub(super) fn new(
        query: &'q Query,
        start: &Resolved,
        selection: Selection,
        bounds: Bounds,
        effort: Effort,
    ) -> Self {
        let path = start.guest.as_path();
        let is_inner = |guest: &Path| guest != path && guest.starts_with(path);
        let length = path.as_os_str().len();
        Self {
            query,
            selection,
            effort,
            progress: Progress::new(bounds),
            queue: Queue::default(),
            below: if length == 1 { 1 } else { length + 1 },
            has_inner: query.places().iter().any(|place| is_inner(place.guest.as_path())),
            has_hidden: query.hides_something(),
        }
    }

    /// Visits everything beneath a directory that is open. `around` are the rules of the directories around it.
    pub(super) fn run<V: Visitor>(
        self,
        directory: OwnedFd,
        start: &Resolved,
        around: Option<Arc<Ignored>>,
        visitor: impl Fn() -> V + Sync,
    ) -> Walked<V> {
        let path = start.guest.as_path().to_owned();
        let ignored = self.ignored(around, &directory, &path);
        let (place, relative) = (start.place, start.relative.clone());
        let directory = Directory { descriptor: directory, path, place, relative, depth: 0, ignored };
        self.queue.add([Task::Begin(Arc::new(directory))]);
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
        let work = || {
            let mut visitor = visitor();
            self.work(&mut visitor);
            visitor
        };
        let found = thread::scope(|scope| {
            // They act for whom this thread acts. Where there is no room for one more, these do its work.
            let others: Vec<_> =
                (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut found = vec![work()];
            found.extend(others.into_iter().filter_map(|other| other.join().ok()));
            found
        });
        let stopped = self.progress.stopped();
        Walked { found, stopped, unreadable: self.progress.unreadable.into_inner() }
    }

    fn work(&self, visitor: &mut impl Visitor) {
        let mut names = vec![MaybeUninit::uninit(); NAMES];
        while let Some(task) = self.queue.take() {
            let _running = Running(&self.queue);
            if !self.progress.goes_on() {
                continue;
            }
            let done = match task {
                Task::Begin(directory) => self.read(&directory, &mut names, visitor),
                Task::Enter { parent, name } => self
                    .enter(&parent, &name)
                    .and_then(|directory| self.read(&Arc::new(directory), &mut names, visitor)),
                Task::Visit { directory, names } => {
                    self.visit_files(&directory, &names, visitor);
                    Ok(())
                }
            };
            match done {
                // It was removed meanwhile.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(_) => {
                    self.progress.unreadable.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Opens a directory within another.
    fn enter(&self, parent: &Directory, name: &CStr) -> Result<Directory, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = openat(&parent.descriptor, name, flags, Mode::empty())?;
        let name = OsStr::from_bytes(name.to_bytes());
        let path = parent.path.join(name);
        let inner = || self.query.places().iter().position(|place| place.guest.as_path() == path);
        let (place, relative) = match self.has_inner.then(inner).flatten() {
            Some(place) => (place, PathBuf::new()),
            None => (parent.place, parent.relative.join(name)),
        };
        let ignored = self.ignored(parent.ignored.clone(), &descriptor, &path);
        Ok(Directory { descriptor, path, place, relative, depth: parent.depth + 1, ignored })
    }

    fn ignored(
        &self,
        around: Option<Arc<Ignored>>,
        directory: impl AsFd,
        path: &Path,
    ) -> Option<Arc<Ignored>> {
        self.selection.gitignore.then(|| Ignored::within(around, directory, path)).flatten()
    }

    /// Visits what is in a directory, and adds what there is still to do.
    fn read(
        &self,
        directory: &Arc<Directory>,
        buffer: &mut [MaybeUninit<u8>],
        visitor: &mut impl Visitor,
    ) -> Result<(), Errno> {
        let mut entries = RawDir::new(&directory.descriptor, buffer);
        let mut path = Joined::new(&directory.path);
        let suffixes = &self.query.places()[directory.place].tools.suffixes;
        let mut within = Vec::new();
        let mut files = Vec::new();
        let mut since_glance = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            since_glance += 1;
            if since_glance == GLANCE {
                self.count(std::mem::take(&mut since_glance));
                if !self.progress.goes_on() {
                    return Ok(());
                }
            }
            let bytes = OsStr::from_bytes(name.to_bytes());
            if bytes.as_bytes()[0] == b'.'
                && (!self.selection.hidden || self.selection.gitignore && name == c".git")
            {
                continue;
            }
            let listed = kind_of(directory.descriptor.as_fd(), name, entry.file_type())?;
            if listed == FileType::Unknown {
                continue;
            }
            let kind = kind(listed);
            let is_directory = kind == FileKind::Directory;
            if kind == FileKind::File && !policy::query::has_suffix(suffixes, bytes) {
                continue;
            }
            let path = path.with(bytes);
            if directory.ignored.as_ref().is_some_and(|ignored| ignored.ignores(path, is_directory))
                || self.has_hidden && self.query.is_hidden(directory.place, &directory.relative.join(bytes))
            {
                continue;
            }
            if is_directory {
                if directory.depth + 1 < self.progress.bounds.depth {
                    within.push(Task::Enter { parent: Arc::clone(directory), name: name.to_owned() });
                } else {
                    self.progress.note(Stopped::Depth);
                }
            }
            if self.effort == Effort::Contents && kind == FileKind::File {
                files.push(name.to_owned());
            } else {
                self.visit(directory, name, kind, path, visitor);
            }
        }
        self.count(since_glance);
        // Others may begin with these meanwhile.
        while files.len() > FILES {
            let names = files.split_off(files.len() - FILES);
            within.push(Task::Visit { directory: Arc::clone(directory), names });
        }
        if !within.is_empty() {
            self.queue.add(within);
        }
        self.visit_files(directory, &files, visitor);
        Ok(())
    }

    fn visit_files(&self, directory: &Directory, names: &[CString], visitor: &mut impl Visitor) {
        let mut path = Joined::new(&directory.path);
        for name in names {
            if !self.progress.goes_on() {
                return;
            }
            let path = path.with(OsStr::from_bytes(name.to_bytes()));
            self.visit(directory, name, FileKind::File, path, visitor);
        }
    }

    fn visit(
        &self,
        directory: &Directory,
        name: &CStr,
        kind: FileKind,
        path: &Path,
        visitor: &mut impl Visitor,
    ) {
        let (below, place) = (self.below, directory.place);
        let visited = Visited { directory: directory.descriptor.as_fd(), name, kind, path, below, place };
        visitor.visit(&visited, &self.progress);
    }

    /// Counts entries that were visited.
    fn count(&self, more: usize) {
        let before = self.progress.visited.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) > self.progress.bounds.entries {
            self.progress.stop(Stopped::Entries);
        }
    }
}

/// Takes note that a piece of work is done, also where it has failed.
struct Running<'q>(&'q Queue);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

/// Paths of what is in a directory, one after another in the same memory.
struct Joined {
    path: Vec<u8>,
    directory: usize,
}

impl Joined {
    fn new(directory: &Path) -> Self {
        let mut path = directory.as_os_str().as_bytes().to_vec();
        path.push(b'/');
        Self { directory: path.len(), path }
    }

    fn with(&mut self, name: &OsStr) -> &Path {
        self.path.truncate(self.directory);
        self.path.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.path))
    }
}
