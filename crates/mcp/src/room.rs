//! How much memory the messages of all clients take, in both directions: a large one that finds no room is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much room there is, in bytes.
const MOST: usize = 64 << 20;

/// Up to how many bytes a message of a client takes no room, and comes in where there is none: how many of these there are at once is bounded, and a
/// call that ends a command is one of them.
pub(crate) const SMALL: usize = 64 << 10;

/// What an answer takes besides its text: its place in lists, and what waits to write it.
const PLACE: usize = 4 << 10;

/// The room that all clients of a server share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room(Arc<AtomicUsize>);

/// The room that a message has, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Room,
    bytes: usize,
}

impl Room {
    /// Takes room for a message of a client; returns `None` where others have it.
    pub(crate) fn take(&self, bytes: usize) -> Option<Held> {
        let mut held = Held { room: self.clone(), bytes: 0 };
        held.grow_to(bytes).then_some(held)
    }

    /// Takes room for an answer, which is there already, even where there is none. Then nothing begins until it is written but what ends something.
    pub(crate) fn take_for_answer(&self, bytes: usize) -> Held {
        let bytes = bytes + PLACE;
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Held { room: self.clone(), bytes }
    }

    /// Returns whether there is none left.
    pub(crate) fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= MOST
    }
}

impl Held {
    /// Takes more room for a message that has so many bytes by now; returns whether others left it.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        if bytes <= SMALL.max(self.bytes) {
            return true;
        }
        let fits = |held: usize| held.checked_add(bytes - self.bytes).filter(|held| *held < MOST);
        let has_grown = self.room.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if has_grown {
            self.bytes = bytes;
        }
        has_grown
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_share_what_there_is_and_small_ones_need_none() {
        let room = Room::default();
        let first = room.take(MOST / 2).unwrap();
        assert!(room.take(MOST / 2).is_none());
        let small: Vec<_> = (0..MOST / SMALL).map(|_| room.take(SMALL).unwrap()).collect();
        assert!(room.take(MOST / 4).is_some() && !room.is_full());
        drop((first, small));
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_message_takes_as_much_as_it_has_by_now() {
        let room = Room::default();
        let mut growing = room.take(0).unwrap();
        for bytes in [SMALL, SMALL + 1, 2 * SMALL, MOST - 1] {
            assert!(growing.grow_to(bytes));
            assert_eq!(room.0.load(Ordering::Relaxed), if bytes == SMALL { 0 } else { bytes });
        }
        assert!(!growing.grow_to(MOST) && !room.take(0).unwrap().grow_to(SMALL + 1));
        drop(growing);
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn only_small_messages_come_in_while_unread_answers_have_all_of_it() {
        let room = Room::default();
        let answers: Vec<_> = (0..3).map(|_| room.take_for_answer(MOST / 2)).collect();
        assert!(room.is_full() && room.take(SMALL + 1).is_none());
        assert!(room.take(SMALL).is_some());
        drop(answers);
        assert!(!room.is_full() && room.take(SMALL + 1).is_some());
    }
}
