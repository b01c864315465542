//! Bodies pass as they arrive, in both directions: what was sent first arrives before the rest is sent.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PATIENCE, head, rest, serve};
use crate::upstream::{TOKEN, route, routed};

/// Reads until this has arrived.
async fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut got = String::new();
    let mut buffer = [0; 1024];
    while !got.contains(text) {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await;
        let count = read.unwrap_or_else(|_| panic!("{text:?} does not arrive after {got:?}")).unwrap();
        assert_ne!(count, 0, "it ended after {got:?}");
        got.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    got
}

/// Begins a request on a route, and returns the client and the server once this much has arrived there.
async fn request(rest: &str, arrives: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    let mut client = TcpStream::connect(proxy).await.unwrap();
    let head = format!("POST /model/v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {TOKEN}\r\n");
    client.write_all(format!("{head}{rest}").as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    until(&mut server, arrives).await;
    (client, server)
}

#[tokio::test]
async fn an_event_arrives_before_the_next_one_is_sent() {
    let (mut client, mut server) = request("Content-Length: 4\r\n\r\nbody", "\r\n\r\nbody").await;
    let begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    server.write_all(begin.as_bytes()).await.unwrap();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200"), "the head arrives before any event");
    for event in ["data: first\n\n", "data: second\n\n", "data: third\n\n"] {
        server.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
        until(&mut client, event).await;
    }
    server.write_all(b"0\r\n\r\n").await.unwrap();
    until(&mut client, "0\r\n\r\n").await;
}

#[tokio::test]
async fn a_body_arrives_while_it_is_being_sent() {
    let (mut client, mut server) = request("Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", "first").await;
    client.write_all(b"6\r\nsecond\r\n").await.unwrap();
    until(&mut server, "second").await;
    client.write_all(b"0\r\n\r\n").await.unwrap();
    until(&mut server, "0\r\n\r\n").await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_request_at_the_upstream() {
    let (client, mut server) = request("Content-Length: 4\r\n\r\nbody", "\r\n\r\nbody").await;
    drop(client);
    assert_eq!(rest(&mut server).await, "");
}
