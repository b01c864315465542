//! HTTP as to a proxy: CONNECT for a tunnel, and a whole URL for plain HTTP (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, PROXY_AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::audit::{Open, Via};
use crate::body::{Body, passing, whole};
use crate::headers::strip;
use crate::limits::MAX_HEAD;
use crate::outside::Outside;
use crate::parent::ParentProxy;
use crate::proxy::{Admission, Proxy};
use crate::refusal::Refusal;
use crate::request::{Target, framing, target};
use crate::{explicit, routed};

/// How much of a body is held at most while it passes.
const BUFFER: usize = 2 * MAX_HEAD;

/// Answers the requests of one connection.
pub(crate) async fn speak(stream: TcpStream, proxy: &Arc<Proxy>, admission: Admission) -> io::Result<()> {
    let own = stream.local_addr()?;
    let serve = service_fn(|request| {
        let (proxy, admission) = (Arc::clone(proxy), Arc::clone(&admission));
        async move { Ok::<_, hyper::Error>(answer(request, &proxy, own, admission).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(proxy.limits().kept);
    // The buffer grows beyond its own limit at times, so what must hold is said of the head.
    server.max_header_size(MAX_HEAD).max_buf_size(BUFFER);
    // Names of headers arrive as they were written: some servers look at that.
    server.preserve_header_case(true);
    let served = server.serve_connection(TokioIo::new(stream), serve).with_upgrades().await;
    served.map_err(|error| {
        if error.is_parse() || error.is_timeout() {
            proxy.audit().refused(&Open::new(Via::Http, "", 0), &Refusal::Unparsed(error.to_string()));
        }
        io::Error::other(error)
    })
}

/// Answers one request. What is held is dropped with the answer, or with the tunnel that it opens.
pub(crate) async fn answer(
    request: Request<Incoming>,
    proxy: &Arc<Proxy>,
    own: SocketAddr,
    held: impl Send + 'static,
) -> Response<Body> {
    let asked =
        framing(request.method(), request.headers()).and_then(|()| target(request.method(), request.uri()));
    let (host, port) = match asked {
        Ok(Target::Host { host, port }) if !is_own(&request, own, &host, port) => (host, port),
        // A client that uses the proxy for the proxy's own URL as well means the same.
        Ok(_) => {
            let answered = routed::answer(request, proxy).await;
            return answered.unwrap_or_else(|(refusal, host, port)| refused(&refusal, proxy, &host, port));
        }
        Err(refusal) => {
            proxy.audit().refused(&Open::new(Via::Http, "", 0), &refusal);
            return refused(&refusal, proxy, "", 0);
        }
    };
    let idle = proxy.limits().idle;
    if request.method() == Method::TRACE {
        // Whoever is on the way repeats what it got, with what was added for it (RFC 9110, section 9.3.8).
        let refusal = Refusal::Malformed("TRACE is not forwarded");
        proxy.audit().refused(&Open::new(Via::Http, &host, port), &refusal);
        return refused(&refusal, proxy, &host, port);
    }
    let answered = if request.method() == Method::CONNECT {
        let outside = proxy.connect(Via::Http, &host, port).await;
        outside.map(|outside| tunnel(request, outside, (host.clone(), port), proxy, held))
    } else {
        match proxy.connect_for_requests(&host, port).await {
            Ok(outside) => forward(request, outside, idle).await,
            Err(refusal) => Err(refusal),
        }
    };
    answered.unwrap_or_else(|refusal| refused(&refusal, proxy, &host, port))
}

/// Returns whether a request for a whole URL names this listener.
fn is_own(request: &Request<Incoming>, own: SocketAddr, host: &str, port: u16) -> bool {
    request.method() != Method::CONNECT && port == own.port() && host.parse() == Ok(own.ip())
}

/// Answers a CONNECT, and passes bytes once the client has read the answer.
fn tunnel(
    request: Request<Incoming>,
    outside: Outside,
    (host, port): (String, u16),
    proxy: &Arc<Proxy>,
    held: impl Send + 'static,
) -> Response<Body> {
    let proxy = Arc::clone(proxy);
    tokio::spawn(async move {
        let _held = held;
        let inside = hyper::upgrade::on(request).await.map_err(io::Error::other)?;
        explicit::pass(TokioIo::new(inside), outside, Via::Http, (&host, port), &proxy).await
    });
    Response::new(whole(""))
}

/// Forwards a request of plain HTTP, and the answer. Bodies pass as they arrive.
async fn forward(
    request: Request<Incoming>,
    outside: Outside,
    idle: Duration,
) -> Result<Response<Body>, Refusal> {
    let mut client = hyper::client::conn::http1::Builder::new();
    client.preserve_header_case(true).max_buf_size(BUFFER);
    let (ends, parent) = (outside.ends(idle), outside.parent());
    let traffic = outside.traffic();
    traffic.expect_answer();
    let (mut sender, connection) =
        client.handshake(TokioIo::new(outside)).await.map_err(Refusal::unreachable)?;
    let connected = tokio::spawn(async move {
        let ended = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut => Refusal::Silent(idle),
            _ => Refusal::unreachable(error),
        };
        tokio::select! { _ = connection => Ok(()), error = ends => Err(ended(error)) }
    });
    let sent = sender.send_request(onward(request, parent.as_deref())).await;
    // Without it the connection ends, at the latest with the body of the answer.
    drop(sender);
    let response = match sent {
        Ok(response) => response,
        Err(error) => {
            connected.await.unwrap_or(Ok(()))?;
            return Err(Refusal::unreachable(error));
        }
    };
    traffic.answered();
    let (mut head, body) = response.into_parts();
    strip(&mut head.headers);
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(head, passing(body)))
}

/// Turns a request to a proxy into one to the server: the path alone, the host of the URL, and nothing that was for the proxy. For
/// another proxy on the way the URL stays whole.
fn onward<B>(request: Request<B>, parent: Option<&ParentProxy>) -> Request<B> {
    let (mut head, body) = request.into_parts();
    // First, because `Connection` may name any header.
    strip(&mut head.headers);
    // Each end has its own version (RFC 9110, section 2.5); what an older one lacks is made up for.
    head.version = Version::HTTP_11;
    // The host that was decided about, whatever the header says (RFC 9112, section 3.2.2).
    let host = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        head.headers.insert(HOST, host);
    }
    match parent {
        None => {
            let path = std::mem::take(&mut head.uri).into_parts().path_and_query;
            head.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        }
        Some(parent) => {
            let value = parent.authorization().and_then(|value| HeaderValue::from_str(value).ok());
            if let Some(mut value) = value {
                value.set_sensitive(true);
                head.headers.insert(PROXY_AUTHORIZATION, value);
            }
        }
    }
    Request::from_parts(head, body)
}

pub(crate) fn refused(refusal: &Refusal, proxy: &Proxy, host: &str, port: u16) -> Response<Body> {
    let mut response = Response::new(whole(refusal.to_json(proxy.sandbox(), host, port)));
    *response.status_mut() = status(refusal);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if matches!(refusal, Refusal::Token(_)) {
        // RFC 9110, section 15.5.2.
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if matches!(refusal, Refusal::Malformed(_)) {
        // What follows on this connection may be its body, read by nobody.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn status(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN)
}
