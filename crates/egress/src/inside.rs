//! The inner end of a connection: nothing is read from it before its first bytes were classified.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::first_bytes::{self, Classification, Meant, Protocol};

/// How long a client that may be the one who speaks first is waited for. Then it is another protocol, whose server may be that one, and it
/// is dialled; what the client says after all is classified then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// A program inside that is connected to a name.
pub(crate) struct Inside<S> {
    stream: S,
    name: String,
    port: u16,
    /// How long the first bytes may take, from the first of them on, until they are enough to be classified.
    within: Duration,
    /// What has come and was not passed on.
    bytes: Vec<u8>,
    tls: Tls,
    state: State,
}

/// Whether a client may begin TLS.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Tls {
    May,
    /// It is intercepted, and nothing came when it had to begin.
    TooLate,
}

enum State {
    /// Too little has come, until this point in time.
    Classifying(Option<Pin<Box<Sleep>>>),
    Passing,
    Refused(Protocol, String),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inside<S> {
    pub(crate) fn new(stream: S, name: String, port: u16, within: Duration) -> Self {
        Self { stream, name, port, within, bytes: Vec::new(), tls: Tls::May, state: State::Classifying(None) }
    }

    /// Refuses TLS from now on: what is dialled for a client that says nothing is not ended here, and TLS to it would be seen by nobody.
    pub(crate) fn without_tls(self) -> Self {
        Self { tls: Tls::TooLate, ..self }
    }

    /// Waits until the first bytes were classified. They are not lost when that is given up.
    pub(crate) async fn classify(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_classify(context)).await
    }

    /// Returns why they may not pass.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match &self.state {
            State::Refused(_, reason) => Some(reason),
            State::Classifying(_) | State::Passing => None,
        }
    }

    /// Returns what the client speaks, as far as it has said something.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.state {
            State::Refused(protocol, _) => protocol,
            State::Classifying(_) | State::Passing => first_bytes::protocol(&self.bytes),
        }
    }

    /// Returns what the client speaks, and the stream.
    pub(crate) fn into_parts(self) -> (Protocol, S) {
        (self.protocol(), self.stream)
    }

    fn poll_classify(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let State::Classifying(deadline) = &mut self.state {
            let late = deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(context).is_ready());
            let mut buffer = [0; 4096];
            let mut buffer = ReadBuf::new(&mut buffer);
            let count = if late {
                0
            } else {
                ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
                buffer.filled().len()
            };
            if deadline.is_none() && count > 0 {
                *deadline = Some(Box::pin(sleep(self.within)));
            }
            self.bytes.extend_from_slice(buffer.filled());
            let protocol = first_bytes::protocol(&self.bytes);
            let meant = Meant { name: &self.name, port: self.port };
            match first_bytes::classify(&self.bytes, meant) {
                Classification::Undecided if count > 0 => {}
                Classification::Undecided if late || protocol != Protocol::Other => {
                    let reason = "what the client says first breaks off".to_owned();
                    self.state = State::Refused(protocol, reason);
                }
                Classification::Pass if protocol == Protocol::Tls && self.tls == Tls::TooLate => {
                    let reason =
                        format!("TLS is intercepted, and has to begin within {} seconds", PATIENCE.as_secs());
                    self.state = State::Refused(protocol, reason);
                }
                Classification::Undecided | Classification::Pass => self.state = State::Passing,
                Classification::Refuse { protocol, reason } => self.state = State::Refused(protocol, reason),
            }
        }
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        Poll::Ready(if self.refusal().is_some() { Err(refused()) } else { Ok(()) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Inside<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_classify(context))?;
        if self.bytes.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = buffer.remaining().min(self.bytes.len());
        let rest = self.bytes.split_off(count);
        buffer.put_slice(&self.bytes);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Inside<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
