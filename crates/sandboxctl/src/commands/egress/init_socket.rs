//! The socket to PID 1, in the event loop of the proxy: more listeners are asked for on it, and its end is that of the sandbox.

use std::io;
use std::net::{SocketAddrV4, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use confine::protocol::ListenerSource;
use egress::names::{Listen, Listening};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::sync::Mutex;

/// The socket, and what says when something has arrived on it.
#[derive(Clone)]
pub(super) struct InitSocket {
    source: Arc<ListenerSource>,
    /// One question at a time.
    ready: Arc<Mutex<tokio::net::UnixStream>>,
}

impl InitSocket {
    /// Takes it into the event loop.
    pub(super) fn new(source: ListenerSource) -> io::Result<Self> {
        let ready = Arc::new(Mutex::new(watched(&source)?));
        Ok(Self { source: Arc::new(source), ready })
    }

    async fn ask(&self, at: SocketAddrV4) -> io::Result<tokio::net::TcpListener> {
        let ready = self.ready.lock().await;
        self.source.ask(at)?;
        loop {
            ready.readable().await?;
            match ready.try_io(Interest::READABLE, || self.source.answer()) {
                Ok((asked, listener)) if asked == at => {
                    return tokio::net::TcpListener::from_std(TcpListener::from(listener?));
                }
                // To a question that nobody waits for any more.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until PID 1 has closed its end.
    pub(super) async fn ended(&self) -> io::Result<()> {
        let lifeline = watched(&self.source)?;
        loop {
            lifeline.readable().await?;
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut ends = [PollFd::new(self.source.as_ref(), PollFlags::empty())];
            if poll(&mut ends, Some(&now))? > 0 {
                return Ok(());
            }
            // It was an answer, which somebody else reads.
            let waits = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = lifeline.try_io(Interest::READABLE, waits);
        }
    }
}

impl Listen for InitSocket {
    fn listen(&self, at: SocketAddrV4) -> Listening<'_> {
        Box::pin(self.ask(at))
    }
}

/// Registers the socket once more: each of those who wait for it has a descriptor of its own.
fn watched(source: &ListenerSource) -> io::Result<tokio::net::UnixStream> {
    let stream = UnixStream::from(source.as_fd().try_clone_to_owned()?);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}
