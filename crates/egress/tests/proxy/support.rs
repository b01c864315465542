//! Proxies, servers and clients of these tests.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use egress::audit::Audit;
use egress::proxy::{Proxy, Setup};
use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::verdict::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long anything may take here before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Returns rules that allow these hosts.
pub(crate) fn rules(allow: &[String]) -> HostRules {
    let rule = |host: &String| HostRule::new(host.parse().unwrap(), Origin::Default);
    HostRules::new(NetworkMode::Allowlist, allow.iter().map(rule).collect(), Vec::new())
}

/// Serves a proxy with these hosts allowed, and returns where.
pub(crate) async fn proxy(allow: &[String]) -> SocketAddr {
    serve(rules(allow)).await.0
}

/// Serves a proxy, and returns where and what.
pub(crate) async fn serve(setup: impl Into<Setup>) -> (SocketAddr, Arc<Proxy>) {
    let (at, proxy, _) = serve_logged(setup).await;
    (at, proxy)
}

/// Serves a proxy, and returns where, what, and what it logs.
pub(crate) async fn serve_logged(setup: impl Into<Setup>) -> (SocketAddr, Arc<Proxy>, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let log = Log::default();
    let proxy = Proxy::new(setup, Audit::new(log.clone())).unwrap();
    tokio::spawn(Arc::clone(&proxy).serve(listener));
    (at, proxy, log)
}

/// What an audit log holds.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns all of it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns its lines.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server that takes one connection, reads until `until` arrives, answers, closes, and returns what it has read.
pub(crate) async fn server(until: &'static str, answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let serve = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut got = String::new();
        while !got.contains(until) {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "it ended after {got:?}");
            got.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        got
    };
    (at, tokio::spawn(serve))
}

/// Sends all of it, and returns all that comes back until the other end closes.
pub(crate) async fn exchange(at: SocketAddr, parts: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect(at).await.unwrap();
    for part in parts {
        stream.write_all(part).await.unwrap();
    }
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// Sends a request of HTTP, and returns all that comes back until the other end closes.
pub(crate) async fn said(at: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(request.as_ref()).await.unwrap();
    rest(&mut stream).await
}

/// Returns all that comes until the other end closes.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // What is refused before it was read whole may end in a reset, after the answer.
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let _ = read.unwrap_or_else(|_| panic!("it stays open after {answer:?}"));
    answer
}

/// Reads the head of an answer, and nothing of what follows.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Opens a tunnel to a host by CONNECT.
pub(crate) async fn tunnel(proxy: SocketAddr, to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await.unwrap();
    let head = head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream
}
