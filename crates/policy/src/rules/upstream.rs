//! Servers that a secret of `provider = "custom"` is for: where one is, and how it wants the credential.

use std::fmt;
use std::str::FromStr;

use crate::rules::network::HostPattern;
use crate::rules::url_path;

/// Headers that say how a message is framed, where it goes or what a connection does: a proxy makes them itself (RFC 9110, sections 7.6.1
/// and 11.7; RFC 9112, section 6).
const MADE_BY_THE_PROXY: [&str; 10] = [
    "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "trailers",
    "transfer-encoding", "upgrade",
];

/// Why a text is none of these.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UpstreamError {
    #[error("it is empty")]
    Empty,
    #[error("{0:?} is not an address; expected \"https://\" and a host")]
    NoUrl(String),
    #[error(
        "{0:?} has more than a scheme, a host, a port and a plain path; leave out users, queries, fragments, `..` and `%2f`"
    )]
    Url(String),
    #[error("{0:?} is no name of a header; expected letters, digits and \"-\", such as \"Authorization\"")]
    Header(String),
    #[error(
        "the egress proxy makes the header {0:?} itself; expected one for credentials, such as \"Authorization\""
    )]
    Reserved(String),
    #[error("{0:?} has not one place for the value; expected \"{{}}\" once, as in \"Bearer {{}}\"")]
    Template(String),
    #[error("{0:?} has a character that no header has; expected ASCII without control characters")]
    Character(String),
}

/// The URL of a server: `https://` or `http://`, a host, a port or none, and a path that every server reads in one way, or none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UpstreamUrl(String);

/// The header that a server wants a credential in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CredentialHeader(String);

/// What that header says; `{}` stands for the credential, once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeaderTemplate(String);

impl FromStr for UpstreamUrl {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let none = || UpstreamError::NoUrl(text.to_owned());
        let rest = rest.filter(|rest| !rest.contains(char::is_whitespace)).ok_or_else(none)?;
        let (server, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if server.is_empty() {
            return Err(none());
        }
        let more = || UpstreamError::Url(text.to_owned());
        let path = path.trim_end_matches('/');
        match server.parse() {
            Ok(HostPattern::Exact { port, .. }) if port != Some(0) => {}
            _ => return Err(more()),
        }
        let plain = path.is_ascii() && !path.contains(['?', '#']);
        if plain && (path.is_empty() || url_path::normal(path).is_some()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(more())
        }
    }
}

impl FromStr for CredentialHeader {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let lower = text.to_ascii_lowercase();
        if text.is_empty() {
            Err(UpstreamError::Empty)
        } else if !text.bytes().all(is_token) {
            Err(UpstreamError::Header(text.to_owned()))
        } else if MADE_BY_THE_PROXY.contains(&lower.as_str()) || lower.starts_with("proxy-") {
            Err(UpstreamError::Reserved(text.to_owned()))
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

impl FromStr for HeaderTemplate {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        if text.is_empty() {
            Err(UpstreamError::Empty)
        } else if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            Err(UpstreamError::Character(text.to_owned()))
        } else if text.matches("{}").count() != 1 {
            Err(UpstreamError::Template(text.to_owned()))
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

impl Default for HeaderTemplate {
    /// Returns that of the value alone.
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

/// Lets a type be shown as its text.
macro_rules! shown {
    ($($kind:ty),*) => {
        $(
            impl fmt::Display for $kind {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }
        )*
    };
}

shown!(UpstreamUrl, CredentialHeader, HeaderTemplate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_and_a_path_and_nothing_else() {
        for good in
            ["https://a.example.org", "http://127.0.0.1:8080/", "https://[2001:db8::1]/api", "https://a/b/"]
        {
            assert_eq!(good.parse::<UpstreamUrl>().map(|url| url.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            "", "a.example.org", "https://", "https:///api", "ftp://a.example.org",
            "https://me@a.example.org", "https://a.example.org:0", "https://a.example.org:x",
            "https://*.example.org", "https://a.example.org?q", "https://a.example.org/a?q",
            "https://a.example.org/#a", "https://a.example.org/a/../b", "https://a b",
            "https://a.example.org/a%2fb", "https://a.example.org/\n", "https://a.example.org//a",
            "https://a_\u{e9}/",
        ] {
            assert!(bad.parse::<UpstreamUrl>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_header_is_one_that_the_proxy_does_not_make_itself() {
        for good in ["Authorization", "x-api-key", "PRIVATE-TOKEN", "Cookie"] {
            assert!(good.parse::<CredentialHeader>().is_ok(), "{good}");
        }
        for bad in [
            "", "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive", "TE", "Trailer",
            "Upgrade", "Expect", "Proxy-Authorization", "proxy-connection", "a b", "a:", "a\r\nb", "\u{e9}",
            "a\0",
        ] {
            assert!(bad.parse::<CredentialHeader>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_template_has_one_place_for_the_value_and_what_a_header_may_have() {
        for good in ["{}", "Bearer {}", "Basic me:{}"] {
            assert!(good.parse::<HeaderTemplate>().is_ok(), "{good}");
        }
        for bad in ["", "Bearer", "{} {}", "a\r\nHost: b {}", "\u{e9} {}", "{\0}", "\t{}"] {
            assert!(bad.parse::<HeaderTemplate>().is_err(), "{bad:?}");
        }
    }
}
