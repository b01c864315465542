//! What was recorded lately, so that who asks again and again does not fill the log: what comes again is counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// How long something is not recorded again.
const WINDOW: Duration = Duration::from_secs(600);

/// How many different ones are recorded in that time.
const MAX_DISTINCT: usize = 1024;

/// What was recorded since a point in time, and how often each has come again.
#[derive(Debug)]
pub(crate) struct Repeats<T> {
    since: Option<Instant>,
    again: HashMap<T, u64>,
}

impl<T> Default for Repeats<T> {
    fn default() -> Self {
        Self { since: None, again: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Repeats<T> {
    /// Returns what is to be recorded: this, nothing where it was recorded already, or what stands for all that there is no room for.
    pub(crate) fn note(&mut self, what: T, rest: T, now: Instant) -> Option<T> {
        self.since.get_or_insert(now);
        let full = self.again.len() >= MAX_DISTINCT && !self.again.contains_key(&what);
        let what = if full { rest } else { what };
        if let Some(again) = self.again.get_mut(&what) {
            *again += 1;
            return None;
        }
        self.again.insert(what.clone(), 0);
        Some(what)
    }

    /// Returns whether what was recorded is to be recorded again.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= WINDOW)
    }

    /// Forgets everything, and returns what has come again since it was recorded, and how often.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = (T, u64)> + use<T> {
        std::mem::take(self).again.into_iter().filter(|(_, again)| *again > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_each_once_in_a_while_and_a_bounded_number_and_counts_the_rest() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let mut note = |what: &str| repeats.note(what.to_owned(), "rest".to_owned(), start);
        assert_eq!((note("a"), note("a"), note("a")), (Some("a".to_owned()), None, None));
        let recorded: Vec<_> = (0..1_000_000).filter_map(|number: u32| note(&number.to_string())).collect();
        assert_eq!((recorded.len(), recorded.last().map(String::as_str)), (MAX_DISTINCT, Some("rest")));
        assert!(repeats.again.capacity() <= 4 * MAX_DISTINCT);
        assert!(!repeats.is_over(start) && repeats.is_over(start + WINDOW));
        let mut again: Vec<_> = repeats.end().collect();
        again.sort();
        assert_eq!(again, [("a".to_owned(), 2), ("rest".to_owned(), 1_000_000 - MAX_DISTINCT as u64)]);
        assert_eq!(repeats.note("a".to_owned(), "rest".to_owned(), start), Some("a".to_owned()));
    }
}
