//! Traffic: how many bytes have passed on a connection, and whether any do.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::sleep;

/// The bytes of one connection, counted as they pass.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Counts bytes that have left.
    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts bytes that have come back.
    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns how many have left, and how many have come back.
    pub(crate) fn total(&self) -> (u64, u64) {
        (self.sent.load(Relaxed), self.received.load(Relaxed))
    }

    /// Waits until nothing has passed for so long. One timer a span, and not one a byte, so it may notice a span late.
    pub(crate) async fn stopped(&self, limit: Duration) {
        let mut before = self.total();
        loop {
            sleep(limit).await;
            let now = self.total();
            if now == before {
                return;
            }
            before = now;
        }
    }
}
