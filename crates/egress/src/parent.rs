//! The proxy that the caller's own host is behind, as `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name it.
//!
//! Whatever goes through it is resolved there. So rules decide about the name alone, and nobody here sees whether it leads to an internal
//! address; what that proxy lets pass is its owner's decision. Internal addresses that are asked for as such are never sent there.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use policy::rules::network::{Host, HostAndPort, Request, Scheme, Wanted};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

use crate::exceptions::Exceptions;
use crate::refusal::Refusal;
use crate::secret::Secret;

/// How long the head of the proxy's answer may be.
const MAX_ANSWER: usize = 8 << 10;

/// Which proxy is asked for what. By default there is none.
#[derive(Clone, Debug, Default)]
pub struct Parent {
    https: Option<Arc<ParentProxy>>,
    http: Option<Arc<ParentProxy>>,
    exceptions: Exceptions,
}

/// A proxy of the host's.
#[derive(Debug)]
pub(crate) struct ParentProxy {
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// What `Proxy-Authorization` says.
    authorization: Option<Secret>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// Bytes of any kind, which another proxy passes on after a CONNECT.
    Tunnel,
    /// Requests of plain HTTP, which another proxy forwards itself. Many take CONNECT to port 443 alone.
    Requests,
}

/// A variable that names no proxy. What it says is not shown: it may hold a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{variable} names no proxy that can be used; expected http://HOST:PORT, with USER:PASSWORD@ before the host where it wants them"
)]
pub struct ParentError {
    variable: &'static str,
}

impl Parent {
    /// Takes the values of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, each if it is set. An empty one is not.
    ///
    /// # Errors
    ///
    /// A value is no URL of a proxy that is spoken to by plain HTTP.
    pub fn new(https: Option<&str>, http: Option<&str>, no_proxy: Option<&str>) -> Result<Self, ParentError> {
        let proxy = |value: Option<&str>, variable| match value.map(str::trim) {
            None | Some("") => Ok(None),
            Some(url) => {
                ParentProxy::new(url).map(|proxy| Some(Arc::new(proxy))).ok_or(ParentError { variable })
            }
        };
        Ok(Self {
            https: proxy(https, "HTTPS_PROXY")?,
            http: proxy(http, "HTTP_PROXY")?,
            exceptions: Exceptions::new(no_proxy.unwrap_or_default()),
        })
    }

    /// Returns the proxy that a host is reached through.
    pub(crate) fn of(&self, host: &Host, port: u16, purpose: Purpose) -> Option<&Arc<ParentProxy>> {
        let proxy = match purpose {
            Purpose::Tunnel => &self.https,
            Purpose::Requests => &self.http,
        };
        proxy.as_ref().filter(|_| !host.is_internal() && !self.exceptions.contain(host, port))
    }
}

impl Purpose {
    /// Returns what a connection is for on which this is wanted.
    pub(crate) fn of(wanted: &Wanted) -> Self {
        match wanted {
            Wanted::Request(Request { scheme: Scheme::Http, .. }) => Self::Requests,
            Wanted::Request(_) | Wanted::Requests | Wanted::Connection => Self::Tunnel,
        }
    }
}

impl ParentProxy {
    fn new(url: &str) -> Option<Self> {
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return None,
            None => url,
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()?),
            _ => (address, 80),
        };
        if port == 0 {
            return None;
        }
        let authorization = match user {
            Some(user) => Some(basic(user)?),
            None => None,
        };
        Some(Self { host: host.parse().ok()?, port, authorization })
    }

    /// Returns what `Proxy-Authorization` says, if it wants that.
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_ref().map(Secret::value)
    }

    /// Asks it for a tunnel to a host, on a connection to it.
    pub(crate) async fn tunnel(&self, stream: &mut TcpStream, host: &Host, port: u16) -> Result<(), Refusal> {
        let target = HostAndPort { host, port };
        let authorization = self.authorization().map(|value| format!("Proxy-Authorization: {value}\r\n"));
        let authorization = Zeroizing::new(authorization.unwrap_or_default());
        let asked =
            Zeroizing::new(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", *authorization));
        stream.write_all(asked.as_bytes()).await.map_err(Refusal::unreachable)?;
        match status(stream).await {
            Some(200..300) => Ok(()),
            Some(status) => Err(Refusal::Parent(format!("it answers {status}"))),
            None => Err(Refusal::Parent("it does not answer as a proxy does".to_owned())),
        }
    }
}

impl fmt::Display for ParentProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HostAndPort { host: &self.host, port: self.port }.fmt(f)
    }
}

/// Reads the head of an answer and not a byte more, because the host may be the first to speak. `None` where it is none.
async fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_ANSWER {
            return None;
        }
        head.push(stream.read_u8().await.ok()?);
    }
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut answer = httparse::Response::new(&mut headers);
    answer.parse(&head).ok()?;
    answer.code
}

/// Returns the credentials of a URL as `Basic` has them (RFC 7617). `None` where they are broken.
fn basic(user: &str) -> Option<Secret> {
    let decoded = Zeroizing::new(percent_decoded(user)?);
    let value = if decoded.contains(&b':') { decoded } else { Zeroizing::new([&decoded[..], b":"].concat()) };
    let encoded = Zeroizing::new(STANDARD.encode(&*value));
    Some(Secret::from(Zeroizing::new(format!("Basic {}", *encoded))))
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
        decoded.extend_from_slice(rest.as_bytes());
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str) -> Option<(String, Option<String>)> {
        let proxy = ParentProxy::new(url)?;
        Some((proxy.to_string(), proxy.authorization().map(str::to_owned)))
    }

    #[test]
    fn a_url_names_a_proxy() {
        for (url, at, authorization) in [
            ("http://proxy.example.org:3128", "proxy.example.org:3128", None),
            ("HTTP://192.0.2.1:3128/", "192.0.2.1:3128", None),
            ("proxy.example.org:3128", "proxy.example.org:3128", None),
            ("http://proxy.example.org", "proxy.example.org:80", None),
            ("http://[2001:db8::1]:3128", "[2001:db8::1]:3128", None),
            ("http://me:secret@proxy.example.org:3128", "proxy.example.org:3128", Some("Basic bWU6c2VjcmV0")),
            ("http://me:a%40b@proxy.example.org:3128", "proxy.example.org:3128", Some("Basic bWU6YUBi")),
            ("http://me@proxy.example.org:3128", "proxy.example.org:3128", Some("Basic bWU6")),
        ] {
            assert_eq!(proxy(url), Some((at.to_owned(), authorization.map(str::to_owned))), "{url}");
        }
        for url in [
            "https://proxy.example.org:3128", "socks5://proxy.example.org:1080", "http://",
            "http://proxy.example.org:0", "http://proxy.example.org:x", "http://proxy.example.org:3128/path",
            "http://me:%zz@proxy.example.org:3128",
        ] {
            assert_eq!(proxy(url), None, "{url}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let shown =
            format!("{:?}", Parent::new(Some("http://me:pa55word@proxy.example.org:3128"), None, None));
        assert!(
            shown.contains("proxy.example.org") && !shown.contains("pa55word") && !shown.contains("bWU6"),
            "{shown}"
        );
        let error = Parent::new(None, Some("https://me:pa55word@proxy.example.org"), None).unwrap_err();
        assert!(error.to_string().starts_with("HTTP_PROXY ") && !error.to_string().contains("pa55word"));
    }

    #[test]
    fn internal_addresses_and_exceptions_are_reached_directly() {
        let parent = Parent::new(Some("http://a:1"), Some("http://b:2"), Some("direct.example.org")).unwrap();
        let through =
            |host: &str, purpose| parent.of(&host.parse().unwrap(), 443, purpose).map(ToString::to_string);
        assert_eq!(through("api.example.org", Purpose::Tunnel).as_deref(), Some("a:1"));
        assert_eq!(through("192.0.2.1", Purpose::Requests).as_deref(), Some("b:2"));
        for host in ["direct.example.org", "localhost", "127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
            assert_eq!(through(host, Purpose::Tunnel), None, "{host}");
        }
        let parent = Parent::new(Some(""), None, None).unwrap();
        assert!(parent.of(&"api.example.org".parse().unwrap(), 443, Purpose::Tunnel).is_none());
    }
}
