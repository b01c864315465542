//! Forwarding: a request to its server and the answer back, without what was for this proxy.

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use policy::rules::network::Scheme;
use tokio::time::timeout;

use crate::body::{Body, passing};
use crate::headers::strip;
use crate::outside::Outside;
use crate::parent::ParentProxy;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::sender::Stream;
use crate::serving::BUFFER;
use crate::tls;

/// Forwards a request for a whole URL, and the answer. Bodies pass as they arrive.
pub(crate) async fn forward(
    request: Request<Incoming>,
    outside: Outside,
    scheme: Scheme,
    proxy: &Proxy,
) -> Result<Response<Body>, Refusal> {
    let idle = proxy.limits().idle;
    let (ends, traffic) = (outside.ends(idle), outside.traffic());
    // It forwards what is plain itself, and opens tunnels for the rest.
    let parent = outside.parent().filter(|_| scheme == Scheme::Http);
    let stream: Box<dyn Stream> = match scheme {
        Scheme::Http => Box::new(outside),
        Scheme::Https => {
            let host = request.uri().host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let secured = timeout(proxy.limits().connect, tls::connect(proxy.tls(), host, outside)).await;
            let silent = || Refusal::Tls("the server does not answer".to_owned());
            Box::new(secured.map_err(|_| silent())??)
        }
    };
    traffic.expect_answer();
    let mut client = hyper::client::conn::http1::Builder::new();
    client.preserve_header_case(true).max_buf_size(BUFFER);
    let (mut sender, connection) =
        client.handshake(TokioIo::new(stream)).await.map_err(Refusal::unreachable)?;
    let connected = tokio::spawn(async move {
        let ended = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::TimedOut => Refusal::Silent(idle),
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
