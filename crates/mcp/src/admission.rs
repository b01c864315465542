//! How many calls run at once: what is too much is refused with an error, and nothing waits for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// How many commands run at once.
pub(crate) const COMMANDS: usize = 16;

/// How many calls run at once that do not wait for a command, such as those that read a file: there has to be room to end a command.
pub(crate) const QUICK: usize = 8;

/// How many calls wait for their turn.
const WAITING: usize = 128;

/// Where a call runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Queue {
    /// It waits for a command.
    Command,
    /// It does not: it is over in a moment, but for the first one, which may make the sandbox.
    Quick,
}

/// The room that there is for calls.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    commands: Arc<Semaphore>,
    quick: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Default for Admission {
    fn default() -> Self {
        let of = |permits| Arc::new(Semaphore::new(permits));
        Self { commands: of(COMMANDS), quick: of(QUICK), waiting: of(WAITING) }
    }
}

impl Admission {
    /// Waits for the turn of a call. It lasts as long as what is returned.
    ///
    /// # Errors
    ///
    /// Too many wait already.
    pub(crate) async fn enter(&self, queue: Queue) -> Result<OwnedSemaphorePermit, Failure> {
        let room = match queue {
            Queue::Command => &self.commands,
            Queue::Quick => &self.quick,
        };
        if let Ok(permit) = Arc::clone(room).try_acquire_owned() {
            return Ok(permit);
        }
        let busy = || Failure::Busy("as many calls run and wait as the server takes at once");
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        Arc::clone(room).acquire_owned().await.map_err(|_| busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_at_once_and_commands_leave_room_to_end_them() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let admission = Admission::default();
            let mut running = Vec::new();
            for _ in 0..COMMANDS {
                running.push(admission.enter(Queue::Command).await.unwrap());
            }
            let waiting: Vec<_> = (0..WAITING)
                .map(|_| {
                    let admission = admission.clone();
                    tokio::spawn(async move { admission.enter(Queue::Command).await.is_ok() })
                })
                .collect();
            while admission.waiting.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            assert!(matches!(admission.enter(Queue::Command).await, Err(Failure::Busy(_))));
            assert!(admission.enter(Queue::Quick).await.is_ok());
            // Those that wait get their turn.
            drop(running);
            for task in waiting {
                assert!(task.await.unwrap());
            }
        });
    }
}
