//! The directories that a walk has still to look at.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::found::Extent;

/// How many directories wait to be looked at, at most: each takes some 200 bytes, and an agent may make millions.
pub(super) const MAX_WAITING: usize = 100_000;

/// A directory that is still to be looked at.
pub(super) struct Job {
    pub(super) parent: Arc<ParentDirectory>,
    pub(super) name: CString,
    pub(super) place: At,
}

/// A directory in which others are still to be looked at. They share its path, which may be long.
pub(super) struct ParentDirectory {
    pub(super) directory: OwnedFd,
    pub(super) path: PathBuf,
}

/// Where a directory lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum At {
    /// Within the bound, as so many levels below it are still.
    Within(u32),
    /// Beyond it.
    Beyond,
}

impl Job {
    pub(super) fn path(&self) -> PathBuf {
        self.parent.path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// What is still to be done. The last directory that was found comes first, so few stay open.
#[derive(Default)]
pub(super) struct Queue {
    jobs: Mutex<Jobs>,
    changed: Condvar,
    pub(super) extent: Extent,
    /// Whether files are examined for privileges, and how many more.
    pub(super) stats_files: bool,
    file_stats_left: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    /// What lies beyond the bound, for which there may be no time.
    beyond: Vec<Job>,
    running: usize,
    /// How many threads wait. Where none does, waking one would be a system call for nothing.
    idle: usize,
}

impl Queue {
    /// Makes an empty one. So many files may be examined for privileges.
    pub(super) fn new(extent: Extent, file_stats: usize) -> Self {
        Self {
            extent,
            stats_files: file_stats > 0,
            file_stats_left: AtomicUsize::new(file_stats),
            ..Self::default()
        }
    }

    /// Adds what is still to be done. False if there is no room for all of it.
    pub(super) fn add(&self, jobs: Vec<Job>) -> bool {
        if jobs.is_empty() {
            return true;
        }
        let mut queue = self.lock();
        let mut is_enough = true;
        for job in jobs {
            let waiting = if job.place == At::Beyond { &mut queue.beyond } else { &mut queue.waiting };
            is_enough &= keep(waiting, MAX_WAITING, job);
        }
        if queue.idle > 0 {
            self.changed.notify_one();
        }
        is_enough
    }

    /// Waits for something to do; `None` once everything is done.
    pub(super) fn take(&self) -> Option<Job> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.waiting.pop().or_else(|| jobs.beyond.pop()) {
                jobs.running += 1;
                return Some(job);
            }
            if jobs.running == 0 {
                return None;
            }
            jobs.idle += 1;
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            jobs.idle -= 1;
        }
    }

    /// Returns whether one more file may be examined for privileges.
    pub(super) fn may_stat(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.file_stats_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Returns whether any more may be.
    pub(super) fn may_stat_more(&self) -> bool {
        self.file_stats_left.load(Ordering::Relaxed) > 0
    }

    pub(super) fn done(&self) {
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

/// Adds something to a list of at most so many. False if there is no room.
pub(super) fn keep<T>(list: &mut Vec<T>, most: usize, one: T) -> bool {
    let is_room = list.len() < most;
    if is_room {
        list.push(one);
    }
    is_room
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::beneath::listing;

    #[test]
    fn no_more_directories_wait_than_there_is_room_for() {
        let directory = listing(std::fs::File::open("/").unwrap(), Path::new("")).unwrap();
        let parent = Arc::new(ParentDirectory { directory, path: "x".into() });
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
