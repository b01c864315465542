//! Traffic: how many bytes have passed on a connection, and whether any do.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::sleep;

/// How much may come before an answer begins, in bytes: interim answers, and its own head.
const MAX_BEGINNING: u64 = 256 << 10;

/// The bytes of one connection, counted as they pass.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
    /// Up to how many received bytes an answer may take to begin; 0 where nobody waits for one.
    begin_by: AtomicU64,
}

impl Traffic {
    /// Counts bytes that have left.
    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts bytes that have come back, and fails when there are more than an answer may take to begin.
    pub(crate) fn received(&self, bytes: usize) -> io::Result<()> {
        let received = self.received.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        let most = self.begin_by.load(Relaxed);
        if most != 0 && received > most {
            return Err(io::Error::other("the server announces an answer without end, and does not give it"));
        }
        Ok(())
    }

    /// Waits for an answer to begin. Interim ones (1xx) may come before it in any number.
    pub(crate) fn expect_answer(&self) {
        self.begin_by.store(self.received.load(Relaxed) + MAX_BEGINNING, Relaxed);
    }

    /// Notes that it has begun.
    pub(crate) fn answered(&self) {
        self.begin_by.store(0, Relaxed);
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
