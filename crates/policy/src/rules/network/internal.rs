//! Addresses that lead inwards: to the host itself, its neighbours or its cloud's metadata service.
//!
//! From the special-purpose address registries (RFC 6890 and its updates) and the clouds' own manuals.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::host::Host;

/// IPv4 networks, each with its prefix length and what it is. The first that fits is named.
const IPV4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "an address of this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    // Alibaba Cloud's metadata service, 100.100.100.200, lies in here.
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared private address"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    // Azure's wire server: a public address that only its own machines reach.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud metadata address"),
    // 169.254.169.254 is the metadata service of most clouds, 169.254.170.2 that of containers on AWS.
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local or cloud metadata address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    // Oracle Cloud's metadata service, 192.0.0.192, lies in here.
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a protocol or cloud metadata address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved or broadcast address"),
];

/// IPv6 networks, likewise.
const IPV6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::UNSPECIFIED, 128, "an address of this host"),
    // Local-use translation: the IPv4 address within may stand anywhere (RFC 8215).
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "a translated private address"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a Teredo tunnel"),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, "a cloud metadata address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private address"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "a link-local address"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "a site-local address"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast address"),
];

/// Metadata services of clouds, each with its prefix length: whoever reaches one has the credentials of the machine.
const METADATA: &[(IpAddr, u32)] = &[
    // Most clouds; containers on AWS (169.254.170.2 and .23); Tencent Cloud (169.254.0.23).
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    // Alibaba Cloud.
    (IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), 32),
    // Azure.
    (IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)), 32),
    // Oracle Cloud.
    (IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)), 32),
    // AWS.
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0)), 32),
    // OpenStack.
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe)), 128),
    // Scaleway.
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)), 128),
    // Google Cloud.
    (IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), 128),
];

/// Returns whether an address is that of a cloud's metadata service, in any form.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let within = |address: IpAddr| {
        METADATA.iter().any(|(network, length)| match (address, network) {
            (IpAddr::V4(address), IpAddr::V4(network)) => {
                (address.to_bits() ^ network.to_bits()).leading_zeros() >= *length
            }
            (IpAddr::V6(address), IpAddr::V6(network)) => {
                (address.to_bits() ^ network.to_bits()).leading_zeros() >= *length
            }
            _ => false,
        })
    };
    let translated = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => embedded(address).map(IpAddr::V4),
    };
    within(address) || translated.is_some_and(within)
}

/// Returns what a host is, if it leads inwards by what it is called.
pub(super) fn host(host: &Host) -> Option<&'static str> {
    match host {
        Host::Address(ip) => address(*ip),
        Host::Name(_) if host.is_localhost() => Some("a name of this host"),
        Host::Name(_) => None,
    }
}

/// Returns what an address is, if it leads inwards.
pub(super) fn address(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => ipv4(address),
        IpAddr::V6(address) => IPV6
            .iter()
            .find(|(network, length, _)| (address.to_bits() ^ network.to_bits()).leading_zeros() >= *length)
            .map(|(_, _, what)| *what)
            .or_else(|| embedded(address).and_then(ipv4)),
    }
}

fn ipv4(address: Ipv4Addr) -> Option<&'static str> {
    IPV4.iter()
        .find(|(network, length, _)| (address.to_bits() ^ network.to_bits()).leading_zeros() >= *length)
        .map(|(_, _, what)| *what)
}

/// Returns the IPv4 address that a gateway would dial for this one: NAT64 (RFC 6052), 6to4 (RFC 3056) and the old
/// IPv4-compatible form (RFC 4291).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., c, d] = address.segments();
    let low = Ipv4Addr::from_bits(u32::from(c) << 16 | u32::from(d));
    match address.segments() {
        [0x64, 0xff9b, 0 | 1, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0, ..] => Some(low),
        [0x2002, a, b, ..] => Some(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b))),
        _ => None,
    }
}
