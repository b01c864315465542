//! Connections that end here, because requests to their host are decided one by one: HTTP/1.1 is spoken on them, and what rules allow is forwarded.

use std::io;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, UPGRADE};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use policy::rules::credentials;
use policy::rules::network::egress::PROBE;
use policy::rules::network::{self, Host, Scheme, Wanted};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::audit::{Open, Requested, Via};
use crate::body::Body;
use crate::explicit;
use crate::first_bytes::Protocol;
use crate::forward::{Kept, ServerConnection};
use crate::inside::{Inside, PATIENCE};
use crate::linger::linger;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::request::{Server, framing};
use crate::route::is_steering;
use crate::serving::{ended, refused, server};

/// Ends a connection to a host that rules allow for requests alone, or to which TLS is intercepted. What comes first must be for that
/// host.
pub(crate) async fn end<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    via: Via,
    (host, port): (&str, u16),
    proxy: &Arc<Proxy>,
) -> io::Result<()> {
    let asked = Server { scheme: Scheme::Http, host: host.to_owned(), port };
    let Ok(Host::Name(name)) = host.parse() else { return serve(stream, asked, via, proxy).await };
    let mut inside = Inside::new(stream, name, port, proxy.limits().head);
    let for_requests = proxy.is_for_requests(host, port);
    // Where it may be any protocol, the server may be the one that speaks first.
    let patience = if for_requests { proxy.limits().kept } else { PATIENCE };
    let classified = timeout(patience, inside.classify()).await;
    let refusal = match (inside.refusal(), inside.protocol(), proxy.interception(host, port)) {
        (Some(reason), ..) => Refusal::Mismatch(reason.to_owned()),
        (None, Protocol::Tls, Some(interception)) => {
            classified??;
            match interception.accept(inside, proxy.limits().head).await {
                Ok(stream) => {
                    let asked = Server { scheme: Scheme::Https, ..asked };
                    return serve(stream, asked, via, proxy).await;
                }
                Err(refusal) => {
                    proxy.audit().refused(&Open::new(via, host, port), &refusal);
                    return Ok(());
                }
            }
        }
        (None, Protocol::Http | Protocol::Other, _) if for_requests => {
            classified??;
            return serve(inside, asked, via, proxy).await;
        }
        (None, Protocol::Tls, None) if for_requests => Refusal::Rule(proxy.rules().decide(host, port)),
        // What is no TLS is not intercepted.
        (None, ..) => match proxy.connect(via, host, port).await {
            Ok(outside) => {
                let inside = inside.without_tls();
                return explicit::pass_on(inside, outside, via, (host, port), proxy).await;
            }
            Err(refusal) => return refuse(inside, (host, port), &refusal, proxy).await,
        },
    };
    proxy.audit().refused(&Open::new(via, host, port), &refusal);
    refuse(inside, (host, port), &refusal, proxy).await
}

/// Says in the client's own protocol that it is refused, and closes.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(
    inside: Inside<S>,
    (host, port): (&str, u16),
    refusal: &Refusal,
    proxy: &Proxy,
) -> io::Result<()> {
    let (protocol, mut stream) = inside.into_parts();
    stream.write_all(&refusal.spoken(protocol, proxy.sandbox(), host, port)).await?;
    linger(stream).await
}

/// Answers the requests of a connection to one server, each as rules decide about it.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    asked: Server,
    via: Via,
    proxy: &Arc<Proxy>,
) -> io::Result<()> {
    let kept = Kept::default();
    let serve = service_fn(|request| async {
        Ok::<_, hyper::Error>(answer(request, &asked, via, &kept, proxy).await)
    });
    let served = server(proxy).serve_connection(TokioIo::new(stream), serve).await;
    ended(served, &Open::new(via, &asked.host, asked.port), proxy)
}

async fn answer(
    mut request: Request<Incoming>,
    asked: &Server,
    via: Via,
    kept: &Kept,
    proxy: &Arc<Proxy>,
) -> Response<Body> {
    let requested = Requested::new(request.method(), request.uri().path());
    let checked = check(&request, asked).and_then(|uri| {
        *request.uri_mut() = uri;
        credit(&mut request, asked, proxy)
    });
    match checked {
        Ok(credited) => {
            let response = send(request, asked, via, Some(requested), kept, proxy).await;
            // The proxy itself has no such answer here.
            if let (StatusCode::UNAUTHORIZED, Some(name)) = (response.status(), &credited) {
                proxy.reject(name);
            }
            response
        }
        Err(refusal) => {
            let open = Open::new(via, &asked.host, asked.port);
            proxy.audit().request_refused(&open, &requested, &refusal);
            refused(&refusal, proxy, &asked.host, asked.port)
        }
    }
}

/// Puts the credential of a server to which TLS is intercepted into a request to it, and returns the name of the credential.
fn credit<B>(request: &mut Request<B>, asked: &Server, proxy: &Proxy) -> Result<Option<String>, Refusal> {
    match proxy.interception(&asked.host, asked.port).filter(|_| asked.scheme == Scheme::Https) {
        Some(interception) => interception.credit(request, &asked.host, asked.port),
        None => Ok(None),
    }
}

/// Checks that a request is one to this server, and returns the whole URL that it is for.
fn check<B>(request: &Request<B>, asked: &Server) -> Result<Uri, Refusal> {
    let (method, uri) = (request.method(), request.uri());
    framing(method, request.headers())?;
    if matches!(*method, Method::CONNECT | Method::TRACE) {
        return Err(Refusal::Malformed("CONNECT and TRACE are not forwarded"));
    }
    let host = request.headers().get(HOST).ok_or(Refusal::Malformed("there is no `Host` header"))?;
    let host =
        Authority::try_from(host.as_bytes()).map_err(|_| Refusal::Malformed("the `Host` header is none"))?;
    // A whole URL wins over the header (RFC 9112, section 3.2.2).
    for named in [Some(&host), uri.authority()].into_iter().flatten() {
        asked.check(named)?;
    }
    if uri.scheme_str().is_some_and(|scheme| scheme != asked.scheme.to_string()) {
        return Err(Refusal::Mismatch(format!("the request is not for {}://", asked.scheme)));
    }
    let path = uri.path_and_query().map(ToString::to_string).filter(|path| path.starts_with('/'));
    let path = path.ok_or(Refusal::Malformed("the request has no path"))?;
    let host = asked.host.parse().map_err(Refusal::unreachable)?;
    let uri = format!("{}{path}", asked.scheme.origin(&host, asked.port));
    uri.parse().map_err(|_| Refusal::Malformed("the path is none"))
}

/// Sends a request for a whole URL to its server, if rules allow it. It is recorded with what is said of it, or as a connection alone.
pub(crate) async fn send(
    request: Request<Incoming>,
    asked: &Server,
    via: Via,
    requested: Option<Requested>,
    kept: &Kept,
    proxy: &Arc<Proxy>,
) -> Response<Body> {
    let Server { scheme, host, port } = asked;
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let wanted = Wanted::Request(network::Request { scheme: *scheme, method, path });
    let open = Open::new(via, host, *port);
    let single = match &requested {
        Some(_) => is_single(&request, proxy.is_for_requests(host, *port)),
        None => Ok(()),
    };
    let connected = match single {
        Ok(()) => connection(asked, &wanted, via, kept, proxy).await,
        Err(refusal) => Err(refusal),
    };
    let answered = match connected {
        Ok(connection) => {
            // What was connected for a request that is not decided by itself is recorded when it ends.
            let sent =
                requested.as_ref().map(|requested| proxy.audit().sent(&open, requested, &connection.rule()));
            let answered = connection.forward(request).await;
            if let Some(sent) = sent {
                sent.ended(answered.as_ref().map(|(response, _)| response.status()));
            }
            answered.map(|(response, connection)| {
                if let Some(connection) = connection {
                    kept.put(connection);
                }
                response
            })
        }
        Err(refusal) => {
            match &requested {
                Some(requested) => proxy.audit().request_refused(&open, requested, &refusal),
                None if host == PROBE => {}
                None => proxy.audit().refused(&open, &refusal),
            }
            Err(refusal)
        }
    };
    answered.unwrap_or_else(|refusal| refused(&refusal, proxy, host, *port))
}

/// Returns a connection to a server for one request: that of the last one, or another one.
async fn connection(
    asked: &Server,
    wanted: &Wanted,
    via: Via,
    kept: &Kept,
    proxy: &Arc<Proxy>,
) -> Result<ServerConnection, Refusal> {
    if let Some(connection) = kept.take(asked, wanted).await {
        return Ok(connection);
    }
    let outside = proxy.connect_for(wanted, via, &asked.host, asked.port).await?;
    ServerConnection::open(outside, asked, proxy).await
}

/// Checks that requests follow a request, and where rules decide about each, that it is what its first line says.
fn is_single<B>(request: &Request<B>, decided: bool) -> Result<(), Refusal> {
    let headers = request.headers();
    // HTTP/2 is offered by clients that go on without it.
    if headers.get_all(UPGRADE).iter().any(|protocol| protocol != "h2c") {
        return Err(Refusal::Upgrade);
    }
    let query = request.uri().query().unwrap_or_default().replace(';', "&");
    let names_method =
        || form_urlencoded::parse(query.as_bytes()).any(|(name, _)| credentials::is_method(&name));
    if decided && (headers.keys().any(|name| is_steering(name.as_str())) || names_method()) {
        return Err(Refusal::Steered);
    }
    Ok(())
}
