//! Deadlines: looking through what strangers have made comes to an end, however much they have made.

use std::time::{Duration, Instant};

/// A moment after which no more is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Everything is looked at, however long it takes.
    pub const NEVER: Self = Self(None);

    /// So long from now.
    pub fn after(patience: Duration) -> Self {
        Self(Instant::now().checked_add(patience))
    }

    /// Whether it has passed. This costs some 30 ns, which is little beside any look at a file.
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
    }
}
