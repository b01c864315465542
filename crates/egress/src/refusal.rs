//! Why a connection was refused, for the program that asked and for the person behind it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::HeaderName;
use policy::rules::network::{Host, HostAndPort, HostRules, Pattern, Wanted};
use policy::rules::verdict::{Decision, Verdict};
use serde::Serialize;

use crate::first_bytes::Protocol;

/// A TLS record with a fatal alert (RFC 8446, section 6), but for what it says.
const ALERT: [u8; 6] = [21, 3, 3, 0, 2, 2];
const ACCESS_DENIED: u8 = 49;
const INTERNAL_ERROR: u8 = 80;
const UNRECOGNIZED_NAME: u8 = 112;

/// Why nothing was dialled, or nobody answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{}", .0.rule)]
    Rule(Verdict),
    /// A rule about requests decided, about this one, which could be allowed unless a rule of `deny` says otherwise.
    #[error("{}", .0.rule)]
    Request(Verdict, Option<String>),
    /// A rule has allowed it, and then this went wrong before anything was sent.
    #[error("{why}")]
    Failed { rule: String, why: Box<Self> },
    #[error("the name could not be resolved: {0}")]
    Unresolved(String),
    #[error("the host could not be reached: {0}")]
    Unreachable(Arc<io::Error>),
    #[error("the proxy that this host is behind, from HTTPS_PROXY or HTTP_PROXY, opens no tunnel: {0}")]
    Parent(String),
    #[error("the host could not be spoken to by TLS: {0}")]
    Tls(String),
    #[error(
        "the program ended the TLS that the proxy intercepts: {0}; does it believe the authorities in SSL_CERT_FILE?"
    )]
    Distrusted(String),
    #[error("the host was reached, and has said nothing for {} s", .0.as_secs())]
    Silent(Duration),
    /// What a program says first is for another host than it has connected to.
    #[error("{0}")]
    Mismatch(String),
    /// What was asked is none of this proxy's.
    #[error("{0}")]
    Malformed(&'static str),
    #[error("this is no request: {0}")]
    Unparsed(String),
    #[error("the sandbox has {0} connections through its proxy, which are all that it may have at once")]
    Busy(usize),
    #[error(
        "the sandbox has passed {0} bytes through its proxy, which are all that it may: `[limits] network_bytes` says how many"
    )]
    Volume(u64),
    /// The path names none of these routes.
    #[error(
        "this is the egress proxy of a sandbox: it takes CONNECT, a request for a whole URL, or a path that begins with one of its routes"
    )]
    NoRoute(Vec<String>),
    #[error(
        "`/{0}/` wants the token of this sandbox as the key, from the variable that holds it; there is none, or another one"
    )]
    Token(String),
    #[error(
        "requests to this server get the credential `{0}` from the proxy; they bring no other one than the token of this sandbox, and here is another in `{1}`"
    )]
    Credential(String, HeaderName),
    #[error("`/{route}/` is not for this method and path")]
    Operation {
        route: String,
        /// What it is for.
        allowed: Vec<String>,
    },
    /// The client wants to go on in another protocol.
    #[error("requests are decided here one by one, and no other protocol follows: do without WebSocket")]
    Upgrade,
    #[error(
        "rules decide about the method, the host and the path of this request, and a header or the query names others: do without `X-HTTP-Method-Override`, `X-Forwarded-…`, `X-Original-URL`, `X-Amz-Copy-Source`, `_method` and the like, and without names of headers that have more than letters, digits and hyphens"
    )]
    Steered,
}

/// What a refusal is to programs.
struct Row {
    /// What they distinguish refusals by.
    code: &'static str,
    /// The status of HTTP that says it.
    status: u16,
    /// Whether the same may succeed later without anybody doing anything.
    retry: bool,
}

/// A refusal as a program reads it.
#[derive(Debug, Serialize)]
struct Body<'a> {
    error: &'static str,
    message: String,
    host: &'a str,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<&'a [String]>,
    /// How a person allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// Whether the same may succeed later without anybody doing anything.
    retry: bool,
}

impl Refusal {
    /// Makes one of an error on the way to a host.
    pub(crate) fn unreachable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unreachable(Arc::new(io::Error::other(error)))
    }

    /// Makes one of a verdict about what was wanted of a host: of a request, where another one may be sent there.
    pub(crate) fn by_rule(
        verdict: Verdict,
        rules: &HostRules,
        (host, port): (&str, u16),
        wanted: &Wanted,
    ) -> Self {
        let others = || rules.decide_wanted(host, None, port, &Wanted::Requests).decision == Decision::Allow;
        match (wanted, host.parse()) {
            (Wanted::Request(request), Ok(host)) if others() => {
                let rule =
                    format!("{} {}{}", request.method, request.scheme.origin(&host, port), request.path);
                Self::Request(verdict, Some(rule).filter(|_| !rules.denies(&host, port, wanted)))
            }
            _ => Self::Rule(verdict),
        }
    }

    /// Says that a rule had allowed it, where what has decided is not a rule itself.
    #[must_use]
    pub(crate) fn although(self, rule: &str) -> Self {
        match self {
            Self::Rule(_) | Self::Request(..) | Self::Failed { .. } => self,
            why => Self::Failed { rule: rule.to_owned(), why: Box::new(why) },
        }
    }

    /// Returns the status of HTTP that says it.
    pub(crate) fn status(&self) -> u16 {
        self.row().status
    }

    /// Returns its row in the table of codes.
    fn row(&self) -> Row {
        let (code, status, retry) = match self {
            Self::Failed { why, .. } => return why.row(),
            Self::Rule(_) | Self::Request(..) => ("egress.denied", 403, false),
            Self::Mismatch(_) => ("egress.mismatch", 403, false),
            Self::Steered => ("egress.steered", 403, false),
            Self::Volume(_) => ("egress.volume", 403, false),
            Self::Credential(..) => ("egress.credential", 403, false),
            Self::Operation { .. } => ("egress.operation", 403, false),
            Self::Token(_) => ("egress.token", 401, false),
            Self::NoRoute(_) => ("egress.no_route", 400, false),
            Self::Malformed(_) | Self::Unparsed(_) => ("egress.malformed", 400, false),
            Self::Distrusted(_) => ("egress.tls", 400, false),
            Self::Upgrade => ("egress.upgrade", 426, false),
            Self::Tls(_) => ("egress.tls", 502, false),
            Self::Parent(_) => ("egress.parent", 502, false),
            Self::Unresolved(_) => ("egress.unresolved", 502, true),
            Self::Unreachable(_) => ("egress.unreachable", 502, true),
            Self::Busy(_) => ("egress.busy", 503, true),
            Self::Silent(_) => ("egress.silent", 504, true),
        };
        Row { code, status, retry }
    }

    /// Returns whether the connection to the host has failed, and neither a rule nor what the sandbox does is the cause.
    pub(crate) fn is_connection_failure(&self) -> bool {
        matches!(
            self,
            Self::Unresolved(_) | Self::Unreachable(_) | Self::Silent(_) | Self::Parent(_) | Self::Tls(_)
        )
    }

    /// Describes it in JSON: the host, the rule that is missing, how a person allows it, and that to try again does not help. The
    /// sandbox is that of this name.
    pub fn to_json(&self, sandbox: Option<&str>, host: &str, port: u16) -> String {
        // What is no host cannot be allowed, and not every path can be written in a rule.
        let pattern = match self {
            Self::Rule(_) if port > 0 => {
                host.parse().ok().map(|host: Host| HostAndPort { host: &host, port }.to_string())
            }
            Self::Request(_, Some(request)) => {
                request.parse().ok().map(|pattern: Pattern| pattern.to_string())
            }
            _ => None,
        };
        let remedy = pattern.map(|pattern| {
            let word = if pattern.contains(' ') { format!("'{pattern}'") } else { pattern.clone() };
            let now =
                sandbox.map(|name| format!(", or while it runs `sandboxctl egress allow {name} {word}`"));
            format!("add \"{pattern}\" to `allow` in `[network]` of sandbox.toml{}", now.unwrap_or_default())
        });
        let allowed = match self {
            Self::Operation { allowed, .. } | Self::NoRoute(allowed) => Some(allowed.as_slice()),
            _ => None,
        };
        let (Row { code: error, retry, .. }, message) = (self.row(), self.to_string());
        let body = Body { error, message, host, port, allowed, remedy, retry };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// Returns it as an answer of HTTP to a connection that has no request of which it could be the answer.
    pub(crate) fn to_http(&self, sandbox: Option<&str>, host: &str, port: u16) -> Vec<u8> {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::FORBIDDEN);
        let body = self.to_json(sandbox, host, port);
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .into_bytes()
    }

    /// Returns it as a client understands it that speaks this; nothing where no word of that protocol is known.
    pub(crate) fn spoken(&self, protocol: Protocol, sandbox: Option<&str>, host: &str, port: u16) -> Vec<u8> {
        match protocol {
            Protocol::Tls => {
                let alert = match self {
                    Self::Mismatch(_) => UNRECOGNIZED_NAME,
                    Self::Rule(_) | Self::Request(..) => ACCESS_DENIED,
                    _ => INTERNAL_ERROR,
                };
                [&ALERT[..], &[alert]].concat()
            }
            Protocol::Http => self.to_http(sandbox, host, port),
            Protocol::Other => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn the_page_lists_every_code_with_its_status() {
        let (source, page) = (include_str!("refusal.rs"), include_str!("../../../docs/network.md"));
        let table =
            source.split_once("let (code, status, retry)").and_then(|(_, rest)| rest.split_once("};"));
        let in_table: BTreeSet<(&str, &str, bool)> = table
            .map(|(rows, _)| rows.lines())
            .into_iter()
            .flatten()
            .filter_map(|line| line.split_once("=> (\"")?.1.strip_suffix("),")?.split_once("\", "))
            .filter_map(|(code, rest)| {
                rest.split_once(", ").map(|(status, retry)| (code, status, retry == "true"))
            })
            .collect();
        let on_page: BTreeSet<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `egress.").map(|rest| (line.split('`').nth(1), rest)))
            .flat_map(|(code, rest)| {
                let mut cells = rest.split(" | ").skip(1);
                let (statuses, retry) = (cells.next().unwrap_or_default(), cells.next() == Some("yes"));
                statuses.split(", ").map(move |status| (code.unwrap_or_default(), status, retry))
            })
            .collect();
        assert_eq!(in_table.len(), 17);
        assert_eq!(in_table, on_page);
    }
}
