//! HTTP/2 to the proxy, begun unasked: CONNECT and whole URLs, each stream for itself.

use std::net::SocketAddr;
use std::time::Duration;

use egress::limits::Limits;
use egress::proxy::Setup;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{PATIENCE, proxy, rules, said, serve_logged, server};

type Client = SendRequest<Full<Bytes>>;

async fn client(proxy: SocketAddr) -> Client {
    let stream = TcpStream::connect(proxy).await.unwrap();
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

fn request(method: &str, uri: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(uri).body(Full::new(Bytes::from(body))).unwrap()
}

async fn text(response: Response<hyper::body::Incoming>) -> String {
    let body = timeout(PATIENCE, response.into_body().collect()).await.unwrap().unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_whole_url_is_forwarded_as_http_1_with_the_host_that_was_decided_about() {
    let (at, seen) =
        server("message", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: x\r\n\r\nhello").await;
    let mut client = client(proxy(&[at.to_string()]).await).await;
    let mut sent = request("POST", &format!("http://{at}/path?query"), "message");
    sent.headers_mut().insert("proxy-authorization", "Basic eDp5".parse().unwrap());
    let answer = client.send_request(sent).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers().get("keep-alive").is_none(), "{answer:?}");
    assert_eq!(text(answer).await, "hello");
    let seen = seen.await.unwrap().to_lowercase();
    assert!(seen.starts_with("post /path?query http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: {at}\r\n")) && !seen.contains("proxy-"), "{seen}");
}

#[tokio::test]
async fn each_connect_is_a_tunnel_beside_others_and_beside_refusals() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let mut client = client(proxy(&[at.to_string()]).await).await;
    let mut tunnels = Vec::new();
    for _ in 0..3 {
        let connect = Request::connect(at.to_string()).body(Full::default()).unwrap();
        let answer = client.send_request(connect).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let outside = listener.accept().await.unwrap().0;
        tunnels.push((TokioIo::new(hyper::upgrade::on(answer).await.unwrap()), outside));
    }
    let refused = Request::connect("other.example.org:443").body(Full::default()).unwrap();
    let refused = client.send_request(refused).await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let said = text(refused).await;
    assert!(said.contains("egress.denied") && said.contains("\"retry\":false"), "{said}");
    for (number, (inside, outside)) in tunnels.iter_mut().enumerate() {
        let (mut there, mut back) = ([0; 4], [0; 4]);
        inside.write_all(format!("to {number}").as_bytes()).await.unwrap();
        outside.read_exact(&mut there).await.unwrap();
        outside.write_all(&there).await.unwrap();
        inside.read_exact(&mut back).await.unwrap();
        assert_eq!(back, format!("to {number}").as_bytes());
        // Each direction ends by itself.
        inside.shutdown().await.unwrap();
        assert_eq!(outside.read(&mut there).await.unwrap(), 0);
        outside.write_all(b"late").await.unwrap();
        inside.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"late");
    }
}

#[tokio::test]
async fn each_stream_counts_as_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let limits = Limits { connections: 2, ..Limits::default() };
    let setup = Setup { limits, ..Setup::from(rules(&[at.to_string()])) };
    let mut client = client(serve_logged(setup).await.0).await;
    let connect = || Request::connect(at.to_string()).body(Full::default()).unwrap();
    let first = client.send_request(connect()).await.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let held = hyper::upgrade::on(first).await.unwrap();
    let busy = client.send_request(connect()).await.unwrap();
    assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(text(busy).await.contains("egress.busy"));
    // Both ends of the first.
    drop((held, listener.accept().await.unwrap()));
    let again = async {
        while client.send_request(connect()).await.unwrap().status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn what_is_no_http_2_after_its_beginning_ends_with_a_reason_that_is_logged() {
    let (at, _, log) = serve_logged(rules(&[])).await;
    // A frame of headers on stream 0.
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let answer =
        said(at, [preface.as_bytes(), b"\0\0\0\x04\0\0\0\0\0", b"\0\0\x01\x01\x04\0\0\0\0\x82"].concat())
            .await;
    // GOAWAY, and PROTOCOL_ERROR in it (RFC 9113, section 7).
    assert!(answer.contains("\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01"), "{answer:?}");
    let answer = said(at, "PRI * HTTP/1.1\r\n\r\n").await;
    assert!(!answer.contains("200"), "{answer:?}");
    let lines = log.lines();
    assert!(lines.iter().any(|line| line["error"].to_string().contains("protocol error")), "{lines:?}");
}

#[tokio::test]
async fn requests_are_decided_one_by_one_in_streams_and_in_tunnels_of_streams() {
    let (at, record) = crate::smuggling::recorder().await;
    let mut client = client(proxy(&[format!("GET http://{at}/pub/*")]).await).await;
    for (method, path, status) in [("GET", "/pub/1", 200), ("POST", "/pub/1", 403), ("GET", "/private", 403)]
    {
        let answer = client.send_request(request(method, &format!("http://{at}{path}"), "")).await.unwrap();
        assert_eq!(answer.status(), status, "{method} {path}");
    }
    let connect = Request::connect(at.to_string()).body(Full::default()).unwrap();
    let tunnel = hyper::upgrade::on(client.send_request(connect).await.unwrap()).await.unwrap();
    let mut tunnel = TokioIo::new(tunnel);
    let both = ["/private", "/pub/2"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n"));
    tunnel
        .write_all(format!("{}\r\n{}Connection: close\r\n\r\n", both[0], both[1]).as_bytes())
        .await
        .unwrap();
    let mut answers = String::new();
    timeout(PATIENCE, tunnel.read_to_string(&mut answers)).await.unwrap().unwrap();
    let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["403", "200"], "{answers}");
    let record = record.lock().unwrap().concat();
    assert!(record.contains("GET /pub/1 ") && record.contains("GET /pub/2 "), "{record}");
    assert!(!record.contains("POST") && !record.contains("private"), "{record}");
}

#[tokio::test]
async fn heads_have_a_limit() {
    let (at, _server) = server("\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let mut client = client(proxy(&[at.to_string()]).await).await;
    let mut long = request("GET", &format!("http://{at}/"), "");
    long.headers_mut().insert("x", "y".repeat(100_000).parse().unwrap());
    let answer = client.send_request(long).await;
    assert_eq!(answer.unwrap().status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    // The connection goes on.
    let answer = client.send_request(request("GET", &format!("http://{at}/"), "")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_connection_that_nobody_uses_ends() {
    let limits = Limits { kept: Duration::from_millis(200), ..Limits::default() };
    let (at, ..) = serve_logged(Setup { limits, ..Setup::from(rules(&[])) }).await;
    let stream = TcpStream::connect(at).await.unwrap();
    let (client, connection) =
        handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    timeout(PATIENCE, connection).await.unwrap().unwrap();
    drop(client);
}
