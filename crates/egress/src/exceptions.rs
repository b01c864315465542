//! Hosts that are reached without the proxy that this host is behind: `NO_PROXY`, as curl(1) and most others read it.

use std::net::IpAddr;

use policy::rules::network::Host;

/// A list of hosts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Exceptions(Vec<Exception>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Exception {
    hosts: Hosts,
    /// Only on this port.
    port: Option<u16>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Hosts {
    All,
    /// A name, and every name below it.
    Domain(String),
    /// Addresses that begin with so many bits of this one.
    Network(IpAddr, u32),
}

impl Exceptions {
    /// Reads a list. What is no host is passed over, as everybody does.
    pub(crate) fn new(list: &str) -> Self {
        let entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
        Self(entries.filter_map(Exception::new).collect())
    }

    /// Returns whether a host is among them.
    pub(crate) fn contain(&self, host: &Host, port: u16) -> bool {
        self.0
            .iter()
            .any(|exception| exception.port.is_none_or(|only| only == port) && exception.hosts.contain(host))
    }
}

impl Exception {
    fn new(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self { hosts: Hosts::All, port: None });
        }
        if let Some((network, bits)) = entry.split_once('/') {
            return Some(Self {
                hosts: Hosts::Network(network.parse().ok()?, bits.parse().ok()?),
                port: None,
            });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse().ok()?))
            }
            _ => (entry, None),
        };
        let host = host.strip_prefix('*').unwrap_or(host);
        let hosts = match host.strip_prefix('.').unwrap_or(host).parse().ok()? {
            Host::Name(name) => Hosts::Domain(name),
            Host::Address(address) => Hosts::Network(address, u32::MAX),
        };
        Some(Self { hosts, port })
    }
}

impl Hosts {
    fn contain(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::All, _) => true,
            (Self::Domain(domain), Host::Name(name)) => match name.strip_suffix(domain.as_str()) {
                Some(before) => before.is_empty() || before.ends_with('.'),
                None => false,
            },
            (Self::Network(IpAddr::V4(network), bits), Host::Address(IpAddr::V4(address))) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros() >= (*bits).min(32)
            }
            (Self::Network(IpAddr::V6(network), bits), Host::Address(IpAddr::V6(address))) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros() >= (*bits).min(128)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_curl_reads_it() {
        for (list, host, port, contained) in [
            ("", "example.org", 443, false),
            ("*", "example.org", 443, true),
            ("example.org", "example.org", 443, true),
            ("Example.ORG", "api.example.org", 443, true),
            (".example.org", "api.example.org", 443, true),
            ("*.example.org", "api.example.org", 443, true),
            ("example.org", "notexample.org", 443, false),
            ("a.test, example.org", "example.org", 443, true),
            ("example.org:8443", "example.org", 443, false),
            ("example.org:443", "example.org", 443, true),
            ("192.0.2.1", "192.0.2.1", 443, true),
            ("192.0.2.0/24", "192.0.2.77", 443, true),
            ("192.0.2.0/24", "192.0.3.1", 443, false),
            ("0.0.0.0/0", "192.0.3.1", 443, true),
            ("2001:db8::/32", "2001:db8:1::1", 443, true),
            ("[2001:db8::1]:443", "2001:db8::1", 443, true),
            ("192.0.2.1", "example.org", 443, false),
            ("a b\0c, /, :, 1.2.3/8, example.org", "example.org", 443, true),
        ] {
            assert_eq!(
                Exceptions::new(list).contain(&host.parse().unwrap(), port),
                contained,
                "{list:?} {host}"
            );
        }
    }
}
