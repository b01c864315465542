//! What a request of HTTP asks a proxy for, decided by its first line and its headers alone.

use std::net::Ipv6Addr;

use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::http::uri::Authority;
use hyper::{Method, Uri};
use policy::rules::network::{Host, Scheme};

use crate::refusal::Refusal;

/// The port of plain HTTP.
const HTTP: u16 = 80;

/// What a request asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// A host: not yet decided about, perhaps not even a name.
    Host {
        /// A name, or an address without brackets.
        host: String,
        port: u16,
    },
    /// A path of the proxy's own.
    Own,
}

/// Returns what a request asks for, or why that is nothing to a proxy.
///
/// # Errors
///
/// The target is none that a proxy takes: neither `HOST:PORT` after CONNECT, nor a whole URL of plain HTTP, nor a path (RFC 9112, section
/// 3.2).
pub fn target(method: &Method, uri: &Uri) -> Result<Target, Refusal> {
    let is_connect = method == Method::CONNECT;
    let authority = match uri.authority() {
        Some(authority) => authority,
        None if is_connect => return Err(Refusal::Malformed("CONNECT names no host")),
        None => return Ok(Target::Own),
    };
    if !is_connect && uri.scheme_str() != Some("http") {
        return Err(Refusal::Malformed("only http:// is forwarded: for everything else use CONNECT"));
    }
    let (host, port) = split(authority)?;
    match port {
        Some(port) => Ok(Target::Host { host, port }),
        None if is_connect => Err(Refusal::Malformed("CONNECT names no port")),
        None => Ok(Target::Host { host, port: HTTP }),
    }
}

/// Splits an authority into a host, without brackets, and the port where it names one.
///
/// # Errors
///
/// It names a user as well, or no port after a colon.
pub(crate) fn split(authority: &Authority) -> Result<(String, Option<u16>), Refusal> {
    if authority.as_str().contains('@') {
        return Err(Refusal::Malformed("the target names a user"));
    }
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    // Brackets around anything else stay, and are refused as no part of a name.
    let host = address.filter(|address| address.parse::<Ipv6Addr>().is_ok()).unwrap_or(host).to_owned();
    // What follows the host is read here: `Authority::port` takes an empty port and one above 65535 for none, and none is another port.
    let after = authority.as_str().get(authority.host().len()..).unwrap_or_default();
    let no_port = Refusal::Malformed("the port is no number from 1 to 65535");
    let port = match (after, after.strip_prefix(':')) {
        ("", _) => return Ok((host, None)),
        (_, Some(port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            port.parse().map_err(|_| no_port)?
        }
        // Something else behind the host: a library may pass over it.
        _ => return Err(no_port),
    };
    if port == 0 {
        return Err(Refusal::Malformed("no server listens on port 0"));
    }
    Ok((host, Some(port)))
}

/// Checks that everybody who reads this request finds its end in the same place (RFC 9112, sections 3.2 and 6.3).
///
/// The parser has refused or removed the rest by now: a header folded over two lines, a space before a colon, two lengths that differ, a
/// length beside chunks.
///
/// # Errors
///
/// The body is framed in a way that servers read differently, or two hosts are named.
pub fn framing(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(first) = encodings.next() {
        if encodings.next().is_some() || !first.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(Refusal::Malformed("`Transfer-Encoding` is something else than `chunked`"));
        }
    }
    if headers.get_all(HOST).iter().count() > 1 {
        return Err(Refusal::Malformed("there are two `Host` headers"));
    }
    let no_length = headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0");
    if method == Method::CONNECT && (headers.contains_key(TRANSFER_ENCODING) || !no_length) {
        return Err(Refusal::Malformed("CONNECT has a body"));
    }
    Ok(())
}

/// The server that requests of a connection are for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Server {
    pub(crate) scheme: Scheme,
    /// A name or an address.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Server {
    /// Checks that an authority names this server.
    pub(crate) fn check(&self, named: &Authority) -> Result<(), Refusal> {
        let (host, port) = split(named)?;
        let is_same = host.parse::<Host>().is_ok() && host.parse::<Host>() == self.host.parse();
        if is_same && port.is_none_or(|port| port == self.port) {
            return Ok(());
        }
        let asked = format!("`{}:{}`", self.host, self.port);
        Err(Refusal::Mismatch(format!(
            "the request is for {:?}, and the connection is to {asked}",
            named.as_str()
        )))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn asked(method: &str, uri: &str) -> Result<(String, u16), String> {
        let uri = uri.parse().map_err(|_| "no URI".to_owned())?;
        target(&method.parse().unwrap(), &uri).map_err(|refusal| refusal.to_string()).and_then(|target| {
            match target {
                Target::Host { host, port } => Ok((host, port)),
                Target::Own => Err("a path".to_owned()),
            }
        })
    }

    #[test]
    fn a_target_is_a_host_and_a_port() {
        for (method, uri, host, port) in [
            ("CONNECT", "api.example.org:443", "api.example.org", 443),
            ("CONNECT", "[2001:db8::1]:22", "2001:db8::1", 22),
            ("GET", "http://api.example.org", "api.example.org", 80),
            ("GET", "http://api.example.org:8080/path?query", "api.example.org", 8080),
            ("GET", "http://[2001:db8::1]/", "2001:db8::1", 80),
            ("GET", "http://[api]/", "[api]", 80),
        ] {
            assert_eq!(asked(method, uri), Ok((host.to_owned(), port)), "{method} {uri}");
        }
    }

    #[test]
    fn what_could_be_read_as_another_host_or_port_is_refused() {
        for (method, uri) in [
            ("CONNECT", "api.example.org"),
            ("CONNECT", "api.example.org:"),
            ("CONNECT", "api.example.org:0"),
            ("CONNECT", "api.example.org:65536"),
            ("CONNECT", "api.example.org:+443"),
            ("CONNECT", "me@api.example.org:443"),
            ("CONNECT", "/path"),
            ("GET", "/path"),
            ("OPTIONS", "*"),
            ("GET", "http://api.example.org:/"),
            ("GET", "http://[2001:db8::1]80/"),
            ("GET", "http://[2001:db8::1]x:80/"),
            ("CONNECT", "[2001:db8::1]443"),
            ("GET", "http://api.example.org:99999/"),
            ("GET", "http://me@api.example.org/"),
            ("GET", "https://api.example.org/"),
            ("GET", "ftp://api.example.org/"),
            ("GET", "api.example.org:80"),
        ] {
            assert!(asked(method, uri).is_err(), "{method} {uri}: {:?}", asked(method, uri));
        }
    }

    #[test]
    fn a_body_that_servers_frame_differently_is_refused() {
        let check = |method: &Method, headers: &[(hyper::header::HeaderName, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            let mut map = HeaderMap::new();
            headers.for_each(|(name, value)| _ = map.append(name, value));
            framing(method, &map).is_ok()
        };
        assert!(check(&Method::POST, &[(TRANSFER_ENCODING, "Chunked"), (HOST, "a")]));
        assert!(check(&Method::CONNECT, &[(CONTENT_LENGTH, "0")]));
        assert!(!check(&Method::POST, &[(TRANSFER_ENCODING, "gzip, chunked")]));
        assert!(!check(&Method::POST, &[(TRANSFER_ENCODING, "identity"), (TRANSFER_ENCODING, "chunked")]));
        assert!(!check(&Method::POST, &[(HOST, "a"), (HOST, "b")]));
        assert!(!check(&Method::CONNECT, &[(CONTENT_LENGTH, "4")]));
        assert!(!check(&Method::CONNECT, &[(TRANSFER_ENCODING, "chunked")]));
    }
}
