//! TLS to hosts that the file names: ended here with a certificate of the sandbox's authority, and begun anew to the host.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

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
    credited: RwLock<Vec<Credited>>,
}

impl Interception {
    pub(crate) fn new(authority: Arc<Authority>, credited: Vec<Credited>) -> io::Result<Self> {
        let acceptor = authority.acceptor().map_err(io::Error::other)?;
        Ok(Self { authority, acceptor, credited: RwLock::new(credited) })
    }

    /// Puts the credential of a server into a request to it, where it has one, and returns its name.
    pub(crate) fn credit<B>(
        &self,
        request: &mut Request<B>,
        host: &str,
        port: u16,
    ) -> Result<Option<String>, Refusal> {
        let uri = request.uri().clone();
        for credited in &*self.credited.read().unwrap_or_else(PoisonError::into_inner) {
            if credited.is_for(host, port, uri.path())? {
                credited.credit(request.headers_mut(), uri.query())?;
                return Ok(Some(credited.name.clone()));
            }
        }
        Ok(None)
    }

    /// Puts servers in the place of those with the same credential, if it has another value. Returns whether that is so.
    pub(crate) fn renew(&self, renewed: Vec<Credited>) -> bool {
        let mut credited = self.credited.write().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        for one in renewed {
            let old = credited.iter_mut().find(|old| old.is_of(&one));
            if let Some(old) = old.filter(|old| old.credential != one.credential) {
                *old = one;
                is_new = true;
            }
        }
        is_new
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
