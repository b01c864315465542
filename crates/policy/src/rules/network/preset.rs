//! Presets: hosts that are allowed together under one name, because a tool needs all of them.
//!
//! To add a host is to add it to a row, with what the vendor's page says and when. Rows name exact hosts and ports, no wildcards:
//! what a file asks for by a preset must be the same hosts for everybody who reads it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::host::{HostError, HostPattern, PRESET};
use super::request::Pattern;
use crate::text::suggest;

/// One row of the table.
#[derive(Debug)]
pub struct PresetRow {
    pub name: &'static str,
    /// Which programs need it.
    pub tools: &'static str,
    /// Its hosts, each with a port.
    pub hosts: &'static [&'static str],
    /// The vendor's page about them.
    pub source: &'static str,
    /// When that page said so.
    pub date: &'static str,
}

/// The table, by name.
pub const PRESETS: &[PresetRow] = &[
    PresetRow {
        name: "anthropic",
        tools: "Claude Code, Anthropic SDKs",
        hosts: &["api.anthropic.com:443", "claude.ai:443", "platform.claude.com:443"],
        source: "https://code.claude.com/docs/en/network-config",
        date: "2026-11-23",
    },
    PresetRow {
        name: "crates",
        tools: "Cargo",
        hosts: &["index.crates.io:443", "static.crates.io:443"],
        source: "https://doc.rust-lang.org/cargo/reference/registry-index.html",
        date: "2026-11-23",
    },
    PresetRow {
        name: "debian",
        tools: "apt",
        hosts: &[
            "deb.debian.org:80", "deb.debian.org:443", "security.debian.org:80", "security.debian.org:443",
        ],
        source: "https://wiki.debian.org/SourcesList",
        date: "2026-11-23",
    },
    PresetRow {
        name: "github",
        tools: "git over HTTPS and SSH, gh",
        hosts: &[
            "github.com:22",
            "github.com:443",
            "api.github.com:443",
            "codeload.github.com:443",
            "github-cloud.githubusercontent.com:443",
            "objects.githubusercontent.com:443",
            "raw.githubusercontent.com:443",
            "release-assets.githubusercontent.com:443",
        ],
        source: "https://docs.github.com/en/actions/concepts/runners/communicating-with-self-hosted-runners",
        date: "2026-11-23",
    },
    PresetRow {
        name: "npm",
        tools: "npm, pnpm, Yarn",
        hosts: &["registry.npmjs.org:443"],
        source: "https://docs.npmjs.com/cli/using-npm/registry",
        date: "2026-11-23",
    },
    PresetRow {
        name: "openai",
        tools: "Codex, OpenAI SDKs",
        hosts: &["api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"],
        source: "https://developers.openai.com/codex/auth",
        date: "2026-11-23",
    },
    PresetRow {
        name: "pypi",
        tools: "pip, uv, Poetry",
        hosts: &["files.pythonhosted.org:443", "pypi.org:443"],
        source: "https://docs.pypi.org/api/index-api/",
        date: "2026-11-23",
    },
];

/// A preset: one of [`PRESETS`]. Written as `preset:npm`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(into = "String", try_from = "String")]
pub struct Preset(&'static PresetRow);

/// What a list of allowed hosts has: a pattern, or a preset.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "String", try_from = "String")]
pub enum AllowedHosts {
    Pattern(Pattern),
    Preset(Preset),
}

impl Preset {
    /// Returns its hosts.
    pub fn patterns(self) -> impl Iterator<Item = HostPattern> {
        // A test reads all of them.
        self.0.hosts.iter().filter_map(|host| host.parse().ok())
    }
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Preset {}

/// Reads what names hosts, and refuses the name of a preset alone: who writes it means the preset.
pub fn not_bare<T: FromStr<Err = HostError>>(text: &str) -> Result<T, HostError> {
    if PRESETS.iter().any(|row| row.name == text) {
        return Err(HostError::BarePreset { given: text.to_owned() });
    }
    text.parse()
}

impl FromStr for Preset {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let name = text.strip_prefix(PRESET).unwrap_or(text);
        let found = PRESETS.iter().find(|row| row.name == name);
        found.map(Self).ok_or_else(|| {
            let names = || PRESETS.iter().map(|row| row.name);
            let meant = suggest::nearest(name, names());
            let meant = meant.map(|name| format!("; did you mean `{PRESET}{name}`?")).unwrap_or_default();
            let known = names().collect::<Vec<_>>().join(", ");
            HostError::Preset { given: format!("{PRESET}{name}"), known, meant }
        })
    }
}

impl FromStr for AllowedHosts {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.starts_with(PRESET) {
            return text.parse().map(Self::Preset);
        }
        let pattern: Pattern = not_bare(text)?;
        match pattern.hosts() {
            HostPattern::Exact { host, .. } if host.is_metadata() => {
                Err(HostError::Metadata { given: text.to_owned() })
            }
            _ => Ok(Self::Pattern(pattern)),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PRESET}{}", self.0.name)
    }
}

impl fmt::Display for AllowedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Preset(preset) => preset.fmt(f),
        }
    }
}

/// Lets a type be written as its text.
macro_rules! as_text {
    ($($kind:ty),*) => {
        $(
            impl From<$kind> for String {
                fn from(value: $kind) -> Self {
                    value.to_string()
                }
            }

            impl TryFrom<String> for $kind {
                type Error = HostError;

                fn try_from(text: String) -> Result<Self, HostError> {
                    text.parse()
                }
            }
        )*
    };
}

as_text!(Preset, AllowedHosts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_hosts_with_ports() {
        for row in PRESETS {
            let preset: Preset = format!("{PRESET}{}", row.name).parse().unwrap();
            let patterns: Vec<_> = preset.patterns().collect();
            assert_eq!(patterns.len(), row.hosts.len(), "{preset}");
            let is_exact =
                |pattern: &HostPattern| matches!(pattern, HostPattern::Exact { port: Some(_), .. });
            assert!(patterns.iter().all(is_exact), "{preset}: {patterns:?}");
            assert!(row.source.starts_with("https://") && row.date.len() == "2026-01-01".len(), "{preset}");
        }
        assert!(PRESETS.is_sorted_by_key(|row| row.name));
    }
}
