//! Any host, port, request and patterns: what is allowed was named, a denial wins, and nothing inward is reached by a pattern or by a name.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use policy::rules::network::{
    Host, HostPattern, HostRule, HostRules, NetworkMode, Pattern, Request, Scheme, Wanted,
};
use policy::rules::url_path;
use policy::rules::verdict::{Decision, Origin};

/// Parts of hosts and of requests: chance puts few of them together by letters.
const PARTS: [&str; 40] = [
    "example", ".", "org", "*", "localhost", "127.0.0.1", "0x7f", "10", ":", "443", "80", "[", "]", "::1",
    "::ffff:", "a", "-", "_", "EXAMPLE", "xn--", "169.254.169.254", "\0", "ä", "/", "GET http://",
    "* http://", "PUT,GET http://", "GET https://", "GET", "get", "/*", "/a/*", "/a", "/..", "%2e", "%61",
    "//", ";", "A", " ",
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

fuzz_target!(|input: (Vec<u8>, u16, Vec<Vec<u8>>, Vec<Vec<u8>>, [u8; 16], Vec<u8>)| {
    let (host, port, allow, deny, address, path) = input;
    let port = if port % 2 == 0 { 443 } else { port };
    let texts = |all: &[Vec<u8>]| -> Vec<String> { all.iter().map(|one| text(one)).collect() };
    let (allow, deny) = (texts(&allow), texts(&deny));
    let (text, path) = (text(&host), text(&path));
    let patterns = |texts: &[String]| -> Vec<Pattern> {
        let parsed: Vec<Pattern> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        for pattern in &parsed {
            assert_eq!(pattern.to_string().parse().as_ref(), Ok(pattern), "what is shown is what is meant");
        }
        parsed
    };
    let (allow, deny) = (patterns(&allow), patterns(&deny));
    let rules = |patterns: &[Pattern]| -> Vec<HostRule> {
        patterns.iter().map(|pattern| HostRule::new(pattern.clone(), Origin::Default)).collect()
    };
    let all = HostRules::new(NetworkMode::Allowlist, rules(&allow), rules(&deny));
    let none = HostRules::new(NetworkMode::None, rules(&allow), rules(&deny));
    assert_eq!(none.decide(&text, port).decision, Decision::Deny);

    let request = Request { scheme: Scheme::Http, method: "GET".to_owned(), path };
    let allows = |wanted: &Wanted| all.decide_wanted(&text, None, port, wanted).decision == Decision::Allow;
    let allowed = all.decide(&text, port).decision == Decision::Allow;
    let requested = allows(&Wanted::Request(request.clone()));
    let opened = allows(&Wanted::Requests);
    assert!(!(allowed || requested) || opened, "what is allowed of requests opens a connection for them");
    assert!(!allowed || requested, "who may pass anything may send any request");
    let host: Option<Host> = text.parse().ok();
    let Some(host) = host else {
        assert!(!allowed && !opened, "{text:?} is no host");
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
    let whole = |pattern: &Pattern| matches!(pattern, Pattern::Hosts(hosts) if matches(hosts));
    let any = |pattern: &Pattern| matches(pattern.hosts());
    assert!(!allowed || allow.iter().any(whole), "{host} was not named");
    assert!(!opened || allow.iter().any(any), "{host} was not named");
    assert!(!opened || !deny.iter().any(whole), "{host} was denied");
    assert!(!allowed || !deny.iter().any(any), "nobody would see what is denied of {host}");

    // What a rule describes, read again from the rule as it is shown.
    let path = url_path::normal(&request.path);
    let describes = |pattern: &Pattern| {
        let shown = pattern.to_string();
        let (methods, url) = shown.split_once(' ').unwrap_or_default();
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let below = rest.find('/').map(|slash| &rest[slash..]).unwrap_or_default();
        let fixed = below.trim_end_matches('*');
        let has_path = match &path {
            Some(path) if fixed == below => path == below,
            Some(path) => path.starts_with(fixed),
            None => fixed == "/" && below == "/*",
        };
        any(pattern)
            && scheme == "http"
            && methods.split(',').any(|one| matches!(one, "*" | "GET"))
            && has_path
    };
    assert!(
        !requested || allow.iter().any(|one| whole(one) || describes(one)),
        "{request:?} was not described"
    );
    assert!(!requested || !deny.iter().any(|one| whole(one) || describes(one)), "{request:?} was denied");

    // A name leads nowhere inwards, whatever it resolves to.
    let address = IpAddr::from(address).to_canonical();
    let resolved = all.decide_resolved(&text, address, port).decision == Decision::Allow;
    let wanted = Wanted::Request(request);
    let sent = all.decide_wanted(&text, Some(address), port, &wanted).decision == Decision::Allow;
    assert!((!resolved || allowed) && (!sent || requested), "an address allows no name");
    let named = |pattern: &Pattern| matches!(pattern.hosts(), HostPattern::Exact { host: Host::Address(own), .. } if *own == address);
    let inwards = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    let localhost = matches!(&host, Host::Name(name) if name == "localhost" || name.ends_with(".localhost"));
    let is_named = allow.iter().any(named) || localhost;
    assert!(!((resolved || sent) && inwards) || is_named, "{host} leads to {address}");
});
