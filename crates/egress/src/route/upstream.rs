//! Where a route leads: a server by its URL.

use hyper::Uri;
use policy::rules::network::Host;

use super::error::RouteError;
use super::path::is_plain;

/// A server, and where below it a route begins.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Upstream {
    scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// What comes before each path; empty, or begins with a slash and does not end in one.
    pub(super) prefix: String,
}

/// How an upstream is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Scheme {
    Http,
    Https,
}

impl Upstream {
    pub(super) fn new(url: &str) -> Result<Self, RouteError> {
        let none = || RouteError::Upstream(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| none())?;
        let (scheme, usual) = match uri.scheme_str() {
            Some("https") => (Scheme::Https, 443),
            Some("http") => (Scheme::Http, 80),
            _ => return Err(none()),
        };
        let authority = uri.authority().ok_or_else(none)?;
        let host = authority.host().parse().map_err(|_| none())?;
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => usual,
            Some(rest) => rest
                .strip_prefix(':')
                .and_then(|port| port.parse().ok())
                .filter(|port| *port != 0)
                .ok_or_else(none)?,
            // What comes before the host is a user.
            None => return Err(none()),
        };
        let prefix = uri.path().trim_end_matches('/').to_owned();
        if uri.query().is_some() || !is_plain(&prefix) {
            return Err(none());
        }
        Ok(Self { scheme, host, port, prefix })
    }

    /// Returns its URL without a path.
    pub(super) fn origin(&self) -> String {
        let (scheme, usual) = match self.scheme {
            Scheme::Http => ("http", 80),
            Scheme::Https => ("https", 443),
        };
        let host = match &self.host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
            host => host.to_string(),
        };
        if self.port == usual {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", self.port)
        }
    }
}
