//! The walk through a writable boundary: repositories and sockets, down to a bound, without following links.
//!
//! It runs before every start, so it reads directories and nothing else: the kernel says in the listing what
//! each entry is, and only directories are opened. Whether a file is privileged (set-user-id, set-group-id, or with capabilities) the listing
//! does not say: of a writable boundary, a bounded number of files is examined for it.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::plan::FileId;
use policy::protect::SKIPPED;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

use self::known::{Contents, Learned, MAX_LEARNED, changed, horizon};
use self::queue::{At, Job, MAX_WAITING, ParentDirectory, Queue, keep};
use self::signs::{Signs, name_for_git};
use crate::boundary::quarantine::name::is_quarantine;
use crate::boundary::root::Entered;
use crate::host::beneath::{file_id, kind_of, listing};
use crate::host::deadline::Deadline;

pub use self::found::{
    Beyond, Extent, Git, Names, Privileged, Repository, SocketFile, UnreadDirectory, Unseen, Walk,
};
pub use self::known::Known;
pub(crate) use self::signs::is_data_of_another_system;

mod found;
mod known;
mod queue;
mod signs;

/// How much of a directory is read at once. Larger ones make the kernel's work no cheaper.
const LISTING: usize = 8 << 10;

/// After how many entries a second thread joins in. It costs about 50 µs to start, and this many take 0.5 ms.
const WORTH_A_THREAD: usize = 2_000;

/// How many entries are read between two looks at the clock. They take less than a millisecond.
const BETWEEN_LOOKS: usize = 1024;

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

/// How many files are examined for privileges. One costs as much as reading five entries, and one that is executable four times that: for
/// these some 10 ms, and 45 ms at most.
const MAX_FILE_STATS: usize = 10_000;

/// Walks through a boundary, entering directories that lie at most `depth` levels below its root.
///
/// What detection has quarantined is not looked at again: nothing obeys it there. However much an agent has made, the
/// walk keeps no more of it in memory than some twenty megabytes, and says that it is not whole.
///
/// Only the root itself has to be readable: everything else that cannot be looked at is part of the result.
/// A large tree is shared between two threads where a processor is idle: nearly all the time goes into the
/// kernel's listing.
pub fn walk(root: &Entered<'_>, depth: u32) -> io::Result<Walk> {
    walk_until(root, depth, Deadline::NEVER, &Known::default())
}

/// Walks like [`walk`], and stats files for privileges: up to a bound, beyond which they are
/// counted. What it reads is noted for later walks.
pub fn walk_with_files(root: &Entered<'_>, depth: u32, until: Deadline, known: &Known) -> io::Result<Walk> {
    let horizon = horizon(root);
    walk_with(root, depth, until, MAX_FILE_STATS, Extent::Bounded, known, horizon)
}

/// Walks like [`walk`], until a deadline, and reads no directory that is known and has not changed.
pub fn walk_until(root: &Entered<'_>, depth: u32, until: Deadline, known: &Known) -> io::Result<Walk> {
    walk_with(root, depth, until, 0, Extent::Bounded, known, None)
}

/// Walks like [`walk_until`], and looks beyond the bound for repositories. What it reads is noted for later walks.
pub fn walk_everywhere(root: &Entered<'_>, depth: u32, until: Deadline, known: &Known) -> io::Result<Walk> {
    let horizon = horizon(root);
    walk_with(root, depth, until, 0, Extent::Whole, known, horizon)
}

fn walk_with(
    root: &Entered<'_>,
    depth: u32,
    until: Deadline,
    file_stats: usize,
    extent: Extent,
    known: &Known,
    horizon: Option<(i64, u64)>,
) -> io::Result<Walk> {
    let directory = listing(root, Path::new(""))?;
    let stat = rustix::fs::fstat(&directory)?;
    let id = file_id(&stat);
    let queue = Queue::new(extent, file_stats);
    let new = || Walker::new(id, &queue, until, known, horizon);
    let mut walker = new();
    let root = Arc::new(ParentDirectory { directory, path: PathBuf::new() });
    walker.enter(&root, &stat, depth)?;
    // A directory that is known costs about as much as reading ten entries.
    let is_large = known.directories() > WORTH_A_THREAD / 10;
    std::thread::scope(|scope| {
        let mut helper = None;
        while let Some(job) = queue.take() {
            walker.visit(&job);
            queue.done();
            if helper.is_none() && (walker.entries > WORTH_A_THREAD || is_large) {
                let help = || new().work();
                // Where no thread can be made, this one does all the work.
                let start = || std::thread::Builder::new().spawn_scoped(scope, help).ok();
                helper = Some(has_idle_cpu().then(start).flatten());
            }
        }
        if let Some(helper) = helper.flatten() {
            let theirs = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            walker.found.join(theirs.0);
            walker.learned.extend(theirs.1);
        }
    });
    known.learn(walker.learned);
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

struct Walker<'a> {
    found: Walk,
    queue: &'a Queue,
    entries: usize,
    /// How many files are in the directory that was read last.
    files: usize,
    until: Deadline,
    known: &'a Known,
    /// Until when a directory must have changed for the last time to be remembered.
    horizon: Option<(i64, u64)>,
    learned: Vec<Learned>,
    /// How many bytes of [`MAX_LEARNED`] are left.
    left_to_learn: usize,
    /// How many bytes of [`MAX_BEYOND`] are left.
    left_beyond: usize,
    /// One buffer for all directories: each is read to its end before the next is opened.
    buffer: Vec<u8>,
    /// The names in the directory that was read last, each with a NUL behind it; `None` if there are too many, or if it was
    /// not read to its end.
    names: Option<Vec<u8>>,
    /// How many bytes of [`MAX_NAMES`] are left.
    left_names: usize,
    /// Whether the directory that is read lies within the bound.
    is_within: bool,
}

impl<'a> Walker<'a> {
    fn new(
        root: FileId,
        queue: &'a Queue,
        until: Deadline,
        known: &'a Known,
        horizon: Option<(i64, u64)>,
    ) -> Self {
        let found = Walk {
            root,
            repositories: Vec::new(),
            trees: Vec::new(),
            sockets: Vec::new(),
            links: Vec::new(),
            options: Vec::new(),
            annex_programs: Vec::new(),
            unread: Vec::new(),
            deeper: Unseen::default(),
            skipped: Unseen::default(),
            other_file_systems: Vec::new(),
            privileged: Vec::new(),
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
            files: 0,
            until,
            known,
            horizon,
            learned: Vec::new(),
            left_to_learn: MAX_LEARNED,
            left_beyond: MAX_BEYOND,
            buffer: Vec::with_capacity(LISTING),
            names: None,
            left_names: MAX_NAMES,
            is_within: true,
        }
    }

    fn work(mut self) -> (Walk, Vec<Learned>) {
        while let Some(job) = self.queue.take() {
            self.visit(&job);
            self.queue.done();
        }
        (self.found, self.learned)
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
                let unread = UnreadDirectory { path: job.path(), errno: errno.raw_os_error() };
                self.found.is_whole &= keep(&mut self.found.unread, MAX_FOUND, unread);
            }
        }
    }

    fn open(&mut self, job: &Job) -> Result<(), Errno> {
        if self.passes_over(job) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&job.parent.directory, &job.name, flags, Mode::empty())?;
        let path = job.path();
        let stat = rustix::fs::fstat(&directory)?;
        if stat.st_dev != self.found.root.device {
            if job.place != At::Beyond {
                self.found.is_whole &= keep(&mut self.found.other_file_systems, MAX_FOUND, path);
            }
            return Ok(());
        }
        self.is_within = job.place != At::Beyond;
        match job.place {
            At::Beyond => self.find_repositories(&Arc::new(ParentDirectory { directory, path }), &stat),
            // What is in it is no work tree, but sockets that git itself listens on lie right in it.
            At::Within(_) if is_git(&job.name) => {
                self.read(&directory, &path, |_, _| {})?;
                self.keep_names(&path);
                Ok(())
            }
            At::Within(levels) => self.enter(&Arc::new(ParentDirectory { directory, path }), &stat, levels),
        }
    }

    /// Takes what is known of a directory that has not changed and has none in it: it need not be opened for that.
    fn passes_over(&mut self, job: &Job) -> bool {
        if self.known.directories() == 0 || is_git(&job.name) {
            return false;
        }
        let stat = rustix::fs::statat(&job.parent.directory, &job.name, AtFlags::SYMLINK_NOFOLLOW);
        let is_here = |stat: &Stat| stat.st_dev == self.found.root.device;
        let Some(stat) = stat.ok().filter(is_here) else { return false };
        let Some(known) = self.known_contents(&stat).filter(|known| known.directories.is_empty()) else {
            return false;
        };
        if job.place != At::Beyond {
            self.keep_links(&job.path(), &known.links);
        }
        self.count_unasked(known);
        true
    }

    /// Returns what is known of a directory that has not changed, where that is enough.
    fn known_contents(&self, stat: &Stat) -> Option<&'a Contents> {
        // The privileges of files change without their directory.
        let is_enough = |known: &&Contents| known.files == 0 || !self.queue.may_stat_more();
        self.known.of(stat).filter(is_enough)
    }

    /// Counts the files of a directory that is not read, if files are to be examined for privileges.
    fn count_unasked(&mut self, known: &Contents) {
        if self.queue.stats_files {
            self.found.unasked += known.files;
        }
    }

    fn keep_links(&mut self, directory: &Path, links: &[CString]) {
        for link in links {
            let name = link.to_bytes();
            let link = directory.join(OsStr::from_bytes(name));
            self.keep_annex_program(name, &link);
            self.found.is_whole &= keep(&mut self.found.links, MAX_LINKS, link);
        }
    }

    /// Keeps a directory or a link if git-annex looks for programs by its name.
    fn keep_annex_program(&mut self, name: &[u8], path: &Path) {
        if is_of_annex_program(name) {
            self.found.is_whole &= keep(&mut self.found.annex_programs, MAX_FOUND, path.into());
        }
    }

    fn enter(&mut self, parent: &Arc<ParentDirectory>, stat: &Stat, levels: u32) -> Result<(), Errno> {
        let ParentDirectory { directory, path } = parent.as_ref();
        let (Contents { directories: below, links, .. }, signs, mut is_whole) =
            self.contents(directory, path, stat)?;
        if path == Path::new("") || signs.is_tree || signs.repositories(self.queue.extent).next().is_some() {
            self.keep_names(path);
        }
        for git in signs.repositories(self.queue.extent) {
            is_whole &= keep(&mut self.found.repositories, MAX_FOUND, Repository { path: path.into(), git });
        }
        // The boundary itself cannot be moved.
        let is_movable = path != Path::new("") && self.queue.extent == Extent::Whole;
        if is_movable && signs.is_part() && signs.repositories(self.queue.extent).all(|git| git != Git::Bare)
        {
            self.part(path);
        }
        if signs.is_tree {
            is_whole &= keep(&mut self.found.trees, MAX_FOUND, path.into());
        }
        self.keep_links(path, &links);
        let mut jobs = Vec::with_capacity(below.len());
        for name in below {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            self.keep_annex_program(name.to_bytes(), &path);
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
    fn find_repositories(&mut self, parent: &Arc<ParentDirectory>, stat: &Stat) -> Result<(), Errno> {
        let ParentDirectory { directory, path } = parent.as_ref();
        if path.as_os_str().len() > MAX_PATH_LENGTH {
            self.found.is_whole = false;
            return Ok(());
        }
        let (Contents { directories, .. }, signs, is_whole) = self.contents(directory, path, stat)?;
        let below = directories.into_iter().filter(|name| !is_git(name));
        let jobs = below.map(|name| Job { parent: Arc::clone(parent), name, place: At::Beyond }).collect();
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

    /// Returns what is in a directory, whether or not it has to be read for that, what that is a sign of, and whether it is all.
    fn contents(
        &mut self,
        directory: &OwnedFd,
        path: &Path,
        stat: &Stat,
    ) -> Result<(Contents, Signs, bool), Errno> {
        let is_new = self.known.of(stat).is_none();
        if let Some(known) = self.known_contents(stat) {
            self.entries += known.directories.len();
            self.count_unasked(known);
            return Ok((known.clone(), Signs::default(), true));
        }
        let mut contents = Contents::default();
        let mut signs = Signs::default();
        let mut is_whole = true;
        let before = (self.found.sockets.len(), self.found.is_whole);
        self.files = 0;
        self.read(directory, path, |name, kind| {
            signs.note(name, kind);
            if kind == FileType::Directory {
                is_whole &= keep(&mut contents.directories, MAX_WAITING, name.to_owned());
            } else if kind == FileType::Symlink && !is_git(name) {
                is_whole &= keep(&mut contents.links, MAX_LINKS, name.to_owned());
            }
        })?;
        let is_plain = is_new
            && signs == Signs::default()
            && path != Path::new("")
            && is_whole
            && (self.found.sockets.len(), self.found.is_whole) == before;
        contents.files = self.files;
        if is_plain && self.horizon.is_some_and(|horizon| changed(stat) < horizon) {
            let learned = Learned::new(stat, contents.clone());
            if let Some(left) = self.left_to_learn.checked_sub(learned.size()) {
                self.left_to_learn = left;
                self.learned.push(learned);
            }
        }
        Ok((contents, signs, is_whole))
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
            let may_be_file = matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
            self.files += usize::from(may_be_file);
            if self.queue.stats_files && may_be_file {
                if self.queue.may_stat() {
                    self.found.privileged.extend(privileged(directory, path, name));
                } else {
                    self.found.unasked += 1;
                }
            }
            if self.is_within && reads_as_option(name.to_bytes()) {
                let option = path.join(OsStr::from_bytes(name.to_bytes()));
                self.found.is_whole &= keep(&mut self.found.options, MAX_FOUND, option);
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
                        let socket = SocketFile { path, file_id };
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

/// Returns whether the name of a file reads as an option: of most programs, or, with `+`, of vi and less. Frameworks have names such as
/// `+page.svelte`, of which neither makes anything.
pub(crate) fn reads_as_option(name: &[u8]) -> bool {
    match name {
        [b'-', ..] => true,
        [b'+', rest @ ..] => {
            !rest.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-@[]".contains(byte))
        }
        _ => false,
    }
}

/// Returns whether git-annex may look in a directory of this name for a program: it puts one of these before the name of a backend or of a
/// special remote, and that may hold a slash. A file of such a name it looks for in `PATH`. On some file systems upper and lower case are the
/// same.
pub(crate) fn is_of_annex_program(name: &[u8]) -> bool {
    let begins_with = |beginning: &[u8]| {
        name.get(..beginning.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(beginning))
    };
    [&b"git-annex-backend-"[..], b"git-annex-compute-", b"git-annex-remote-"].into_iter().any(begins_with)
}

/// Returns a file if it is set-user-id or set-group-id, or has capabilities.
fn privileged(directory: &OwnedFd, path: &Path, name: &CStr) -> Option<Privileged> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let has = |bits| stat.st_mode & bits != 0;
    (is_file && (has(0o6000) || has(0o111) && has_capabilities(directory, name)))
        .then(|| Privileged { path: path.join(OsStr::from_bytes(name.to_bytes())), file_id: file_id(&stat) })
}

/// Returns whether a file has capabilities (capabilities(7)), without opening it: no call takes a name in a directory before Linux 6.13.
fn has_capabilities(directory: &OwnedFd, name: &CStr) -> bool {
    let place = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let path = Path::new(&place).join(OsStr::from_bytes(name.to_bytes()));
    let asked = rustix::fs::lgetxattr(path, c"security.capability", &mut [0_u8; 0][..]);
    // Those of another user namespace have no value here.
    matches!(asked, Ok(_) | Err(Errno::OVERFLOW))
}

fn is_git(name: &CStr) -> bool {
    name == c".git"
}
