//! Headers that end at a proxy, and are taken out of what passes through it.

use hyper::body::Body;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

/// Headers that are about one connection and not about the message (RFC 9110, section 7.6.1), beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 6] =
    [CONNECTION, TE, TRAILER, UPGRADE, HeaderName::from_static("keep-alive"), MAX_FORWARDS];

/// How names begin of what a proxy is told, and nobody behind it.
const FOR_PROXY: &str = "proxy-";

/// Takes out what ends here.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let for_proxy: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(FOR_PROXY)).cloned().collect();
    for name in HOP_BY_HOP.iter().chain(&for_proxy).chain(&named) {
        headers.remove(name);
    }
}

/// Has the server close the connection after a request that has a body, and returns whether it has one. A server that answers without
/// reading the body would read it as the next request, which nobody has decided about. All this is about HTTP/1.1: a client of HTTP/2
/// leaves these headers out.
pub(crate) fn close_after(headers: &mut HeaderMap, body: &impl Body) -> bool {
    let has_body = !body.is_end_stream();
    if has_body {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        // HTTP/2 needs no length, and without one hyper takes no GET for one that has a body.
        if !headers.contains_key(CONTENT_LENGTH) {
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    has_body
}
