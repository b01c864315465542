//! TLS that is ended here: with a certificate for the one name, for clients that believe it, and only where the server's own
//! certificate is believed too.

use std::net::SocketAddr;
use std::sync::Arc;

use egress::authority::Authority;
use egress::credited::Credited;
use egress::proxy::{Proxy, Setup};
use egress::route::Credential;
use egress::tls::Roots;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::fronting::{ALERT, client_hello, tunnel};
use crate::support::{Log, rest, rules, serve_logged};
use crate::tls::{AUTHORITY, server};
use crate::upstream::{CREDENTIAL, TOKEN, secret};

/// A proxy that intercepts TLS to `localhost`.
pub(crate) struct Intercepting {
    pub(crate) at: SocketAddr,
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) log: Log,
    pub(crate) authority: String,
}

impl Intercepting {
    /// Makes one that believes these certificates and allows these hosts.
    pub(crate) async fn new(roots: Roots, allow: &[String], credited: Vec<Credited>) -> Self {
        let authority = Authority::new(vec!["localhost".parse().unwrap()]).unwrap();
        let pem = authority.to_pem();
        let setup = Setup { authority: Some(authority), credited, roots, ..Setup::from(rules(allow)) };
        let (at, proxy, log) = serve_logged(setup).await;
        Self { at, proxy, log, authority: pem }
    }

    /// Opens TLS to a port of `localhost` through it, as a client that believes this.
    pub(crate) async fn open(
        &self,
        port: u16,
        believed: &[u8],
        socks: bool,
    ) -> Result<TlsStream<TcpStream>, String> {
        let stream = tunnel(self.at, port, socks).await;
        let name = ServerName::try_from("localhost").unwrap();
        connector(believed).connect(name, stream).await.map_err(|error| error.to_string())
    }

    /// Returns the answer to a request in it.
    pub(crate) async fn ask(&self, port: u16, request: &str) -> String {
        let mut stream = self.open(port, self.authority.as_bytes(), false).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }
}

fn connector(believed: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(believed).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

fn get(port: u16, headers: &str) -> String {
    format!("GET /path?query HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n{headers}\r\n")
}

fn believed() -> Roots {
    Roots::from_pem(AUTHORITY).unwrap()
}

fn local(port: u16) -> Vec<String> {
    vec![format!("localhost:{port}")]
}

#[tokio::test]
async fn requests_reach_the_server_and_are_recorded_one_by_one() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    for socks in [false, true] {
        let mut client = proxy.open(port, proxy.authority.as_bytes(), socks).await.unwrap();
        assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        for number in 0..2 {
            let request = format!("GET /{number} HTTP/1.1\r\nHost: LocalHost:{port}\r\nCookie: a=b\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = [0; 17];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 200 OK\r\n");
            while !received.requests().iter().any(|got| got.contains(&format!("/{number} "))) {
                tokio::task::yield_now().await;
            }
            let mut answer = vec![0; 1024];
            while !answer.ends_with(b"ok") {
                let count = client.read(&mut answer).await.unwrap();
                answer.truncate(count);
            }
        }
    }
    let requests = received.requests();
    assert_eq!(requests.len(), 4);
    // What is not the proxy's own stays as it is.
    assert!(requests.iter().all(|got| got.to_ascii_lowercase().contains("cookie: a=b")), "{requests:?}");
    let lines = proxy.log.lines();
    let of_requests: Vec<_> = lines.iter().filter(|line| line["method"] == "GET").collect();
    assert_eq!(of_requests.len(), 4, "{lines:?}");
    for line in of_requests {
        assert_eq!((&line["status"], &line["verdict"]), (&200.into(), &"allow".into()), "{line}");
    }
}

#[tokio::test]
async fn another_name_and_none_are_refused_as_everywhere() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    for socks in [false, true] {
        // An address has no place in the extension that names the server.
        for name in ["other.example.org", "127.0.0.1"] {
            let mut client = tunnel(proxy.at, port, socks).await;
            client.write_all(&client_hello(name)).await.unwrap();
            assert!(rest(&mut client).await.starts_with('\u{15}'), "an alert");
        }
    }
    assert_eq!(proxy.proxy.audit().counts().refusals, 4, "{}", proxy.log.text());
    let answer =
        proxy.ask(port, "GET / HTTP/1.1\r\nHost: other.example.org\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("egress.mismatch"), "{answer}");
    let answer = proxy.ask(port, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(received.requests().is_empty());
}

#[tokio::test]
async fn who_says_nothing_until_the_server_was_dialled_begins_no_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    for socks in [false, true] {
        let mut client = tunnel(proxy.at, port, socks).await;
        // It is dialled for a server that speaks first.
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(&client_hello("localhost")).await.unwrap();
        assert!(rest(&mut client).await.starts_with('\u{15}'), "an alert");
        assert_eq!(server.read(&mut [0; 16]).await.unwrap(), 0);
        assert!(proxy.log.text().contains("has to begin within 3 seconds"), "{}", proxy.log.text());
        // The control: another protocol passes.
        let mut client = tunnel(proxy.at, port, socks).await;
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"ssh").await.unwrap();
        server.read_exact(&mut [0; 3]).await.unwrap();
    }
}

#[tokio::test]
async fn tls_that_begins_with_another_record_does_not_reach_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    for socks in [false, true] {
        let mut client = tunnel(proxy.at, port, socks).await;
        client.write_all(&[ALERT, &client_hello("localhost")].concat()).await.unwrap();
        assert!(rest(&mut client).await.starts_with('\u{15}'), "an alert");
        // The control: what is no TLS passes, and is the first to reach the server.
        let mut client = tunnel(proxy.at, port, socks).await;
        client.write_all(b"ssh").await.unwrap();
        let mut got = [0; 3];
        listener.accept().await.unwrap().0.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"ssh");
    }
    assert_eq!(proxy.proxy.audit().counts().refusals, 2, "{}", proxy.log.text());
}

#[tokio::test]
async fn a_client_that_does_not_believe_the_authority_ends_and_that_is_recorded() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    let refused = proxy.open(port, AUTHORITY, false).await.unwrap_err();
    assert!(refused.contains("UnknownIssuer") || refused.contains("BadSignature"), "{refused}");
    while proxy.proxy.audit().counts().errors == 0 {
        tokio::task::yield_now().await;
    }
    assert!(proxy.log.text().contains("SSL_CERT_FILE"), "{}", proxy.log.text());
    assert!(received.requests().is_empty());
}

#[tokio::test]
async fn a_server_whose_certificate_is_not_believed_gets_nothing() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let other = Authority::new(vec!["localhost".parse().unwrap()]).unwrap();
    let roots = Roots::from_pem(other.to_pem().as_bytes()).unwrap();
    let credited = credited(port, "");
    let proxy = Intercepting::new(roots, &local(port), credited).await;
    let answer = proxy.ask(port, &get(port, "")).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("egress.tls"), "{answer}");
    assert!(answer.contains("invalid peer certificate"), "{answer}");
    assert!(received.requests().is_empty() && !proxy.log.text().contains(CREDENTIAL));
}

#[tokio::test]
async fn what_is_not_named_passes_with_the_certificate_of_its_server() {
    let (server, _) = server("127.0.0.1").await;
    let port = server.port();
    // Another port than the one that is intercepted.
    let authority = Authority::new(vec!["localhost:1".parse().unwrap()]).unwrap();
    let own = authority.to_pem();
    let setup = Setup { authority: Some(authority), ..Setup::from(rules(&local(port))) };
    let (at, _, log) = serve_logged(setup).await;
    let proxied = |believed: Vec<u8>| async move {
        let name = ServerName::try_from("localhost").unwrap();
        connector(&believed).connect(name, tunnel(at, port, false).await).await
    };
    assert!(proxied(AUTHORITY.to_vec()).await.is_ok(), "{}", log.text());
    assert!(proxied(own.into_bytes()).await.is_err());
}

#[tokio::test]
async fn what_is_no_tls_passes_as_it_is() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = Intercepting::new(believed(), &local(port), Vec::new()).await;
    for socks in [false, true] {
        let mut client = tunnel(proxy.at, port, socks).await;
        // The server speaks first, after a while in which the client could have.
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(b"SSH-2.0-test\r\n").await.unwrap();
        let mut said = [0; 14];
        client.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"SSH-2.0-test\r\n");
        client.write_all(b"hello").await.unwrap();
        let mut said = [0; 5];
        server.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"hello");
    }
}

#[tokio::test]
async fn a_host_that_no_rule_allows_is_refused_before_tls() {
    let proxy = Intercepting::new(believed(), &local(1), Vec::new()).await;
    let answer = crate::support::said(
        proxy.at,
        "CONNECT localhost:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[tokio::test]
async fn rules_about_requests_decide_within_tls() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let allow = vec![format!("GET https://localhost:{port}/pub/*")];
    let proxy = Intercepting::new(believed(), &allow, Vec::new()).await;
    let ask = |line: &str| format!("{line} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    for (line, status) in [
        ("GET /pub/a", "HTTP/1.1 200"),
        ("DELETE /pub/a", "HTTP/1.1 403"),
        ("GET /other", "HTTP/1.1 403"),
        ("GET /pub/../other", "HTTP/1.1 403"),
    ] {
        let answer = proxy.ask(port, &ask(line)).await;
        assert!(answer.starts_with(status), "{line}: {answer}");
    }
    assert_eq!(received.requests().len(), 1);
    // Without TLS it is another request, which no rule allows.
    let mut client = tunnel(proxy.at, port, false).await;
    client.write_all(ask("GET /pub/a").as_bytes()).await.unwrap();
    assert!(rest(&mut client).await.starts_with("HTTP/1.1 403"));
    assert_eq!(received.requests().len(), 1);
}

#[tokio::test]
async fn a_credential_that_a_server_refuses_is_asked_for_and_replaced() {
    let (server, received) =
        crate::tls::answering("127.0.0.1", "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno").await;
    let port = server.port();
    let authority = Authority::new(vec!["localhost".parse().unwrap()]).unwrap();
    let pem = authority.to_pem();
    let (sender, rejected) = std::sync::mpsc::sync_channel(4);
    let setup = Setup {
        authority: Some(authority),
        credited: credited(port, ""),
        roots: believed(),
        rejected: Some(sender),
        ..Setup::from(rules(&local(port)))
    };
    let (at, proxy, log) = serve_logged(setup).await;
    let proxy = Intercepting { at, proxy, log, authority: pem };
    assert!(proxy.ask(port, &get(port, "")).await.starts_with("HTTP/1.1 401"));
    assert_eq!(rejected.try_recv().unwrap(), "model");
    let credential = Credential::new("authorization", "Bearer {}", secret("another")).unwrap();
    let url = format!("https://localhost:{port}");
    let renewed = Credited::new("model", &url, credential, secret(TOKEN)).unwrap();
    proxy.proxy.renew_credited("model", vec![renewed.clone()]);
    proxy.proxy.renew_credited("model", vec![renewed]);
    proxy.ask(port, &get(port, "")).await;
    assert!(received.requests().pop().unwrap().contains("Bearer another"));
    assert_eq!(proxy.log.text().matches("renewed").count(), 1, "{}", proxy.log.text());
}

/// A server that gets a credential below a path.
fn credited(port: u16, path: &str) -> Vec<Credited> {
    let credential = Credential::new("authorization", "Bearer {}", secret(CREDENTIAL)).unwrap();
    let url = format!("https://localhost:{port}{path}");
    vec![Credited::new("model", &url, credential, secret(TOKEN)).unwrap()]
}

#[tokio::test]
async fn a_credential_is_added_for_the_token_or_for_none_and_no_other_one_leaves() {
    let (server, received) = server("127.0.0.1").await;
    let port = server.port();
    let proxy = Intercepting::new(believed(), &local(port), credited(port, "")).await;
    for headers in [String::new(), format!("Authorization: Bearer {TOKEN}\r\n"), "Cookie: other=1\r\n".into()]
    {
        let answer = proxy.ask(port, &get(port, &headers)).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let got = received.requests().pop().unwrap();
        assert!(got.contains(&format!("Bearer {CREDENTIAL}")), "{got}");
        assert!(!got.contains(TOKEN) && !got.contains("other=1"), "{got}");
    }
    let before = received.requests().len();
    for headers in [
        "Authorization: Bearer other\r\n", "x-api-key: other\r\n", "Authorization: Basic b3RoZXI6eA==\r\n",
        "Private-Token: other\r\n", "X-GitHub-Token: other\r\n",
    ] {
        let answer = proxy.ask(port, &get(port, headers)).await;
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("egress.credential"), "{answer}");
    }
    assert_eq!(received.requests().len(), before);
    assert!(!proxy.log.text().contains(CREDENTIAL) && !proxy.log.text().contains(TOKEN));
    // Nor in a query, where it could be the method of a request as well.
    for query in ["access_token=other", "page=1;private_token=other", "%24key=other", "$httpMethod=DELETE"] {
        let answer = proxy.ask(port, &get(port, "").replacen("?query", &format!("?{query}"), 1)).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("the query"), "{query}: {answer}");
    }
    assert_eq!(received.requests().len(), before);
    // Another one goes where the credential is for another path, and nowhere that the server may take for its own.
    let proxy = Intercepting::new(believed(), &local(port), credited(port, "/api")).await;
    let answer = proxy.ask(port, &get(port, "Authorization: Bearer other\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let got = received.requests().pop().unwrap();
    assert!(got.contains("Bearer other") && !got.contains(CREDENTIAL), "{got}");
    let before = received.requests().len();
    for path in ["//api/x", "/%61pi/%2e%2e/x", "/api%2fx", "/api;/x", "/x/../api"] {
        let request = get(port, "Authorization: Bearer other\r\n").replacen("/path", path, 1);
        let answer = proxy.ask(port, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("two ways"), "{path}: {answer}");
    }
    assert_eq!(received.requests().len(), before);
}
