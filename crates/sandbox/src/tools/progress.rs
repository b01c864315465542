//! How far a call goes: its bounds, what it has used of them, and why it has stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use serde::Serialize;

use crate::shell::Cancel;

/// How many bytes of `.gitignore` files a call reads: an agent may write any number of them.
const MAX_RULES: usize = 1 << 20;

/// How many bytes the names have that a walk has read and not visited yet.
const MAX_WAITING: usize = 32 << 20;

/// How far a walk goes at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    pub entries: usize,
    /// How many directories deep it goes; 1 is what is in the first one.
    pub depth: usize,
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: 1_000_000, depth: 128, time: Duration::from_secs(30) }
    }
}

/// Why a walk has not visited everything, or has not obeyed every rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// It has visited as many entries as it may.
    Entries,
    /// There are directories deeper than it goes. Everything else was visited.
    Depth,
    Time,
    /// It has found as much as it may.
    Found,
    /// `.gitignore` files have more or longer lines than are read. Everything was visited, and what those lines name, too.
    Rules,
    /// This process may open no more files, so some were left out.
    Descriptors,
    /// Whoever has called it wants no answer any more.
    Cancelled,
}

/// How far a call is.
pub(super) struct Progress {
    pub(super) bounds: Bounds,
    until: Instant,
    cancel: Option<Cancel>,
    visited: AtomicUsize,
    unreadable: AtomicUsize,
    /// How many more bytes of rules are read.
    rules: AtomicUsize,
    /// How many more bytes of names may wait.
    waiting: AtomicUsize,
    stop: AtomicBool,
    stopped: Mutex<Option<Stopped>>,
}

impl Progress {
    /// Begins: from now on the time passes.
    pub(super) fn new(bounds: Bounds, cancel: Option<&Cancel>) -> Self {
        let now = Instant::now();
        Self {
            bounds,
            until: now.checked_add(bounds.time).unwrap_or(now),
            cancel: cancel.cloned(),
            visited: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
            rules: AtomicUsize::new(MAX_RULES),
            waiting: AtomicUsize::new(MAX_WAITING),
            stop: AtomicBool::new(false),
            stopped: Mutex::new(None),
        }
    }

    /// Returns why not everything was visited, if it was not.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many files and directories could not be read.
    pub(super) fn unreadable(&self) -> usize {
        self.unreadable.load(Ordering::Relaxed)
    }

    /// Stops the call.
    pub(super) fn stop(&self, why: Stopped) {
        self.note(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the call goes on: there is time, and nobody has stopped it.
    pub(super) fn goes_on(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        if Instant::now() >= self.until {
            self.stop(Stopped::Time);
            return false;
        }
        if self.cancel.as_ref().is_some_and(Cancel::is_raised) {
            self.stop(Stopped::Cancelled);
            return false;
        }
        true
    }

    /// Notes why not everything is visited. What has stopped the call says more than what was left out.
    pub(super) fn note(&self, why: Stopped) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*stopped, None | Some(Stopped::Depth | Stopped::Rules | Stopped::Descriptors)) {
            *stopped = Some(why);
        }
    }

    /// Counts entries that were visited.
    pub(super) fn count(&self, more: usize) {
        let before = self.visited.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) > self.bounds.entries {
            self.stop(Stopped::Entries);
        }
    }

    /// Notes that a file or directory could not be read.
    pub(super) fn failed(&self, errno: Errno) {
        match errno {
            // It was removed meanwhile.
            Errno::NOENT => {}
            Errno::MFILE | Errno::NFILE => self.note(Stopped::Descriptors),
            _ => {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns how many bytes of rules may still be read.
    pub(super) fn rules_left(&self) -> usize {
        self.rules.load(Ordering::Relaxed)
    }

    /// Counts bytes of rules that were read.
    pub(super) fn count_rules(&self, bytes: usize) {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        let _ = self.rules.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Counts the bytes of a name that is to wait. Without room for it, the call stops.
    pub(super) fn wait(&self, bytes: usize) {
        let less = |left: usize| left.checked_sub(bytes);
        if self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            self.stop(Stopped::Entries);
        }
    }

    /// Counts the bytes of one that waits no longer.
    pub(super) fn waited(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }
}
