//! The walk through a writable boundary: repositories and sockets, down to a bound, without following links.
//!
//! It runs before every start, so it reads directories and nothing else: the kernel says in the listing what
//! each entry is, and only directories are opened. Whether a file is set-user-id the listing does not say: of a writable
//! boundary, a bounded number of files is examined for it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use policy::plan::FileId;
use policy::protect::SKIPPED;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::boundary::quarantine::name::is_quarantine;
use crate::boundary::root::Entered;
use crate::host::beneath::{file_id, kind_of, listing};
use crate::host::deadline::Deadline;

/// How much of a directory is read at once. Larger ones make the kernel's work no cheaper.
const LISTING: usize = 8 << 10;

/// After how many entries a second thread joins in. It costs about 50 µs to start, and this many take 0.5 ms.
const WORTH_A_THREAD: usize = 2_000;

/// How many entries are read between two looks at the clock. They take less than a millisecond.
const BETWEEN_LOOKS: usize = 1024;

/// How many directories wait to be looked at, at most: each takes some 200 bytes, and an agent may make millions.
const MAX_WAITING: usize = 100_000;

/// How many things of a kind are found at most. No start covers as many.
const MAX_FOUND: usize = 100_000;

/// How many bytes the paths of what is found beyond the bound have at most: they may be long, and the search keeps several of each.
const MAX_BEYOND: usize = 1 << 20;

/// How long a path is at most that is entered: git can open no longer one.
const MAX_PATH_LENGTH: usize = 4096;

/// How many links are kept to be followed.
const MAX_LINKS: usize = 10_000;

/// How many bytes of names each thread keeps, at most: those of 100,000 entries take 2 MB.
const MAX_NAMES: usize = 4 << 20;

/// How many paths of a kind that may be frequent are kept as examples.
const EXAMPLES: usize = 5;

/// How many files are examined for their set-id bits. One costs as much as reading five entries: for these some 10 ms.
const MAX_SET_ID_STATS: usize = 10_000;

/// What a walk found. Paths are relative to the boundary; the boundary itself is the empty path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Walk {
    /// The boundary's root.
    pub root: FileId,
    /// Directories that git takes for repositories, the outer ones first. One that may be a bare repository beside its
    /// `.git` is here twice.
    pub repositories: Vec<Repository>,
    /// Work trees of Mercurial, Jujutsu and Sapling.
    pub trees: Vec<PathBuf>,
    pub sockets: Vec<Socket>,
    /// Links outside git's own directories. They may lead to what was not entered.
    pub links: Vec<PathBuf>,
    /// Directories that could not be read. What is in them is not protected.
    pub unread: Vec<Unread>,
    /// Directories deeper than the bound, which were not entered. What is in them is not protected.
    pub deeper: Unseen,
    /// Directories that were not entered because of their name, see [`SKIPPED`]. What is in them is not
    /// protected.
    pub skipped: Unseen,
    /// Directories of other file systems, which were not entered. What is in them is not protected.
    pub other_file_systems: Vec<PathBuf>,
    /// Files that are set-user-id or set-group-id, where they were looked for.
    pub set_id: Vec<SetId>,
    /// How many files were not examined for it, because there are too many.
    pub unasked: usize,
    /// What was found beyond the bound, where it was looked for.
    pub beyond: Beyond,
    /// Whether it was.
    pub extent: Extent,
    /// What is in the boundary's root, in work trees and in the `.git` of each: protected paths are looked for there.
    pub names: Names,
    /// Whether there was time, and room, to look at everything.
    pub is_whole: bool,
}

/// The names in some directories, so that these need not be listed again. Those of very large ones are not kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Names(BTreeMap<PathBuf, Box<[u8]>>);

impl Names {
    /// Lists the names in a directory, if they were kept.
    pub fn of(&self, directory: &Path) -> Option<impl Iterator<Item = &[u8]>> {
        self.0
            .get(directory)
            .map(|names| names.split_inclusive(|byte| *byte == 0).map(|name| &name[..name.len() - 1]))
    }
}

/// What lies in directories that are too deep, or skipped because of their name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Beyond {
    /// Repositories, and what lacks no more than one name to be one.
    pub repositories: Vec<Repository>,
    /// Directories anywhere that are no repositories and hold what git would obey beside a name that makes one: the next command
    /// may put them together, when all of it is old.
    pub parts: Vec<PathBuf>,
    /// Directories that could not be read.
    pub unread: Vec<PathBuf>,
}

/// What is done with directories beyond the bound.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Extent {
    /// They are counted.
    #[default]
    Bounded,
    /// They are searched for repositories, when everything else is done.
    Whole,
}

/// A set-user-id or set-group-id file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SetId {
    pub path: PathBuf,
    pub file_id: FileId,
}

/// A directory that git takes for a repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repository {
    pub path: PathBuf,
    /// Where git keeps its data.
    pub git: Git,
}

/// Where git keeps the data of a repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Git {
    /// In `.git`.
    Directory,
    /// Where the file `.git` says.
    File,
    /// Where the link `.git` leads.
    Link,
    /// In the directory itself: a bare repository.
    Bare,
}

/// A Unix socket.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Socket {
    pub path: PathBuf,
    pub file_id: FileId,
}

/// A directory that could not be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unread {
    pub path: PathBuf,
    pub errno: i32,
}

/// Directories that were not entered: how many, and some of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Unseen {
    pub count: usize,
    /// The first ones that were met.
    pub examples: Vec<PathBuf>,
}

/// Walks through a boundary, entering directories that lie at most `depth` levels below its root.
///
/// What detection has moved aside is not looked at again: nothing obeys it there. However much an agent has made, the
/// walk keeps no more of it in memory than some ten megabytes, and says that it is not whole.
///
/// Only the root itself has to be readable: everything else that cannot be looked at is part of the result.
/// A large tree is shared between two threads where a processor is idle: nearly all the time goes into the
/// kernel's listing.
pub fn walk(root: &Entered<'_>, depth: u32) -> io::Result<Walk> {
    walk_until(root, depth, Deadline::NEVER)
}

/// Walks like [`walk`], and stats files for set-user-id and set-group-id bits: up to a bound, beyond which they are
/// counted.
pub fn walk_with_files(root: &Entered<'_>, depth: u32, until: Deadline) -> io::Result<Walk> {
    walk_with(root, depth, until, MAX_SET_ID_STATS, Extent::Bounded)
}

/// Walks like [`walk`], until a deadline.
pub fn walk_until(root: &Entered<'_>, depth: u32, until: Deadline) -> io::Result<Walk> {
    walk_with(root, depth, until, 0, Extent::Bounded)
}

/// Walks like [`walk_until`], and looks beyond the bound for repositories.
pub fn walk_everywhere(root: &Entered<'_>, depth: u32, until: Deadline) -> io::Result<Walk> {
    walk_with(root, depth, until, 0, Extent::Whole)
}

fn walk_with(
    root: &Entered<'_>,
    depth: u32,
    until: Deadline,
    set_id_stats: usize,
    extent: Extent,
) -> io::Result<Walk> {
    let directory = listing(root, Path::new(""))?;
    let id = file_id(&rustix::fs::fstat(&directory)?);
    let queue = Queue {
        extent,
        stats_set_id: set_id_stats > 0,
        set_id_stats_left: AtomicUsize::new(set_id_stats),
        ..Queue::default()
    };
    let mut walker = Walker::new(id, &queue, until);
    walker.enter(&Arc::new(Parent { directory, path: PathBuf::new() }), depth)?;
    std::thread::scope(|scope| {
        let mut helper = None;
        while let Some(job) = queue.take() {
            walker.visit(&job);
            queue.done();
            if helper.is_none() && walker.entries > WORTH_A_THREAD {
                let help = || Walker::new(id, &queue, until).work();
                // Where no thread can be made, this one does all the work.
                let start = || std::thread::Builder::new().spawn_scoped(scope, help).ok();
                helper = Some(has_idle_cpu().then(start).flatten());
            }
        }
        if let Some(helper) = helper.flatten() {
            let theirs = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            walker.found.join(theirs);
        }
    });
    Ok(walker.found.in_order())
}

/// Returns whether a second thread would have a processor to itself. Where it has not, waiting for it costs more than it
/// brings. The fourth field of `/proc/loadavg` counts what could run at this moment, see proc(5).
fn has_idle_cpu() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|field| field.split('/').next()?.parse::<usize>().ok());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    running.is_some_and(|running| running < cpus)
}

impl Walk {
    fn join(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.trees.extend(other.trees);
        self.sockets.extend(other.sockets);
        self.links.extend(other.links);
        self.unread.extend(other.unread);
        self.other_file_systems.extend(other.other_file_systems);
        self.deeper.join(other.deeper);
        self.skipped.join(other.skipped);
        self.set_id.extend(other.set_id);
        self.unasked += other.unasked;
        self.beyond.repositories.extend(other.beyond.repositories);
        self.beyond.parts.extend(other.beyond.parts);
        self.beyond.unread.extend(other.beyond.unread);
        self.names.0.extend(other.names.0);
        self.is_whole &= other.is_whole;
    }

    fn in_order(mut self) -> Self {
        // Paths sort by component, so what lies in a directory follows it.
        self.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        self.trees.sort();
        self.sockets.sort_by(|a, b| a.path.cmp(&b.path));
        self.links.sort();
        self.unread.sort_by(|a, b| a.path.cmp(&b.path));
        self.set_id.sort_by(|a, b| a.path.cmp(&b.path));
        self.other_file_systems.sort();
        self.beyond.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        self.beyond.parts.sort();
        self.beyond.unread.sort();
        self
    }
}

impl Unseen {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(path);
        }
    }

    fn join(&mut self, other: Self) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
    }
}

/// A directory that is still to be looked at.
struct Job {
    parent: Arc<Parent>,
    name: CString,
    place: At,
}

/// A directory in which others are still to be looked at. They share its path, which may be long.
struct Parent {
    directory: OwnedFd,
    path: PathBuf,
}

/// Where a directory lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum At {
    /// Within the bound, as so many levels below it are still.
    Within(u32),
    /// Beyond it.
    Beyond,
}

impl Job {
    fn path(&self) -> PathBuf {
        self.parent.path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// What is still to be done. The last directory that was found comes first, so few stay open.
#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    changed: Condvar,
    extent: Extent,
    /// Whether files are examined for their set-id bits, and how many more.
    stats_set_id: bool,
    set_id_stats_left: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    /// What lies beyond the bound, for which there may be no time.
    beyond: Vec<Job>,
    running: usize,
}

impl Queue {
    /// Adds what is still to be done. False if there is no room for all of it.
    fn add(&self, jobs: Vec<Job>) -> bool {
        let mut queue = self.lock();
        let mut is_enough = true;
        for job in jobs {
            let waiting = if job.place == At::Beyond { &mut queue.beyond } else { &mut queue.waiting };
            is_enough &= keep(waiting, MAX_WAITING, job);
        }
        self.changed.notify_one();
        is_enough
    }

    /// Waits for something to do; `None` once everything is done.
    fn take(&self) -> Option<Job> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.waiting.pop().or_else(|| jobs.beyond.pop()) {
                jobs.running += 1;
                return Some(job);
            }
            if jobs.running == 0 {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns whether one more file may be examined for its set-id bits.
    fn may_stat(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.set_id_stats_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    fn done(&self) {
        let mut jobs = self.lock();
        jobs.running -= 1;
        if jobs.running == 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Walker<'a> {
    found: Walk,
    queue: &'a Queue,
    entries: usize,
    until: Deadline,
    /// How many bytes of [`MAX_BEYOND`] are left.
    left_beyond: usize,
    /// One buffer for all directories: each is read to its end before the next is opened.
    buffer: Vec<u8>,
    /// The names in the directory that was read last, each with a NUL behind it; `None` if there are too many, or if it was
    /// not read to its end.
    names: Option<Vec<u8>>,
    /// How many bytes of [`MAX_NAMES`] are left.
    left_names: usize,
}

/// What of a directory makes it a repository. What the listing cannot show is taken for what git wants: the agent may
/// change it while it runs.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a name that is there or not")]
struct Signs {
    git: Option<Git>,
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
    is_obeyed: bool,
    is_tree: bool,
}

impl<'a> Walker<'a> {
    fn new(root: FileId, queue: &'a Queue, until: Deadline) -> Self {
        let found = Walk {
            root,
            repositories: Vec::new(),
            trees: Vec::new(),
            sockets: Vec::new(),
            links: Vec::new(),
            unread: Vec::new(),
            deeper: Unseen::default(),
            skipped: Unseen::default(),
            other_file_systems: Vec::new(),
            set_id: Vec::new(),
            unasked: 0,
            beyond: Beyond::default(),
            extent: queue.extent,
            names: Names::default(),
            is_whole: true,
        };
        Self {
            found,
            queue,
            entries: 0,
            until,
            left_beyond: MAX_BEYOND,
            buffer: Vec::with_capacity(LISTING),
            names: None,
            left_names: MAX_NAMES,
        }
    }

    fn work(mut self) -> Walk {
        while let Some(job) = self.queue.take() {
            self.visit(&job);
            self.queue.done();
        }
        self.found
    }

    fn visit(&mut self, job: &Job) {
        if self.until.is_over() {
            self.found.is_whole = false;
            return;
        }
        match self.open(job) {
            // One that is gone by now, or became something else, is nothing to report.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) if job.place == At::Beyond => {
                let path = job.path();
                if self.has_room_beyond(&path) {
                    self.found.beyond.unread.push(path);
                }
            }
            Err(errno) => {
                let unread = Unread { path: job.path(), errno: errno.raw_os_error() };
                self.found.is_whole &= keep(&mut self.found.unread, MAX_FOUND, unread);
            }
        }
    }

    fn open(&mut self, job: &Job) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&job.parent.directory, &job.name, flags, Mode::empty())?;
        let path = job.path();
        if rustix::fs::fstat(&directory)?.st_dev != self.found.root.device {
            if job.place != At::Beyond {
                self.found.is_whole &= keep(&mut self.found.other_file_systems, MAX_FOUND, path);
            }
            return Ok(());
        }
        match job.place {
            At::Beyond => self.find_repositories(&Arc::new(Parent { directory, path })),
            // What is in it is no work tree, but sockets that git itself listens on lie right in it.
            At::Within(_) if is_git(&job.name) => {
                self.read(&directory, &path, |_, _| {})?;
                self.keep_names(&path);
                Ok(())
            }
            At::Within(levels) => self.enter(&Arc::new(Parent { directory, path }), levels),
        }
    }

    fn enter(&mut self, parent: &Arc<Parent>, levels: u32) -> Result<(), Errno> {
        let Parent { directory, path } = parent.as_ref();
        let mut below = Vec::new();
        let mut links = Vec::new();
        let mut signs = Signs::default();
        let mut is_whole = true;
        self.read(directory, path, |name, kind| {
            signs.note(name, kind);
            if kind == FileType::Directory {
                is_whole &= keep(&mut below, MAX_WAITING, name.to_owned());
            } else if kind == FileType::Symlink && !is_git(name) {
                is_whole &= keep(&mut links, MAX_LINKS, path.join(OsStr::from_bytes(name.to_bytes())));
            }
        })?;
        if path == Path::new("") || signs.is_tree || signs.repositories().next().is_some() {
            self.keep_names(path);
        }
        for git in signs.repositories() {
            is_whole &= keep(&mut self.found.repositories, MAX_FOUND, Repository { path: path.into(), git });
        }
        // The boundary itself cannot be moved.
        let is_movable = path != Path::new("") && self.queue.extent == Extent::Whole;
        if is_movable && signs.is_part() && signs.repositories().all(|git| git != Git::Bare) {
            self.part(path);
        }
        if signs.is_tree {
            is_whole &= keep(&mut self.found.trees, MAX_FOUND, path.into());
        }
        for link in links {
            is_whole &= keep(&mut self.found.links, MAX_LINKS, link);
        }
        let mut jobs = Vec::with_capacity(below.len());
        for name in below {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            let place = if is_quarantine(&path) {
                At::Beyond
            } else if SKIPPED.iter().any(|skipped| skipped.as_bytes() == name.to_bytes()) {
                self.found.skipped.add(path);
                At::Beyond
            } else if levels == 0 && !is_git(&name) {
                self.found.deeper.add(path);
                At::Beyond
            } else {
                At::Within(levels.saturating_sub(1))
            };
            if place != At::Beyond || self.queue.extent == Extent::Whole {
                jobs.push(Job { parent: Arc::clone(parent), name, place });
            }
        }
        self.found.is_whole &= self.queue.add(jobs) && is_whole;
        Ok(())
    }

    /// Looks at a directory beyond the bound.
    fn find_repositories(&mut self, parent: &Arc<Parent>) -> Result<(), Errno> {
        let Parent { directory, path } = parent.as_ref();
        if path.as_os_str().len() > MAX_PATH_LENGTH {
            self.found.is_whole = false;
            return Ok(());
        }
        let mut jobs = Vec::new();
        let mut signs = Signs::default();
        let mut is_whole = true;
        self.read(directory, path, |name, kind| {
            signs.note(name, kind);
            if kind == FileType::Directory && !is_git(name) {
                let job = Job { parent: Arc::clone(parent), name: name.to_owned(), place: At::Beyond };
                is_whole &= keep(&mut jobs, MAX_WAITING, job);
            }
        })?;
        for git in signs.possible_repositories() {
            if self.has_room_beyond(path) {
                self.found.beyond.repositories.push(Repository { path: path.into(), git });
            }
        }
        if signs.is_part() && signs.possible_repositories().all(|git| git != Git::Bare) {
            self.part(path);
        }
        self.found.is_whole &= self.queue.add(jobs) && is_whole;
        Ok(())
    }

    fn part(&mut self, path: &Path) {
        if self.has_room_beyond(path) {
            self.found.beyond.parts.push(path.into());
        }
    }

    fn has_room_beyond(&mut self, path: &Path) -> bool {
        let left = self.left_beyond.checked_sub(path.as_os_str().len());
        self.left_beyond = left.unwrap_or(0);
        self.found.is_whole &= left.is_some();
        left.is_some()
    }

    /// Keeps the names in the directory that was read last.
    fn keep_names(&mut self, directory: &Path) {
        let Some(names) = &self.names else { return };
        if let Some(left) = self.left_names.checked_sub(names.len()) {
            self.left_names = left;
            self.found.names.0.insert(directory.into(), names.as_slice().into());
        }
    }

    /// Reads a directory: keeps the sockets and hands on what else may matter.
    fn read(
        &mut self,
        directory: &OwnedFd,
        path: &Path,
        mut each: impl FnMut(&CStr, FileType),
    ) -> Result<(), Errno> {
        let mut names = self.names.take().unwrap_or_default();
        names.clear();
        let mut listing = RawDir::new(directory, self.buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry?;
            self.entries += 1;
            if self.entries % BETWEEN_LOOKS == 0 && self.until.is_over() {
                self.found.is_whole = false;
                return Ok(());
            }
            let name = entry.file_name();
            if names.len() <= self.left_names {
                names.extend_from_slice(name.to_bytes_with_nul());
            }
            if self.queue.stats_set_id
                && matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown)
            {
                if self.queue.may_stat() {
                    self.found.set_id.extend(set_id(directory, path, name));
                } else {
                    self.found.unasked += 1;
                }
            }
            let name = name_for_git(directory, name);
            let ordinary = entry.file_type() == FileType::RegularFile && !Signs::concern(name);
            if ordinary || name == c"." || name == c".." {
                continue;
            }
            match kind_of(directory.as_fd(), name, entry.file_type())? {
                FileType::Socket => {
                    // One that is gone by now needs no mask.
                    if let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                        let path = path.join(OsStr::from_bytes(name.to_bytes()));
                        let mut file_id = file_id(&stat);
                        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
                            // Somebody has just swapped it. No file has this number, so whoever wants to cover it
                            // finds that out.
                            file_id.inode = 0;
                        }
                        let socket = Socket { path, file_id };
                        self.found.is_whole &= keep(&mut self.found.sockets, MAX_FOUND, socket);
                    }
                }
                kind => each(name, kind),
            }
        }
        self.names = (names.len() <= self.left_names).then_some(names);
        Ok(())
    }
}

/// Adds something to a list of at most so many. False if there is no room.
fn keep<T>(list: &mut Vec<T>, most: usize, one: T) -> bool {
    let is_room = list.len() < most;
    if is_room {
        list.push(one);
    }
    is_room
}

/// Returns a file if it is set-user-id or set-group-id.
fn set_id(directory: &OwnedFd, path: &Path, name: &CStr) -> Option<SetId> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    (is_file && stat.st_mode & 0o6000 != 0)
        .then(|| SetId { path: path.join(OsStr::from_bytes(name.to_bytes())), file_id: file_id(&stat) })
}

/// Returns the name by which git looks for an entry, where the file system takes both for the same: in upper or lower
/// case, with letters that it ignores, or by a short name.
fn name_for_git<'a>(directory: &OwnedFd, name: &'a CStr) -> &'a CStr {
    let Some(sign) = Signs::alike(name) else { return name };
    let is_it = |name: &CStr| {
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| file_id(&stat))
    };
    let sign_id = is_it(sign);
    if sign_id.is_some() && sign_id == is_it(name) { sign } else { name }
}

fn is_git(name: &CStr) -> bool {
    name == c".git"
}

impl Signs {
    const NAMES: [&'static CStr; 13] = [
        c".git", c"HEAD", c"objects", c"refs", c"commondir", c"config", c"config.worktree", c"hooks", c".hg",
        c".jj", c".sl", c".pijul", c"_darcs",
    ];

    /// Returns whether an entry of this name can be a sign.
    fn concern(name: &CStr) -> bool {
        Self::NAMES.contains(&name)
    }

    /// Returns the sign that a file system may find under another name.
    fn alike(name: &CStr) -> Option<&'static CStr> {
        let bytes = name.to_bytes();
        // Most names begin with another letter.
        let begins = matches!(
            bytes.first(),
            Some(b'.' | b'_' | b'H' | b'h' | b'O' | b'o' | b'R' | b'r' | b'C' | b'c' | b'G' | b'g' | 0x80..)
        );
        if !begins || Self::concern(name) {
            return None;
        }
        if bytes.eq_ignore_ascii_case(b"git~1") {
            return Some(c".git");
        }
        // Which letters beyond ASCII are ignored is not for us to say.
        let letters = || bytes.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase);
        Self::NAMES.into_iter().find(|sign| letters().eq(sign.to_bytes().iter().map(u8::to_ascii_lowercase)))
    }

    fn note(&mut self, name: &CStr, kind: FileType) {
        match name.to_bytes() {
            b".git" => {
                self.git = match kind {
                    FileType::Directory => Some(Git::Directory),
                    FileType::RegularFile => Some(Git::File),
                    FileType::Symlink => Some(Git::Link),
                    _ => None,
                }
            }
            b"HEAD" => self.head = kind != FileType::Directory,
            // Git only asks whether it may execute them, as directories or as files.
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.common = kind != FileType::Directory,
            b"config" | b"config.worktree" => self.is_obeyed |= kind != FileType::Directory,
            b"hooks" => self.is_obeyed |= kind == FileType::Directory,
            b".hg" | b".jj" | b".sl" | b".pijul" | b"_darcs" => self.is_tree = true,
            _ => {}
        }
    }

    /// Lists what makes a directory a repository, and what may be a bare one as soon as one more name is there: times do
    /// not show when a directory that is old itself was moved to where it lies.
    fn possible_repositories(&self) -> impl Iterator<Item = Git> {
        let is_almost = self.head || (self.objects && self.refs);
        self.git.into_iter().chain(is_almost.then_some(Git::Bare))
    }

    /// Returns whether there is something that git would obey beside a name that makes a directory a repository.
    fn is_part(&self) -> bool {
        self.is_obeyed && (self.head || self.objects || self.refs || self.common)
    }

    fn repositories(&self) -> impl Iterator<Item = Git> {
        // So git tells a bare repository, see `is_git_directory` of its setup.c. It prefers a `.git`, unless that is none,
        // and any `.git` may be gone or spoilt by the time git looks.
        let has_data = self.common || (self.objects && self.refs);
        self.git.into_iter().chain((self.head && has_data).then_some(Git::Bare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_known_under_every_name_that_a_file_system_may_find_it_by() {
        for (name, sign) in [
            (c".GIT", Some(c".git")),
            (c".g\u{200c}it", Some(c".git")),
            (c"GIT~1", Some(c".git")),
            (c"head", Some(c"HEAD")),
            (c"Objects", Some(c"objects")),
            (c".git", None),
            (c".gitx", None),
            (c"git", None),
            (c"x", None),
        ] {
            assert_eq!(Signs::alike(name), sign, "{name:?}");
        }
        // Where upper and lower case differ, they are different files; a second name of one is the same.
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(".GIT"), "").unwrap();
        let root = listing(std::fs::File::open(top.path()).unwrap(), Path::new("")).unwrap();
        assert_eq!(name_for_git(&root, c".GIT"), c".GIT");
        std::fs::hard_link(top.path().join(".GIT"), top.path().join(".git")).unwrap();
        assert_eq!(name_for_git(&root, c".GIT"), c".git");
    }

    #[test]
    fn no_more_directories_wait_than_there_is_room_for() {
        let directory = listing(std::fs::File::open("/").unwrap(), Path::new("")).unwrap();
        let parent = Arc::new(Parent { directory, path: "x".into() });
        let jobs = |number: usize| {
            let job = |_| Job { parent: Arc::clone(&parent), name: c"x".into(), place: At::Within(0) };
            (0..number).map(job).collect::<Vec<_>>()
        };
        let queue = Queue::default();
        assert!(queue.add(jobs(MAX_WAITING - 1)), "the control: so many fit");
        assert!(!queue.add(jobs(2)));
        assert_eq!(queue.lock().waiting.len(), MAX_WAITING);
        let mut found = Vec::new();
        assert!(keep(&mut found, 1, "x") && !keep(&mut found, 1, "y"));
        assert_eq!(found, ["x"]);
    }
}
