//! Walks: everything beneath a directory, in parallel, by descriptors alone. No link is followed, and no path is walked from its beginning
//! again.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use policy::query::{FileKind, Query, Resolved};
use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;

use super::ignored::Ignored;
use super::place::kind;
use super::progress::{Progress, Stopped};
use super::queue::Queue;
use crate::host::beneath::kind_of;

/// How many names of a directory are read at once, in bytes.
const NAMES: usize = 64 << 10;

/// How many files of a directory are one piece of work, where each is opened.
const FILES: usize = 128;

/// How many threads walk, at most.
const MAX_THREADS: usize = 16;

/// How many entries are visited between two looks at the clock.
const GLANCE: usize = 256;

/// The longest path that any call of the system takes, see `PATH_MAX` of linux/limits.h: no tool can use a longer one.
const MAX_PATH: usize = 4095;

/// What a name takes that waits, beside its bytes.
const TASK: usize = 64;

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

/// What is done with each thing that a walk visits. Every thread has one of its own.
pub(super) trait Visitor: Send {
    fn visit(&mut self, visited: &Visited<'_>, progress: &Progress);
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
    progress: &'q Progress,
    queue: Queue<Task>,
    /// The length of the path that it begins at, with the slash after it.
    below: usize,
    /// The boundaries that lie within, by their paths.
    inner: Vec<(&'q OsStr, usize)>,
    /// Whether something is hidden in any boundary.
    has_hidden: bool,
}

impl<'q> Walk<'q> {
    /// Prepares a walk.
    pub(super) fn new(
        query: &'q Query,
        start: &Resolved,
        selection: Selection,
        progress: &'q Progress,
        effort: Effort,
    ) -> Self {
        let path = start.guest.as_path();
        let guests = query.places().iter().map(|place| place.guest.as_path()).zip(0..);
        let inner = guests.filter(|(guest, _)| *guest != path && guest.starts_with(path));
        let length = path.as_os_str().len();
        Self {
            query,
            selection,
            effort,
            progress,
            queue: Queue::new(),
            below: if length == 1 { 1 } else { length + 1 },
            inner: inner.map(|(guest, place)| (guest.as_os_str(), place)).collect(),
            has_hidden: query.hides_something(),
        }
    }

    /// Visits everything beneath a directory that is open. `around` are the rules of the directories around it. Returns what each thread has
    /// found.
    pub(super) fn run<V: Visitor>(
        self,
        directory: OwnedFd,
        start: &Resolved,
        around: Option<Arc<Ignored>>,
        visitor: impl Fn() -> V + Sync,
    ) -> Vec<V> {
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
        thread::scope(|scope| {
            // They act for whom this thread acts. Where there is no room for one more, these do its work.
            let others: Vec<_> =
                (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut found = vec![work()];
            found.extend(others.into_iter().filter_map(|other| other.join().ok()));
            found
        })
    }

    fn work(&self, visitor: &mut impl Visitor) {
        let mut names = vec![MaybeUninit::uninit(); NAMES];
        while let Some(task) = self.queue.take() {
            let _running = self.queue.running();
            if let Task::Enter { name, .. } = &task {
                self.progress.waited(name.count_bytes() + TASK);
            }
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
            if let Err(errno) = done {
                self.progress.failed(errno);
            }
        }
    }

    /// Opens a directory within another.
    fn enter(&self, parent: &Directory, name: &CStr) -> Result<Directory, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = openat(&parent.descriptor, name, flags, Mode::empty())?;
        let path = parent.path.join(OsStr::from_bytes(name.to_bytes()));
        let Lying { place, relative } = self.lying(parent, &path);
        let (relative, depth) = (relative.into_owned(), parent.depth + 1);
        let ignored = self.ignored(parent.ignored.clone(), &descriptor, &path);
        Ok(Directory { descriptor, path, place, relative, depth, ignored })
    }

    /// Returns where something in a directory lies: in the boundary of the directory, or in one that begins there, which may be a single file.
    fn lying<'p>(&self, parent: &Directory, path: &'p Path) -> Lying<'p> {
        if let Some(place) = self.inner(path) {
            return Lying { place, relative: Path::new("").into() };
        }
        let name = path.file_name().unwrap_or_default();
        Lying { place: parent.place, relative: parent.relative.join(name).into() }
    }

    /// Returns the boundary within that begins at a path.
    fn inner(&self, path: &Path) -> Option<usize> {
        let mut inner = self.inner.iter();
        inner.find_map(|(guest, place)| (*guest == path.as_os_str()).then_some(*place))
    }

    fn ignored(
        &self,
        around: Option<Arc<Ignored>>,
        directory: impl AsFd,
        path: &Path,
    ) -> Option<Arc<Ignored>> {
        self.selection.gitignore.then(|| Ignored::within(around, directory, path, self.progress)).flatten()
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
                self.progress.count(std::mem::take(&mut since_glance));
                if !self.progress.goes_on() {
                    break;
                }
            }
            let path = path.with(OsStr::from_bytes(name.to_bytes()));
            let Some(kind) = self.selected(directory, name, entry.file_type(), path)? else { continue };
            if kind == FileKind::Directory {
                within.extend(self.entering(directory, name));
            }
            if self.effort == Effort::Contents && kind == FileKind::File {
                files.push(name.to_owned());
                if files.len() == FILES {
                    self.share(directory, std::mem::take(&mut files), visitor);
                }
            } else {
                self.visit(directory, name, kind, path, visitor);
            }
        }
        self.progress.count(since_glance);
        if !within.is_empty() {
            self.queue.add(within);
        }
        self.visit_files(directory, &files, visitor);
        Ok(())
    }

    /// Returns what an entry of a directory is, if it is visited.
    fn selected(
        &self,
        directory: &Directory,
        name: &CStr,
        listed: FileType,
        path: &Path,
    ) -> Result<Option<FileKind>, Errno> {
        let Selection { hidden, gitignore } = self.selection;
        if name.to_bytes().starts_with(b".") && (!hidden || gitignore && name == c".git") {
            return Ok(None);
        }
        if path.as_os_str().len() > MAX_PATH {
            self.progress.note(Stopped::Depth);
            return Ok(None);
        }
        let listed = kind_of(directory.descriptor.as_fd(), name, listed)?;
        if listed == FileType::Unknown {
            return Ok(None);
        }
        let kind = kind(listed);
        let is_ignored = |ignored: &Arc<Ignored>| ignored.ignores(path, kind, self.progress);
        if directory.ignored.as_ref().is_some_and(is_ignored) {
            return Ok(None);
        }
        let is_excluded = if self.has_hidden {
            let Lying { place, relative } = self.lying(directory, path);
            self.query.is_hidden(place, &relative) || self.has_other_suffix(place, kind, path)
        } else {
            self.has_other_suffix(self.place(directory, path), kind, path)
        };
        Ok((!is_excluded).then_some(kind))
    }

    fn has_other_suffix(&self, place: usize, kind: FileKind, path: &Path) -> bool {
        let allowed = &self.query.places()[place].tools.suffixes;
        kind == FileKind::File && !policy::query::has_suffix(allowed, path.as_os_str())
    }

    /// Returns the boundary that something in a directory lies in.
    fn place(&self, directory: &Directory, path: &Path) -> usize {
        self.inner(path).unwrap_or(directory.place)
    }

    /// Returns the piece of work that a directory within another is, unless it is too deep.
    fn entering(&self, parent: &Arc<Directory>, name: &CStr) -> Option<Task> {
        if parent.depth + 1 >= self.progress.bounds.depth {
            self.progress.note(Stopped::Depth);
            return None;
        }
        self.progress.wait(name.count_bytes() + TASK);
        Some(Task::Enter { parent: Arc::clone(parent), name: name.to_owned() })
    }

    /// Has another thread visit files, where one is idle, and else visits them.
    fn share(&self, directory: &Arc<Directory>, names: Vec<CString>, visitor: &mut impl Visitor) {
        if self.queue.has_idle() {
            self.queue.add([Task::Visit { directory: Arc::clone(directory), names }]);
        } else {
            self.visit_files(directory, &names, visitor);
        }
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
        let (below, place) = (self.below, self.place(directory, path));
        let visited = Visited { directory: directory.descriptor.as_fd(), name, kind, path, below, place };
        visitor.visit(&visited, self.progress);
    }
}

/// Where something lies.
struct Lying<'p> {
    /// The boundary.
    place: usize,
    /// The path as seen from there.
    relative: Cow<'p, Path>,
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
