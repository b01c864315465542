//! The outer end of a connection: it counts what passes, and is recorded when it closes.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use policy::rules::network::{HostRule, Wanted};
use policy::rules::verdict::{Decision, Verdict};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::audit::{Audit, Open};
use crate::current::{Live, with};
use crate::dial::Dialled;
use crate::parent::ParentProxy;
use crate::traffic::Traffic;

/// A connection to a host that was allowed. Dropped, it is recorded with what has passed.
pub(crate) struct Outside {
    stream: TcpStream,
    open: Open,
    audit: Arc<Audit>,
    parent: Option<Arc<ParentProxy>>,
    /// How many bytes the sandbox may pass in all.
    volume: u64,
    access: Access,
}

/// What a connection may be used for: rules are asked again when they change, and before each further request.
#[derive(Clone)]
pub(crate) struct Access {
    live: Live,
    host: String,
    port: u16,
    /// Where it leads. Another proxy on the way may know that alone.
    address: Option<IpAddr>,
    /// What it is used for now, and the rule that allows it.
    now: Arc<Mutex<(Wanted, String)>>,
    /// What a person has allowed it for once: what it was opened for, and nothing further.
    granted: Option<HostRule>,
}

impl Access {
    fn now(&self) -> MutexGuard<'_, (Wanted, String)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether rules allow to use it for this, and notes that it is.
    pub(crate) fn admits(&self, wanted: &Wanted) -> bool {
        // Noted first, so that no change is missed by both.
        self.now().0 = wanted.clone();
        let verdict = self.live.get().rules.decide_wanted(&self.host, self.address, self.port, wanted);
        let is_allowed = verdict.decision == Decision::Allow;
        self.now().1 = verdict.rule;
        is_allowed
    }

    /// Returns the rule that allows what it is used for now.
    pub(crate) fn rule(&self) -> String {
        self.now().1.clone()
    }

    /// Waits until rules no longer allow it, and returns the one that does not.
    async fn revoked(self) -> Verdict {
        let mut changes = self.live.changes();
        loop {
            let rules = with(&changes.borrow_and_update().rules, self.granted.as_ref());
            let wanted = self.now().0.clone();
            let verdict = rules.decide_wanted(&self.host, self.address, self.port, &wanted);
            if verdict.decision != Decision::Allow {
                return verdict;
            }
            // The sender lives as long as this.
            let _ = changes.changed().await;
        }
    }
}

impl Outside {
    pub(crate) fn new(
        dialled: Dialled,
        mut open: Open,
        audit: Arc<Audit>,
        volume: u64,
        live: Live,
        wanted: Wanted,
    ) -> Self {
        let through = dialled.parent.as_ref().map(ToString::to_string);
        open.connected(dialled.address, through, &dialled.verdict);
        let (host, port, address) = open.target();
        let Dialled { stream, parent, verdict, granted, .. } = dialled;
        let now = Arc::new(Mutex::new((wanted, verdict.rule)));
        let access = Access { live, host, port, address, now, granted };
        Self { stream, open, audit, parent, volume, access }
    }

    /// Returns the proxy on the way.
    pub(crate) fn parent(&self) -> Option<Arc<ParentProxy>> {
        self.parent.clone()
    }

    /// Returns what counts the bytes that pass.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.open.traffic)
    }

    /// Waits until it has to end: nothing has passed for so long, or rules no longer allow it.
    pub(crate) fn ends(&self, idle: Duration) -> impl Future<Output = io::Error> + Send + use<> {
        let (traffic, revoked) = (self.traffic(), self.access.clone().revoked());
        async move {
            tokio::select! {
                () = traffic.stopped(idle) => io::ErrorKind::TimedOut.into(),
                verdict = revoked => io::Error::new(io::ErrorKind::PermissionDenied, verdict.rule),
            }
        }
    }

    /// Returns what it may be used for.
    pub(crate) fn access(&self) -> Access {
        self.access.clone()
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.audit.pass(bytes, self.volume).map_err(io::Error::other)
    }

    /// Notes that it ends by an error.
    pub(crate) fn failed(&mut self, error: &io::Error) {
        self.open.failed(error.to_string());
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.audit.closed(&self.open);
    }
}

impl AsyncRead for Outside {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let count = buffer.filled().len() - before;
        self.open.traffic.received(count)?;
        Poll::Ready(self.count(count))
    }
}

impl AsyncWrite for Outside {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.open.traffic.sent(sent);
        Poll::Ready(self.count(sent).map(|()| sent))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts))?;
        self.open.traffic.sent(sent);
        Poll::Ready(self.count(sent).map(|()| sent))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
