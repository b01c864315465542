//! How many calls run at once: what is too much is refused with an error, and nothing waits for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;
use crate::room::Room;

/// How many commands run at once.
pub(crate) const COMMANDS: usize = 16;

/// How many calls run at once that do not wait for a command, such as those that read a file.
pub(crate) const QUICK: usize = 8;

/// How many calls run at once that end something: there is room for them whatever the others do.
pub(crate) const ENDS: usize = 8;

/// How many calls wait for their turn.
const WAITING: usize = 128;

/// Where a call runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Queue {
    /// It waits for a command.
    Command,
    /// It does not: it is over in a moment, but for the first one, which may make the sandbox.
    Quick,
    /// It ends something. Its answer is short, so it runs also while others are not read.
    End,
}

/// The room that there is for calls.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    commands: Arc<Semaphore>,
    quick: Arc<Semaphore>,
    ends: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// The room for messages: without any, nobody reads what calls answer.
    pub(crate) room: Room,
}

impl Default for Admission {
    fn default() -> Self {
        let of = |permits| Arc::new(Semaphore::new(permits));
        Self {
            commands: of(COMMANDS),
            quick: of(QUICK),
            ends: of(ENDS),
            waiting: of(WAITING),
            room: Room::default(),
        }
    }
}

impl Admission {
    /// Waits for the turn of a call. It lasts as long as what is returned.
    ///
    /// # Errors
    ///
    /// Too many wait already, or too much waits to be read by clients and the call ends nothing.
    pub(crate) async fn enter(&self, queue: Queue) -> Result<OwnedSemaphorePermit, Failure> {
        let room = match queue {
            Queue::Command => &self.commands,
            Queue::Quick => &self.quick,
            Queue::End => &self.ends,
        };
        let permit = match Arc::clone(room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for(room).await?,
        };
        if queue != Queue::End && self.room.is_full() {
            return Err(Failure::Busy("clients do not read the answers that they have"));
        }
        Ok(permit)
    }

    async fn wait_for(&self, room: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
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
            let mut others = Vec::new();
            for _ in 0..QUICK {
                others.push(admission.enter(Queue::Quick).await.unwrap());
            }
            assert!(matches!(admission.enter(Queue::Quick).await, Err(Failure::Busy(_))));
            assert!(admission.enter(Queue::End).await.is_ok());
            // Those that wait get their turn.
            drop(running);
            for task in waiting {
                assert!(task.await.unwrap());
            }
        });
    }

    #[test]
    fn nothing_is_begun_whose_answer_would_wait_with_too_many_others_but_what_ends_something() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let admission = Admission::default();
            let unread = admission.room.take_for_answer(1 << 30);
            for queue in [Queue::Command, Queue::Quick] {
                assert!(matches!(admission.enter(queue).await, Err(Failure::Busy(_))));
            }
            assert!(admission.enter(Queue::End).await.is_ok());
            drop(unread);
            assert!(admission.enter(Queue::Quick).await.is_ok());
        });
    }
}
