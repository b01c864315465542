//! HTTP as to a proxy: CONNECT for a tunnel, and a whole URL for plain HTTP (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use policy::rules::network::Scheme;
use tokio::net::TcpStream;

use crate::audit::{Open, Requested, Via};
use crate::body::{Body, whole};
use crate::forward::Kept;
use crate::outside::Outside;
use crate::proxy::{Admission, Proxy};
use crate::refusal::Refusal;
use crate::request::{Server, Target, framing, target};
use crate::serving::{ended, refused, server};
use crate::{explicit, inspect, routed};

/// Answers the requests of one connection.
pub(crate) async fn speak(stream: TcpStream, proxy: &Arc<Proxy>, admission: Admission) -> io::Result<()> {
    let (own, kept) = (stream.local_addr()?, Arc::new(Kept::default()));
    let serve = service_fn(|request| {
        let (proxy, admission, kept) = (Arc::clone(proxy), Arc::clone(&admission), Arc::clone(&kept));
        async move { Ok::<_, hyper::Error>(answer(request, &proxy, own, &kept, admission).await) }
    });
    let served = server(proxy).serve_connection(TokioIo::new(stream), serve).with_upgrades().await;
    ended(served, &Open::new(Via::Http, "", 0), proxy)
}

/// Answers one request. What is held is dropped with the answer, or with the tunnel that it opens.
pub(crate) async fn answer(
    request: Request<Incoming>,
    proxy: &Arc<Proxy>,
    own: SocketAddr,
    kept: &Kept,
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
    if request.method() == Method::TRACE {
        // Whoever is on the way repeats what it got, with what was added for it (RFC 9110, section 9.3.8).
        let refusal = Refusal::Malformed("TRACE is not forwarded");
        proxy.audit().refused(&Open::new(Via::Http, &host, port), &refusal);
        return refused(&refusal, proxy, &host, port);
    }
    if request.method() == Method::CONNECT {
        let ends_here = proxy.ends_here(&host, port);
        let outside = if ends_here { None } else { Some(proxy.connect(Via::Http, &host, port).await) };
        return match outside.transpose() {
            Ok(outside) => tunnel(request, outside, (host, port), proxy, held),
            Err(refusal) => refused(&refusal, proxy, &host, port),
        };
    }
    let for_requests = proxy.is_for_requests(&host, port);
    let requested = for_requests.then(|| Requested::new(request.method(), request.uri().path()));
    let asked = Server { scheme: Scheme::Http, host, port };
    inspect::send(request, &asked, Via::Http, requested, kept, proxy).await
}

/// Returns whether a request for a whole URL names this listener.
fn is_own(request: &Request<Incoming>, own: SocketAddr, host: &str, port: u16) -> bool {
    request.method() != Method::CONNECT && port == own.port() && host.parse() == Ok(own.ip())
}

/// Answers a CONNECT, and passes bytes once the client has read the answer, or answers requests where there is no tunnel.
fn tunnel(
    request: Request<Incoming>,
    outside: Option<Outside>,
    (host, port): (String, u16),
    proxy: &Arc<Proxy>,
    held: impl Send + 'static,
) -> Response<Body> {
    let proxy = Arc::clone(proxy);
    tokio::spawn(async move {
        let _held = held;
        let inside = hyper::upgrade::on(request).await.map_err(io::Error::other)?;
        let inside = TokioIo::new(inside);
        match outside {
            Some(outside) => explicit::pass(inside, outside, Via::Http, (&host, port), &proxy).await,
            None => inspect::end(inside, Via::Http, (&host, port), &proxy).await,
        }
    });
    Response::new(whole(""))
}
