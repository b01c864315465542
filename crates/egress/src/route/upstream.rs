//! Where a route leads: a server by its URL.

use hyper::Uri;
use policy::rules::network::{Host, Scheme};
use policy::rules::url_path;

use super::error::RouteError;

/// A server, and where below it a route begins.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Upstream {
    pub(super) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// What comes before each path; empty, or begins with a slash and does not end in one.
    pub(super) prefix: String,
}

impl Upstream {
    pub(crate) fn new(url: &str) -> Result<Self, RouteError> {
        let none = || RouteError::Upstream(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| none())?;
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::Https,
            Some("http") => Scheme::Http,
            _ => return Err(none()),
        };
        let authority = uri.authority().ok_or_else(none)?;
        let host = authority.host().parse().map_err(|_| none())?;
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => scheme.port(),
            Some(rest) => rest
                .strip_prefix(':')
                .and_then(|port| port.parse().ok())
                .filter(|port| *port != 0)
                .ok_or_else(none)?,
            // What comes before the host is a user.
            None => return Err(none()),
        };
        let prefix = uri.path().trim_end_matches('/').to_owned();
        if uri.query().is_some() || !(prefix.is_empty() || url_path::normal(&prefix).is_some()) {
            return Err(none());
        }
        Ok(Self { scheme, host, port, prefix })
    }

    /// Returns whether a path is at the URL or below it; `None` where servers could differ.
    pub(crate) fn has(&self, path: &str) -> Option<bool> {
        let below = |path: String| {
            path.strip_prefix(&self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.prefix.is_empty() { Some(true) } else { url_path::normal(path).map(below) }
    }

    /// Returns its URL without a path.
    pub(super) fn origin(&self) -> String {
        self.scheme.origin(&self.host, self.port)
    }
}
