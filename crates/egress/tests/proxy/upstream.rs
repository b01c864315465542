//! A provider's server, which records what it receives.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use egress::proxy::Setup;
use egress::route::{Allowed, Credential, Route};
use egress::secret::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use crate::support::rules;

/// What the sandbox has.
pub(crate) const TOKEN: &str = "token-of-the-sandbox";

/// What it must never see.
pub(crate) const CREDENTIAL: &str = "sk-the-real-credential";

pub(crate) fn secret(text: &str) -> Secret {
    Secret::from(Zeroizing::new(text.to_owned()))
}

/// Returns a route `model` to there, which allows `POST /v1/messages` and `GET /v1/models/*`.
pub(crate) fn route(upstream: &str) -> Route {
    let mut route = Route::new("model", upstream).unwrap();
    route.credential = Some(Credential::new("authorization", "Bearer {}", secret(CREDENTIAL)).unwrap());
    route.token = Some(secret(TOKEN));
    route.allowed = vec![
        Allowed::new(&["POST"], "/v1/messages").unwrap(),
        Allowed::new(&["GET"], "/v1/models/*").unwrap(),
    ];
    route
}

/// Returns a set-up that allows no host, and has this route.
pub(crate) fn routed(route: Route) -> Setup {
    Setup { routes: vec![route], ..Setup::from(rules(&[])) }
}

/// Returns a request on the route that closes its connection.
pub(crate) fn post(headers: &str) -> String {
    format!(
        "POST /model/v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: 4\r\n\r\nbody"
    )
}

/// Returns the same with the token.
pub(crate) fn authorised() -> String {
    post(&format!("x-api-key: {TOKEN}\r\n"))
}

/// What a server has received, request by request, and how many connections it has accepted.
#[derive(Clone, Default)]
pub(crate) struct Received {
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Received {
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// Serves this answer to every request, on connections that stay open.
pub(crate) async fn upstream(answer: &'static str) -> (SocketAddr, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let received = Received::default();
    let shared = received.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            *shared.connections.lock().unwrap() += 1;
            tokio::spawn(serve(stream, answer, shared.clone()));
        }
    });
    (at, received)
}

/// Answers the requests of one connection, each with a body of four bytes or none.
pub(crate) async fn serve<T: AsyncRead + AsyncWrite + Unpin>(
    mut stream: T,
    answer: &str,
    received: Received,
) {
    let mut got = String::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        got.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = got.split_once("\r\n\r\n") else { continue };
        let has_body = head.to_ascii_lowercase().contains("content-length: 4");
        if body.len() == if has_body { 4 } else { 0 } {
            received.requests.lock().unwrap().push(std::mem::take(&mut got));
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }
}
