//! Requests on a route: checked, given their credential, and sent to the upstream. Nothing is stored, and redirects are passed on.

use std::error::Error;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, UPGRADE};
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy::connect::capture_connection;
use policy::rules::network::Wanted;
use policy::rules::verdict::{Decision, Verdict};
use tokio::time::timeout;

use crate::audit::{Open, Requested, Via};
use crate::body::{Body, Leaving, patient};
use crate::headers::{close_after, strip};
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::route::{Route, find};

/// What a request came to: an answer of the upstream's, or a refusal, with where it was to go.
pub(crate) type RoutedResponse = Result<Response<Body>, (Refusal, String, u16)>;

/// How servers refuse a credential: it is none, or it may not do this, which some say of one that has expired.
const REJECTED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];

/// Answers a request for a path of this proxy's own.
pub(crate) async fn answer(request: Request<Incoming>, proxy: &Arc<Proxy>) -> RoutedResponse {
    let current = proxy.live().get();
    let Some((route, path)) = find(&current.routes, request.uri().path()) else {
        let names = current.routes.iter().map(|route| route.name.clone()).collect();
        let refusal = Refusal::NoRoute(names);
        proxy.audit().refused(&Open::new(Via::Http, "", 0), &refusal);
        return Err((refusal, String::new(), 0));
    };
    let (host, port) = (route.upstream.host.to_string(), route.upstream.port);
    let open = Open::new(Via::Route, &host, port);
    let requested = Requested::new(request.method(), request.uri().path());
    // Connections to upstreams are kept: rules may have changed since one was decided about.
    let wanted = Wanted::Request(route.request(request.method(), path));
    let denied = || match current.upstreams.decide_wanted(&host, None, port, &wanted) {
        Verdict { decision: Decision::Allow, .. } => Ok(()),
        verdict => Err(Refusal::Rule(verdict)),
    };
    let checked = check(&request, route, path).and_then(|uri| denied().map(|()| uri));
    let answered = match checked {
        Ok(uri) => {
            let sent = proxy.audit().sent(&open, &requested, &format!("route `{}`", route.name));
            let answered = send(request, route, uri, proxy).await;
            sent.ended(answered.as_ref().map(Response::status));
            answered
        }
        Err(refusal) => {
            proxy.audit().request_refused(&open, &requested, &refusal);
            Err(refusal)
        }
    };
    if let Ok(response) = &answered {
        if route.credential.is_some() && REJECTED.contains(&response.status()) {
            proxy.reject(&route.name);
        }
    }
    answered.map_err(|refusal| (refusal, host, port))
}

/// Checks that a request may be sent, and returns as what.
fn check(request: &Request<Incoming>, route: &Route, path: &str) -> Result<Uri, Refusal> {
    if !route.admits(request.headers()) {
        return Err(Refusal::Token(route.name.clone()));
    }
    // A connection that changes its protocol would carry requests that nobody looks at. This comes first, because clients that try
    // WebSocket go on with HTTP after a 426, and after a 403 they give up or try again.
    if request.headers().contains_key(UPGRADE) {
        return Err(Refusal::Upgrade);
    }
    route.resolve(request.method(), path, request.uri().query())
}

async fn send(
    request: Request<Incoming>,
    route: &Route,
    uri: Uri,
    proxy: &Arc<Proxy>,
) -> Result<Response<Body>, Refusal> {
    let (mut head, body) = request.into_parts();
    strip(&mut head.headers);
    // The upstream's is set with its URL.
    head.headers.remove(HOST);
    route.credit(&mut head.headers).map_err(Refusal::unreachable)?;
    (head.uri, head.version) = (uri, Version::HTTP_11);
    let idle = proxy.limits().idle;
    let is_last = close_after(&mut head.headers, &body);
    let mut request = Request::from_parts(head, Leaving(body));
    let captured = capture_connection(&mut request);
    let answered = timeout(idle, proxy.sender(route).request(request)).await;
    if let (true, Some(connection)) = (is_last, &*captured.connection_metadata()) {
        // By HTTP/2 no body is taken for a request, and the others stay.
        if !connection.is_negotiated_h2() {
            connection.poison();
        }
    }
    let response = answered.map_err(|_| Refusal::Silent(idle))?.map_err(|error| cause(&error))?;
    let (mut head, body) = response.into_parts();
    strip(&mut head.headers);
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(head, patient(body, idle)))
}

/// Returns what went wrong beneath an error of the client.
fn cause(error: &hyper_util::client::legacy::Error) -> Refusal {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let mut deepest = String::new();
    while let Some(error) = next {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return refusal.clone();
        }
        deepest = error.to_string();
        next = error.source();
    }
    Refusal::unreachable(deepest)
}
