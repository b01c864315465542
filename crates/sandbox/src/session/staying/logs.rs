//! What the first command of a persistent sandbox has written.

use confine::log_ring::LogRecord;

use crate::state::sandboxes::{SandboxError, StayingSandbox};

/// A standard stream that is logged.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LoggedStream {
    Stdout,
    Stderr,
}

/// Something that was written to a stream at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Logged {
    pub stream: LoggedStream,
    /// When, in milliseconds since 1970.
    pub time: u64,
    pub content: Vec<u8>,
}

/// A reader of the logs of a sandbox: it returns what has come since it was asked last.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogReader {
    /// How far each stream was read.
    after: [u64; 2],
    /// Whether what was oldest is there no more.
    pub is_cut: bool,
    /// How many bytes could not be written.
    pub lost: u64,
}

impl LogReader {
    /// Reads what is new of both streams, in the order in which it was written.
    ///
    /// # Errors
    ///
    /// A log cannot be read, or is damaged.
    pub fn read(&mut self, sandbox: &StayingSandbox) -> Result<Vec<Logged>, SandboxError> {
        let mut new = Vec::new();
        self.lost = 0;
        for (at, stream) in [LoggedStream::Stdout, LoggedStream::Stderr].into_iter().enumerate() {
            let log = sandbox.log(at, self.after[at])?;
            self.after[at] = log.records.last().map_or(self.after[at], |record| record.end);
            self.is_cut |= log.is_cut;
            self.lost = self.lost.saturating_add(log.lost);
            let logged = |record: LogRecord| Logged { stream, time: record.time, content: record.content };
            new.extend(log.records.into_iter().map(logged));
        }
        // The sort is stable: what one stream has keeps its order.
        new.sort_by_key(|logged| logged.time);
        Ok(new)
    }
}
