//! Any host, port and patterns: what is allowed was named, a denial wins, and nothing inward is reached by a pattern or by a name.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use policy::rules::network::{Host, HostPattern, HostRule, HostRules, NetworkMode, Pattern};
use policy::rules::verdict::{Decision, Origin};

/// Parts of hosts: chance puts few of them together by letters.
const PARTS: [&str; 24] = [
    "example", ".", "org", "*", "localhost", "127.0.0.1", "0x7f", "10", ":", "443", "80", "[", "]", "::1",
    "::ffff:", "a", "-", "_", "EXAMPLE", "xn--", "169.254.169.254", "\0", "ä", "/",
];

/// Makes a text of parts, or of any letters.
fn text(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((first, rest)) if first % 4 != 0 => {
            rest.iter().map(|byte| PARTS[usize::from(*byte) % PARTS.len()]).collect()
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fuzz_target!(|input: (Vec<u8>, u16, Vec<Vec<u8>>, Vec<Vec<u8>>, [u8; 16])| {
    let (host, port, allow, deny, address) = input;
    let port = if port % 2 == 0 { 443 } else { port };
    let texts = |all: &[Vec<u8>]| -> Vec<String> { all.iter().map(|one| text(one)).collect() };
    let (allow, deny) = (texts(&allow), texts(&deny));
    let text = text(&host);
    let patterns = |texts: &[String]| -> Vec<HostPattern> {
        let parsed: Vec<HostPattern> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        for pattern in &parsed {
            assert_eq!(pattern.to_string().parse().as_ref(), Ok(pattern), "what is shown is what is meant");
        }
        parsed
    };
    let (allow, deny) = (patterns(&allow), patterns(&deny));
    let rules = |patterns: &[HostPattern]| -> Vec<HostRule> {
        patterns
            .iter()
            .map(|pattern| HostRule {
                pattern: Pattern::Hosts(pattern.clone()),
                preset: None,
                origin: Origin::Default,
            })
            .collect()
    };
    let all = HostRules::new(NetworkMode::Allowlist, rules(&allow), rules(&deny));
    let none = HostRules::new(NetworkMode::None, rules(&allow), rules(&deny));
    assert_eq!(none.decide(&text, port).decision, Decision::Deny);

    let allowed = all.decide(&text, port).decision == Decision::Allow;
    let host: Option<Host> = text.parse().ok();
    let Some(host) = host else {
        assert!(!allowed, "{text:?} is no host");
        return;
    };
    assert_eq!(host.to_string().parse(), Ok(host.clone()), "one form of a host");
    let matches = |pattern: &HostPattern| {
        pattern.port().is_none_or(|own| own == port)
            && match (pattern, &host) {
                (HostPattern::Exact { host: own, .. }, host) => own == host,
                (HostPattern::Below { suffix, .. }, Host::Name(name)) => {
                    name.strip_suffix(suffix.as_str()).is_some_and(|above| above.ends_with('.'))
                }
                (HostPattern::Below { .. }, Host::Address(_)) => false,
            }
    };
    assert!(!allowed || allow.iter().any(matches), "{host} was not named");
    assert!(!allowed || !deny.iter().any(matches), "{host} was denied");

    // A name leads nowhere inwards, whatever it resolves to.
    let address = IpAddr::from(address).to_canonical();
    let resolved = all.decide_resolved(&text, address, port).decision == Decision::Allow;
    assert!(!resolved || allowed, "an address allows no name");
    let named = allow.iter().any(
        |pattern| matches!(pattern, HostPattern::Exact { host: Host::Address(own), .. } if *own == address),
    );
    let inwards = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    let localhost = matches!(&host, Host::Name(name) if name == "localhost" || name.ends_with(".localhost"));
    assert!(!(resolved && inwards) || named || localhost, "{host} leads to {address}");
});
