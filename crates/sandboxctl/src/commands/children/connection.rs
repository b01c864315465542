//! A connection of the agent's: it sends a request on each line, and gets an answer when the child has ended. Children end with their
//! connection.

use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use policy::child::MAX_REQUEST;
use policy::text::json_object::Mistake;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use sandbox::session::sidecar::SandboxEnd;

use super::super::run_process::Canceller;
use super::answer::{Answer, Refusal};
use super::family::{Child, Family, Slot};

/// How many connections are served at once. Others wait.
const MAX_CONNECTIONS: usize = 32;

/// The connections that are served, each in a thread of its own.
pub(super) struct Connections<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    family: &'env Family<'env>,
    end: &'env SandboxEnd,
    /// Written to when a connection has ended.
    ended: &'env OwnedFd,
    open: std::sync::Arc<AtomicUsize>,
}

impl<'scope, 'env> Connections<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        family: &'env Family<'env>,
        end: &'env SandboxEnd,
        ended: &'env OwnedFd,
    ) -> Self {
        Self { scope, family, end, ended, open: std::sync::Arc::default() }
    }

    /// Returns whether another one can be served.
    pub(super) fn has_room(&self) -> bool {
        self.open.load(Ordering::Acquire) < MAX_CONNECTIONS
    }

    /// Accepts the connections that wait, as far as there is room, and serves them.
    ///
    /// # Errors
    ///
    /// There are no descriptors or threads left; trying again later may help.
    pub(super) fn accept(&mut self, listener: &UnixListener) -> io::Result<()> {
        while self.has_room() {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // One that has gone already.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            self.open.fetch_add(1, Ordering::AcqRel);
            let (family, end, ended, open) = (self.family, self.end, self.ended, self.open.clone());
            let serve = move || {
                if let Ok(connection) = Connection::new(family, end, &stream) {
                    let _ = connection.serve();
                }
                drop(stream);
                open.fetch_sub(1, Ordering::AcqRel);
                let _ = rustix::io::write(ended, &1u64.to_ne_bytes());
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(self.scope, serve) {
                self.open.fetch_sub(1, Ordering::AcqRel);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// One connection.
struct Connection<'a> {
    family: &'a Family<'a>,
    end: &'a SandboxEnd,
    stream: &'a UnixStream,
    /// Answers are not mixed.
    writing: Mutex<()>,
    /// Written to when a child has ended.
    ended: OwnedFd,
    /// The children that are alive, by number. Removing one ends it.
    living: Mutex<HashMap<u64, Canceller>>,
}

impl<'a> Connection<'a> {
    fn new(family: &'a Family<'a>, end: &'a SandboxEnd, stream: &'a UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { family, end, stream, writing: Mutex::new(()), ended, living: Mutex::default() })
    }

    /// Serves until the agent asks for nothing more and every child of it has ended, or until the agent or its sandbox is gone.
    fn serve(&self) -> io::Result<()> {
        std::thread::scope(|scope| {
            // Dropped before the threads of the children are waited for.
            let _all = EndsAll(self);
            let mut number = 0;
            let mut lines = Lines::default();
            loop {
                let mut fds = [
                    PollFd::new(self.end, PollFlags::IN),
                    PollFd::new(&self.ended, PollFlags::IN),
                    // Without anything to wait for, poll(2) still says when it is closed.
                    PollFd::new(self.stream, if lines.is_over { PollFlags::empty() } else { PollFlags::IN }),
                ];
                match poll(&mut fds, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
                let of_stream = fds[2].revents();
                let is_gone = of_stream.intersects(PollFlags::HUP | PollFlags::ERR)
                    && !of_stream.contains(PollFlags::IN);
                if !fds[0].revents().is_empty() || is_gone {
                    return Ok(());
                }
                let _ = rustix::io::read(&self.ended, &mut [0; 8]);
                if of_stream.contains(PollFlags::IN) {
                    lines.read(self.stream)?;
                    while let Some(line) = lines.next() {
                        let started = match line {
                            Line::Whole(line) => self.family.start(&line),
                            Line::TooLong => Err(too_long()),
                        };
                        match started {
                            Ok((child, canceller)) => {
                                number += 1;
                                let number = number;
                                self.children().insert(number, canceller);
                                let wait = move || self.wait_for(child, number);
                                if std::thread::Builder::new().spawn_scoped(scope, wait).is_err() {
                                    // The child has ended with what was to wait for it.
                                    self.children().remove(&number);
                                    self.send(Answer::refused(None, &Refusal::NotStarted), None)?;
                                }
                            }
                            Err(answer) => self.send(answer, None)?,
                        }
                    }
                }
                if lines.is_over && self.children().is_empty() {
                    return Ok(());
                }
            }
        })
    }

    fn children(&self) -> MutexGuard<'_, HashMap<u64, Canceller>> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, child: Child<'_>, number: u64) {
        let (answer, slot) = child.finish();
        // An agent that has closed the connection needs none.
        let _ = self.send(answer, Some(slot));
        drop(self.children().remove(&number));
        let _ = rustix::io::write(self.ended.as_fd(), &1u64.to_ne_bytes());
    }

    /// Sends an answer, and gives back the slot that is kept until then.
    fn send(&self, answer: Answer, slot: Option<Slot<'_>>) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let send = || {
            // Piece by piece: as JSON, an answer can be six times as long as it is here.
            let mut stream = BufWriter::with_capacity(64 << 10, self.stream);
            answer.write_to(&mut stream)?;
            stream.flush()?;
            // Before its end: whoever has read the whole line may have another child.
            drop((answer, slot));
            { self.stream }.write_all(b"\n")
        };
        send().inspect_err(|_| {
            // Half an answer is none.
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
        })
    }
}

/// Ends the children of a connection, and wakes threads that write to it.
struct EndsAll<'a>(&'a Connection<'a>);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        self.0.children().clear();
        let _ = self.0.stream.shutdown(std::net::Shutdown::Both);
    }
}

fn too_long() -> Answer {
    let mistake = Mistake::new(format!("longer than {MAX_REQUEST} bytes"));
    let mistake = mistake.hint("share a directory with what is large, by `shared_dirs`");
    Answer::refused(None, &Refusal::Invalid(vec![mistake]))
}

/// Lines as they come.
#[derive(Default)]
struct Lines {
    held: Vec<u8>,
    /// How much of that was taken already. It goes when no whole line is left, and not line by line: what is left would be moved for each.
    taken: usize,
    /// Up to where it has no end of a line, which is not looked for again.
    searched: usize,
    /// Whether the rest of a line that is too long is passed over.
    is_skipping: bool,
    /// Whether no more comes.
    is_over: bool,
}

/// A line that is not blank.
#[derive(Debug, Eq, PartialEq)]
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl Lines {
    /// Reads what is there.
    fn read(&mut self, mut stream: &UnixStream) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        match stream.read(&mut buffer) {
            Ok(0) => self.is_over = true,
            Ok(length) => self.held.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes the next line. The last one may lack its end.
    fn next(&mut self) -> Option<Line> {
        loop {
            let from = self.taken.max(std::mem::take(&mut self.searched));
            let line = match self.held[from..].iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    let line = self.held[self.taken..from + end].to_vec();
                    self.taken = from + end + 1;
                    line
                }
                None if self.taken > 0 => {
                    self.held.drain(..std::mem::take(&mut self.taken));
                    continue;
                }
                None if self.is_over && !self.held.is_empty() => std::mem::take(&mut self.held),
                None if self.held.len() > MAX_REQUEST => {
                    self.held.clear();
                    return (!std::mem::replace(&mut self.is_skipping, true)).then_some(Line::TooLong);
                }
                None => {
                    self.searched = self.held.len();
                    return None;
                }
            };
            if std::mem::take(&mut self.is_skipping) || line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Some(if line.len() > MAX_REQUEST { Line::TooLong } else { Line::Whole(line) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in pieces {
            lines.held.extend_from_slice(piece);
            all.extend(std::iter::from_fn(|| lines.next()));
        }
        lines.is_over = true;
        all.extend(std::iter::from_fn(|| lines.next()));
        all
    }

    #[test]
    fn lines_are_put_together_and_the_last_needs_no_end() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(lines(&[b"a", b"b\n\n \nc\nd"]), [whole("ab"), whole("c"), whole("d")]);
        assert_eq!(lines(&[]), []);
    }

    #[test]
    fn lines_take_no_longer_for_what_comes_with_them() {
        let began = std::time::Instant::now();
        assert_eq!(lines(&[&vec![b'\n'; 1 << 20]]), []);
        let byte_by_byte: Vec<&[u8]> = vec![b"x"; MAX_REQUEST];
        assert_eq!(lines(&byte_by_byte), [Line::Whole(vec![b'x'; MAX_REQUEST])]);
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn a_line_that_is_too_long_is_one_mistake_and_the_next_is_read() {
        let piece = vec![b'x'; 100 << 10];
        let pieces: Vec<&[u8]> = std::iter::repeat_n(&*piece, 8).chain([b"y\nz\n".as_slice()]).collect();
        assert_eq!(lines(&pieces), [Line::TooLong, Line::Whole(b"z".to_vec())]);
        let whole = [vec![b'x'; MAX_REQUEST + 1], b"\nz\n".to_vec()].concat();
        assert_eq!(lines(&[&whole]), [Line::TooLong, Line::Whole(b"z".to_vec())]);
    }
}
