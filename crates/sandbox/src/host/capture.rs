//! Captured output: the first bytes of a stream are kept, the rest is counted and dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::rules::limits::Bytes;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use zeroize::Zeroizing;

/// How much is read at once: a quarter of what a pipe of Linux holds, see pipe(7).
const PIECE: usize = 16 << 10;

/// How often a stream is read before anything else gets its turn.
const READS: u32 = 16;

/// What is kept of no more than this has its whole room from the start: it may be a secret, and would leave a copy where it
/// moved.
const NEVER_MOVES: usize = 128 << 10;

/// One stream that is being captured. What it keeps is cleared when it is dropped.
///
/// Whoever holds it must read it whenever it is ready, also when nothing more is kept: a full pipe would block
/// the agent.
#[derive(Debug)]
pub struct Capture {
    /// None once everybody who could write to it is gone.
    reader: Option<OwnedFd>,
    kept: Zeroizing<Vec<u8>>,
    limit: usize,
    excess: Excess,
    total: u64,
}

/// What becomes of a stream that is longer than what is kept of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Excess {
    /// The rest is counted and dropped.
    Dropped,
    /// It is not read any further.
    Refused,
}

/// Whether more can come from a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    Open,
    /// Everybody who could write to it is gone.
    Ended,
    /// More has come than is taken.
    Full,
}

/// What was captured of one stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Captured {
    /// The first bytes, at most as many as the limit.
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
    /// Whether `bytes` is less than what was written.
    pub truncated: bool,
}

impl Captured {
    /// Adds what comes next: what the limit leaves no room for is counted.
    pub(crate) fn add(&mut self, piece: &[u8], limit: Bytes) {
        let room = usize::try_from(limit.0).unwrap_or(usize::MAX).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        self.total += piece.len() as u64;
        self.truncated |= room < piece.len();
    }
}

impl Capture {
    /// Makes a pipe and keeps up to `limit` bytes of what comes out of it. The other end is for the agent.
    pub fn open(limit: Bytes) -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self::of(Some(reader), limit, Excess::Dropped)?, writer))
    }

    /// Keeps up to `limit` bytes of what comes out of a pipe. One that is not there has ended.
    pub(crate) fn of(reader: Option<OwnedFd>, limit: Bytes, excess: Excess) -> io::Result<Self> {
        // Only this end: the agent's own must block, as a program expects of its output.
        reader.as_ref().map_or(Ok(()), |reader| rustix::io::ioctl_fionbio(reader, true))?;
        let limit = usize::try_from(limit.0).unwrap_or(usize::MAX);
        let room = if limit <= NEVER_MOVES { limit } else { 0 };
        Ok(Self { reader, kept: Vec::with_capacity(room).into(), limit, excess, total: 0 })
    }

    /// Returns the pipe to wait for, until it has ended.
    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.reader.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is there. Never waits.
    pub fn on_ready(&mut self) -> io::Result<Progress> {
        // A bounded number of times: writers may be faster than we are, and something else may be waiting for us.
        for _ in 0..READS {
            let Some(reader) = &self.reader else { return Ok(Progress::Ended) };
            let filled = self.kept.len();
            let read = if filled < self.limit {
                self.kept.resize(filled + PIECE.min(self.limit - filled), 0);
                let read = rustix::io::read(reader, &mut self.kept[filled..]);
                self.kept.truncate(filled + *read.as_ref().unwrap_or(&0));
                read
            } else {
                rustix::io::read(reader, &mut *Zeroizing::new([0; PIECE]))
            };
            match read {
                Ok(0) => self.reader = None,
                Ok(length) => self.total += length as u64,
                Err(Errno::AGAIN) => return Ok(Progress::Open),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if self.excess == Excess::Refused && self.is_truncated() {
                return Ok(Progress::Full);
            }
        }
        Ok(Progress::Open)
    }

    /// Returns what was captured. Call it after [`Progress::Ended`], or give up what is still in the pipe.
    pub fn finish(mut self) -> Captured {
        let truncated = self.is_truncated();
        Captured { bytes: std::mem::take(&mut *self.kept), total: self.total, truncated }
    }

    fn is_truncated(&self) -> bool {
        self.total > self.kept.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn drain(capture: &mut Capture) {
        loop {
            poll(&mut [PollFd::from_borrowed_fd(capture.pipe().unwrap(), PollFlags::IN)], None).unwrap();
            if capture.on_ready().unwrap() == Progress::Ended {
                return;
            }
        }
    }

    #[test]
    fn keeps_everything_up_to_the_limit() {
        let (mut capture, writer) = Capture::open(Bytes(5)).unwrap();
        File::from(writer).write_all(b"hello").unwrap();
        drain(&mut capture);
        assert_eq!(capture.finish(), Captured { bytes: b"hello".into(), total: 5, truncated: false });
    }

    #[test]
    fn keeps_the_first_bytes_and_counts_the_rest_without_blocking_the_writer() {
        let (mut capture, writer) = Capture::open(Bytes(10)).unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "printf 0123456789; head -c 1000000 /dev/zero"])
            .stdout(Stdio::from(writer))
            .spawn()
            .unwrap();
        drain(&mut capture);
        assert!(child.wait().unwrap().success());
        let captured = capture.finish();
        assert_eq!(captured.bytes, b"0123456789");
        assert_eq!(captured.total, 1_000_010);
        assert!(captured.truncated);
    }

    #[test]
    fn a_limit_of_nothing_still_drains() {
        let (mut capture, writer) = Capture::open(Bytes(0)).unwrap();
        File::from(writer).write_all(b"x").unwrap();
        drain(&mut capture);
        assert_eq!(capture.finish(), Captured { bytes: vec![], total: 1, truncated: true });
    }

    #[test]
    fn the_writers_end_blocks_as_programs_expect() {
        let (capture, writer) = Capture::open(Bytes(0)).unwrap();
        let nonblocking =
            |fd: BorrowedFd<'_>| rustix::fs::fcntl_getfl(fd).unwrap().contains(rustix::fs::OFlags::NONBLOCK);
        assert!(nonblocking(capture.pipe().unwrap()));
        assert!(!nonblocking(writer.as_fd()));
    }
}
