//! Requests whose end a proxy and a server could find in different places: what the server receives is what counts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{proxy, said};

/// A server that records every byte of every connection, and answers once each has a request's head.
pub(crate) async fn recorder() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let all = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&all);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let number = {
                let mut record = record.lock().unwrap();
                record.push(String::new());
                record.len() - 1
            };
            let record = Arc::clone(&record);
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let mut answered = false;
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    record.lock().unwrap()[number].push_str(&String::from_utf8_lossy(&buffer[..count]));
                    let whole = |got: &str| {
                        got.contains("\r\n\r\n") && (!got.contains("chunked") || got.ends_with("0\r\n\r\n"))
                    };
                    if !answered && whole(&record.lock().unwrap()[number]) {
                        answered = true;
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                        stream.write_all(answer).await.unwrap();
                        if record.lock().unwrap()[number].contains("onnection: close") {
                            break;
                        }
                    }
                }
            });
        }
    });
    (at, all)
}

/// Sends this after the first line of a request for `/outer`, and returns the answer and what the server has received.
async fn sent(rest: &[u8]) -> (String, Vec<String>) {
    let (at, record) = recorder().await;
    let proxy = proxy(&[at.to_string()]).await;
    let request = [format!("POST http://{at}/outer HTTP/1.1").as_bytes(), rest].concat();
    let answer = said(proxy, request).await;
    let received = record.lock().unwrap().clone();
    (answer, received)
}

/// What would be a request of its own for a server that ends the first one early.
pub(crate) const INNER: &str = "GET /inner HTTP/1.1\r\nHost: inner\r\n\r\n";

#[tokio::test]
async fn the_server_of_these_tests_does_receive_what_is_forwarded() {
    let (answer, received) = sent(b"\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(received[0].starts_with("POST /outer HTTP/1.1\r\n"), "{received:?}");
}

#[tokio::test]
async fn what_servers_read_differently_is_refused_and_reaches_none() {
    let inner = INNER.len();
    for rest in [
        format!("\r\nHost: a\r\nContent-Length: {inner}\r\nContent-Length: 0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length: 0, {inner}\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length: +{inner}\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length: -1\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length: 0x10\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length : {inner}\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nX: 1\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{INNER}"),
        format!(
            "\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"
        ),
        format!("\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nX: a\0b\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nX\0: a\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nX: a\u{1}b\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nno colon\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\n: no name\r\n\r\n{INNER}"),
        format!("\r\nHost: a\r\nHost: b\r\n\r\n{INNER}"),
        format!(" HTTP/1.1\r\nHost: a\r\n\r\n{INNER}"),
    ] {
        let (answer, received) = sent(rest.as_bytes()).await;
        // Refused with a status, or closed: nothing that follows on this connection is read as a request.
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{rest:?}: {answer:?}");
        assert_eq!(
            answer.matches("HTTP/1.1").count(),
            usize::from(!answer.is_empty()),
            "{rest:?}: {answer:?}"
        );
        assert!(received.is_empty(), "{rest:?}: {received:?}");
    }
}

#[tokio::test]
async fn what_is_forwarded_has_one_frame_whichever_it_came_with() {
    let inner = INNER.len();
    // Each request, and whether the server gets the inner one as a body or not at all.
    for (rest, body) in [
        // A length beside chunks, in both orders: the chunks count (RFC 9112, section 6.3), and the connection ends.
        (
            format!("\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
            false,
        ),
        (
            format!("\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{INNER}"),
            false,
        ),
        // The same length twice is one length.
        (
            format!(
                "\r\nHost: a\r\nConnection: close\r\nContent-Length: {inner}\r\nContent-Length: {inner}\r\n\r\n{INNER}"
            ),
            true,
        ),
        // Lines that end in a bare LF end as others do.
        (format!("\nHost: a\nConnection: close\nContent-Length: {inner}\n\n{INNER}"), true),
        // `Connection` cannot take away what frames the body, nor the host.
        (
            format!(
                "\r\nHost: a\r\nConnection: close, content-length, host\r\nContent-Length: {inner}\r\n\r\n{INNER}"
            ),
            true,
        ),
        (
            format!(
                "\r\nHost: a\r\nConnection: close, transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n{inner:x};ext=1\r\n{INNER}\r\n0\r\n\r\n"
            ),
            true,
        ),
    ] {
        let (answer, received) = sent(rest.as_bytes()).await;
        let [received] = received.try_into().unwrap_or_else(|all| panic!("{rest:?}: {all:?}, {answer:?}"));
        let (head, rest_of_it) = received.split_once("\r\n\r\n").unwrap();
        let lower = head.to_ascii_lowercase();
        let frames = lower.matches("content-length:").count() + lower.matches("transfer-encoding:").count();
        assert_eq!(frames, 1, "{rest:?}: {received:?}");
        assert_eq!(lower.matches("\r\nhost:").count(), 1, "{rest:?}: {received:?}");
        assert!(!received.contains("ext="), "{rest:?}: {received:?}");
        assert_eq!(rest_of_it.contains("GET /inner"), body, "{rest:?}: {received:?}");
        if lower.contains("content-length:") {
            assert!(
                lower.contains(&format!("content-length: {inner}")) && rest_of_it == INNER,
                "{received:?}"
            );
        } else {
            assert!(rest_of_it.ends_with("0\r\n\r\n"), "{rest:?}: {received:?}");
        }
    }
}
