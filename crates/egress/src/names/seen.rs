//! What was recorded lately, so that who asks again and again does not fill the log.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long something is not recorded again.
const WINDOW: Duration = Duration::from_secs(600);

/// How many different ones are recorded in that time.
const MAX_SEEN: usize = 1024;

/// Whether something is recorded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Novelty {
    /// It was not recorded lately.
    New,
    /// It was.
    Known,
    /// It was not, and it is the first one too many: that is recorded, and no more until the window is over.
    TooMany,
}

/// What was recorded since a point in time.
#[derive(Default)]
pub(crate) struct Seen {
    since: Option<Instant>,
    recorded: HashSet<String>,
}

impl Seen {
    /// Says whether to record this, and remembers it.
    pub(crate) fn note(&mut self, what: &str, now: Instant) -> Novelty {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            *self = Self { since: Some(now), recorded: HashSet::new() };
        }
        match self.recorded.len() {
            _ if self.recorded.contains(what) => Novelty::Known,
            ..MAX_SEEN => {
                self.recorded.insert(what.to_owned());
                Novelty::New
            }
            // The one too many is remembered as a place, not by its name.
            MAX_SEEN => {
                self.recorded.insert(String::new());
                Novelty::TooMany
            }
            _ => Novelty::Known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_each_once_in_a_while_and_a_bounded_number() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        assert_eq!(seen.note("a", start), Novelty::New);
        assert_eq!(seen.note("a", start), Novelty::Known);
        let mut count = [0, 0, 0];
        for number in 0..1_000_000 {
            count[seen.note(&number.to_string(), start) as usize] += 1;
        }
        assert_eq!(count, [MAX_SEEN - 1, 1_000_000 - MAX_SEEN, 1]);
        assert!(seen.recorded.capacity() <= 4 * MAX_SEEN);
        assert_eq!(seen.note("a", start + WINDOW), Novelty::New);
        assert_eq!(seen.note("1", start + WINDOW), Novelty::New);
    }
}
