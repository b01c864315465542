//! A batch: a bounded number of sandboxes at once, for tasks that wait their turn.
//!
//! The batch knows nothing of providers. Its caller gives it tasks and a function that runs one, which makes a fresh sandbox with
//! whatever provider the task names, and says how that has ended.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use policy::plan::Provider;
//! use sandbox::batch::{Batch, Ending, Limits, OnFailure, Retries, Task, TaskEnd};
//!
//! #[derive(Debug)]
//! struct Job {
//!     provider: Provider,
//!     argv: Vec<&'static str>,
//! }
//!
//! let two = NonZeroUsize::new(2).expect("two are some");
//! let limits = Limits { running: two, waiting: two, on_failure: OnFailure::GoOn };
//! let (queue, batch) = Batch::new(limits, |attempt| {
//!     let Job { provider, argv } = attempt.task();
//!     // Here a sandbox is made, and ended early where the attempt is cancelled.
//!     attempt.on_cancel(|| ());
//!     (Ending::Ran(0), format!("{} in {provider}", argv.join(" ")))
//! });
//!
//! let job = Job { provider: Provider::Native, argv: vec!["make", "test"] };
//! let retries = Retries { most: 1, ..Retries::default() };
//! queue.submit(Task { payload: job, group: Some("alice".to_owned()), retries }).expect("nobody has cancelled");
//! // Nothing more comes, so the batch ends.
//! drop(queue);
//!
//! for finished in batch {
//!     match finished.end {
//!         TaskEnd::Attempt { result, .. } => assert_eq!(result, "make test in native"),
//!         TaskEnd::Cancelled => unreachable!("nobody has cancelled"),
//!     }
//! }
//! ```

use std::sync::Arc;

pub use self::attempt::Attempt;
pub use self::error::SubmitError;
pub use self::schedule::{Limits, OnFailure, Then};
use self::shared::Shared;
pub use self::shared::{Finished, TaskEnd};
pub use self::task::{Ending, Retries, Task, TaskId};

mod attempt;
mod error;
mod fair_queue;
mod schedule;
mod shared;
mod task;

/// The results of tasks, in the order in which they come. They end when every task has ended and every [`Queue`] is gone, or when
/// everything was cancelled and has ended.
///
/// When this is dropped every task is cancelled and waited for: neither a thread nor anything that was started goes on.
pub struct Batch<T, R>(Arc<Shared<T, R>>);

/// Where tasks are given to a batch. As long as there is one, the batch waits for more.
pub struct Queue<T, R>(Arc<Shared<T, R>>);

/// Cancels tasks of a batch, from any thread. The batch does not wait for it.
pub struct Canceller<T, R>(Arc<Shared<T, R>>);

impl<T: Send + Sync + 'static, R: Send + 'static> Batch<T, R> {
    /// Makes a batch that runs tasks with this function, each in a thread that waits for it. It returns how an attempt has ended,
    /// by which the batch decides, and what else is to be known of it, which the batch passes on.
    pub fn new(
        limits: Limits,
        run: impl Fn(&Attempt<T>) -> (Ending, R) + Send + Sync + 'static,
    ) -> (Queue<T, R>, Self) {
        let shared = Arc::new(Shared::new(limits, Box::new(run)));
        (Queue(Arc::clone(&shared)), Self(shared))
    }

    /// Returns what cancels tasks while the results are waited for.
    pub fn canceller(&self) -> Canceller<T, R> {
        Canceller(Arc::clone(&self.0))
    }
}

impl<T, R> Iterator for Batch<T, R> {
    type Item = Finished<T, R>;

    /// Waits for the next result.
    ///
    /// # Panics
    ///
    /// The function that runs tasks has panicked; then everything else was cancelled.
    fn next(&mut self) -> Option<Finished<T, R>> {
        self.0.next().or_else(|| {
            self.0.join();
            None
        })
    }
}

impl<T, R> Drop for Batch<T, R> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<T: Send + Sync + 'static, R: Send + 'static> Queue<T, R> {
    /// Adds a task, and waits where as many wait already as may.
    ///
    /// # Errors
    ///
    /// Everything was cancelled before. What was cancelled while this waited is among the results.
    pub fn submit(&self, task: Task<T>) -> Result<TaskId, SubmitError<Task<T>>> {
        Shared::submit(&self.0, task)
    }

    /// Adds tasks, however many there are, before any of them starts: so which runs when depends on nothing but their order and
    /// their groups.
    ///
    /// # Errors
    ///
    /// Everything was cancelled before.
    pub fn submit_all(&self, tasks: Vec<Task<T>>) -> Result<Vec<TaskId>, SubmitError<Vec<Task<T>>>> {
        Shared::submit_all(&self.0, tasks)
    }
}

impl<T, R> Drop for Queue<T, R> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<T, R> Canceller<T, R> {
    /// Cancels one task; returns whether it was waiting or running.
    pub fn cancel(&self, id: TaskId) -> bool {
        self.0.cancel(id)
    }

    /// Cancels every task. The batch takes no more.
    pub fn cancel_all(&self) {
        self.0.cancel_all();
    }
}

impl<T, R> Clone for Canceller<T, R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
