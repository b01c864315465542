//! Deadlines: looking through what strangers have made comes to an end, however much they have made.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

/// A moment after which no more is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Everything is looked at, however long it takes.
    pub const NEVER: Self = Self(None);

    /// Sets a deadline this long from now. One beyond what a clock can hold never passes.
    pub fn after(patience: Duration) -> Self {
        Self(Instant::now().checked_add(patience))
    }

    /// Returns the time left, as poll(2) takes it: `None` is for ever.
    pub fn left(self) -> Option<Timespec> {
        let left = self.0?.saturating_duration_since(Instant::now());
        Some(Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        })
    }

    /// Returns a deadline that leaves a third of the time which is left for something else.
    #[must_use]
    pub fn leaving_a_third(self) -> Self {
        let Some(at) = self.0 else { return self };
        let now = Instant::now();
        Self(now.checked_add(at.saturating_duration_since(now) * 2 / 3))
    }

    /// Returns whether it has passed. This costs some 30 ns, which is little beside any system call on a file.
    pub fn is_over(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_passes_and_no_deadline_never_does() {
        assert!(Deadline::after(Duration::ZERO).is_over());
        assert!(!Deadline::after(Duration::from_secs(1000)).is_over());
        assert!(!Deadline::after(Duration::MAX).is_over());
        assert!(!Deadline::NEVER.is_over());
        let before = Deadline::after(Duration::from_secs(300)).leaving_a_third();
        assert!(before.left().is_some_and(|left| (190..=200).contains(&left.tv_sec)));
        assert!(Deadline::NEVER.leaving_a_third().left().is_none());
    }
}
