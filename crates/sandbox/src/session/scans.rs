//! When what the agent makes is scanned for while it runs.

use std::time::{Duration, Instant};

/// How long after the start the first scan is; then twice as long each time, so that a long run is not spent on scans.
const FIRST: Duration = Duration::from_secs(2);

/// The longest time between two scans.
const LONGEST: Duration = Duration::from_secs(64);

/// How long after a scan another one confirms what was found for the first time.
const CONFIRMING: Duration = Duration::from_millis(500);

/// When the next scan is due.
pub(super) struct Scans {
    next: Instant,
    /// How long after the last scan that confirmed nothing it was.
    delay: Duration,
    is_confirming: bool,
}

impl Scans {
    /// Schedules the first scan of a run that starts now.
    pub(super) fn of_run(now: Instant) -> Self {
        Self { next: now + FIRST, delay: FIRST, is_confirming: false }
    }

    /// Returns when the next scan is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Schedules the scan that follows one that has ended now. One confirms another, and none confirms that one: an agent
    /// that makes something else each time does not keep the client at it.
    pub(super) fn follow(&mut self, now: Instant, is_unconfirmed: bool) {
        self.is_confirming = is_unconfirmed && !self.is_confirming;
        if self.is_confirming {
            self.next = now + CONFIRMING;
            return;
        }
        self.delay = (self.delay * 2).min(LONGEST);
        self.next = now + self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_scans_grows_and_one_confirms_at_most_one() {
        let start = Instant::now();
        let mut scans = Scans::of_run(start);
        let mut delays = Vec::new();
        for is_unconfirmed in [false, true, true, true, false, false, false, false, false] {
            let now = scans.next();
            scans.follow(now, is_unconfirmed);
            delays.push(scans.next().duration_since(now).as_millis());
        }
        assert_eq!(delays, [4_000, 500, 8_000, 500, 16_000, 32_000, 64_000, 64_000, 64_000]);
    }
}
