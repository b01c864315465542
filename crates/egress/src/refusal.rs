//! Why a connection was refused, for the program that asked and for the person behind it.

use std::io;
use std::time::Duration;

use policy::rules::verdict::Verdict;
use serde::Serialize;

/// Why nothing was dialled, or nobody answered.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A rule decided.
    #[error("{}", .0.rule)]
    Rule(Verdict),
    /// The name has no address.
    #[error("the name could not be resolved: {0}")]
    Unresolved(String),
    /// It has, and nobody answers there.
    #[error("the host could not be reached: {0}")]
    Unreachable(io::Error),
    /// Somebody does, and then says nothing.
    #[error("the host was reached, and has said nothing for {} s", .0.as_secs())]
    Silent(Duration),
    /// What a program says first is for another host than it has connected to.
    #[error("{0}")]
    Mismatch(String),
    /// What was asked is none of this proxy's.
    #[error("{0}")]
    Malformed(&'static str),
    /// What was said is no request.
    #[error("this is no request: {0}")]
    Unparsed(String),
    /// The sandbox has as many connections as it may have.
    #[error("the sandbox has {0} connections through its proxy, which are all that it may have at once")]
    Busy(usize),
}

/// A refusal as a program reads it.
#[derive(Debug, Serialize)]
struct Body<'a> {
    error: &'static str,
    message: String,
    host: &'a str,
    port: u16,
    /// How a person allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// Whether the same may succeed later without anybody doing anything.
    retry: bool,
}

impl Refusal {
    /// Returns the status of HTTP that says it.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Unparsed(_) => 400,
            Self::Rule(_) | Self::Mismatch(_) => 403,
            Self::Unresolved(_) | Self::Unreachable(_) => 502,
            Self::Busy(_) => 503,
            Self::Silent(_) => 504,
        }
    }

    /// Returns what programs tell refusals apart by.
    fn code(&self) -> &'static str {
        match self {
            Self::Rule(_) => "egress.denied",
            Self::Unresolved(_) => "egress.unresolved",
            Self::Unreachable(_) => "egress.unreachable",
            Self::Silent(_) => "egress.silent",
            Self::Mismatch(_) => "egress.mismatch",
            Self::Malformed(_) | Self::Unparsed(_) => "egress.malformed",
            Self::Busy(_) => "egress.busy",
        }
    }

    /// Returns whether the same may succeed later without anybody doing anything.
    fn retry(&self) -> bool {
        matches!(self, Self::Unresolved(_) | Self::Unreachable(_) | Self::Silent(_) | Self::Busy(_))
    }

    /// Describes it in JSON: the host, the rule that is missing, how a person allows it, and that to try again does not help.
    pub fn to_json(&self, host: &str, port: u16) -> String {
        let remedy = matches!(self, Self::Rule(_)).then(|| {
            let pattern = if port == 443 { host.to_owned() } else { format!("{host}:{port}") };
            format!("add \"{pattern}\" to `allow` in `[network]` of sandbox.toml")
        });
        let body =
            Body { error: self.code(), message: self.to_string(), host, port, remedy, retry: self.retry() };
        serde_json::to_string(&body).unwrap_or_default()
    }
}
