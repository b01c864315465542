//! Attending to a command until it has ended: what it reads is written, what it writes is handed on, and it is killed when nobody wants it any more.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use policy::rules::limits::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::spawn::RunningCommand;
use crate::session::error::StartError;
use crate::session::outcome::{End, Output};

/// How much is read at once: a quarter of what a pipe of Linux holds, see pipe(7).
const PIECE: usize = 16 << 10;

/// How often a stream is read before anything else gets its turn.
const READS: usize = 16;

/// How often it is read when the command has ended: more than a pipe holds. Whoever else has it open may write for ever.
const LAST_READS: usize = 1024;

/// A deadline that is over.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Where a command writes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// Why a command that was attended to has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wanted {
    /// By itself, or by a limit.
    ToItsEnd,
    /// Whoever had asked for it did not want it any more.
    NoMore,
}

impl RunningCommand {
    /// Attends to the command until it has ended; it is killed when `cancel` becomes readable. `take` gets each piece of what it writes.
    ///
    /// # Errors
    ///
    /// What it writes cannot be read, or PID 1 makes no sense.
    pub(crate) fn attend(
        &mut self,
        stdin: &[u8],
        cancel: Option<BorrowedFd<'_>>,
        take: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<(End, Wanted), StartError> {
        let failed = StartError::step("reading the output of the command");
        let mut outputs =
            [(OutputStream::Stdout, self.stdout.take()), (OutputStream::Stderr, self.stderr.take())];
        let mut input = self.stdin.take();
        // Only these ends: those of the command block, as a program expects.
        for file in outputs.iter().filter_map(|(_, file)| file.as_ref()).chain(&input) {
            rustix::io::ioctl_fionbio(file, true).map_err(|errno| failed(errno.into()))?;
        }
        let mut unwritten = stdin;
        let mut wanted = Wanted::ToItsEnd;
        loop {
            if unwritten.is_empty() {
                input = None;
            }
            let mut ready = vec![PollFd::from_borrowed_fd(self.control(), PollFlags::IN)];
            // Raised, it stays readable.
            let cancel = cancel.filter(|_| wanted == Wanted::ToItsEnd);
            ready.extend(cancel.map(|cancel| PollFd::from_borrowed_fd(cancel, PollFlags::IN)));
            let open = outputs.iter().filter_map(|(_, file)| file.as_ref());
            ready.extend(open.map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)));
            ready.extend(input.iter().map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::OUT)));
            match poll(&mut ready, self.has_ended().then_some(&NOW)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
            let has_event = !ready[0].revents().is_empty() || self.has_ended();
            let is_cancelled = cancel.is_some() && !ready[1].revents().is_empty();
            drop(ready);
            if is_cancelled {
                wanted = Wanted::NoMore;
                self.kill()?;
            }
            if let Some(file) = &input {
                match rustix::io::write(file, unwritten) {
                    Ok(written) => unwritten = &unwritten[written..],
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // It reads no more.
                    Err(_) => unwritten = &[],
                }
            }
            let end = if has_event { self.on_event()? } else { None };
            let reads = if end.is_some() { LAST_READS } else { READS };
            for (stream, file) in &mut outputs {
                read(file, reads, &mut |piece| take(*stream, piece)).map_err(failed)?;
            }
            if let Some(end) = end {
                return Ok((end, wanted));
            }
        }
    }
}

/// Reads what is there of a stream, a bounded number of times: writers may be faster than this.
fn read(file: &mut Option<File>, reads: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut piece = [0; PIECE];
    for _ in 0..reads {
        let Some(open) = file else { return Ok(()) };
        match rustix::io::read(open, &mut piece) {
            Ok(0) => *file = None,
            Ok(length) => take(&piece[..length]),
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

impl Output {
    /// Keeps the first bytes of each stream, and counts the others.
    pub(crate) fn add(&mut self, stream: OutputStream, piece: &[u8], limit: Bytes) {
        let kept = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        kept.add(piece, limit);
    }
}
