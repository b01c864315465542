//! Much data: all of it arrives, in both directions, however slowly it is read.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{head, proxy, serve, tunnel};
use crate::upstream::{TOKEN, route, routed};

/// More than all buffers on the way together, those of the kernel among them, and what the server reads before it waits.
const SIZE: usize = 64 << 20;
const BEFORE: usize = 1 << 20;

/// Returns bytes that are not the same anywhere near.
fn pattern() -> Vec<u8> {
    (0..SIZE / 8).flat_map(|number| (number as u64).to_le_bytes()).collect()
}

/// A server that takes one request with a body of that size, reads its begin before it waits for `go`, and sends it back.
async fn mirror() -> (SocketAddr, tokio::sync::oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (go, wait) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        let mut body = vec![0; SIZE];
        stream.read_exact(&mut body[..BEFORE]).await.unwrap();
        wait.await.unwrap();
        stream.read_exact(&mut body[BEFORE..]).await.unwrap();
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        stream.write_all(&body).await.unwrap();
    });
    (at, go)
}

/// Sends a request with a body, in which the server waits, and compares what comes back.
async fn exchanged(mut stream: TcpStream, request: String, go: tokio::sync::oneshot::Sender<()>) {
    let body = pattern();
    stream.write_all(format!("{request}Content-Length: {SIZE}\r\n\r\n").as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let sent = body.clone();
    let mut send = tokio::spawn(async move { to.write_all(&sent).await.map(|()| to) });
    // Its begin is read, and what does not fit into buffers stays with the sender.
    assert!(tokio::time::timeout(std::time::Duration::from_millis(500), &mut send).await.is_err());
    go.send(()).unwrap();
    let _to = send.await.unwrap().unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(from.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    let mut got = vec![0; SIZE];
    from.read_exact(&mut got).await.unwrap();
    assert!(got == body, "what comes back is something else");
}

#[tokio::test]
async fn much_passes_a_tunnel() {
    let (at, go) = mirror().await;
    let stream = tunnel(proxy(&[at.to_string()]).await, at).await;
    exchanged(stream, "POST / HTTP/1.1\r\nHost: x\r\n".to_owned(), go).await;
}

#[tokio::test]
async fn much_is_forwarded() {
    let (at, go) = mirror().await;
    let stream = TcpStream::connect(proxy(&[at.to_string()]).await).await.unwrap();
    exchanged(stream, format!("POST http://{at}/ HTTP/1.1\r\nHost: x\r\n"), go).await;
}

#[tokio::test]
async fn much_passes_a_route() {
    let (at, go) = mirror().await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    let stream = TcpStream::connect(proxy).await.unwrap();
    exchanged(stream, format!("POST /model/v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {TOKEN}\r\n"), go)
        .await;
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_seen_to_be() {
    for (frame, rest) in [("Content-Length: 100", "begin"), ("Transfer-Encoding: chunked", "5\r\nbegin\r\n")]
    {
        let answer = format!("HTTP/1.1 200 OK\r\n{frame}\r\n\r\n{rest}").leak();
        let (at, _server) = crate::support::server("\r\n\r\n", answer).await;
        let proxy = proxy(&[at.to_string()]).await;
        let got = crate::support::said(proxy, format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(got.contains("begin") && !got.contains("0\r\n\r\n"), "{got}");
    }
}
