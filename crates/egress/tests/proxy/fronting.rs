//! Tunnels to a name in which another name is asked for: refused, as where an address stands for the name.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{head, proxy, rest, rules, serve_logged};

/// A warning as a record of TLS (`user_canceled`).
pub(crate) const ALERT: &[u8] = b"\x15\x03\x01\0\x02\x01\x5a";

/// Returns the begin of TLS as a client sends it, which names this server.
pub(crate) fn client_hello(name: &str) -> Vec<u8> {
    let roots = std::sync::Arc::new(rustls::RootCertStore::empty());
    let config = rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

/// Opens a tunnel to `localhost` by CONNECT or by SOCKS.
pub(crate) async fn tunnel(proxy: std::net::SocketAddr, port: u16, socks: bool) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    if socks {
        let request = [b"\x05\x01\x00\x05\x01\x00\x03\x09LocalHost", &port.to_be_bytes()[..]].concat();
        stream.write_all(&request).await.unwrap();
        stream.read_exact(&mut [0; 12]).await.unwrap();
    } else {
        stream
            .write_all(format!("CONNECT LocalHost:{port} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
    stream
}

#[tokio::test]
async fn what_passes_first_must_mean_the_name_that_was_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (proxy, shared, log) = serve_logged(rules(&[format!("localhost:{port}")])).await;
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n").into_bytes();
    for socks in [false, true] {
        for (first, refused) in [
            (client_hello("localhost"), None),
            (request("localhost"), None),
            (b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), None),
            (client_hello("other.example.org"), Some("\u{15}")),
            // Some servers skip this record.
            ([ALERT, &client_hello("other.example.org")[..]].concat(), Some("\u{15}")),
            (request("other.example.org"), Some("HTTP/1.1 403")),
        ] {
            let before = shared.audit().counts().refusals;
            let mut client = tunnel(proxy, port, socks).await;
            let (mut server, _) = listener.accept().await.unwrap();
            client.write_all(&first).await.unwrap();
            match refused {
                None => {
                    client.shutdown().await.unwrap();
                    let mut got = Vec::new();
                    server.read_to_end(&mut got).await.unwrap();
                    assert_eq!(got, first);
                }
                Some(answer) => {
                    let got = rest(&mut client).await;
                    assert!(got.starts_with(answer), "{got:?}");
                    let mut got = Vec::new();
                    server.read_to_end(&mut got).await.unwrap();
                    assert!(got.is_empty(), "nothing reaches the server: {got:?}");
                }
            }
            let counted = shared.audit().counts().refusals - before;
            assert_eq!(counted, u64::from(refused.is_some()), "{}", log.text());
        }
    }
}

#[tokio::test]
async fn in_a_tunnel_to_an_address_any_name_passes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let proxy = proxy(&[at.to_string()]).await;
    let mut client = crate::support::tunnel(proxy, at).await;
    let (mut server, _) = listener.accept().await.unwrap();
    let hello = client_hello("other.example.org");
    client.write_all(&hello).await.unwrap();
    let mut got = vec![0; hello.len()];
    server.read_exact(&mut got).await.unwrap();
    assert_eq!(got, hello);
}
