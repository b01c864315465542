//! Why a batch does not take a task.

use std::io;

/// Why tasks were not taken. They are given back.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError<G> {
    #[error("the batch was cancelled and takes no more tasks")]
    Cancelled(G),
    #[error("cannot start a thread for tasks: {source}")]
    Thread {
        source: io::Error,
        /// What was to be run.
        given: G,
    },
}
