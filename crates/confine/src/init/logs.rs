//! What the first command of a persistent sandbox writes: from a pipe into its log.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::log_ring::LogWriter;

/// How much of a pipe is read before anything else gets its turn.
const TURNS: u32 = 8;

/// How much is read at once.
const READ: usize = 8 << 10;

/// A pipe, and the log that it is written to.
pub(super) struct LogPump {
    pipe: Option<OwnedFd>,
    log: LogWriter,
}

impl LogPump {
    /// Begins the log in an empty file.
    pub(super) fn begin(pipe: OwnedFd, file: File, capacity: u64) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&pipe)?;
        rustix::fs::fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        Ok(Self { pipe: Some(pipe), log: LogWriter::begin(file, capacity)? })
    }

    /// Returns the pipe, while somebody may write to it.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Writes what has arrived to the log.
    pub(super) fn on_ready(&mut self) {
        for _ in 0..TURNS {
            if !self.turn() {
                return;
            }
        }
    }

    /// Writes all to the log that has arrived, once nobody writes to the pipe any more.
    pub(super) fn drain(&mut self) {
        while self.turn() {}
    }

    /// Reads once; false where there is nothing more now.
    fn turn(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut buffer = [0; READ];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.log.write(&buffer[..count]);
                return true;
            }
            Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {}
            Err(_) => self.pipe = None,
        }
        false
    }
}
