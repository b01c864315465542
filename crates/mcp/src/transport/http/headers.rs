//! Whom the server answers: the names in Host and Origin, against pages that have a name of their own lead to this address (DNS rebinding).

use std::net::{IpAddr, SocketAddr};

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;

/// The names that the server answers to.
pub(super) struct NameList {
    address: SocketAddr,
    names: Vec<String>,
}

/// What is wrong with the headers of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    Host,
    Origin,
}

impl NameList {
    /// Makes the list for an address: names of the loopback and the address itself, and these.
    pub(super) fn new(address: SocketAddr, names: Vec<String>) -> Self {
        Self { address, names }
    }

    /// Checks who is asked, and who asks.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::Host) };
        let authority =
            host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()).ok_or(Refusal::Host)?;
        let is_here = authority.port_u16().is_none_or(|port| port == self.address.port());
        if !(self.is_name(authority.host()) || (is_here && self.is_address(authority.host()))) {
            return Err(Refusal::Host);
        }
        // Programs send none.
        let all_are_ours = headers.get_all(ORIGIN).iter().all(|origin| self.is_origin(origin));
        if all_are_ours { Ok(()) } else { Err(Refusal::Origin) }
    }

    fn is_origin(&self, origin: &HeaderValue) -> bool {
        let uri = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        // On whatever port: it has to show the token, too.
        uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| self.is_name(host) || self.is_address(host))
        })
    }

    fn is_name(&self, host: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    fn is_address(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<IpAddr>().ok();
        host.eq_ignore_ascii_case("localhost")
            || address.is_some_and(|address| {
                address.is_loopback() || (!address.is_unspecified() && address == self.address.ip())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: Option<&str>, origin: Option<&str>) -> Result<(), Refusal> {
        let names = NameList::new("127.0.0.1:8000".parse().unwrap(), vec!["mcp.example.org".to_owned()]);
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        names.check(&headers)
    }

    #[test]
    fn answers_to_its_own_names_and_no_other() {
        for host in [
            "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "localhost", "mcp.example.org",
            "MCP.example.org:443",
        ] {
            assert_eq!(check(Some(host), None), Ok(()), "{host}");
        }
        for host in [
            "evil.example", "localhost:8001", "localhost.evil.example:8000", "127.0.0.1.evil.example",
            "0.0.0.0:8000", "", "a b", "10.0.0.1:8000",
        ] {
            assert_eq!(check(Some(host), None), Err(Refusal::Host), "{host}");
        }
        assert_eq!(check(None, None), Err(Refusal::Host));
    }

    #[test]
    fn a_page_of_somebody_else_is_refused_and_a_program_has_no_page() {
        for origin in
            ["http://localhost:3000", "http://127.0.0.1", "https://mcp.example.org", "http://[::1]:9"]
        {
            assert_eq!(check(Some("localhost:8000"), Some(origin)), Ok(()), "{origin}");
        }
        for origin in [
            "http://evil.example", "null", "file://localhost", "https://localhost.evil.example", "localhost",
            "",
        ] {
            assert_eq!(check(Some("localhost:8000"), Some(origin)), Err(Refusal::Origin), "{origin}");
        }
    }
}
