//! Upstreams that speak HTTP/2: one connection for all requests with one credential, each stream for itself.

use std::net::SocketAddr;
use std::time::Duration;

use egress::limits::Limits;
use egress::proxy::Setup;
use egress::route::{Credential, Route};
use egress::tls::Roots;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http2_server::{LARGE, Server};
use crate::intercept::Intercepting;
use crate::support::{Log, head, rules, said, serve_logged};
use crate::tls::AUTHORITY;
use crate::upstream::{CREDENTIAL, TOKEN, post, route, routed, secret};

const ALL: usize = usize::MAX;

fn setup(server: &Server) -> Setup {
    let route = route(&format!("https://localhost:{}/base", server.port));
    Setup { roots: Roots::from_pem(AUTHORITY).unwrap(), ..routed(route) }
}

async fn proxy(server: &Server) -> (SocketAddr, Log) {
    let (at, _, log) = serve_logged(setup(server)).await;
    (at, log)
}

/// Returns a request on the route, which the server is to treat like this.
fn doing(what: &str) -> String {
    post(&format!("x-api-key: {TOKEN}\r\nx-do: {what}\r\n"))
}

/// Begins a request, and returns the client when the server has seen it.
async fn begin(proxy: SocketAddr, server: &Server, what: &str, length: usize) -> TcpStream {
    let before = server.seen().len();
    let mut client = TcpStream::connect(proxy).await.unwrap();
    let request = doing(what).replace("Content-Length: 4", &format!("Content-Length: {length}"));
    client.write_all(request.as_bytes()).await.unwrap();
    server.until(|seen| seen.len() > before).await;
    client
}

#[tokio::test]
async fn requests_with_bodies_share_a_connection_and_no_header_of_http_1_leaves() {
    let server = Server::new(ALL).await;
    let (at, log) = proxy(&server).await;
    let more = "TE: trailers\r\nKeep-Alive: x\r\nProxy-Any: x\r\nCookie: a=b\r\nanthropic-beta: kept\r\n";
    for _ in 0..3 {
        let answer = said(at, post(&format!("x-api-key: {TOKEN}\r\n{more}"))).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n1"), "{answer}");
    }
    let seen = server.seen();
    let url = format!("POST https://localhost:{}/base/v1/messages HTTP/2.0", server.port);
    for one in &seen {
        assert_eq!((one.connection, one.body.as_deref()), (1, Some("body")), "{one:?}");
        assert!(one.head.starts_with(&url) && one.head.contains("\"anthropic-beta\": \"kept\""), "{one:?}");
        assert!(one.head.contains(&format!("Bearer {CREDENTIAL}")), "{one:?}");
        for gone in [
            TOKEN, "connection", "close", "\"te\"", "keep-alive", "proxy-", "cookie", "\"host\"", "transfer-",
        ] {
            assert!(!one.head.contains(gone), "{gone}: {one:?}");
        }
    }
    assert_eq!(seen.len(), 3);
    assert_eq!(log.lines().iter().filter(|line| line["status"] == 200).count(), 3, "{}", log.text());
}

#[tokio::test]
async fn credentials_do_not_share_a_connection() {
    let server = Server::new(ALL).await;
    let first = setup(&server);
    let credential = |text| Some(Credential::new("authorization", "Bearer {}", secret(text)).unwrap());
    let other =
        Route { name: "other".to_owned(), credential: credential("other"), ..first.routes[0].clone() };
    let same = Route { name: "same".to_owned(), ..first.routes[0].clone() };
    let renewed = Route { credential: credential("renewed"), ..first.routes[0].clone() };
    let routes = vec![first.routes[0].clone(), other, same];
    let (at, proxy, _) = serve_logged(Setup { routes, ..first }).await;
    let ask = async |name: &str| {
        let answer = said(at, doing("answer").replace("/model/", &format!("/{name}/"))).await;
        answer.rsplit_once("\r\n\r\n").unwrap().1.to_owned()
    };
    for (name, connection) in [("model", "1"), ("other", "2"), ("model", "1"), ("other", "2"), ("same", "1")]
    {
        assert_eq!(ask(name).await, connection, "{name}");
    }
    proxy.renew(renewed);
    for (name, connection) in [("model", "3"), ("other", "2"), ("same", "1"), ("model", "3")] {
        assert_eq!(ask(name).await, connection, "{name}");
    }
    for one in server.seen() {
        let bearer =
            ["other", "renewed"].iter().position(|text| one.head.contains(&format!("Bearer {text}")));
        assert_eq!(bearer.map_or(1, |number| number + 2), one.connection, "{one:?}");
    }
}

#[tokio::test]
async fn bodies_pass_as_they_arrive_and_an_answer_may_begin_before_the_request_ends() {
    let server = Server::new(ALL).await;
    let (at, _) = proxy(&server).await;
    let mut client = begin(at, &server, "echo", 10).await;
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
    let mut got = [0; 1];
    let mut back = String::new();
    for part in ["body", "and", "end"] {
        if part != "body" {
            client.write_all(part.as_bytes()).await.unwrap();
        }
        while !back.ends_with(part) {
            client.read_exact(&mut got).await.unwrap();
            back.push(got[0].into());
        }
    }
    // A server that wants no more of the body.
    let mut client = begin(at, &server, "early", 1 << 30).await;
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
    client.read_exact(&mut [0; 5]).await.unwrap();
    assert!(said(at, doing("answer")).await.ends_with("\r\n\r\n1"));
}

#[tokio::test]
async fn a_server_that_says_goodbye_costs_a_connection_and_no_request() {
    let server = Server::new(1).await;
    let (at, _) = proxy(&server).await;
    for number in 1..4 {
        let answer = said(at, doing("answer")).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(&format!("\n{number}")), "{answer}");
    }
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again() {
    let server = Server::new(ALL).await;
    let (at, _) = proxy(&server).await;
    assert!(said(at, doing("answer")).await.ends_with("\n1"));
    let answer = said(at, doing("abort")).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("\"retry\":true"), "{answer}");
    assert!(said(at, doing("answer")).await.ends_with("\n2"));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_stream_alone() {
    let server = Server::new(ALL).await;
    let (at, log) = proxy(&server).await;
    let mut stays = begin(at, &server, "echo", 8).await;
    // Before its body has ended, and after it.
    for (number, length) in [(1, 100), (2, 4)] {
        let client = begin(at, &server, "hang", length).await;
        assert!(!server.seen()[number].reset);
        drop(client);
        server.until(|seen| seen[number].reset).await;
    }
    stays.write_all(b"more").await.unwrap();
    let mut answer = String::new();
    stays.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nbodymore"), "{answer}");
    assert!(server.seen().iter().all(|seen| seen.connection == 1));
    let broken = log.lines().iter().filter(|line| line["error"].is_string()).count();
    assert_eq!(broken, 2, "{}", log.text());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_and_its_connection_stays() {
    let server = Server::new(ALL).await;
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let (at, ..) = serve_logged(Setup { limits, ..setup(&server) }).await;
    let answer = said(at, doing("hang")).await;
    assert!(answer.starts_with("HTTP/1.1 504") && answer.contains("egress.silent"), "{answer}");
    server.until(|seen| seen[0].reset).await;
    assert!(said(at, doing("answer")).await.ends_with("\n1"));
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_else() {
    let server = Server::new(ALL).await;
    let (at, _) = proxy(&server).await;
    let mut slow = Vec::new();
    for _ in 0..32 {
        let mut client = begin(at, &server, "large", 4).await;
        assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
        slow.push(client);
    }
    assert!(said(at, doing("answer")).await.ends_with("\r\n\r\n1"));
    // And nothing is lost for those that read late.
    for mut client in slow {
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer.len(), LARGE);
    }
}

#[tokio::test]
async fn a_server_to_which_tls_is_intercepted_keeps_its_connection_after_a_body_too() {
    let server = Server::new(ALL).await;
    let port = server.port;
    let roots = Roots::from_pem(AUTHORITY).unwrap();
    let proxy = Intercepting::new(roots, &[format!("localhost:{port}")], Vec::new()).await;
    let request = |close: &str| {
        format!(
            "POST /path?query HTTP/1.1\r\nHost: LocalHost:{port}\r\nCookie: a=b\r\n{close}Content-Length: 4\r\n\r\nbody"
        )
    };
    let answer = proxy.ask(port, &[request(""), request("Connection: close\r\n")].concat()).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for one in seen {
        let url = format!("POST https://localhost:{port}/path?query HTTP/2.0");
        assert!(one.head.starts_with(&url) && one.head.contains("cookie"), "{one:?}");
        assert!(!one.head.contains("host\"") && !one.head.contains("connection"), "{one:?}");
        assert_eq!((one.connection, one.body.as_deref()), (1, Some("body")));
    }
    assert_eq!(proxy.log.lines().iter().filter(|line| line["method"] == "POST").count(), 2);
}

#[tokio::test]
async fn what_follows_a_body_does_not_leave() {
    let server = Server::new(ALL).await;
    let (at, _) = proxy(&server).await;
    let chunks = "Transfer-Encoding: chunked\r\nTrailer: x-api-key\r\n\r\n4\r\nbody\r\n0\r\nx-api-key: other\r\nx-http-method: DELETE\r\n\r\n";
    let request = doing("answer").replace("Content-Length: 4\r\n\r\nbody", chunks);
    assert!(said(at, request).await.starts_with("HTTP/1.1 200"));
    let roots = Roots::from_pem(AUTHORITY).unwrap();
    let allow = [format!("localhost:{}", server.port)];
    let proxy = Intercepting::new(roots, &allow, Vec::new()).await;
    let request = format!("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{chunks}");
    assert!(proxy.ask(server.port, &request).await.starts_with("HTTP/1.1 200"));
    for seen in server.seen() {
        assert_eq!(seen.body.as_deref(), Some("body"), "{seen:?}");
        assert!(!seen.head.contains("other") && !seen.head.contains("DELETE"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_get_without_a_length_keeps_its_body() {
    let (at, seen) =
        crate::support::server("0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (proxy, ..) = serve_logged(rules(&[at.to_string()])).await;
    let stream = TcpStream::connect(proxy).await.unwrap();
    let (mut client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    // A frame may become another one, so nobody knows how long it is.
    let body = Full::new(Bytes::from("message")).map_frame(|frame| frame);
    let request = Request::get(format!("http://{at}/")).body(body).unwrap();
    assert_eq!(client.send_request(request).await.unwrap().status(), 200);
    let seen = seen.await.unwrap().to_lowercase();
    assert!(seen.starts_with("get / http/1.1") && seen.contains("message"), "{seen}");
}
