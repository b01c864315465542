//! The schedule of a batch: what runs next, what is tried again, and what is cancelled. It starts nothing and waits for nothing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::attempt::{Attempt, Cancellation};
use super::fair_queue::FairQueue;
use super::task::{Ending, Task, TaskId};

/// What a batch is bounded by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How many tasks run at once.
    pub running: NonZeroUsize,
    /// How many wait before whoever has more waits too.
    pub waiting: NonZeroUsize,
    pub on_failure: OnFailure,
}

/// What becomes of the others when a task has failed, and is not tried again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnFailure {
    /// Nothing.
    #[default]
    GoOn,
    CancelAll,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    /// Nothing: this is the task's result.
    Done,
    /// Nothing, because the task was cancelled while it ran.
    Cancelled,
    Retried,
}

/// Tasks that wait and tasks that run.
pub(super) struct Schedule<T> {
    limits: Limits,
    waiting: FairQueue<Waiting<T>>,
    running: BTreeMap<TaskId, Arc<Cancellation>>,
    /// The number of the next task.
    next: u64,
    is_cancelled: bool,
}

struct Waiting<T> {
    id: TaskId,
    task: Arc<Task<T>>,
    attempts: u32,
}

/// What was cancelled.
pub(super) struct Cancelled<T> {
    /// What will not run.
    pub(super) waiting: Vec<(TaskId, Arc<Task<T>>)>,
    /// What runs, and is to be ended.
    pub(super) running: Vec<Arc<Cancellation>>,
}

impl<T> Cancelled<T> {
    fn nothing() -> Self {
        Self { waiting: Vec::new(), running: Vec::new() }
    }

    fn of(
        waiting: impl Iterator<Item = Waiting<T>>,
        running: impl Iterator<Item = Arc<Cancellation>>,
    ) -> Self {
        Self {
            waiting: waiting.map(|waiting| (waiting.id, waiting.task)).collect(),
            // From here on they are, whenever that is noticed.
            running: running.inspect(|cancellation| cancellation.mark()).collect(),
        }
    }
}

impl<T> Schedule<T> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, waiting: FairQueue::new(), running: BTreeMap::new(), next: 0, is_cancelled: false }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Returns whether nothing runs and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.len() == 0
    }

    /// Returns whether as many tasks wait as may.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.limits.waiting.get()
    }

    /// Returns how many tasks could run at once if there were more of them.
    pub(super) fn wanted_with(&self, more: usize) -> usize {
        self.limits.running.get().min(self.running.len() + self.waiting.len() + more)
    }

    /// Adds a task.
    pub(super) fn submit(&mut self, task: Task<T>) -> TaskId {
        let id = TaskId(self.next);
        self.next += 1;
        let group = task.group.clone();
        self.waiting.push(group, Waiting { id, task: Arc::new(task), attempts: 0 });
        id
    }

    /// Returns the next attempt, which runs from now on, if there is one and it may run yet.
    pub(super) fn start(&mut self) -> Option<Attempt<T>> {
        if self.running.len() >= self.limits.running.get() {
            return None;
        }
        let Waiting { id, task, attempts } = self.waiting.pop()?;
        let cancellation = Arc::new(Cancellation::default());
        self.running.insert(id, Arc::clone(&cancellation));
        Some(Attempt { id, number: attempts + 1, task, cancellation })
    }

    /// Decides what follows an attempt that has ended, and what is cancelled because of it.
    pub(super) fn finish(&mut self, attempt: &Attempt<T>, ending: Ending) -> (Then, Cancelled<T>) {
        self.running.remove(&attempt.id);
        let Attempt { id, number, task, cancellation } = attempt;
        if ending.is_success() {
            return (Then::Done, Cancelled::nothing());
        }
        if cancellation.is_cancelled() {
            return (Then::Cancelled, Cancelled::nothing());
        }
        if task.retries.allow_another(*number, ending) {
            let again = Waiting { id: *id, task: Arc::clone(task), attempts: *number };
            self.waiting.push(task.group.clone(), again);
            return (Then::Retried, Cancelled::nothing());
        }
        let cancelled = match self.limits.on_failure {
            OnFailure::GoOn => Cancelled::nothing(),
            OnFailure::CancelAll => self.cancel_all(),
        };
        (Then::Done, cancelled)
    }

    /// Takes back an attempt of which nobody knows how it ended, and cancels everything else.
    pub(super) fn abort(&mut self, attempt: &Attempt<T>) -> Cancelled<T> {
        self.running.remove(&attempt.id);
        self.cancel_all()
    }

    /// Cancels one task.
    pub(super) fn cancel(&mut self, id: TaskId) -> Cancelled<T> {
        let waiting = self.waiting.remove(|waiting| waiting.id == id);
        let running = self.running.get(&id).cloned();
        Cancelled::of(waiting.into_iter(), running.into_iter())
    }

    /// Cancels every task, and takes no more.
    pub(super) fn cancel_all(&mut self) -> Cancelled<T> {
        self.is_cancelled = true;
        let waiting = std::iter::from_fn(|| self.waiting.pop());
        Cancelled::of(waiting, self.running.values().cloned())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::batch::task::Retries;

    fn schedule(running: usize, on_failure: OnFailure) -> Schedule<&'static str> {
        let running = NonZeroUsize::new(running).unwrap();
        Schedule::new(Limits { running, waiting: NonZeroUsize::new(3).unwrap(), on_failure })
    }

    fn task(payload: &'static str) -> Task<&'static str> {
        Task { payload, group: None, retries: Retries::default() }
    }

    fn names(cancelled: &Cancelled<&'static str>) -> Vec<&'static str> {
        cancelled.waiting.iter().map(|(_, task)| task.payload).collect()
    }

    #[test]
    fn no_more_run_at_once_than_may() {
        let mut schedule = schedule(2, OnFailure::GoOn);
        for name in ["a", "b", "c"] {
            schedule.submit(task(name));
        }
        assert!(schedule.is_full());
        assert_eq!((schedule.wanted_with(0), schedule.wanted_with(1)), (2, 2));
        let first = schedule.start().unwrap();
        assert_eq!(*schedule.start().unwrap().task(), "b");
        assert!(schedule.start().is_none());
        assert_eq!(schedule.finish(&first, Ending::Ran(0)).0, Then::Done);
        assert_eq!(*schedule.start().unwrap().task(), "c");
    }

    #[test]
    fn a_retry_waits_behind_those_that_have_not_run() {
        let mut schedule = schedule(1, OnFailure::CancelAll);
        let retries = Retries { most: 1, exit_codes: BTreeSet::from([7]) };
        schedule.submit(Task { retries, ..task("a") });
        schedule.submit(task("b"));
        let first = schedule.start().unwrap();
        assert_eq!((first.number(), schedule.finish(&first, Ending::Ran(7)).0), (1, Then::Retried));
        let other = schedule.start().unwrap();
        assert_eq!(*other.task(), "b");
        schedule.finish(&other, Ending::Ran(0));
        let second = schedule.start().unwrap();
        assert_eq!((*second.task(), second.number()), ("a", 2));
        assert_eq!(schedule.finish(&second, Ending::Ran(7)).0, Then::Done);
        assert!(schedule.is_idle());
    }

    #[test]
    fn a_failure_cancels_everything_where_that_is_asked_for_and_no_sooner() {
        let mut schedule = schedule(2, OnFailure::CancelAll);
        for name in ["a", "b", "c"] {
            schedule.submit(task(name));
        }
        let (first, second) = (schedule.start().unwrap(), schedule.start().unwrap());
        let (then, cancelled) = schedule.finish(&first, Ending::Ran(1));
        assert_eq!((then, names(&cancelled), cancelled.running.len()), (Then::Done, vec!["c"], 1));
        assert!(schedule.is_cancelled());
        assert!(second.is_cancelled());
        assert_eq!(schedule.finish(&second, Ending::Ran(143)).0, Then::Cancelled);
        assert!(schedule.is_idle());
    }

    #[test]
    fn what_has_succeeded_before_it_was_ended_is_not_cancelled() {
        let mut schedule = schedule(1, OnFailure::GoOn);
        schedule.submit(task("a"));
        let attempt = schedule.start().unwrap();
        schedule.cancel_all();
        assert!(attempt.is_cancelled());
        assert_eq!(schedule.finish(&attempt, Ending::Ran(0)).0, Then::Done);
    }

    #[test]
    fn a_cancelled_task_is_not_tried_again() {
        let mut schedule = schedule(1, OnFailure::GoOn);
        let id = schedule.submit(Task { retries: Retries { most: 5, ..Retries::default() }, ..task("a") });
        let attempt = schedule.start().unwrap();
        let cancelled = schedule.cancel(id);
        assert_eq!((names(&cancelled), cancelled.running.len()), (vec![], 1));
        assert_eq!(schedule.finish(&attempt, Ending::NotStarted).0, Then::Cancelled);
        assert!(schedule.is_idle() && !schedule.is_cancelled());
    }

    #[test]
    fn one_that_waits_is_cancelled_alone() {
        let mut schedule = schedule(1, OnFailure::GoOn);
        schedule.submit(task("a"));
        let id = schedule.submit(task("b"));
        schedule.submit(task("c"));
        assert_eq!(names(&schedule.cancel(id)), ["b"]);
        assert_eq!(names(&schedule.cancel(id)), Vec::<&str>::new());
        let first = schedule.start().unwrap();
        schedule.finish(&first, Ending::Ran(0));
        assert_eq!(*schedule.start().unwrap().task(), "c");
    }
}
