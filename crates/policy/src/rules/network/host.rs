//! Hosts and patterns of hosts, in one canonical form.
//!
//! The form that is checked is the form that is used. Whatever a resolver, a URL parser and this module could
//! read differently is refused rather than guessed at: a NUL that ends the name for C but not for Rust, the
//! spellings of IPv4 that only `inet_aton(3)` knows, letters outside ASCII.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the name of a preset begins with, where hosts are named.
pub const PRESET: &str = "preset:";

/// A host, canonical: a name in lower case without the trailing dot, or an address.
///
/// An IPv6 address that maps an IPv4 one (`::ffff:192.0.2.1`) is that IPv4 address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Host {
    /// A DNS name: labels of letters, digits, `-` and `_`.
    Name(String),
    Address(IpAddr),
}

/// Which hosts, and on which port, a rule is about; without a port it is about every port.
///
/// Written as `api.example.org`, `*.example.org`, `192.0.2.1` or `2001:db8::1`, each with an optional port
/// (`[2001:db8::1]:443`). A wildcard stands for one label or more, so it does not match the name below it.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String", try_from = "String")]
pub enum HostPattern {
    Exact {
        host: Host,
        port: Option<u16>,
    },
    /// Every name below this one.
    Below {
        /// What comes after `*.`, canonical.
        suffix: String,
        port: Option<u16>,
    },
}

/// Why a host or a pattern was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("an empty host; expected a name such as `api.example.org` or an address")]
    Empty,
    /// A character that no host has, NUL and other control characters among them.
    #[error("{given:?} has {character:?}, which no host has; expected a name such as `api.example.org`")]
    Character { given: String, character: char },
    /// A letter outside ASCII.
    #[error(
        "{given:?} has {character:?}; write international names in punycode, such as `xn--bcher-kva.example`"
    )]
    NotAscii { given: String, character: char },
    /// A URL, a path or a network.
    #[error(
        "`{given}` is more than a host; write only the host and an optional port, such as `api.example.org:443`"
    )]
    MoreThanHost { given: String },
    #[error(
        "`{given}` is not a host name; expected labels of 1 to 63 letters, digits, `-` or `_`, not beginning or ending with `-`, at most 253 characters in all"
    )]
    Label { given: String },
    /// A number that some resolvers take for an IPv4 address.
    #[error(
        "`{given}` ends in a number but is not an IPv4 address in the usual form; write it as four decimal numbers, such as `192.0.2.1`"
    )]
    NumericAddress { given: String },
    #[error(
        "`{given}` is not an IPv6 address; expected one such as `2001:db8::1` without a zone, or `[2001:db8::1]:443` with a port"
    )]
    Ipv6 { given: String },
    #[error("`{given}` has no port between 1 and 65535 after the colon; leave the colon out for every port")]
    Port { given: String },
    #[error(
        "`{given}` has a wildcard in the middle; only `*.` at the beginning is understood, such as `*.example.org`"
    )]
    Wildcard { given: String },
    #[error(
        "`{given}` is the address of a cloud's metadata service, which hands out the credentials of the machine; it is never allowed: give the credential that is needed in `[secrets]`"
    )]
    Metadata { given: String },
    #[error("`{given}` is no preset; after `preset:` comes one of {known}{meant}")]
    Preset { given: String, known: String, meant: String },
    #[error(
        "`{given}` alone is the name of a preset: write `preset:{given}` where hosts are allowed, or with its port what is a host, such as `{given}:443`"
    )]
    BarePreset { given: String },
    /// A preset where single hosts are named.
    #[error("`{given}` is a list of hosts to allow, each on one port; name the hosts themselves")]
    PresetHere { given: String },
    #[error(
        "`{given}` is no rule about requests; expected methods, a space and a URL, such as `GET,HEAD http://example.org/pub/*`"
    )]
    Request { given: String },
    #[error(
        "`{given}` begins with no methods; expected some such as `GET,HEAD`, or `*` for every one; CONNECT and TRACE are never forwarded"
    )]
    Methods { given: String },
    #[error(
        "`{given}` has no path that every server reads alike; expected one such as `/pub/index.html`, `/pub/*` or `/*` for every one, without a query, `%`, `;`, `//` and `..`"
    )]
    Path { given: String },
    #[error(
        "`{given}` is too wide; name at least two labels after `*.`, or set `[network] mode = \"open\"` to reach everything"
    )]
    TooWide { given: String },
}

impl Host {
    /// Returns whether this name stands for loopback whatever a resolver answers (RFC 6761, section 6.3).
    pub fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let given = || text.to_owned();
        // 1. Characters first, so that no later message and no later step sees a NUL.
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if !text.bytes().all(is_host_byte) {
            return address_or_mistake(text);
        }
        // 2. One trailing dot is the root of the DNS and changes nothing.
        let name = text.strip_suffix('.').unwrap_or(text);
        let mut labels = name.as_bytes().split(|byte| *byte == b'.');
        let is_label = |label: &[u8]| {
            (1..=63).contains(&label.len()) && !label.starts_with(b"-") && !label.ends_with(b"-")
        };
        if name.len() > 253 || !labels.clone().all(is_label) {
            return Err(HostError::Label { given: given() });
        }
        // 3. What ends in a number is an address or nothing, as the URL standard has it: `inet_aton(3)` takes
        //    `127.1`, `0x7f.1` and `2130706433` for 127.0.0.1, and no top-level domain is a number.
        if labels.next_back().is_some_and(is_number) {
            let address: Ipv4Addr = name.parse().map_err(|_| HostError::NumericAddress { given: given() })?;
            return Ok(Self::Address(address.into()));
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

impl HostPattern {
    /// Returns the port it is about; `None` is every port.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Exact { port, .. } | Self::Below { port, .. } => *port,
        }
    }

    /// Returns whether it names a host itself.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact { .. })
    }

    /// Returns whether it is about this host on this port.
    pub fn matches(&self, host: &Host, port: u16) -> bool {
        let port = Some(port);
        self.overlaps(&Self::Exact { host: host.clone(), port })
    }

    /// Returns whether it is about all that the other one is about.
    pub fn covers(&self, other: &Self) -> bool {
        let ports = self.port().is_none_or(|port| other.port() == Some(port));
        let is_below =
            |name: &str, suffix: &str| name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'));
        let hosts = match (self, other) {
            (Self::Exact { host: one, .. }, Self::Exact { host: other, .. }) => one == other,
            (Self::Below { suffix, .. }, Self::Exact { host, .. }) => {
                matches!(host, Host::Name(name) if is_below(name, suffix))
            }
            (Self::Below { suffix: one, .. }, Self::Below { suffix: other, .. }) => {
                one == other || is_below(other, one)
            }
            (Self::Exact { .. }, Self::Below { .. }) => false,
        };
        ports && hosts
    }

    /// Returns whether there is a host that both are about, on a port that both are about.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ports = self.port().zip(other.port()).is_none_or(|(one, other)| one == other);
        let is_below =
            |name: &str, suffix: &str| name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'));
        let hosts = match (self, other) {
            (Self::Exact { host: one, .. }, Self::Exact { host: other, .. }) => one == other,
            (Self::Exact { host, .. }, Self::Below { suffix, .. })
            | (Self::Below { suffix, .. }, Self::Exact { host, .. }) => {
                matches!(host, Host::Name(name) if is_below(name, suffix))
            }
            (Self::Below { suffix: one, .. }, Self::Below { suffix: other, .. }) => {
                one == other || is_below(one, other) || is_below(other, one)
            }
        };
        ports && hosts
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if let Some(character) = text.chars().find(|character| character.is_control()) {
            return Err(HostError::Character { given: text.to_owned(), character });
        }
        if text.starts_with(PRESET) {
            return Err(HostError::PresetHere { given: text.to_owned() });
        }
        let (host, port) = split_port(text)?;
        let Some(suffix) = host.strip_prefix('*') else {
            return Ok(Self::Exact { host: host.parse()?, port });
        };
        let too_wide = || HostError::TooWide { given: text.to_owned() };
        if suffix.is_empty() {
            return Err(too_wide());
        }
        let suffix =
            suffix.strip_prefix('.').ok_or_else(|| HostError::Wildcard { given: text.to_owned() })?;
        match suffix.parse()? {
            Host::Name(suffix) if suffix.contains('.') => Ok(Self::Below { suffix, port }),
            Host::Name(_) => Err(too_wide()),
            Host::Address(_) => Err(HostError::Wildcard { given: text.to_owned() }),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact { host, port: None } => write!(f, "{host}"),
            Self::Exact { host, port: Some(port) } => write!(f, "{}", HostAndPort { host, port: *port }),
            Self::Below { suffix, port: None } => write!(f, "*.{suffix}"),
            Self::Below { suffix, port: Some(port) } => write!(f, "*.{suffix}:{port}"),
        }
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl TryFrom<String> for HostPattern {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

/// A host with a port, shown the way it is written in a URL.
#[derive(Clone, Copy, Debug)]
pub struct HostAndPort<'a> {
    pub host: &'a Host,
    pub port: u16,
}

impl fmt::Display for HostAndPort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Splits `host:port`; several colons without brackets are an IPv6 address without a port.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    // A scheme would otherwise read as a host with a strange port.
    if text.contains("://") {
        return Err(HostError::MoreThanHost { given: text.to_owned() });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => (host, port),
        _ => return Ok((text, None)),
    };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port @ 1..) if digits => Ok((host, Some(port))),
        _ => Err(HostError::Port { given: text.to_owned() }),
    }
}

/// Reads a host with a character that no name has: an IPv6 address, or a mistake.
fn address_or_mistake(text: &str) -> Result<Host, HostError> {
    let given = text.to_owned();
    if let Some(character) = text.chars().find(|character| character.is_control()) {
        return Err(HostError::Character { given, character });
    }
    if let Some(character) = text.chars().find(|character| !character.is_ascii()) {
        return Err(HostError::NotAscii { given, character });
    }
    if text.contains(['/', '@', '?', '#']) {
        return Err(HostError::MoreThanHost { given });
    }
    if text.contains([':', '[', ']']) {
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        return match inner.parse::<Ipv6Addr>() {
            Ok(address) => Ok(Host::Address(address.to_canonical())),
            Err(_) => Err(HostError::Ipv6 { given }),
        };
    }
    match text.chars().find(|character| !u8::try_from(*character).is_ok_and(is_host_byte)) {
        None | Some('*') => Err(HostError::Wildcard { given }),
        Some(character) => Err(HostError::Character { given, character }),
    }
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// Returns whether `inet_aton(3)` could read this label as a number: decimal, octal or hexadecimal.
fn is_number(label: &[u8]) -> bool {
    let hexadecimal = label.strip_prefix(b"0x").or_else(|| label.strip_prefix(b"0X"));
    match hexadecimal {
        Some(digits) => digits.iter().all(u8::is_ascii_hexdigit),
        None => label.iter().all(u8::is_ascii_digit),
    }
}
