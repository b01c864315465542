//! Connections to a server, kept from one request of a client to its next.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::verdict::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PATIENCE, head, serve_logged};

/// What a server does with a connection that it has answered on.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Then {
    Keeps,
    Closes,
}

/// Answers each request with the number of its connection, and returns where, and what it has received.
async fn server(then: Then) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let record = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&record);
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(answer(stream, number, then, Arc::clone(&seen)));
        }
        Ok::<_, io::Error>(())
    });
    (at, record)
}

async fn answer(
    mut stream: TcpStream,
    number: usize,
    then: Then,
    seen: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await?);
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        seen.lock().unwrap().push(format!("{number}: {}", request.lines().next().unwrap()));
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}").as_bytes()).await?;
        if then == Then::Closes || request.to_lowercase().contains("connection: close") {
            return stream.shutdown().await;
        }
    }
}

/// Sends a request for a whole URL, and returns the status and the body of the answer.
async fn ask(stream: &mut TcpStream, url: &str) -> (String, String) {
    stream.write_all(format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let head = head(stream).await;
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    (head[9..12].to_owned(), String::from_utf8(body).unwrap())
}

fn rules(allow: &[String], deny: &[String]) -> HostRules {
    let parse = |list: &[String]| -> Vec<HostRule> {
        list.iter().map(|rule| HostRule::new(rule.parse().unwrap(), Origin::Default)).collect()
    };
    HostRules::new(NetworkMode::Allowlist, parse(allow), parse(deny))
}

#[tokio::test]
async fn the_next_request_of_a_client_to_a_server_goes_on_the_same_connection() {
    let (first, second) = (server(Then::Keeps).await, server(Then::Keeps).await);
    let [one, two] = [first.0, second.0].map(|at| at.to_string());
    let (proxy, shared, log) = serve_logged(rules(&[one.clone(), two.clone()], &[])).await;
    let mut client = TcpStream::connect(proxy).await.unwrap();
    for path in ["a", "b"] {
        assert_eq!(ask(&mut client, &format!("http://{one}/{path}")).await, ("200".into(), "1".into()));
    }
    // One server at a time is kept.
    assert_eq!(ask(&mut client, &format!("http://{two}/")).await.1, "1");
    assert_eq!(ask(&mut client, &format!("http://{one}/c")).await.1, "2");
    // Nobody else gets it.
    let mut other = TcpStream::connect(proxy).await.unwrap();
    assert_eq!(ask(&mut other, &format!("http://{one}/d")).await.1, "3");
    let seen = ["1: GET /a HTTP/1.1", "1: GET /b HTTP/1.1", "2: GET /c HTTP/1.1", "3: GET /d HTTP/1.1"];
    assert_eq!(*first.1.lock().unwrap(), seen);
    drop((client, other));
    // Each connection to a server is recorded once, when it has ended.
    let ended = async {
        while log.lines().len() < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
    assert_eq!(shared.audit().counts().connections, 4);
}

#[tokio::test]
async fn rules_are_asked_before_each_request_on_it() {
    let (at, seen) = server(Then::Keeps).await;
    let whole = [at.to_string()];
    let (proxy, shared, _) = serve_logged(rules(&whole, &[])).await;
    let mut client = TcpStream::connect(proxy).await.unwrap();
    assert_eq!(ask(&mut client, &format!("http://{at}/a")).await.0, "200");
    shared.set_rules(rules(&whole, &[format!("GET http://{at}/secret")]));
    assert_eq!(ask(&mut client, &format!("http://{at}/secret")).await.0, "403");
    assert_eq!(ask(&mut client, &format!("http://{at}/b")).await.0, "200");
    shared.set_rules(rules(&whole, &whole));
    assert_eq!(ask(&mut client, &format!("http://{at}/c")).await.0, "403");
    let paths: Vec<_> = seen.lock().unwrap().iter().map(|line| line[3..].to_owned()).collect();
    assert_eq!(paths, ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
}

#[tokio::test]
async fn a_server_that_closes_costs_a_connection_and_no_request() {
    let (at, seen) = server(Then::Closes).await;
    let (proxy, ..) = serve_logged(rules(&[at.to_string()], &[])).await;
    let mut client = TcpStream::connect(proxy).await.unwrap();
    for number in ["1", "2", "3"] {
        assert_eq!(ask(&mut client, &format!("http://{at}/")).await, ("200".into(), number.into()));
    }
    assert_eq!(seen.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_body_that_the_server_does_not_read_is_no_request() {
    // It takes what stands behind a head for the next one.
    let (at, seen) = server(Then::Keeps).await;
    let rules = rules(&[format!("GET,POST http://{at}/pub/*")], &[]);
    let (proxy, ..) = serve_logged(rules).await;
    let inner = format!("GET /secret HTTP/1.1\r\nHost: {at}\r\n\r\n");
    for (number, method) in [(1, "GET"), (3, "POST")] {
        let mut client = TcpStream::connect(proxy).await.unwrap();
        let outer = format!(
            "{method} http://{at}/pub/a HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{inner}",
            inner.len()
        );
        client.write_all(outer.as_bytes()).await.unwrap();
        assert!(head(&mut client).await.starts_with("HTTP/1.1 200"), "{method}");
        client.read_u8().await.unwrap();
        assert_eq!(
            ask(&mut client, &format!("http://{at}/pub/b")).await.1,
            (number + 1).to_string(),
            "{method}"
        );
    }
    let paths: Vec<_> = seen.lock().unwrap().clone();
    assert!(paths.iter().all(|line| line.contains("/pub/")) && paths.len() == 4, "{paths:?}");
    // The control: without the proxy it is one.
    let mut direct = TcpStream::connect(at).await.unwrap();
    let outer = format!("GET /pub/a HTTP/1.1\r\nContent-Length: {}\r\n\r\n{inner}", inner.len());
    direct.write_all(outer.as_bytes()).await.unwrap();
    for _ in 0..2 {
        head(&mut direct).await;
        direct.read_u8().await.unwrap();
    }
    assert!(seen.lock().unwrap().last().unwrap().contains("/secret"));
}

#[tokio::test]
async fn a_request_is_recorded_also_for_a_client_that_goes_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (proxy, _, log) = serve_logged(rules(&[format!("* http://{at}/*")], &[])).await;
    let mut client = TcpStream::connect(proxy).await.unwrap();
    client.write_all(format!("DELETE http://{at}/all HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    assert!(head(&mut server).await.starts_with("DELETE /all "));
    drop(client);
    let recorded = async {
        while !log.lines().iter().any(|line| line["method"] == "DELETE") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, recorded).await.unwrap();
    let lines = log.lines();
    let line = lines.iter().find(|line| line["method"] == "DELETE").unwrap();
    assert_eq!((&line["path"], line.get("status")), (&"/all".into(), None), "{line}");
    assert!(line["error"].to_string().contains("went away"), "{line}");
}
