//! Relays between the caller's pipes and pipes of the agent's own.
//!
//! A pipe can be opened again in its other direction by whoever owns it (`/proc/self/fd` in proc(5)), and with the same file
//! description come its flags. Other programs of the caller's use the same pipe: a shell whose script it is would execute what an
//! agent writes there. So a pipe is never handed over.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use rustix::pipe::{PIPE_BUF, PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice, tee};

/// How often to check a pipe that sends no event when it becomes empty.
const GLANCE: Duration = Duration::from_millis(10);

/// How many bytes the agent sees at once. As many may be seen twice, by it and by whoever reads next, if the client is killed.
const OFFERED: usize = PIPE_BUF;

/// Which way a pipe leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    ToAgent,
    FromAgent,
}

/// The pipes of a run, driven by somebody else's poll loop.
///
/// Wait for [`Pipes::fds`] with [`Pipes::tick`] as the longest time, then call [`Pipes::on_ready`] for each that is ready, and
/// [`Pipes::on_tick`]. No call ever waits. When they are dropped, what the agent has not read is still in the caller's pipe.
#[derive(Default)]
pub(crate) struct Pipes<'a>(Vec<Option<PipeRelay<'a>>>);

/// Which relay waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PipeSource(usize);

/// The caller's end of a pipe.
pub(crate) enum Outer<'a> {
    Borrowed(BorrowedFd<'a>),
    Owned(OwnedFd),
}

impl AsFd for Outer<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Borrowed(fd) => *fd,
            Self::Owned(fd) => fd.as_fd(),
        }
    }
}

enum PipeRelay<'a> {
    Input(Input<'a>),
    Output(Output<'a>),
}

impl<'a> Pipes<'a> {
    /// Makes a pipe in the place of one of the caller's, and returns the agent's end.
    pub(crate) fn relay(&mut self, outer: Outer<'a>, direction: Direction) -> Result<OwnedFd, Errno> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // One slot: it can be written to when everything in it was read, and a read returns whole writes of up to PIPE_BUF.
        let size = fcntl_setpipe_size(&writer, 1)?;
        let (relay, agents) = match direction {
            Direction::ToAgent => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                let null = rustix::fs::open(c"/dev/null", flags, Mode::empty())?;
                (PipeRelay::Input(Input { outer, inner: writer, null, offer: Offer::None }), reader)
            }
            Direction::FromAgent => {
                // Only this end: the agent's own must block, as a program expects. It may read from this one, too.
                rustix::io::ioctl_fionbio(&reader, true)?;
                (PipeRelay::Output(Output { outer, inner: reader, size, unsent: Vec::new() }), writer)
            }
        };
        self.0.push(Some(relay));
        Ok(agents)
    }

    /// Lists what to wait for, and for which events.
    pub(crate) fn fds(&self) -> Vec<(PipeSource, BorrowedFd<'_>, PollFlags)> {
        let mut fds = Vec::new();
        for (at, relay) in self.0.iter().enumerate() {
            let mut wait = |fd, events| fds.push((PipeSource(at), fd, events));
            match relay {
                Some(PipeRelay::Input(input)) => match input.offer {
                    Offer::None => {
                        wait(input.outer.as_fd(), PollFlags::IN);
                        wait(input.inner.as_fd(), PollFlags::empty());
                    }
                    Offer::InSlot(_) => wait(input.inner.as_fd(), PollFlags::OUT),
                    Offer::InSlots(_) => wait(input.inner.as_fd(), PollFlags::empty()),
                },
                Some(PipeRelay::Output(output)) if output.unsent.is_empty() => {
                    wait(output.inner.as_fd(), PollFlags::IN);
                    wait(output.outer.as_fd(), PollFlags::empty());
                }
                Some(PipeRelay::Output(output)) => wait(output.outer.as_fd(), PollFlags::OUT),
                None => {}
            }
        }
        fds
    }

    /// Moves bytes.
    pub(crate) fn on_ready(&mut self, PipeSource(at): PipeSource, events: PollFlags) -> Result<(), Errno> {
        let ready = match self.0.get_mut(at).and_then(Option::as_mut) {
            // Nobody reads on the other side, of what the agent gets or of what it writes.
            Some(_) if events.contains(PollFlags::ERR) => Ok(ControlFlow::Break(())),
            Some(PipeRelay::Input(input)) => input.on_ready(),
            Some(PipeRelay::Output(output)) => output.on_ready(),
            None => return Ok(()),
        };
        if ready?.is_break() {
            self.0[at] = None;
        }
        Ok(())
    }

    /// Returns how long to wait at most; `None` is for ever.
    pub(crate) fn tick(&self) -> Option<Duration> {
        let spread = |relay: &Option<_>| {
            matches!(relay, Some(PipeRelay::Input(Input { offer: Offer::InSlots(_), .. })))
        };
        self.0.iter().any(spread).then_some(GLANCE)
    }

    /// Checks whether the agent has read what no event reports.
    pub(crate) fn on_tick(&mut self) -> Result<(), Errno> {
        self.0.iter_mut().flatten().try_for_each(|relay| match relay {
            PipeRelay::Input(input @ Input { offer: Offer::InSlots(_), .. }) => input.settle(),
            PipeRelay::Input(_) | PipeRelay::Output(_) => Ok(()),
        })
    }

    /// Checks whether everything that the agent has written is where the caller finds it.
    pub(crate) fn is_delivered(&self) -> bool {
        self.0.iter().flatten().all(|relay| match relay {
            PipeRelay::Input(_) => true,
            PipeRelay::Output(output) => {
                output.unsent.is_empty() && rustix::io::ioctl_fionread(&output.inner) == Ok(0)
            }
        })
    }
}

/// A pipe that the agent reads. It sees what is at the front of the caller's pipe, and only what it has read is taken out of
/// that: whoever reads there next finds the rest.
struct Input<'a> {
    outer: Outer<'a>,
    inner: OwnedFd,
    null: OwnedFd,
    offer: Offer,
}

/// How many bytes of the caller's pipe the agent sees.
#[derive(Clone, Copy)]
enum Offer {
    None,
    /// They fill the agent's pipe: it can be written to again when they were read.
    InSlot(usize),
    /// The agent has enlarged its pipe, as programs do that want to be fast.
    InSlots(usize),
}

impl Input<'_> {
    fn on_ready(&mut self) -> Result<ControlFlow<()>, Errno> {
        let was_ready = matches!(self.offer, Offer::None);
        if !was_ready {
            self.settle()?;
        }
        if let Offer::None = self.offer {
            match tee(&self.outer, &self.inner, OFFERED, SpliceFlags::NONBLOCK) {
                // Nobody can write to the caller's pipe any more, or read from the agent's.
                Ok(0) | Err(Errno::PIPE) => return Ok(ControlFlow::Break(())),
                Ok(length) => self.offer = Offer::InSlot(length),
                // Somebody else has read it, or the agent has written into its own pipe: then that has to be read first.
                Err(Errno::AGAIN) if was_ready => self.offer = Offer::InSlot(0),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes out of the caller's pipe what the agent has read, once that is all it saw.
    fn settle(&mut self) -> Result<(), Errno> {
        let offered = self.offered();
        let is_empty = rustix::io::ioctl_fionread(&self.inner)? == 0;
        self.offer = match self.offer {
            Offer::InSlot(_) if is_empty => Offer::None,
            // It was enlarged. It can be made small again unless what is in it takes more than a slot.
            _ => match fcntl_setpipe_size(&self.inner, 1) {
                _ if is_empty => Offer::None,
                Ok(_) => Offer::InSlot(offered),
                Err(_) => Offer::InSlots(offered),
            },
        };
        if is_empty { self.take(offered) } else { Ok(()) }
    }

    fn offered(&self) -> usize {
        match self.offer {
            Offer::None => 0,
            Offer::InSlot(offered) | Offer::InSlots(offered) => offered,
        }
    }

    fn take(&self, mut length: usize) -> Result<(), Errno> {
        while length > 0 {
            match splice(&self.outer, None, &self.null, None, length, SpliceFlags::NONBLOCK) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(taken) => length -= taken,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        // No more than it saw, also where it has written something itself.
        let left = rustix::io::ioctl_fionread(&self.inner).unwrap_or(u64::MAX);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let _ = self.take(self.offered().saturating_sub(left));
    }
}

/// A pipe that the agent writes.
struct Output<'a> {
    outer: Outer<'a>,
    inner: OwnedFd,
    /// How much the agent's pipe holds.
    size: usize,
    unsent: Vec<u8>,
}

impl Output<'_> {
    fn on_ready(&mut self) -> Result<ControlFlow<()>, Errno> {
        if self.unsent.is_empty() {
            self.unsent.resize(self.size, 0);
            let read = rustix::io::read(&self.inner, &mut self.unsent);
            self.unsent.truncate(read.unwrap_or(0));
            match read {
                // Nobody inside can write any more.
                Ok(0) => return Ok(ControlFlow::Break(())),
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::INTR) => return Ok(ControlFlow::Continue(())),
                Err(errno) => return Err(errno),
            }
        }
        // Copied and not spliced: the kernel joins small writes then, and the caller's pipe holds as many bytes as ever.
        match write_now(self.outer.as_fd(), &self.unsent) {
            Ok(length) => drop(self.unsent.drain(..length)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::PIPE) => return Ok(ControlFlow::Break(())),
            Err(errno) => return Err(errno),
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Writes what fits. The flag that writes do not block is not set: it would be the caller's too.
fn write_now(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    const CURRENT_POSITION: u64 = u64::MAX;
    match rustix::io::pwritev2(pipe, &[IoSlice::new(bytes)], CURRENT_POSITION, ReadWriteFlags::NOWAIT) {
        // Before Linux 6.4.
        Err(Errno::OPNOTSUPP) => write_if_ready(pipe, bytes),
        written => written,
    }
}

/// Writes what a pipe takes that is ready, unless another writer is faster: then it waits for a reader.
fn write_if_ready(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::from_borrowed_fd(pipe, PollFlags::OUT)], Some(&now))? {
        0 => Err(Errno::AGAIN),
        _ => rustix::io::write(pipe, &bytes[..bytes.len().min(PIPE_BUF)]),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;

    fn pipe() -> (File, File) {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (reader.into(), writer.into())
    }

    /// Moves what can be moved, without waiting for anybody.
    fn turn(pipes: &mut Pipes<'_>) {
        for _ in 0..10 {
            let waiting = pipes.fds();
            let mut fds: Vec<_> =
                waiting.iter().map(|(_, fd, events)| PollFd::from_borrowed_fd(*fd, *events)).collect();
            poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
            let ready: Vec<_> =
                waiting.iter().zip(&fds).map(|((source, ..), fd)| (*source, fd.revents())).collect();
            for (source, events) in ready.into_iter().filter(|(_, events)| !events.is_empty()) {
                pipes.on_ready(source, events).unwrap();
            }
            pipes.on_tick().unwrap();
        }
    }

    fn take(agent: &mut File, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        agent.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Returns what the caller's pipe holds when the agent has done something with its input, which begins with `given`.
    fn left(given: &[u8], agent: impl FnOnce(&mut Pipes<'_>, &mut File)) -> Vec<u8> {
        let (mut reader, mut writer) = pipe();
        writer.write_all(given).unwrap();
        let mut pipes = Pipes::default();
        let mut inner = File::from(pipes.relay(Outer::Borrowed(reader.as_fd()), Direction::ToAgent).unwrap());
        turn(&mut pipes);
        agent(&mut pipes, &mut inner);
        drop((pipes, inner, writer));
        let mut left = Vec::new();
        reader.read_to_end(&mut left).unwrap();
        left
    }

    fn reopen(agent: &File) -> File {
        use std::os::fd::AsRawFd;
        File::options().write(true).open(format!("/proc/self/fd/{}", agent.as_raw_fd())).unwrap()
    }

    #[test]
    fn what_was_not_read_stays_where_it_was() {
        assert_eq!(left(b"abc", |_, _| {}), b"abc");
        assert_eq!(left(b"abc", |_, agent| assert_eq!(take(agent, 1), b"a")), b"bc");
        assert_eq!(
            left(b"abc", |pipes, agent| {
                assert_eq!(take(agent, 3), b"abc");
                turn(pipes);
            }),
            b""
        );
        let long: Vec<u8> = (0..=u8::MAX).cycle().take(50_000).collect();
        let rest = left(&long, |pipes, agent| {
            for at in (0..40_960).step_by(1024) {
                assert_eq!(take(agent, 1024), &long[at..at + 1024]);
                turn(pipes);
            }
        });
        assert_eq!(rest, &long[40_960..]);
    }

    #[test]
    fn what_an_agent_writes_to_its_input_takes_nothing_more_and_comes_nowhere() {
        let enlarge = |agent: &File| fcntl_setpipe_size(agent, 1 << 20).unwrap();
        assert_eq!(
            left(b"abc", |_, agent| {
                assert_eq!(take(agent, 3), b"abc");
                reopen(agent).write_all(b"12345").unwrap();
            }),
            b"abc",
            "as if it had not been read"
        );
        assert_eq!(
            left(b"abc", |_, agent| {
                enlarge(agent);
                reopen(agent).write_all(b"12345").unwrap();
                assert_eq!(take(agent, 6), b"abc123");
            }),
            b"bc",
            "two are left, of what was written"
        );
        let rest = left(&vec![b'a'; 20_000], |pipes, agent| {
            enlarge(agent);
            reopen(agent).write_all(b"12345").unwrap();
            turn(pipes);
            assert_eq!(pipes.tick(), Some(GLANCE), "it is in two slots");
            let mut seen = take(agent, 4096 + 5);
            turn(pipes);
            assert_eq!(pipes.tick(), None);
            seen.extend(take(agent, 4096));
            assert_eq!(seen.len(), seen.iter().filter(|byte| byte.is_ascii_lowercase()).count() + 5);
        });
        assert_eq!(rest.len(), 20_000 - 2 * 4096);
    }

    #[test]
    fn an_end_on_one_side_is_one_on_the_other() {
        let (reader, writer) = pipe();
        let mut pipes = Pipes::default();
        let mut agent = File::from(pipes.relay(Outer::Borrowed(reader.as_fd()), Direction::ToAgent).unwrap());
        turn(&mut pipes);
        drop(writer);
        turn(&mut pipes);
        assert_eq!(agent.read(&mut [0]).unwrap(), 0);
        assert!(pipes.fds().is_empty());

        let (reader, writer) = pipe();
        let mut pipes = Pipes::default();
        let mut agent =
            File::from(pipes.relay(Outer::Borrowed(writer.as_fd()), Direction::FromAgent).unwrap());
        agent.write_all(b"abc").unwrap();
        assert!(!pipes.is_delivered());
        turn(&mut pipes);
        assert!(pipes.is_delivered());
        drop(reader);
        turn(&mut pipes);
        assert_eq!(agent.write(b"d").unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_full_pipe_is_not_written_to_on_older_kernels_either() {
        for write in [write_now, write_if_ready] {
            let (reader, writer) = pipe();
            let mut written = 0;
            let refused = loop {
                match write(writer.as_fd(), &[b'x'; PIPE_BUF]) {
                    Ok(length) => written += length,
                    Err(errno) => break errno,
                }
            };
            assert_eq!(refused, Errno::AGAIN);
            assert!(written > PIPE_BUF);
            drop(reader);
            assert_eq!(write(writer.as_fd(), b"x"), Err(Errno::PIPE));
        }
    }

    #[test]
    fn a_pipe_that_is_full_keeps_nobody_waiting() {
        let (mut reader, writer) = pipe();
        let mut pipes = Pipes::default();
        let mut agent =
            File::from(pipes.relay(Outer::Borrowed(writer.as_fd()), Direction::FromAgent).unwrap());
        // Small writes share a page, as they do in the caller's own pipe.
        for _ in 0..650 {
            agent.write_all(&[b'x'; 100]).unwrap();
            turn(&mut pipes);
        }
        assert!(!pipes.is_delivered());
        let mut seen = vec![0; 65_000];
        let first = reader.read(&mut seen).unwrap();
        turn(&mut pipes);
        assert!(pipes.is_delivered());
        reader.read_exact(&mut seen[first..]).unwrap();
        assert_eq!(seen, vec![b'x'; 65_000]);
    }
}
