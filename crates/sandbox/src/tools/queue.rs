//! What the threads of a walk have still to do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is still to be done. The last piece that was found comes first, so few directories stay open.
pub(super) struct Queue<T> {
    tasks: Mutex<Tasks<T>>,
    changed: Condvar,
}

struct Tasks<T> {
    waiting: Vec<T>,
    running: usize,
    idle: usize,
}

impl<T> Queue<T> {
    /// Makes one in which nothing waits.
    pub(super) fn new() -> Self {
        let tasks = Tasks { waiting: Vec::new(), running: 0, idle: 0 };
        Self { tasks: Mutex::new(tasks), changed: Condvar::new() }
    }

    /// Adds pieces of work.
    pub(super) fn add(&self, tasks: impl IntoIterator<Item = T>) {
        let mut queue = self.lock();
        queue.waiting.extend(tasks);
        if queue.idle > 0 {
            self.changed.notify_all();
        }
    }

    /// Takes one, and waits for it while others may add some. Whoever has done it drops what [`Queue::running`] returns.
    pub(super) fn take(&self) -> Option<T> {
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

    /// Returns what takes note, when it is dropped, that a piece of work is done.
    pub(super) fn running(&self) -> Running<'_, T> {
        Running(self)
    }

    fn done(&self) {
        let mut tasks = self.lock();
        tasks.running -= 1;
        if tasks.running == 0 && tasks.idle > 0 {
            self.changed.notify_all();
        }
    }

    /// Returns whether a thread waits for work.
    pub(super) fn has_idle(&self) -> bool {
        let tasks = self.lock();
        tasks.idle > tasks.waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, Tasks<T>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes note that a piece of work is done, also where it has failed.
pub(super) struct Running<'q, T>(&'q Queue<T>);

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        self.0.done();
    }
}
