//! A host behind another proxy: what is allowed goes through it, by name; what is not, and what is internal, never gets there.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use egress::parent::Parent;
use egress::proxy::Setup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Log, head, rules, said, serve_logged, server};

/// A proxy that records the head of what it is asked, gives this answer, and then says `banner` and repeats what it hears.
async fn parent(answer: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let record = Arc::clone(&record);
            tokio::spawn(async move {
                let asked = head(&mut stream).await;
                let tunnel = asked.starts_with("CONNECT") && answer.contains(" 200 ");
                record.lock().unwrap().push(asked);
                stream
                    .write_all(format!("{answer}{}", if tunnel { "banner" } else { "" }).as_bytes())
                    .await
                    .unwrap();
                if tunnel {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await.unwrap();
                }
            });
        }
    });
    (at, asked)
}

/// Serves a proxy behind that one, which allows these hosts.
async fn behind(at: SocketAddr, allow: &[&str]) -> (SocketAddr, Log) {
    let url = format!("http://me:secret@{at}");
    let parent = Parent::new(Some(&url), Some(&url), Some("direct.test")).unwrap();
    let allow: Vec<String> = allow.iter().copied().map(str::to_owned).collect();
    let (proxy, _, log) = serve_logged(Setup { parent, ..Setup::from(rules(&allow)) }).await;
    (proxy, log)
}

#[tokio::test]
async fn a_tunnel_goes_through_it_and_the_name_is_resolved_there() {
    let (at, asked) = parent("HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\n").await;
    // No resolver has a name below `.invalid` (RFC 6761, section 6.4).
    let (proxy, log) = behind(at, &["*.nowhere.invalid"]).await;
    let by_http = b"CONNECT a.nowhere.invalid:22 HTTP/1.1\r\nHost: x\r\n\r\n";
    let by_socks = b"\x05\x01\x00\x05\x01\x00\x03\x11a.nowhere.invalid\x00\x16";
    for (request, answer) in [(&by_http[..], None), (by_socks, Some(12))] {
        let mut stream = TcpStream::connect(proxy).await.unwrap();
        stream.write_all(request).await.unwrap();
        match answer {
            None => assert!(head(&mut stream).await.starts_with("HTTP/1.1 200")),
            Some(length) => {
                let mut reply = vec![0; length];
                stream.read_exact(&mut reply).await.unwrap();
                assert_eq!(&reply[..4], b"\x05\x00\x05\x00");
            }
        }
        // The host speaks first, directly behind the answer.
        let mut banner = [0; 6];
        stream.read_exact(&mut banner).await.unwrap();
        assert_eq!(&banner, b"banner");
        stream.write_all(b"ping").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut echo = String::new();
        stream.read_to_string(&mut echo).await.unwrap();
        assert_eq!(echo, "ping");
    }
    for asked in asked.lock().unwrap().iter() {
        assert!(
            asked.starts_with("CONNECT a.nowhere.invalid:22 HTTP/1.1\r\nHost: a.nowhere.invalid:22\r\n"),
            "{asked}"
        );
        assert!(asked.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), "{asked}");
    }
    while log.lines().len() < 2 {
        tokio::task::yield_now().await;
    }
    let line = &log.lines()[0];
    assert_eq!(line["through"].as_str(), Some(at.to_string().as_str()), "{line}");
    assert!(line.get("address").is_none() && !log.text().contains("secret"), "{line}");
}

#[tokio::test]
async fn a_request_of_plain_http_is_forwarded_by_it() {
    let (at, asked) = parent("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").await;
    let (proxy, _) = behind(at, &["a.nowhere.invalid"]).await;
    let request = "GET http://a.nowhere.invalid/path?q=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                   Proxy-Authorization: Basic bWluZQ==\r\n\r\n";
    let answer = said(proxy, request).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
    let asked = asked.lock().unwrap().concat();
    assert!(asked.starts_with("GET http://a.nowhere.invalid/path?q=1 HTTP/1.1\r\n"), "{asked}");
    let lower = asked.to_ascii_lowercase();
    assert!(lower.contains("host: a.nowhere.invalid\r\n") && !lower.contains("host: x"), "{asked}");
    assert_eq!(lower.matches("proxy-authorization").count(), 1, "{asked}");
    assert!(asked.contains("Basic bWU6c2VjcmV0") && !asked.contains("bWluZQ"), "{asked}");
}

#[tokio::test]
async fn what_is_denied_and_what_is_internal_never_gets_there() {
    let (at, asked) = parent("HTTP/1.1 200 OK\r\n\r\n").await;
    let (direct, server) = server("ping", "pong").await;
    let (proxy, _) = behind(at, &["*.nowhere.invalid", &direct.to_string(), "direct.test"]).await;
    for host in ["other.invalid:443", "127.0.0.2:80", "169.254.169.254:80", "10.0.0.1:443", "[::1]:443"] {
        let answer =
            said(proxy, format!("CONNECT {host} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    // An internal address that a rule names is reached, and a name of NO_PROXY resolved, without it.
    let mut stream = crate::support::tunnel(proxy, direct).await;
    stream.write_all(b"ping").await.unwrap();
    assert_eq!(server.await.unwrap(), "ping");
    let answer =
        said(proxy, "CONNECT direct.test:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502") && !answer.contains("egress.parent"), "{answer}");
    assert!(asked.lock().unwrap().is_empty(), "{asked:?}");
}

#[tokio::test]
async fn a_proxy_that_does_not_help_is_named_so() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(9000)).leak();
    for (answer, reason) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it answers 407"),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nsorry", "it answers 403"),
        ("HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n", "it answers 302"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "does not answer as a proxy"),
        ("", "does not answer as a proxy"),
        (&*long, "does not answer as a proxy"),
    ] {
        let (at, _) = parent(answer).await;
        let (proxy, _) = behind(at, &["a.nowhere.invalid"]).await;
        let request = "CONNECT a.nowhere.invalid:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let answer = said(proxy, request).await;
        assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("egress.parent"), "{answer}");
        assert!(answer.contains(reason) && !answer.contains("secret"), "{answer}");
    }
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let down = free.local_addr().unwrap();
    drop(free);
    let (proxy, _) = behind(down, &["a.nowhere.invalid"]).await;
    let request = "CONNECT a.nowhere.invalid:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = said(proxy, request).await;
    assert!(answer.contains("egress.parent") && answer.contains("Connection refused"), "{answer}");
}
