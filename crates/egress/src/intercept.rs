//! TLS to hosts that the file names: ended here with a certificate of the sandbox's authority, and begun anew to the host.

use std::io;
use std::sync::Arc;

use hyper::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::authority::Authority;
use crate::credited::Credited;
use crate::refusal::Refusal;

/// The inner end of TLS that is intercepted.
pub(crate) struct Interception {
    authority: Arc<Authority>,
    acceptor: TlsAcceptor,
    credited: Vec<Credited>,
}

impl Interception {
    pub(crate) fn new(authority: Arc<Authority>, credited: Vec<Credited>) -> io::Result<Self> {
        let acceptor = authority.acceptor().map_err(io::Error::other)?;
        Ok(Self { authority, acceptor, credited })
    }

    /// Puts the credential of a server into a request to it, where it has one.
    pub(crate) fn credit<B>(&self, request: &mut Request<B>, host: &str, port: u16) -> Result<(), Refusal> {
        let path = request.uri().path();
        let credited = self.credited.iter().find(|credited| credited.is_for(host, port, path));
        credited.map_or(Ok(()), |credited| credited.credit(request.headers_mut()))
    }

    /// Returns whether TLS to this host is intercepted.
    pub(crate) fn is_for(&self, host: &str, port: u16) -> bool {
        self.authority.intercepts(host, port)
    }

    /// Ends TLS of a program inside.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        within: std::time::Duration,
    ) -> Result<TlsStream<S>, Refusal> {
        let accepted = timeout(within, self.acceptor.accept(stream)).await;
        let accepted = accepted.unwrap_or_else(|late| Err(late.into()));
        accepted.map_err(|error| Refusal::Distrusted(error.to_string()))
    }
}
