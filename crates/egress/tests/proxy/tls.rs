//! TLS to upstreams: only certificates of the authorities that were given, and only for the host that the route names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use egress::limits::Limits;
use egress::proxy::Setup;
use egress::tls::Roots;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{said, serve};
use crate::upstream::{self, CREDENTIAL, Received, authorised, route, routed};

/// The authority that has signed the server's certificate; `tls/make` makes both.
pub(crate) const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");

/// Serves TLS at an address of loopback, with a certificate for `localhost` and 127.0.0.1.
pub(crate) async fn server(address: &str) -> (SocketAddr, Received) {
    answering(address, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await
}

/// Makes what ends TLS with that certificate, and speaks these protocols.
pub(crate) fn acceptor(protocols: &[&[u8]]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Serves TLS as [`server`] does, with another answer.
pub(crate) async fn answering(address: &str, answer: &'static str) -> (SocketAddr, Received) {
    let acceptor = acceptor(&[]);
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let received = Received::default();
    let shared = received.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(upstream::serve(stream, answer, shared.clone()));
            }
        }
    });
    (at, received)
}

#[tokio::test]
async fn an_upstream_is_reached_by_tls_when_its_certificate_is_believed() {
    let (at, received) = server("127.0.0.1").await;
    let roots = Roots::from_pem(AUTHORITY).unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let route = route(&format!("https://{host}:{}", at.port()));
        let (proxy, _) = serve(Setup { roots: roots.clone(), ..routed(route) }).await;
        let answer = said(proxy, authorised()).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
        let got = received.requests().pop().unwrap();
        assert!(got.to_ascii_lowercase().contains(&format!("host: {host}:{}", at.port())), "{got}");
        assert!(got.contains(CREDENTIAL), "{got}");
    }
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_whose_certificate_is_not_believed() {
    // Another authority, which is none at all; another host; no TLS at all.
    let (at, received) = server("127.0.0.1").await;
    let (other, _) = server("127.0.0.2").await;
    let (plain, plainly) = upstream::upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let roots = Roots::from_pem(AUTHORITY).unwrap();
    for (at, roots) in [(at, Roots::default()), (other, roots.clone()), (plain, roots)] {
        // The last one waits for more.
        let limits = Limits { connect: Duration::from_secs(1), ..Limits::default() };
        let (proxy, _) = serve(Setup { roots, limits, ..routed(route(&format!("https://{at}"))) }).await;
        let answer = said(proxy, authorised()).await;
        assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("egress.tls"), "{answer}");
        assert!(!answer.contains(CREDENTIAL), "{answer}");
    }
    assert!(received.requests().is_empty() && plainly.requests().is_empty());
}

#[test]
fn a_text_without_certificates_is_no_root() {
    assert!(Roots::from_pem(b"").is_err());
    assert!(Roots::from_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_err());
}
