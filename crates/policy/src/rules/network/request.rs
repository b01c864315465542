//! Rules about requests: which methods of which URLs, such as `GET,HEAD http://example.org/pub/*`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::host::{Host, HostError, HostPattern};
use crate::rules::url_path;

/// What one rule is about. Written as a pattern of hosts, or as methods and a pattern of URLs.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String", try_from = "String")]
pub enum Pattern {
    /// Whatever passes between the sandbox and these hosts.
    Hosts(HostPattern),
    /// These requests alone.
    Requests(RequestPattern),
}

/// Requests that a rule is about.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestPattern {
    methods: Methods,
    scheme: Scheme,
    /// With a port, always.
    hosts: HostPattern,
    /// A path in its normal form, or with `*` at the end all that go on there.
    path: String,
}

#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Methods {
    Every,
    These(BTreeSet<String>),
}

/// How requests are sent.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scheme {
    Http,
    Https,
}

/// A request, as far as rules look at it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    pub scheme: Scheme,
    pub method: String,
    /// As it is sent, without the query.
    pub path: String,
}

impl Scheme {
    /// Returns the port where a URL names none.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Returns the URL of a server, without a path.
    pub fn origin(self, host: &Host, port: u16) -> String {
        let host = match host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
            host => host.to_string(),
        };
        if port == self.port() { format!("{self}://{host}") } else { format!("{self}://{host}:{port}") }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl Pattern {
    /// Returns the hosts that it is about.
    pub fn hosts(&self) -> &HostPattern {
        match self {
            Self::Hosts(hosts) => hosts,
            Self::Requests(requests) => &requests.hosts,
        }
    }

    /// Returns why nobody could hold anything to it: requests within TLS are seen where TLS is intercepted, and nowhere else.
    pub fn unseen(&self, intercepted: &[HostPattern]) -> Option<String> {
        let Self::Requests(requests) = self else { return None };
        let seen = || intercepted.iter().any(|hosts| hosts.covers(&requests.hosts));
        (requests.scheme == Scheme::Https && !seen()).then(|| {
            format!(
                "`{self}` is about requests within TLS, which are seen where it is intercepted; add `{0}` to `[network] intercept`, or \
                 name the host itself, `{0}`, or requests of `http://`",
                requests.hosts
            )
        })
    }
}

impl RequestPattern {
    /// Returns how its requests are sent.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns whether it allows a request to such a host. A path that servers could read in two ways is allowed where every path is.
    pub(super) fn allows(&self, request: &Request) -> bool {
        let has_method = match &self.methods {
            Methods::Every => true,
            Methods::These(methods) => methods.contains(&request.method),
        };
        let has_path = || {
            self.path == "/*"
                || url_path::normal(&request.path).is_some_and(|path| url_path::matches(&self.path, &path))
        };
        self.scheme == request.scheme && has_method && has_path()
    }

    /// Returns whether it denies a request to such a host: also where a server could only take it for one of these, by letters of another
    /// case, by a slash at the end, as servers on Windows do, or by a path that it could read in two ways.
    pub(super) fn denies(&self, request: &Request) -> bool {
        let has_method = match &self.methods {
            Methods::Every => true,
            Methods::These(methods) => methods.contains(&request.method.to_uppercase()),
        };
        let has_path = || {
            let Some(path) = url_path::normal(&request.path) else { return true };
            let (path, pattern) = (path.to_lowercase() + "/", self.path.to_lowercase());
            [url_path::on_windows(&path), path].iter().any(|path| match pattern.strip_suffix('*') {
                Some(above) => path.starts_with(above),
                None => path.trim_end_matches('/') == pattern.trim_end_matches('/'),
            })
        };
        has_method && has_path()
    }
}

impl FromStr for RequestPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let given = || text.to_owned();
        let (methods, url) = text.split_once(' ').ok_or_else(|| HostError::Request { given: given() })?;
        let (scheme, rest) = match url.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            _ => return Err(HostError::Request { given: given() }),
        };
        let methods = match methods {
            "*" => Methods::Every,
            list if list.split(',').all(is_method) => {
                Methods::These(list.split(',').map(str::to_owned).collect())
            }
            _ => return Err(HostError::Methods { given: given() }),
        };
        let slash = rest.find('/').ok_or_else(|| HostError::Path { given: given() })?;
        let (hosts, path) = rest.split_at(slash);
        let hosts = match hosts.parse()? {
            HostPattern::Exact { host, port } => {
                HostPattern::Exact { host, port: port.or(Some(scheme.port())) }
            }
            HostPattern::Below { suffix, port } => {
                HostPattern::Below { suffix, port: port.or(Some(scheme.port())) }
            }
        };
        let fixed = path.strip_suffix('*').unwrap_or(path);
        match url_path::normal(fixed) {
            // What is compared is the decoded form, and what is shown is written again.
            Some(normal) if normal == fixed && !fixed.contains(['*', ' ', '#', '`', '"', '\'']) => {
                Ok(Self { methods, scheme, hosts, path: path.to_owned() })
            }
            _ => Err(HostError::Path { given: given() }),
        }
    }
}

/// Returns whether this is a method that a request can have which is forwarded: methods are distinguished by case, and those that are in use
/// have capital letters.
fn is_method(text: &str) -> bool {
    let is_of_method =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(is_of_method)
        && !matches!(text, "CONNECT" | "TRACE")
}

impl FromStr for Pattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        // Control characters are reported where hosts are read.
        if text.contains(' ') && text.contains("://") && !text.contains(char::is_control) {
            text.parse().map(Self::Requests)
        } else {
            text.parse().map(Self::Hosts)
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts(hosts) => hosts.fmt(f),
            Self::Requests(requests) => requests.fmt(f),
        }
    }
}

impl fmt::Display for RequestPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.methods {
            Methods::Every => f.write_str("*")?,
            Methods::These(methods) => {
                for (number, method) in methods.iter().enumerate() {
                    write!(f, "{}{method}", if number == 0 { "" } else { "," })?;
                }
            }
        }
        write!(f, " {}://{}{}", self.scheme, Authority(&self.hosts, self.scheme), self.path)
    }
}

/// Hosts as a URL of this scheme has them.
struct Authority<'a>(&'a HostPattern, Scheme);

impl fmt::Display for Authority<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.to_string();
        let usual = self.0.port() == Some(self.1.port());
        f.write_str(shown.strip_suffix(&format!(":{}", self.1.port())).filter(|_| usual).unwrap_or(&shown))
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl TryFrom<String> for Pattern {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}
