//! Closing this process to others while it holds secrets: nobody but root may look into it, neither in `/proc` nor with ptrace(2).
//!
//! That is a state of the whole process (`PR_SET_DUMPABLE` in prctl(2)), whose threads may start several sandboxes at once. A process that is made meanwhile is
//! closed in the same way, and could then not map its user: so no PID 1 is made while secrets are held, and no secret is read while one is made.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::DumpableBehavior;

/// What the threads of this process do that excludes each other.
static THREADS: Threads = Threads {
    counts: Mutex::new(Counts { closed: 0, cloning: 0, before: DumpableBehavior::Dumpable }),
    changed: Condvar::new(),
};

struct Threads {
    counts: Mutex<Counts>,
    changed: Condvar,
}

struct Counts {
    /// How many hold secrets.
    closed: usize,
    /// How many are making a PID 1.
    cloning: usize,
    /// How it was before the first one closed it.
    before: DumpableBehavior,
}

impl Threads {
    fn wait(&self, is_in_the_way: impl Fn(&Counts) -> bool) -> MutexGuard<'_, Counts> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed
            .wait_while(counts, |counts| is_in_the_way(counts))
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

/// Keeps everybody but root from looking into this process, until the last one of these is dropped. Of root's own process that is true in any
/// case.
pub(crate) struct Closed {
    /// Whether it counts.
    is_needed: bool,
}

impl Closed {
    /// Closes this process, as soon as no thread of it is making a PID 1.
    pub(crate) fn close() -> Result<Self, Errno> {
        if is_closed_anyway() {
            return Ok(Self { is_needed: false });
        }
        Self::close_now()
    }

    fn close_now() -> Result<Self, Errno> {
        let mut counts = THREADS.wait(|counts| counts.cloning > 0);
        if counts.closed == 0 {
            counts.before = rustix::process::dumpable_behavior()?;
            rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        }
        counts.closed += 1;
        Ok(Self { is_needed: true })
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if self.is_needed {
            THREADS.change(|counts| {
                counts.closed -= 1;
                if counts.closed == 0 {
                    // Where that fails it stays closed.
                    let _ = rustix::process::set_dumpable_behavior(counts.before);
                }
            });
        }
    }
}

/// Returns whether nobody but root may look into this process, whatever it does.
fn is_closed_anyway() -> bool {
    rustix::process::geteuid().is_root()
}

/// Keeps this process open until it is dropped, so that a PID 1 can be made.
pub(crate) struct Open {
    is_needed: bool,
}

impl Open {
    /// Waits until no thread of this process holds secrets.
    pub(crate) fn wait() -> Self {
        if is_closed_anyway() { Self { is_needed: false } } else { Self::wait_now() }
    }

    fn wait_now() -> Self {
        THREADS.wait(|counts| counts.closed > 0).cloning += 1;
        Self { is_needed: true }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_needed {
            THREADS.change(|counts| counts.cloning -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn nobody_clones_while_somebody_holds_secrets() {
        let (first, second) = (Closed::close_now().unwrap(), Closed::close_now().unwrap());
        drop(first);
        let (sender, receiver) = mpsc::channel();
        let cloning = thread::spawn(move || {
            let open = Open::wait_now();
            sender.send(()).unwrap();
            drop(open);
        });
        assert!(receiver.try_recv().is_err(), "the second one still holds some");
        drop(second);
        receiver.recv().unwrap();
        cloning.join().unwrap();
    }
}
