//! The outer end of a connection: it counts what passes, and is recorded when it closes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::audit::Open;
use crate::dial::Dialled;
use crate::proxy::Proxy;

/// A connection to a host that was allowed. Dropped, it is recorded with what has passed.
pub(crate) struct Outside {
    stream: TcpStream,
    open: Open,
    proxy: Arc<Proxy>,
}

impl Outside {
    pub(crate) fn new(dialled: Dialled, mut open: Open, proxy: Arc<Proxy>) -> Self {
        open.connected(dialled.address, &dialled.verdict);
        Self { stream: dialled.stream, open, proxy }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.proxy.audit().closed(&self.open);
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
        let got = buffer.filled().len() - before;
        self.open.received += got as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Outside {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.open.sent += sent as u64;
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
