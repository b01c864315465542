//! Why a connection was refused, for the program that asked and for the person behind it.

use std::io;

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
    /// What was asked is none of this proxy's.
    #[error("{0}")]
    Malformed(&'static str),
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
            Self::Rule(_) => 403,
            Self::Unresolved(_) | Self::Unreachable(_) => 502,
            Self::Malformed(_) => 400,
        }
    }

    /// Describes it in JSON: the host, the rule that is missing, how a person allows it, and that to try again does not help.
    pub fn to_json(&self, host: &str, port: u16) -> String {
        let remedy = match self {
            Self::Rule(_) => Some(format!(
                "add \"{}\" to `allow` in `[network]` of sandbox.toml",
                if port == 443 { host.to_owned() } else { format!("{host}:{port}") }
            )),
            Self::Unresolved(_) | Self::Unreachable(_) | Self::Malformed(_) => None,
        };
        let error = match self {
            Self::Rule(_) => "egress.denied",
            Self::Unresolved(_) => "egress.unresolved",
            Self::Unreachable(_) => "egress.unreachable",
            Self::Malformed(_) => "egress.malformed",
        };
        let retry = matches!(self, Self::Unresolved(_) | Self::Unreachable(_));
        let body = Body { error, message: self.to_string(), host, port, remedy, retry };
        serde_json::to_string(&body).unwrap_or_default()
    }
}
