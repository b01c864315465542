//! Connections to an address that stands for a name, by programs that know no proxy, with real servers behind it.

use egress::limits::Limits;
use policy::rules::network::Host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::inside::{Sandbox, sandbox, sandbox_within};

/// What OpenSSL sends first to `a.localhost`.
const HELLO: &[u8] = include_bytes!("client_hello/openssl");
const HELLO_1_2: &[u8] = include_bytes!("client_hello/openssl-tls-1.2");
const HELLO_WITHOUT_A_NAME: &[u8] = include_bytes!("client_hello/openssl-without-a-name");

/// A fatal alert, `unrecognized_name`.
const UNRECOGNIZED_NAME: &[u8] = &[21, 3, 3, 0, 2, 2, 112];

/// A server outside, which takes one connection, says something, reads all, answers, and returns what it has read.
async fn server(banner: &'static str, answer: &'static str) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(banner.as_bytes()).await.unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        got
    };
    (port, tokio::spawn(serve))
}

/// Connects to `a.localhost` as a program inside does, whose DNS server it has asked. Names of this kind lead to loopback outside as
/// well, without a name server.
async fn connect(sandbox: &Sandbox, port: u16) -> TcpStream {
    let address = sandbox.names.address(&"a.localhost".parse::<Host>().unwrap()).await.unwrap();
    let stream = sandbox.listeners.connect(address, port).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    rest
}

/// Sends all of it and closes; returns what the server has got, and what came back.
async fn pass(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (port, server) = server("", "answer").await;
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let mut stream = connect(&sandbox, port).await;
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = rest(stream).await;
    (server.await.unwrap(), answer)
}

/// Sends all of it; returns what the server has got, what came back, and why it was refused.
async fn refuse(bytes: &[u8]) -> (Vec<u8>, Vec<u8>, String) {
    let (port, server) = server("", "").await;
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let mut stream = connect(&sandbox, port).await;
    stream.write_all(bytes).await.unwrap();
    let answer = rest(stream).await;
    let line = sandbox.log.lines().into_iter().find(|line| line["verdict"] == "deny").unwrap();
    assert_eq!((line["via"].as_str(), line["host"].as_str()), (Some("transparent"), Some("a.localhost")));
    (server.await.unwrap(), answer, line["rule"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn bytes_pass_both_ways_to_the_name_that_was_meant() {
    let (port, server) = server("", "answer").await;
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let mut stream = connect(&sandbox, port).await;
    stream.write_all(b"\0\0\0\x08question").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(stream).await, b"answer");
    assert_eq!(server.await.unwrap(), b"\0\0\0\x08question");
    let line = &sandbox.log.lines()[0];
    assert_eq!((line["via"].as_str(), line["host"].as_str()), (Some("transparent"), Some("a.localhost")));
    assert_eq!((line["port"].as_u64(), line["sent"].as_u64()), (Some(port.into()), Some(12)));
}

#[tokio::test]
async fn a_server_may_speak_first() {
    let (port, server) = server("SSH-2.0-server\r\n", "").await;
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let mut stream = connect(&sandbox, port).await;
    let mut banner = [0; 16];
    stream.read_exact(&mut banner).await.unwrap();
    assert_eq!(&banner, b"SSH-2.0-server\r\n");
    stream.write_all(b"SSH-2.0-client\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(server.await.unwrap(), b"SSH-2.0-client\r\n");
}

#[tokio::test]
async fn what_names_the_name_that_was_meant_passes_as_it_is() {
    for bytes in [
        HELLO,
        HELLO_1_2,
        &[HELLO, b"early data"].concat(),
        b"GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\nGET / HTTP/1.1\r\n",
        b"GET / HTTP/1.0\r\nhOST:A.LocalHost.\r\n\r\n",
        b"\r\nPOST http://a.localhost/x HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 1\r\n\r\nx",
        b"OPTIONS * HTTP/1.1\r\nHost: a.localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // Other protocols: Redis twice, PostgreSQL, IRC, ZooKeeper, SMTP after the server, telnet, and nothing at all.
        b"PING\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"PASS x y\r\nNICK z\r\n",
        b"ruok",
        b"EHLO me\r\n",
        b"\xff\xfb\x01",
        // The length of a message of MySQL, which has the number of an alert.
        b"\x15\x01\0\x01\x85\xa6\xff\x01",
        b"",
    ] {
        let (got, answer) = pass(bytes).await;
        assert_eq!((got.as_slice(), answer.as_slice()), (bytes, &b"answer"[..]), "{}", bytes.escape_ascii());
    }
}

#[tokio::test]
async fn a_client_hello_may_come_byte_by_byte_and_in_many_records() {
    let (port, server) = server("", "").await;
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let mut stream = connect(&sandbox, port).await;
    let message = &HELLO_1_2[5..];
    let records: Vec<u8> = message.iter().flat_map(|byte| [22, 3, 1, 0, 1, *byte]).collect();
    for byte in &records {
        stream.write_all(&[*byte]).await.unwrap();
    }
    stream.shutdown().await.unwrap();
    assert_eq!(server.await.unwrap(), records);
}

/// The same message with another name of the same length.
fn hello_to(name: &[u8; 11]) -> Vec<u8> {
    let at = HELLO.windows(11).position(|part| part == b"a.localhost").unwrap();
    [&HELLO[..at], name, &HELLO[at + 11..]].concat()
}

#[tokio::test]
async fn a_client_hello_that_names_another_server_or_none_is_refused() {
    assert_eq!(
        pass(&hello_to(b"A.LOCALhost")).await.0,
        hello_to(b"A.LOCALhost"),
        "the same, written differently"
    );
    for (bytes, reason) in [
        (&hello_to(b"b.localhost")[..], "names \"b.localhost\", and the connection is to `a.localhost`"),
        (&hello_to(b"a.localhos\0"), "names \"a.localhos\\0\""),
        (&hello_to(b"a.localhos."), "names \"a.localhos.\""),
        (HELLO_WITHOUT_A_NAME, "names no server"),
        (b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", "the form of SSL 2"),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "well-formed"),
        (b"\x16\x03\x01\x00\x00", "well-formed"),
        (b"\x16\x02\x01\x00\x05", "well-formed"),
        // Some servers skip a warning.
        (&[b"\x15\x03\x01\0\x02\x01\x5a", HELLO].concat(), "well-formed"),
        (&[b"\x15\x02\0\0\x02\x01\x5a", HELLO].concat(), "well-formed"),
    ] {
        let (got, answer, why) = refuse(bytes).await;
        assert_eq!((got.as_slice(), answer.as_slice()), (&b""[..], UNRECOGNIZED_NAME), "{why}");
        assert!(why.contains(reason), "{why}");
    }
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    for (request, reason) in [
        ("GET / HTTP/1.1\r\nHost: b.localhost\r\n\r\n", "is for \"b.localhost\""),
        ("FETCH / HTTP/1.1\r\nHost: b.localhost\r\n\r\n", "is for \"b.localhost\""),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: b.localhost\r\n\r\n", "is for \"b.localhost\""),
        ("GET / HTTP/1.1\nHost: b.localhost\n\n", "is for \"b.localhost\""),
        ("GET / HTTP/1.1\r\nHost: a.localhost:1\r\n\r\n", "is for \"a.localhost:1\""),
        ("GET / HTTP/1.1\r\nHost: a.localhost\r\nHost: b.localhost\r\n\r\n", "not one `Host`"),
        ("GET / HTTP/1.1\r\nX: a.localhost\r\n\r\n", "not one `Host`"),
        ("GET http://b.localhost/ HTTP/1.1\r\nHost: a.localhost\r\n\r\n", "is for \"b.localhost\""),
        ("GET http://a.localhost@b.localhost/ HTTP/1.1\r\nHost: a.localhost\r\n\r\n", "@b.localhost"),
        ("CONNECT a.localhost HTTP/1.1\r\nHost: a.localhost\r\n\r\n", "is for"),
        ("GET\t/ HTTP/1.1\r\nHost: a.localhost\r\n\r\n", "malformed"),
        ("GET / HTTP/1.1\r\nHost : a.localhost\r\n\r\n", "malformed"),
        ("GET / HTTP/1.1\r\nX: 1\r\n Host: a.localhost\r\n\r\n", "malformed"),
        ("GET / HTTP/1.1\r\nHost: a.localhost\r\nX: \0\r\n\r\n", "malformed"),
    ] {
        let (got, answer, why) = refuse(request.as_bytes()).await;
        assert!(got.is_empty() && why.contains(reason), "{request:?}: {why}");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((body["error"].as_str(), body["retry"].as_bool()), (Some("egress.mismatch"), Some(false)));
    }
}

#[tokio::test]
async fn what_breaks_off_before_it_names_anything_is_refused() {
    for bytes in [&HELLO[..100], &b"\x16"[..], b"GET / HTTP/1.1\r\nHost: a.localhost\r\n"] {
        let (port, server) = server("", "").await;
        let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
        let mut stream = connect(&sandbox, port).await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        rest(stream).await;
        assert_eq!(server.await.unwrap(), b"");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_in_the_middle_is_not_waited_for() {
    let (got, answer, why) = refuse(&HELLO[..100]).await;
    assert_eq!((got.as_slice(), answer.as_slice()), (&b""[..], UNRECOGNIZED_NAME), "{why}");
    let (got, _, why) = refuse(b"GET / HT").await;
    assert!(got.is_empty() && why.contains("breaks off"), "{why}");
}

#[tokio::test]
async fn on_the_port_of_https_nothing_is_dialled_before_the_client_hello_was_classified() {
    let sandbox = sandbox(&["a.localhost:443"]);
    let mut stream = connect(&sandbox, 443).await;
    stream.write_all(&hello_to(b"b.localhost")).await.unwrap();
    assert_eq!(rest(stream).await, UNRECOGNIZED_NAME);
    let lines = sandbox.log.lines();
    assert_eq!((lines.len(), lines[0]["address"].as_str()), (1, None), "{lines:?}");
}

#[tokio::test]
async fn a_host_that_is_not_reached_is_said_in_the_protocol_of_the_client() {
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let sandbox = sandbox(&[&format!("a.localhost:{port}")]);
    let request = b"GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n";
    for (first, answer) in
        [(HELLO, &[21, 3, 3, 0, 2, 2, 80][..]), (request, b"HTTP/1.1 502 "), (b"PING\r\n", b"")]
    {
        let mut stream = connect(&sandbox, port).await;
        stream.write_all(first).await.unwrap();
        let got = rest(stream).await;
        assert!(got.starts_with(answer) && got.is_empty() == answer.is_empty(), "{}", got.escape_ascii());
    }
    sandbox.proxy.audit().end();
    let lines = sandbox.log.lines();
    assert!(lines.len() == 2 && lines.iter().all(|line| line["error"].is_string()), "{lines:?}");
    assert_eq!(lines[1]["repeated"], 2, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn on_the_port_of_https_a_client_that_says_nothing_is_dialled_for_after_a_while() {
    // Nobody listens on this port of the machine, which shows in the log that it was dialled.
    let sandbox = sandbox(&["a.localhost:443"]);
    assert_eq!(rest(connect(&sandbox, 443).await).await, b"");
    let lines = sandbox.log.lines();
    assert_eq!((lines.len(), lines[0]["verdict"].as_str()), (1, Some("error")), "{lines:?}");
    assert!(lines[0]["error"].as_str().unwrap().contains("could not be reached"), "{lines:?}");
}

#[tokio::test]
async fn a_name_that_was_not_used_for_longest_gives_way_and_one_in_use_does_not() {
    let (port, _server) = server("banner", "").await;
    let limits = Limits { listeners: 2, ..Limits::default() };
    let sandbox = sandbox_within(limits, &[&format!("a.localhost:{port}"), "*.example.org:443"]);
    let address = async |name: &str| sandbox.names.address(&name.parse::<Host>().unwrap()).await;
    let mut used = connect(&sandbox, port).await;
    used.read_exact(&mut [0; 6]).await.unwrap();

    let first = address("first.example.org").await.unwrap();
    let second = address("second.example.org").await.unwrap();
    assert_eq!(sandbox.listeners.ports(second), [443]);
    // The runtime closes the listener when it comes to it.
    tokio::task::yield_now().await;
    let refused = sandbox.listeners.connect(first, 443).await;
    assert_eq!(refused.map(drop).map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionRefused));
    assert_ne!(address("first.example.org").await.unwrap(), first, "an address is given out once");
    connect(&sandbox, port).await;
}

#[tokio::test]
async fn connections_count_against_the_limit_of_the_sandbox() {
    let (port, _server) = server("banner", "").await;
    let limits = Limits { connections: 1, ..Limits::default() };
    let sandbox = sandbox_within(limits, &[&format!("a.localhost:{port}")]);
    let mut first = connect(&sandbox, port).await;
    first.read_exact(&mut [0; 6]).await.unwrap();
    assert_eq!(rest(connect(&sandbox, port).await).await, b"");
    let line = &sandbox.log.lines()[0];
    assert!(line["error"].as_str().unwrap().contains("1 connections"), "{line}");
}

#[tokio::test]
async fn requests_to_a_name_that_is_reached_for_requests_alone_are_decided_one_by_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sandbox = sandbox(&[&format!("GET http://a.localhost:{port}/pub/*")]);
    let mut stream = connect(&sandbox, port).await;
    let request = |first: &str, last| format!("{first} HTTP/1.1\r\nHost: a.localhost:{port}\r\n{last}\r\n");
    let all = [
        request("GET /pub/1", ""),
        request("GET /private", ""),
        request("POST /pub/2", "Connection: close\r\n"),
    ];
    stream.write_all(all.concat().as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
    let answers = String::from_utf8(rest(stream).await).unwrap();
    let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "403", "403"], "{answers}");
    let got = String::from_utf8(rest(server).await).unwrap();
    assert!(got.starts_with("GET /pub/1 HTTP/1.1\r\n") && got.matches("HTTP/1.1").count() == 1, "{got}");
    // TLS says nothing that could be decided about.
    let mut stream = connect(&sandbox, port).await;
    stream.write_all(HELLO).await.unwrap();
    assert_eq!(rest(stream).await, [21, 3, 3, 0, 2, 2, 49]);
    let lines = sandbox.log.lines();
    let refused = lines.iter().filter(|line| line["verdict"] == "deny" && line["via"] == "transparent");
    assert_eq!(refused.count(), 3, "{lines:?}");
}
