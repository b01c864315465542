//! What the threads of a batch share: its schedule, and the results that wait to be taken.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::attempt::{Attempt, Cancellation};
use super::error::SubmitError;
use super::schedule::{Cancelled, Limits, Schedule, Then};
use super::task::{Ending, Task, TaskId};

/// What has become of a task.
#[derive(Debug)]
pub struct Finished<T, R> {
    pub id: TaskId,
    pub task: Arc<Task<T>>,
    pub end: TaskEnd<R>,
}

/// How a task, or an attempt at it, has ended.
#[derive(Debug)]
pub enum TaskEnd<R> {
    Attempt {
        /// Which attempt it was, from 1.
        number: u32,
        /// What the function that runs tasks has returned.
        result: R,
        then: Then,
    },
    /// It was cancelled while it waited.
    Cancelled,
}

/// Runs an attempt.
pub(super) type Run<T, R> = dyn Fn(&Attempt<T>) -> (Ending, R) + Send + Sync;

pub(super) struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    changed: Condvar,
    /// How many results wait to be taken, at most, before whoever has another one waits.
    room: usize,
    run: Box<Run<T, R>>,
}

struct State<T, R> {
    schedule: Schedule<T>,
    results: VecDeque<Finished<T, R>>,
    workers: Vec<JoinHandle<()>>,
    /// What the function that runs tasks has panicked with.
    panic: Option<Box<dyn Any + Send>>,
    /// How many have a task that waits to be added.
    submitting: usize,
    /// No more tasks come.
    is_closed: bool,
    /// Nobody takes results any more.
    is_abandoned: bool,
}

impl<T, R> State<T, R> {
    /// Returns whether nothing more will run.
    fn is_over(&self) -> bool {
        (self.is_closed || self.schedule.is_cancelled()) && self.schedule.is_idle() && self.submitting == 0
    }

    /// Adds to the results what was cancelled while it waited. Returns what is to be ended.
    fn cancelled(&mut self, cancelled: Cancelled<T>) -> Vec<Arc<Cancellation>> {
        let waiting = cancelled.waiting.into_iter();
        self.results.extend(waiting.map(|(id, task)| Finished { id, task, end: TaskEnd::Cancelled }));
        cancelled.running
    }
}

impl<T, R> Shared<T, R> {
    pub(super) fn new(limits: Limits, run: Box<Run<T, R>>) -> Self {
        let state = State {
            schedule: Schedule::new(limits),
            results: VecDeque::new(),
            workers: Vec::new(),
            panic: None,
            submitting: 0,
            is_closed: false,
            is_abandoned: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), room: limits.running.get(), run }
    }

    /// Returns the next result, or `None` when none will come.
    pub(super) fn next(&self) -> Option<Finished<T, R>> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.results.pop_front() {
                self.changed.notify_all();
                return Some(result);
            }
            if state.is_over() {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Waits for every thread, and passes on a panic.
    pub(super) fn join(&self) {
        let workers = std::mem::take(&mut self.lock().workers);
        for worker in workers {
            // Its panics are caught where they can be distinguished from others.
            let _ = worker.join();
        }
        if let Some(panic) = self.lock().panic.take() {
            panic::resume_unwind(panic);
        }
    }

    /// Takes no more tasks.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn cancel(&self, id: TaskId) -> bool {
        let mut state = self.lock();
        let cancelled = state.schedule.cancel(id);
        let is_found = !(cancelled.waiting.is_empty() && cancelled.running.is_empty());
        self.end(state, cancelled);
        is_found
    }

    pub(super) fn cancel_all(&self) {
        let mut state = self.lock();
        let cancelled = state.schedule.cancel_all();
        self.end(state, cancelled);
    }

    /// Cancels everything, of which nobody wants a result any more, and waits until nothing runs.
    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
        self.cancel_all();
        let workers = std::mem::take(&mut self.lock().workers);
        for worker in workers {
            let _ = worker.join();
        }
    }

    /// Does what a decision to cancel asks for.
    fn end(&self, mut state: MutexGuard<'_, State<T, R>>, cancelled: Cancelled<T>) {
        let running = state.cancelled(cancelled);
        drop(state);
        self.changed.notify_all();
        for cancellation in running {
            cancellation.act();
        }
    }

    /// Runs tasks until nothing more will come.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_over() {
            let Some(attempt) = state.schedule.start() else {
                state = self.wait(state);
                continue;
            };
            drop(state);
            let ran = panic::catch_unwind(AssertUnwindSafe(|| (self.run)(&attempt)));
            state = self.lock();
            // It counts as running while nobody takes its result, so that results do not pile up.
            while state.results.len() >= self.room && !state.is_abandoned {
                state = self.wait(state);
            }
            let cancelled = match ran {
                Ok((ending, result)) => {
                    let (then, cancelled) = state.schedule.finish(&attempt, ending);
                    let Attempt { id, number, task, .. } = attempt;
                    let end = TaskEnd::Attempt { number, result, then };
                    state.results.push_back(Finished { id, task, end });
                    cancelled
                }
                Err(panic) => {
                    state.panic = Some(panic);
                    state.schedule.abort(&attempt)
                }
            };
            self.end(state, cancelled);
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T, R>>) -> MutexGuard<'a, State<T, R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + Sync + 'static, R: Send + 'static> Shared<T, R> {
    /// Adds a task when there is room for it.
    pub(super) fn submit(this: &Arc<Self>, task: Task<T>) -> Result<TaskId, SubmitError<Task<T>>> {
        let mut state = this.lock();
        if state.schedule.is_cancelled() {
            return Err(SubmitError::Cancelled(task));
        }
        state.submitting += 1;
        while state.schedule.is_full() && !state.schedule.is_cancelled() {
            state = this.wait(state);
        }
        state.submitting -= 1;
        if let Err(source) = Self::employ(this, &mut state, 1) {
            this.changed.notify_all();
            return Err(SubmitError::Thread { source, given: task });
        }
        let was_cancelled = state.schedule.is_cancelled();
        let id = state.schedule.submit(task);
        // Whoever has waited for this finds it among the results.
        let cancelled = was_cancelled.then(|| state.schedule.cancel(id));
        match cancelled {
            Some(cancelled) => this.end(state, cancelled),
            None => this.changed.notify_all(),
        }
        Ok(id)
    }

    /// Adds tasks before any of them starts.
    pub(super) fn submit_all(
        this: &Arc<Self>,
        tasks: Vec<Task<T>>,
    ) -> Result<Vec<TaskId>, SubmitError<Vec<Task<T>>>> {
        let mut state = this.lock();
        if state.schedule.is_cancelled() {
            return Err(SubmitError::Cancelled(tasks));
        }
        if let Err(source) = Self::employ(this, &mut state, tasks.len()) {
            return Err(SubmitError::Thread { source, given: tasks });
        }
        let ids = tasks.into_iter().map(|task| state.schedule.submit(task)).collect();
        this.changed.notify_all();
        Ok(ids)
    }

    /// Starts the threads that this many more tasks are in want of. Fewer than that are enough, but for none.
    fn employ(this: &Arc<Self>, state: &mut State<T, R>, more: usize) -> io::Result<()> {
        while state.workers.len() < state.schedule.wanted_with(more) {
            let shared = Arc::clone(this);
            match thread::Builder::new().name("batch".to_owned()).spawn(move || shared.work()) {
                Ok(worker) => state.workers.push(worker),
                Err(error) if state.workers.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use crate::batch::{
        Batch, Canceller, Ending, Limits, OnFailure, Retries, SubmitError, Task, TaskEnd, Then,
    };

    fn limits(running: usize, waiting: usize) -> Limits {
        let some = |number| NonZeroUsize::new(number).unwrap();
        Limits { running: some(running), waiting: some(waiting), on_failure: OnFailure::GoOn }
    }

    fn task<T>(payload: T) -> Task<T> {
        Task { payload, group: None, retries: Retries::default() }
    }

    #[test]
    fn results_come_as_tasks_end() {
        let (release, released) = mpsc::channel::<()>();
        let released = std::sync::Mutex::new(released);
        let (queue, mut batch) = Batch::new(limits(2, 2), move |attempt| {
            if *attempt.task() == "slow" {
                released.lock().unwrap().recv().unwrap();
            }
            (Ending::Ran(0), *attempt.task())
        });
        for name in ["slow", "fast"] {
            queue.submit(task(name)).unwrap();
        }
        drop(queue);
        let mut next = || match batch.next().unwrap().end {
            TaskEnd::Attempt { result, number: 1, then: Then::Done } => result,
            end => panic!("{end:?}"),
        };
        assert_eq!(next(), "fast");
        release.send(()).unwrap();
        assert_eq!(next(), "slow");
        assert!(batch.next().is_none());
    }

    #[test]
    fn no_more_run_at_once_than_may_and_every_task_has_its_result() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let (queue, batch) = Batch::new(limits(3, 2), |attempt| {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            (Ending::Ran(0), *attempt.task())
        });
        let submitting = std::thread::spawn(move || {
            for number in 0..200 {
                queue.submit(task(number)).unwrap();
            }
        });
        let mut numbers: Vec<_> = batch.map(|finished| finished.task.payload).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
        assert!(MOST.load(Ordering::SeqCst) <= 3);
        submitting.join().unwrap();
    }

    /// Runs until it is cancelled.
    fn until_cancelled(
        limits: Limits,
    ) -> (crate::batch::Queue<&'static str, ()>, Batch<&'static str, ()>, mpsc::Receiver<()>) {
        let (started, starts) = mpsc::channel();
        let (queue, batch) = Batch::new(limits, move |attempt| {
            started.send(()).unwrap();
            let (cancel, cancelled) = mpsc::channel();
            attempt.on_cancel(move || cancel.send(()).unwrap());
            cancelled.recv().unwrap();
            (Ending::Ran(143), ())
        });
        (queue, batch, starts)
    }

    #[test]
    fn cancelling_ends_what_runs_and_reports_what_waits_though_more_could_come() {
        let (queue, mut batch, starts) = until_cancelled(limits(1, 9));
        for name in ["a", "b", "c"] {
            queue.submit(task(name)).unwrap();
        }
        starts.recv().unwrap();
        let canceller: Canceller<_, _> = batch.canceller();
        canceller.cancel_all();
        let mut ends: Vec<_> = batch
            .by_ref()
            .map(|finished| {
                let is_run = matches!(finished.end, TaskEnd::Attempt { then: Then::Cancelled, .. });
                (finished.task.payload, is_run)
            })
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, [("a", true), ("b", false), ("c", false)]);
        assert!(matches!(queue.submit(task("d")), Err(SubmitError::Cancelled(_))));
    }

    #[test]
    fn one_is_cancelled_and_the_others_run() {
        let (queue, mut batch, starts) = until_cancelled(limits(1, 9));
        let first = queue.submit(task("a")).unwrap();
        let second = queue.submit(task("b")).unwrap();
        starts.recv().unwrap();
        let canceller = batch.canceller();
        assert!(canceller.cancel(second));
        assert!(matches!(batch.next().unwrap().end, TaskEnd::Cancelled));
        assert!(canceller.cancel(first));
        assert!(matches!(batch.next().unwrap().end, TaskEnd::Attempt { then: Then::Cancelled, .. }));
        assert!(!canceller.cancel(first));
        let third = queue.submit(task("c")).unwrap();
        starts.recv().unwrap();
        assert!(canceller.cancel(third));
        drop(queue);
        assert_eq!(batch.next().unwrap().task.payload, "c");
        assert!(batch.next().is_none());
    }

    #[test]
    fn whoever_waits_to_add_a_task_when_all_is_cancelled_hears_of_it() {
        let (queue, mut batch, starts) = until_cancelled(limits(1, 1));
        queue.submit(task("runs")).unwrap();
        starts.recv().unwrap();
        queue.submit(task("waits")).unwrap();
        let submitting = std::thread::spawn(move || queue.submit(task("waits to wait")).is_ok());
        while batch.0.lock().submitting == 0 {
            std::thread::yield_now();
        }
        batch.canceller().cancel_all();
        let mut names: Vec<_> = batch.by_ref().map(|finished| finished.task.payload).collect();
        names.sort_unstable();
        assert_eq!(names, ["runs", "waits", "waits to wait"]);
        assert!(submitting.join().unwrap());
    }

    #[test]
    fn dropping_a_batch_ends_what_runs_and_waits_for_it() {
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        let (started, starts) = mpsc::channel();
        let (queue, batch) = Batch::new(limits(2, 9), move |attempt| {
            let (cancel, cancelled) = mpsc::channel();
            attempt.on_cancel(move || cancel.send(()).unwrap());
            started.send(()).unwrap();
            cancelled.recv().unwrap();
            ENDED.fetch_add(1, Ordering::SeqCst);
            (Ending::Ran(143), ())
        });
        for number in 0..5 {
            queue.submit(task(number)).unwrap();
        }
        starts.recv().unwrap();
        starts.recv().unwrap();
        drop(batch);
        assert_eq!(ENDED.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn tasks_that_are_added_together_run_in_the_order_of_their_groups() {
        let (queue, batch) = Batch::new(limits(1, 1), |attempt| (Ending::Ran(0), *attempt.task()));
        let of = |payload, group: &str| Task { group: Some(group.to_owned()), ..task(payload) };
        queue.submit_all(vec![of(1, "a"), of(2, "a"), of(3, "a"), of(4, "b"), of(5, "b")]).unwrap();
        drop(queue);
        assert_eq!(batch.map(|finished| finished.task.payload).collect::<Vec<_>>(), [1, 4, 2, 5, 3]);
    }

    #[test]
    #[should_panic(expected = "of the function")]
    fn a_panic_comes_out_where_results_are_taken() {
        let (queue, batch) = Batch::new(limits(1, 9), |_| -> (Ending, ()) { panic!("of the function") });
        queue.submit_all(vec![task("a"), task("b")]).unwrap();
        for finished in batch {
            assert!(matches!(finished.end, TaskEnd::Cancelled));
        }
    }
}
