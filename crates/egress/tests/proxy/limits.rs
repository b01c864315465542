//! What one sandbox may use of its proxy, and what happens when a host does not answer.

use std::time::Duration;

use egress::limits::Limits;
use egress::proxy::Setup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PATIENCE, head, proxy, rest, rules, said, serve, server, tunnel};

/// Returns a set-up for these hosts with limits that a test can wait for.
fn limited(allow: &[String], limits: Limits) -> Setup {
    Setup { limits, ..Setup::from(rules(allow)) }
}

#[tokio::test]
async fn a_head_beyond_64_kib_is_refused_at_once() {
    let (at, _server) =
        server("\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let proxy = proxy(&[at.to_string()]).await;
    let begin = format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    for size in [66_000, 100_000, 300_000] {
        for end in ["", "\r\n\r\n"] {
            let answer = said(proxy, format!("{begin}X-Large: {}{end}", "a".repeat(size))).await;
            assert!(answer.starts_with("HTTP/1.1 431"), "{size}: {answer:?}");
        }
    }
    let many = "X-Many: a\r\n".repeat(5000);
    assert!(said(proxy, format!("{begin}{many}\r\n")).await.starts_with("HTTP/1.1 431"));
    let long = said(proxy, format!("GET http://{at}/{} HTTP/1.1\r\n\r\n", "a".repeat(100_000))).await;
    assert!(long.starts_with("HTTP/1.1 431") || long.starts_with("HTTP/1.1 414"), "{long:?}");
    // Control: what is below the limit passes.
    let answer = said(proxy, format!("{begin}X-Large: {}\r\n\r\n", "a".repeat(60_000))).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test]
async fn who_is_slow_to_ask_is_closed() {
    let short = Duration::from_millis(200);
    let limits = Limits { head: short, kept: short, ..Limits::default() };
    let (proxy, _) = serve(limited(&[], limits)).await;
    for begun in [&b""[..], b"G", b"GET http://a/ HTTP/1.1\r\nHost:", b"\x05", b"\x05\x01\x00\x05\x01"] {
        let answer = said(proxy, begun).await;
        assert!(!answer.contains("200"), "{begun:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_tunnel_in_which_nothing_passes_ends_and_one_in_which_bytes_pass_stays() {
    let idle = Duration::from_millis(300);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (proxy, shared) = serve(limited(&[at.to_string()], Limits { idle, ..Limits::default() })).await;
    let mut quiet = tunnel(proxy, at).await;
    let (mut quiet_server, _) = listener.accept().await.unwrap();
    let mut busy = tunnel(proxy, at).await;
    let (mut busy_server, _) = listener.accept().await.unwrap();
    // The busy one has a byte in every span, one way only, until the quiet one has ended.
    let mut sent = 0;
    let mut tick = tokio::time::interval(idle / 4);
    let ended = quiet.read_u8();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            end = &mut ended => break assert!(end.is_err()),
            _ = tick.tick() => { busy_server.write_all(b".").await.unwrap(); sent += 1; }
        }
    }
    assert!(quiet_server.read_u8().await.is_err(), "both ends are closed");
    let mut got = vec![0; sent];
    busy.read_exact(&mut got).await.unwrap();
    busy.write_all(b"!").await.unwrap();
    assert_eq!(busy_server.read_u8().await.unwrap(), b'!');
    assert_eq!(shared.audit().counts().connections, 1, "the one that has ended is recorded");
}

#[tokio::test]
async fn half_closed_streams_pass_in_both_directions() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let proxy = proxy(&[at.to_string()]).await;
    for client_ends_first in [true, false] {
        let mut client = tunnel(proxy, at).await;
        let (mut server, _) = listener.accept().await.unwrap();
        let (first, second) =
            if client_ends_first { (&mut client, &mut server) } else { (&mut server, &mut client) };
        first.write_all(b"all of it").await.unwrap();
        first.shutdown().await.unwrap();
        assert_eq!(rest(second).await, "all of it");
        second.write_all(b"and an answer").await.unwrap();
        second.shutdown().await.unwrap();
        assert_eq!(rest(first).await, "and an answer");
    }
}

#[tokio::test]
async fn a_host_that_is_down_or_says_nothing_is_named_so() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let down = free.local_addr().unwrap();
    drop(free);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = silent.local_addr().unwrap();
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let (proxy, _) = serve(limited(&[down.to_string(), at.to_string()], limits)).await;
    for (host, status, error) in [(down, "502", "egress.unreachable"), (at, "504", "egress.silent")] {
        let answer =
            said(proxy, format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(error), "{answer}");
        assert!(answer.contains("\"retry\":true"), "{answer}");
    }
    let answer =
        said(proxy, format!("CONNECT {down} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("Connection refused"), "{answer}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_http_is_named_so() {
    let (at, _server) = server("\r\n\r\n", "\u{15}\u{3}\u{1}\0\u{2}\u{2}F").await;
    let proxy = proxy(&[at.to_string()]).await;
    let answer =
        said(proxy, format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("egress.unreachable"), "{answer}");
}

#[tokio::test]
async fn other_protocols_on_the_listener_are_refused_with_the_reason() {
    let proxy = proxy(&[]).await;
    let tls = said(proxy, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    assert!(tls.starts_with("HTTP/1.1 400") && tls.contains("begins with http://"), "{tls}");
    let ssh = said(proxy, "SSH-2.0-OpenSSH_9.9\r\n").await;
    assert!(ssh.starts_with("HTTP/1.1 400"), "{ssh}");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_refused_by_name_and_others_live_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let limits = Limits { connections: 2, ..Limits::default() };
    let (proxy, _) = serve(limited(&[at.to_string()], limits)).await;
    let mut first = tunnel(proxy, at).await;
    let (mut first_server, _) = listener.accept().await.unwrap();
    let second = tunnel(proxy, at).await;
    let answer = said(proxy, format!("CONNECT {at} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("egress.busy"), "{answer}");
    assert!(answer.contains("2 connections") && answer.contains("\"retry\":true"), "{answer}");
    assert_eq!(said(proxy, b"\x05\x01\x00").await.as_bytes(), "\u{5}\u{fffd}".as_bytes());
    first.write_all(b"!").await.unwrap();
    assert_eq!(first_server.read_u8().await.unwrap(), b'!');
    // When one ends, another may come.
    drop(second);
    drop(listener.accept().await.unwrap());
    let again = async {
        loop {
            let mut stream = TcpStream::connect(proxy).await.unwrap();
            stream.write_all(format!("CONNECT {at} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
            if head(&mut stream).await.starts_with("HTTP/1.1 200") {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn a_sandbox_that_has_passed_all_its_bytes_passes_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let limits = Limits { bytes: 100_000, ..Limits::default() };
    let (proxy, _) = serve(limited(&[at.to_string()], limits)).await;
    let mut client = tunnel(proxy, at).await;
    let (mut server, _) = listener.accept().await.unwrap();
    let mut got = vec![0; 90_000];
    server.write_all(&got).await.unwrap();
    client.read_exact(&mut got).await.unwrap();
    // What is over it ends the connection, whichever way it goes, and another one is refused by name.
    client.write_all(&got[..20_000]).await.unwrap();
    let mut received = Vec::new();
    let _ = server.read_to_end(&mut received).await;
    assert!(received.len() <= 20_000 && client.read_u8().await.is_err());
    let request = format!("CONNECT {at} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = said(proxy, request).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("egress.volume"), "{answer}");
    assert!(answer.contains("100000 bytes") && answer.contains("\"retry\":false"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_is_announced_without_end_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
        while stream.write_all(&interim).await.is_ok() {}
    });
    let proxy = proxy(&[at.to_string()]).await;
    let answer =
        said(proxy, format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer:?}");
}

#[tokio::test]
async fn a_request_to_be_repeated_goes_to_nobody() {
    let (at, server) = server("\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = proxy(&[at.to_string()]).await;
    let answer =
        said(proxy, format!("TRACE http://{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer:?}");
    assert!(!server.is_finished(), "nobody has connected");
}
