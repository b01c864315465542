//! What all connections of HTTP/1.1 have in common that are served here: how requests are read and refused, and how it ends.

use std::io;

use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1::Builder;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioTimer;

use crate::audit::Open;
use crate::body::{Body, whole};
use crate::limits::MAX_HEAD;
use crate::proxy::Proxy;
use crate::refusal::Refusal;

/// How much of a body is held at most while it passes.
pub(crate) const BUFFER: usize = 2 * MAX_HEAD;

/// Makes what reads the requests of a connection.
pub(crate) fn server(proxy: &Proxy) -> Builder {
    let mut server = Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(proxy.limits().kept);
    // The buffer grows beyond its own limit at times, so what must hold is said of the head.
    server.max_header_size(MAX_HEAD).max_buf_size(BUFFER);
    // Names of headers arrive as they were written: some servers look at that.
    server.preserve_header_case(true);
    server
}

/// Records how a connection has ended, where a request was none.
pub(crate) fn ended(served: hyper::Result<()>, open: &Open, proxy: &Proxy) -> io::Result<()> {
    served.map_err(|error| {
        if error.is_parse() || error.is_timeout() {
            proxy.audit().refused(open, &Refusal::Unparsed(error.to_string()));
        }
        io::Error::other(error)
    })
}

/// Answers that a request is refused.
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
