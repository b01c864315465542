//! HTTP/1.1 as to a proxy: CONNECT for a tunnel, and a whole URL for plain HTTP (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::audit::Via;
use crate::outside::Outside;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::tunnel;

/// How long the head of a request may take to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How large it may be, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The port of plain HTTP.
const HTTP: u16 = 80;

/// Headers that are about one connection and not about the message (RFC 9110, section 7.6.1), beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 5] =
    [CONNECTION, TE, TRAILER, UPGRADE, HeaderName::from_static("proxy-connection")];

/// What a proxy is told, and nobody behind it.
const FOR_PROXY: [HeaderName; 3] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-authenticate"),
];

type Body = BoxBody<Bytes, hyper::Error>;

pub(crate) async fn speak(stream: TcpStream, proxy: &Arc<Proxy>) -> io::Result<()> {
    let serve = service_fn(|request| {
        let proxy = Arc::clone(proxy);
        async move { Ok::<_, hyper::Error>(answer(request, &proxy).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD);
    // Names of headers arrive as they were written: some servers look at that.
    server.preserve_header_case(true);
    server.serve_connection(TokioIo::new(stream), serve).with_upgrades().await.map_err(io::Error::other)
}

async fn answer(request: Request<Incoming>, proxy: &Arc<Proxy>) -> Response<Body> {
    let (host, port) = match target(&request) {
        Ok(target) => target,
        Err(refusal) => return refused(&refusal, "", 0),
    };
    let outside = match proxy.connect(Via::Http, &host, port).await {
        Ok(outside) => outside,
        Err(refusal) => return refused(&refusal, &host, port),
    };
    if request.method() == Method::CONNECT {
        return tunnel(request, outside);
    }
    forward(request, outside)
        .await
        .unwrap_or_else(|error| refused(&Refusal::Unreachable(io::Error::other(error)), &host, port))
}

/// Returns the host and the port that a request names, or why it is none to a proxy.
fn target<B>(request: &Request<B>) -> Result<(String, u16), Refusal> {
    let uri = request.uri();
    let is_connect = request.method() == Method::CONNECT;
    let authority = uri.authority().ok_or(Refusal::Malformed(
        "this is the egress proxy of a sandbox: it takes CONNECT, or a request for a whole URL",
    ))?;
    if authority.as_str().contains('@') {
        return Err(Refusal::Malformed("the target names a user"));
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = match (authority.port(), is_connect) {
        // `port_u16` of a number that is none is nothing: that would become another port.
        (Some(port), _) => port.as_u16(),
        (None, true) => return Err(Refusal::Malformed("CONNECT names no port")),
        (None, false) => HTTP,
    };
    if port == 0 {
        return Err(Refusal::Malformed("no server listens on port 0"));
    }
    if !is_connect && uri.scheme_str() != Some("http") {
        return Err(Refusal::Malformed("only http:// is forwarded: for everything else use CONNECT"));
    }
    Ok((host, port))
}

/// Answers a CONNECT, and passes bytes once the client has read the answer.
fn tunnel(request: Request<Incoming>, mut outside: Outside) -> Response<Body> {
    tokio::spawn(async move {
        let inside = hyper::upgrade::on(request).await.map_err(io::Error::other)?;
        tunnel::pass(&mut TokioIo::new(inside), &mut outside).await
    });
    Response::new(empty())
}

/// Forwards a request of plain HTTP, and the answer. Bodies pass as they arrive.
async fn forward(request: Request<Incoming>, outside: Outside) -> Result<Response<Body>, hyper::Error> {
    let mut client = hyper::client::conn::http1::Builder::new();
    client.preserve_header_case(true);
    let (mut sender, connection) = client.handshake(TokioIo::new(outside)).await?;
    tokio::spawn(connection);
    let response = sender.send_request(to_origin(request)).await?;
    let (mut head, body) = response.into_parts();
    strip(&mut head.headers);
    Ok(Response::from_parts(head, body.boxed()))
}

/// Turns a request to a proxy into one to the server: the path alone, the host of the URL, and nothing that was for the proxy.
fn to_origin<B>(request: Request<B>) -> Request<B> {
    let (mut head, body) = request.into_parts();
    let uri = std::mem::take(&mut head.uri);
    // The host that was decided about, whatever the header says (RFC 9112, section 3.2.2).
    if let Some(host) = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok()) {
        head.headers.insert(HOST, host);
    }
    head.uri = uri.into_parts().path_and_query.map_or_else(|| Uri::from_static("/"), Uri::from);
    strip(&mut head.headers);
    Request::from_parts(head, body)
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&FOR_PROXY).chain(&named) {
        headers.remove(name);
    }
}

fn refused(refusal: &Refusal, host: &str, port: u16) -> Response<Body> {
    let body = Full::from(refusal.to_json(host, port)).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty() -> Body {
    Full::default().map_err(|never| match never {}).boxed()
}
