//! Relays between sockets of the sandbox and the sockets of the host that they stand for.
//!
//! The agent never holds a socket that leads out: who connects inside is accepted out here, a connection to the service is made as the
//! caller, and bytes are copied as the caller. So no descriptor passes in either direction (`SCM_RIGHTS`, unix(7)), and the service
//! sees this process as its peer, and not one of another namespace.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use confine::report::Report;
use policy::plan::{Layer, Plan};
use policy::text::escape;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::host::acting;
use crate::host::identity::Identity;

pub mod process;

/// How many connections are open at once. Others wait until one of them has ended.
const MOST: usize = 128;

/// How much of what one side has sent and the other has not taken is held, in bytes.
const HELD: usize = 64 << 10;

/// How many times as much is copied in one direction before others have their turn.
const TURNS: usize = 16;

/// How long to wait for what nothing signals: a service whose queue of connections was full, or descriptors that this process can have
/// again.
const RETRY: Duration = Duration::from_millis(20);

/// Adds to a report which sockets of the host the agent reaches, whether it may start children, and how many of its streams are sockets.
pub(crate) fn complete(plan: &Plan, socket_streams: usize, report: &mut Report) {
    if let Some(line) = report.0.iter_mut().find(|line| line.layer == Layer::Net && socket_streams > 0) {
        line.reason = format!(
            "{}; {socket_streams} of its streams are sockets of the host's network, through which its interfaces can be listed",
            line.reason
        );
    }
    let sockets = &plan.sockets;
    let line = report.0.iter_mut().find(|line| line.layer == Layer::Sockets);
    let Some(line) = line else { return };
    if let Some(children) = &plan.children {
        line.reason = format!(
            "{}; the agent may start {} sandboxes beside this one, no wider than it is",
            line.reason, children.max
        );
    }
    if !sockets.is_empty() {
        let named = sockets.iter().map(|socket| escape::path(&socket.host));
        line.reason =
            format!("{}; relayed to the host: {}", line.reason, named.collect::<Vec<_>>().join(", "));
    }
}

/// The relays of one sandbox. They end when this is dropped.
pub(crate) struct SocketRelays {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// What went wrong, once for each socket.
    failures: Receiver<String>,
}

impl SocketRelays {
    /// Serves these listeners, of which each stands for the socket of the same number on the host. The services see `caller`.
    pub(crate) fn start(hosts: Vec<PathBuf>, listeners: Vec<OwnedFd>, caller: Identity) -> io::Result<Self> {
        if hosts.len() != listeners.len() {
            return Err(io::Error::other("another number of sockets than were asked for"));
        }
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (failed, failures) = channel();
        let listeners = listeners.into_iter().zip(hosts).map(|(listener, host)| {
            let listener = UnixListener::from(listener);
            listener.set_nonblocking(true)?;
            Ok(Listener { inside: listener, host, has_failed: false })
        });
        let relays = Relays {
            listeners: listeners.collect::<io::Result<_>>()?,
            waiting: Vec::new(),
            connections: Vec::new(),
            is_short: false,
            failed,
        };
        let stopped = Arc::clone(&stop);
        let (became, is_caller) = channel();
        let serve = move || {
            // Whoever sends bytes is named to whoever receives them (`SCM_CREDENTIALS`), as whoever connects is: all that the thread does
            // is the caller's.
            let done = acting::become_peer(caller);
            let is_done = done.is_ok();
            let _ = became.send(done);
            if is_done {
                relays.serve(stopped.as_fd());
            }
        };
        let relays = Self { stop, thread: Some(thread::Builder::new().spawn(serve)?), failures };
        is_caller.recv().map_err(io::Error::other)??;
        Ok(relays)
    }

    /// Returns what a person should know that has not been returned before.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.failures.try_iter().collect()
    }

    /// Ends them. Returns what is left to say.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end();
        self.take_warnings()
    }

    fn end(&mut self) {
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for SocketRelays {
    fn drop(&mut self) {
        self.end();
    }
}

struct Listener {
    inside: UnixListener,
    /// The socket that it stands for.
    host: PathBuf,
    /// Whether that was said already.
    has_failed: bool,
}

/// What the thread works on.
struct Relays {
    listeners: Vec<Listener>,
    /// Accepted, by the number of the socket, while the queue of the service is full or this process has no descriptor left.
    waiting: Vec<(usize, UnixStream)>,
    connections: Vec<Connection>,
    /// Whether this process has no descriptor left, which poll(2) does not know.
    is_short: bool,
    failed: Sender<String>,
}

impl Relays {
    /// Serves until it is stopped.
    fn serve(mut self, stop: BorrowedFd<'_>) {
        loop {
            match self.turn(stop) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(errno) => {
                    let _ = self.failed.send(format!("sockets of the host are no longer relayed: {errno}"));
                    return;
                }
            }
        }
    }

    /// Waits for whatever happens next, and does it.
    fn turn(&mut self, stop: BorrowedFd<'_>) -> Result<ControlFlow<()>, Errno> {
        let mut fds = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        let accepts = !self.is_short && self.connections.len() + self.waiting.len() < MOST;
        let accepting = self.listeners.iter().filter(|_| accepts);
        fds.extend(accepting.map(|one| PollFd::from_borrowed_fd(one.inside.as_fd(), PollFlags::IN)));
        for connection in &self.connections {
            // What nothing is wanted of is left out: poll(2) reports its end again and again.
            let ends = connection.ends().into_iter().filter(|(_, events)| !events.is_empty());
            fds.extend(ends.map(|(fd, events)| PollFd::from_borrowed_fd(fd, events)));
        }
        let retry = Timespec { tv_sec: 0, tv_nsec: i64::from(RETRY.subsec_nanos()) };
        let is_untold = self.is_short || !self.waiting.is_empty();
        match poll(&mut fds, is_untold.then_some(&retry)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if !fds[0].revents().is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        drop(fds);
        self.connections.retain_mut(Connection::relay);
        self.is_short = false;
        for (at, inside) in std::mem::take(&mut self.waiting) {
            self.connect(at, inside);
        }
        for at in 0..self.listeners.len() {
            // What is accepted needs more descriptors: who has none left accepts no more.
            while !self.is_short && self.connections.len() + self.waiting.len() < MOST {
                match self.listeners[at].inside.accept() {
                    Ok((inside, _)) => self.connect(at, inside),
                    Err(error) => {
                        self.is_short = error.kind() != ErrorKind::WouldBlock;
                        break;
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Connects to the service. Where that fails, the connection inside closes, as that of a service which ends does.
    fn connect(&mut self, at: usize, inside: UnixStream) {
        let Listener { host, has_failed, .. } = &mut self.listeners[at];
        let connected = match connect(host) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return self.waiting.push((at, inside)),
            // One of the others will end.
            Err(error) if has_no_descriptor(&error) && !self.connections.is_empty() => {
                self.is_short = true;
                return self.waiting.push((at, inside));
            }
            connected => connected.and_then(|outside| Connection::new(inside, outside)),
        };
        match connected {
            Ok(connection) => self.connections.push(connection),
            Err(error) if !std::mem::replace(has_failed, true) => {
                let host = escape::path(host);
                let _ = self.failed.send(format!("cannot connect to the socket {host}: {error}"));
            }
            Err(_) => {}
        }
    }
}

fn has_no_descriptor(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Connects to a socket of the host with the rights of this thread: by a path that has no links any more, so that whoever puts one there
/// since is not followed. Does not wait for a service whose queue is full.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?;
    if FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) != FileType::Socket {
        return Err(io::Error::other("it is no socket any more"));
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let found = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
    rustix::net::connect(&socket, &SocketAddrUnix::new(found)?)?;
    Ok(UnixStream::from(socket))
}

/// A connection inside, and the one to the service that it stands for.
struct Connection {
    inside: UnixStream,
    outside: UnixStream,
    to_service: Flow,
    to_agent: Flow,
}

impl Connection {
    fn new(inside: UnixStream, outside: UnixStream) -> io::Result<Self> {
        inside.set_nonblocking(true)?;
        outside.set_nonblocking(true)?;
        Ok(Self { inside, outside, to_service: Flow::default(), to_agent: Flow::default() })
    }

    /// Returns what each end is watched for.
    fn ends(&self) -> [(BorrowedFd<'_>, PollFlags); 2] {
        let events = |from: &Flow, to: &Flow| {
            let reads = if from.wants_more() { PollFlags::IN } else { PollFlags::empty() };
            let writes = if to.held.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            reads | writes
        };
        [
            (self.inside.as_fd(), events(&self.to_service, &self.to_agent)),
            (self.outside.as_fd(), events(&self.to_agent, &self.to_service)),
        ]
    }

    /// Copies what can be copied. Returns whether there can be more.
    fn relay(&mut self) -> bool {
        let Self { inside, outside, to_service, to_agent } = self;
        to_service.relay(inside, outside);
        to_agent.relay(outside, inside);
        !(to_service.is_over && to_agent.is_over)
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Flow {
    /// What was read and not written yet.
    held: Vec<u8>,
    /// Whether there is nothing to read any more.
    is_read: bool,
    /// Whether nothing is written any more.
    is_over: bool,
}

impl Flow {
    fn wants_more(&self) -> bool {
        !self.is_read && self.held.is_empty()
    }

    /// Copies until one side has to be waited for, or others have waited long enough. The other direction keeps its own end.
    fn relay(&mut self, mut from: &UnixStream, mut to: &UnixStream) {
        for _ in 0..TURNS {
            if self.is_over {
                return;
            }
            if self.wants_more() {
                self.held.resize(HELD, 0);
                let read = from.read(&mut self.held);
                self.held.truncate(*read.as_ref().unwrap_or(&0));
                match read {
                    Ok(length) => self.is_read = length == 0,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    // It is gone, and has left something unread.
                    Err(_) => self.is_read = true,
                }
            }
            if self.held.is_empty() {
                self.is_over = true;
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            match to.write(&self.held) {
                Ok(length) => drop(self.held.drain(..length)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nobody reads it any more: whoever writes learns that with the next write.
                Err(_) => {
                    self.is_over = true;
                    let _ = from.shutdown(Shutdown::Read);
                }
            }
        }
    }
}
