//! The audit log: what it says of what has passed and of what was refused, and that it stays within bounds.

use std::io::{Read, Seek, SeekFrom, Write};

use egress::audit::{ChangeOfRules, Changed};
use egress::rotate::Rotated;
use policy::text::escape;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{head, rules, said, serve_logged, server, tunnel};

#[tokio::test]
async fn a_connection_is_recorded_with_what_has_passed() {
    let (at, server) = server("ping", "pong!").await;
    let (proxy, shared, log) = serve_logged(rules(&[at.to_string()])).await;
    let mut stream = tunnel(proxy, at).await;
    stream.write_all(b"ping").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    drop(stream);
    server.await.unwrap();
    while shared.audit().counts().connections == 0 {
        tokio::task::yield_now().await;
    }
    let counts = shared.audit().counts();
    assert_eq!((counts.sent, counts.received, counts.refusals), (4, 5, 0));
    let lines = log.lines();
    let line = &lines[0];
    assert_eq!((line["via"].as_str(), line["host"].as_str()), (Some("http"), Some("127.0.0.1")), "{line}");
    assert_eq!(
        (line["verdict"].as_str(), line["address"].as_str()),
        (Some("allow"), Some("127.0.0.1")),
        "{line}"
    );
    assert_eq!((line["sent"].as_u64(), line["received"].as_u64()), (Some(4), Some(5)), "{line}");
    assert!(line["rule"].as_str().unwrap().contains(&at.to_string()) && lines.len() == 1, "{line}");
}

#[tokio::test]
async fn refused_hosts_are_counted_by_their_canonical_names() {
    let (proxy, shared, log) = serve_logged(rules(&[])).await;
    for host in ["a.example.org:443", "A.example.org.:443", "b.example.org:22"] {
        said(proxy, format!("CONNECT {host} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    }
    said(proxy, b"\x05\x01\x00\x05\x01\x00\x03\x03a\0b\x00\x50").await;
    let refused = shared.audit().refused_hosts();
    let all: Vec<_> = refused.iter().map(|one| (one.host.as_str(), one.port, one.count)).collect();
    assert_eq!(all, [("a.example.org", 443, 2), ("b.example.org", 22, 1)]);
    assert_eq!((shared.audit().counts().refusals, log.lines().len()), (4, 4));
    assert!(log.lines().iter().all(|line| line["verdict"] == "deny"), "{}", log.text());
}

#[tokio::test]
async fn a_host_that_is_refused_again_and_again_has_one_line_and_a_count() {
    let (proxy, shared, log) = serve_logged(rules(&[])).await;
    for _ in 0..40 {
        said(proxy, "GET http://a.example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        said(proxy, b"\x05\x01\x00\x05\x01\x00\x03\x0da.example.org\x00\x50").await;
        said(proxy, "GET /no-route HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    }
    let first: Vec<_> = log.lines();
    assert_eq!(first.len(), 3, "{}", log.text());
    // The control: each was counted.
    assert_eq!((shared.audit().counts().refusals, shared.audit().refused_hosts()[0].count), (120, 80));
    // Rules that change make it worth recording again, after how often it came.
    let hosts = vec!["b.example.org".to_owned()];
    shared.audit().changed(&ChangeOfRules { change: Changed::Deny, hosts, seconds: None, uid: None });
    said(proxy, "GET http://a.example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    shared.audit().end();
    let lines = log.lines();
    let repeated: Vec<_> = lines.iter().filter_map(|line| line["repeated"].as_u64()).collect();
    assert_eq!((repeated, lines.len()), (vec![39; 3], 8), "{}", log.text());
    for via in ["http", "socks"] {
        let of = |line: &&serde_json::Value| line["via"] == via && line["host"] == "a.example.org";
        let times: Vec<_> = lines.iter().filter(of).map(|line| line["repeated"].as_u64()).collect();
        assert_eq!(times, if via == "http" { vec![None, Some(39), None] } else { vec![None, Some(39)] });
    }
}

#[tokio::test]
async fn hosts_in_great_number_do_not_fill_the_log() {
    let (proxy, shared, log) = serve_logged(rules(&[])).await;
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    for number in 0..1100 {
        let request = format!("CONNECT host{number}.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = head(&mut stream).await;
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        stream.read_exact(&mut vec![0; length.unwrap()]).await.unwrap();
    }
    shared.audit().end();
    let lines = log.lines();
    assert_eq!((lines.len(), shared.audit().counts().refusals), (1026, 1100));
    assert_eq!((&lines[1024]["host"], &lines[1025]["repeated"]), (&"*".into(), &75.into()));
}

#[tokio::test]
async fn a_line_stays_short_and_a_line() {
    let (proxy, _, log) = serve_logged(rules(&[])).await;
    let long = "a".repeat(50_000);
    said(proxy, format!("CONNECT {long}:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    let name = b"\x05\x01\x00\x05\x01\x00\x03\x09a\n{\"x\":1}\x00\x50";
    said(proxy, name).await;
    assert!(log.lines().len() == 2 && log.text().len() < 3000, "{}", log.text());
}

#[test]
fn two_files_hold_the_last_lines_and_grow_no_further() {
    let (first, second) = (tempfile(), tempfile());
    let clone = |file: &std::fs::File| file.try_clone().unwrap();
    let content = |file: &std::fs::File| {
        let mut text = String::new();
        clone(file).seek(SeekFrom::Start(0)).unwrap();
        clone(file).read_to_string(&mut text).unwrap();
        text
    };
    let mut log = Rotated::new(clone(&first), clone(&second), 100).unwrap();
    for number in 0..55 {
        // The reading below moves the offset that the descriptors share, so nothing is read in between.
        writeln!(log, "line {number:04}").unwrap();
    }
    assert_eq!((content(&first).len(), content(&second).len()), (100, 50));
    assert!(content(&first).ends_with("line 0049\n") && content(&second).ends_with("line 0054\n"));
    // Another one goes on where this one ended: in the file that is not full.
    let mut log = Rotated::new(clone(&first), clone(&second), 100).unwrap();
    writeln!(log, "line 0055").unwrap();
    assert!(content(&second).ends_with("line 0054\nline 0055\n"));
    assert!(content(&first).ends_with("line 0049\n"));
}

fn tempfile() -> std::fs::File {
    tempfile::tempfile().unwrap()
}

#[tokio::test]
async fn a_line_holds_nothing_that_a_terminal_obeys() {
    let (proxy, _, log) = serve_logged(rules(&[])).await;
    // A control sequence introducer of 8 bits, and an override of the direction of text.
    said(proxy, b"\x05\x01\x00\x05\x01\x00\x03\x07\xc2\x9b31m\xe2\x80\x00\x50").await;
    said(proxy, b"\x05\x01\x00\x05\x01\x00\x03\x05\xe2\x80\xaea\x7f\x00\x50").await;
    assert!(log.text().lines().all(|line| escape::line(line) == line), "{:?}", log.text());
    assert!(log.text().contains(r"\u202e"), "{}", log.text());
    assert_eq!(log.lines().len(), 2, "{}", log.text());
}

#[tokio::test]
async fn what_failed_counts_neither_as_allowed_nor_as_refused_and_names_the_rule_that_had_allowed_it() {
    // Nobody listens there any more.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (proxy, shared, log) = serve_logged(rules(&[closed.to_string()])).await;
    for request in [
        format!("CONNECT {closed} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        format!("GET http://{closed}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    ] {
        assert!(said(proxy, request).await.contains("502"), "{}", log.text());
    }
    said(proxy, "no request\r\n\r\n").await;
    let lines = log.lines();
    let [failed @ .., unparsed] = lines.as_slice() else { panic!("{}", log.text()) };
    assert!(!failed.is_empty() && lines.iter().all(|line| line["verdict"] == "error"), "{}", log.text());
    for line in failed {
        assert!(line["rule"].as_str().unwrap().contains(&closed.to_string()), "{line}");
        assert!(line["error"].as_str().unwrap().contains("could not be reached"), "{line}");
    }
    assert_eq!(unparsed["rule"], "", "nobody has decided about it");
    let counts = shared.audit().counts();
    assert_eq!((counts.connections, counts.refusals, counts.errors), (0, 0, 3));
}
