//! An attempt at a task, as the function sees it that runs tasks, and how it learns that the attempt was cancelled.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::task::{Task, TaskId};

/// An attempt at a task.
#[derive(Debug)]
pub struct Attempt<T> {
    pub(super) id: TaskId,
    pub(super) number: u32,
    pub(super) task: Arc<Task<T>>,
    pub(super) cancellation: Arc<Cancellation>,
}

impl<T> Attempt<T> {
    /// Returns what is to be run.
    pub fn task(&self) -> &T {
        &self.task.payload
    }

    /// Returns which attempt this is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Has a function called once when this is cancelled, by whoever cancels: it must not wait. Called at once if that was so
    /// before. The last function that was given counts.
    pub fn on_cancel(&self, act: impl FnOnce() + Send + 'static) {
        self.cancellation.on_cancel(Box::new(act));
    }
}

/// Whether an attempt was cancelled, and what is done then.
#[derive(Default)]
pub(super) struct Cancellation(Mutex<Cancelled>);

#[derive(Default)]
struct Cancelled {
    is_cancelled: bool,
    act: Option<Box<dyn FnOnce() + Send>>,
}

impl Cancellation {
    /// Marks the attempt as cancelled.
    pub(super) fn mark(&self) {
        self.lock().is_cancelled = true;
    }

    /// Does what is to be done, if somebody has said what.
    pub(super) fn act(&self) {
        let act = self.lock().act.take();
        if let Some(act) = act {
            act();
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().is_cancelled
    }

    fn on_cancel(&self, act: Box<dyn FnOnce() + Send>) {
        let mut state = self.lock();
        if state.is_cancelled {
            drop(state);
            act();
        } else {
            state.act = Some(act);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Cancelled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("is_cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn what_is_to_be_done_is_done_once_whichever_comes_first() {
        let count = Arc::new(AtomicU32::new(0));
        let counted = || {
            let count = Arc::clone(&count);
            Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
            })
        };
        let before = Cancellation::default();
        before.on_cancel(counted());
        assert_eq!(count.load(Ordering::SeqCst), 0);
        before.mark();
        before.act();
        before.act();
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let after = Cancellation::default();
        after.mark();
        after.on_cancel(counted());
        after.act();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
