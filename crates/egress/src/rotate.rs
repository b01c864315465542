//! A log in two files that were opened by others: when one is full, the other is emptied and used.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Two files, of which one is written.
#[derive(Debug)]
pub struct Rotated {
    files: [File; 2],
    now: usize,
    /// How large the one that is written is.
    size: u64,
    limit: u64,
}

impl Rotated {
    /// Goes on where a log ended. Each file grows to `limit` bytes and one line at most; what is older than both is gone.
    ///
    /// # Errors
    ///
    /// A file cannot be asked for its size, or not be positioned.
    pub fn new(first: File, second: File, limit: u64) -> io::Result<Self> {
        let mut files = [first, second];
        let sizes = [files[0].metadata()?.len(), files[1].metadata()?.len()];
        // The one that is full is the older one.
        let now = usize::from(sizes[0] >= limit && sizes[1] < limit);
        files[now].seek(SeekFrom::End(0))?;
        Ok(Self { files, now, size: sizes[now], limit })
    }
}

impl Write for Rotated {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.size >= self.limit {
            let next = 1 - self.now;
            self.files[next].set_len(0)?;
            self.files[next].seek(SeekFrom::Start(0))?;
            (self.now, self.size) = (next, 0);
        }
        let written = self.files[self.now].write(line)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.files[self.now].flush()
    }
}
