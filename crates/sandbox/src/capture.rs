//! Captured output: the first bytes of a stream are kept, the rest is counted and dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::rules::limits::Bytes;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// How much is read at once: a quarter of what a pipe of Linux holds, see pipe(7).
const PIECE: usize = 16 << 10;

/// How often a stream is read before anything else gets its turn.
const READS: u32 = 16;

/// One stream that is being captured.
///
/// Whoever holds it must read it whenever it is ready, also when nothing more is kept: a full pipe would block
/// the agent.
#[derive(Debug)]
pub struct Capture {
    reader: OwnedFd,
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

/// Whether more can come from a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// It is still open.
    Open,
    /// Everybody who could write to it is gone.
    Ended,
}

/// What was captured of one stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Captured {
    /// The first bytes, at most as many as the limit.
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
    /// Whether `bytes` is less than what was written.
    pub truncated: bool,
}

impl Capture {
    /// Makes a pipe and keeps up to `limit` bytes of what comes out of it. The other end is for the agent.
    pub fn open(limit: Bytes) -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // Only this end: the agent's own must block, as a program expects of its output.
        rustix::io::ioctl_fionbio(&reader, true)?;
        let limit = usize::try_from(limit.0).unwrap_or(usize::MAX);
        Ok((Self { reader, kept: Vec::new(), limit, total: 0 }, writer))
    }

    /// Reads what is there. Never waits.
    pub fn on_ready(&mut self) -> io::Result<Progress> {
        let mut buffer = [0; PIECE];
        // A bounded number of times: writers may be faster than we are, and something else may be waiting for us.
        for _ in 0..READS {
            match rustix::io::read(&self.reader, &mut buffer) {
                Ok(0) => return Ok(Progress::Ended),
                Ok(length) => {
                    let room = self.limit - self.kept.len();
                    self.kept.extend_from_slice(&buffer[..length.min(room)]);
                    self.total += length as u64;
                }
                Err(Errno::AGAIN) => return Ok(Progress::Open),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Progress::Open)
    }

    /// What was captured. Call it after [`Progress::Ended`], or give up what is still in the pipe.
    pub fn finish(self) -> Captured {
        let truncated = self.total > self.kept.len() as u64;
        Captured { bytes: self.kept, total: self.total, truncated }
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
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
            poll(&mut [PollFd::new(capture, PollFlags::IN)], None).unwrap();
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
        assert!(nonblocking(capture.as_fd()));
        assert!(!nonblocking(writer.as_fd()));
    }
}
