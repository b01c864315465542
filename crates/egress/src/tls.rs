//! TLS to upstreams of routes: whose certificates are believed, and the handshake.

use std::io;
use std::sync::Arc;

use hyper::Version;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, CommonState, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::outside::Outside;
use crate::refusal::Refusal;

/// What HTTP/2 is called in ALPN (RFC 9113, section 3.2).
const HTTP2: &[u8] = b"h2";

/// The authorities whose certificates are believed. By default there is none.
#[derive(Clone, Debug)]
pub struct Roots(Arc<RootCertStore>);

impl Default for Roots {
    fn default() -> Self {
        Self(Arc::new(RootCertStore::empty()))
    }
}

/// Why there are no roots.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error(
        "the certificate authorities of this host cannot be read: {0}; install ca-certificates, or name a file in SSL_CERT_FILE"
    )]
    Host(String),
    #[error("there is no certificate authority in it")]
    None,
}

impl Roots {
    /// Reads the host's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name. It opens files: read them before a process is confined.
    ///
    /// # Errors
    ///
    /// There are none.
    pub fn of_host() -> Result<Self, RootsError> {
        let found = rustls_native_certs::load_native_certs();
        Self::store(found.certs).map_err(|none| {
            RootsError::Host(found.errors.first().map_or_else(|| none.to_string(), ToString::to_string))
        })
    }

    /// Takes the certificates of a text in PEM.
    ///
    /// # Errors
    ///
    /// There are none.
    pub fn from_pem(text: &[u8]) -> Result<Self, RootsError> {
        Self::store(CertificateDer::pem_slice_iter(text).filter_map(Result::ok).collect())
    }

    fn store(certificates: Vec<CertificateDer<'static>>) -> Result<Self, RootsError> {
        let mut store = RootCertStore::empty();
        // What is no authority is passed over: bundles of hosts have odd ones among them.
        let (added, _) = store.add_parsable_certificates(certificates);
        if added == 0 { Err(RootsError::None) } else { Ok(Self(Arc::new(store))) }
    }

    /// Makes what opens connections.
    pub(crate) fn connector(self) -> io::Result<TlsConnector> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(self.0)
            .with_no_client_auth();
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Returns which HTTP both ends have agreed on.
pub(crate) fn version(state: &CommonState) -> Version {
    if state.alpn_protocol() == Some(HTTP2) { Version::HTTP_2 } else { Version::HTTP_11 }
}

/// Opens TLS to a host on a connection to it.
pub(crate) async fn connect(
    connector: &TlsConnector,
    host: String,
    outside: Outside,
) -> Result<TlsStream<Outside>, Refusal> {
    let name = ServerName::try_from(host).map_err(|error| Refusal::Tls(error.to_string()))?;
    connector.connect(name, outside).await.map_err(|error| Refusal::Tls(error.to_string()))
}
