//! Verdicts: allow, ask or deny, with the rule that decided and where it came from.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What may happen, from the most to the least permissive: the strictest of several decisions is their `max`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    /// A person decides.
    Ask,
    /// It does not happen, and asking again changes nothing.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Where a value or a rule came from, in the order of precedence: later wins.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "at")]
pub enum Origin {
    /// Built in.
    Default,
    /// A profile of an agent, by name.
    Profile(String),
    /// The user's own file.
    User(String),
    /// The project's `sandbox.toml`, as `path:line`.
    Project(String),
    /// A `SANDBOXCTL_*` variable, by name.
    Environment(String),
    /// A flag of the command line, by name.
    Flag(String),
    /// A command that has changed a sandbox while it runs, by name.
    Live(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile(at)
            | Self::User(at)
            | Self::Project(at)
            | Self::Environment(at)
            | Self::Flag(at)
            | Self::Live(at) => f.write_str(at),
        }
    }
}

/// A decision with its reason.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Verdict {
    pub decision: Decision,
    /// The rule that decided, in words a person can act on.
    pub rule: String,
    pub origin: Origin,
}

impl Verdict {
    /// Allows it, because of `rule`.
    pub fn allow(rule: impl Into<String>, origin: Origin) -> Self {
        Self { decision: Decision::Allow, rule: rule.into(), origin }
    }

    /// Denies it, because of `rule`.
    pub fn deny(rule: impl Into<String>, origin: Origin) -> Self {
        Self { decision: Decision::Deny, rule: rule.into(), origin }
    }

    /// Returns the stricter of two verdicts; the first when they are equally strict.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if other.decision > self.decision { other } else { self }
    }
}

/// How many names a verdict lists before it only counts the rest.
const LISTED: usize = 8;

/// Lists what would be allowed: the first few names, and how many more there are.
pub(crate) fn listing<T: fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(LISTED).map(|name| format!("`{name}`")).collect();
    match (shown.is_empty(), names.count()) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Escapes text from outside as messages show it: what could steer a terminal is escaped. Most has nothing to escape.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.escape_debug().to_string())
    }
}
