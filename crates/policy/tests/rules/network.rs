use std::collections::BTreeSet;
use std::net::IpAddr;

use policy::rules::network::preset::AllowedHosts;
use policy::rules::network::{AllowedPorts, Host, HostError, HostPattern, HostRule, HostRules, NetworkMode};
use policy::rules::verdict::{Decision, Origin};

fn rules(mode: NetworkMode, allow: &[&str], deny: &[&str]) -> HostRules {
    let parse = |list: &[&str], key: &str| -> Vec<HostRule> {
        list.iter()
            .map(|text| {
                HostRule::new(text.parse().expect("a pattern"), Origin::Project(format!("{key}: {text}")))
            })
            .collect()
    };
    HostRules::new(mode, parse(allow, "allow"), parse(deny, "deny"))
}

fn allowlist(allow: &[&str]) -> HostRules {
    rules(NetworkMode::Allowlist, allow, &[])
}

fn allows(rules: &HostRules, host: &str, port: u16) -> bool {
    rules.decide(host, port).decision == Decision::Allow
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_pattern_has_one_canonical_form() {
    for (text, canonical) in [
        ("API.GitHub.com", "api.github.com"),
        ("api.github.com.", "api.github.com"),
        ("api.github.com.:443", "api.github.com:443"),
        ("*.Example.org", "*.example.org"),
        ("*.example.org:8443", "*.example.org:8443"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("_srv.example.org", "_srv.example.org"),
        ("1and1.example", "1and1.example"),
    ] {
        let pattern: HostPattern = text.parse().expect(text);
        assert_eq!(pattern.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(pattern), "the canonical form of {text} is itself canonical");
    }
}

#[test]
fn patterns_that_could_be_read_in_two_ways_are_refused() {
    let error = |text: &str| text.parse::<HostPattern>().expect_err(text);
    assert_eq!(error(""), HostError::Empty);
    for text in
        ["evil.org\0.example.org", "a\nb.example", "a b.example", "a%2eb.example", "a\\b", "a,b", "\u{7f}"]
    {
        assert!(matches!(error(text), HostError::Character { .. }), "{text:?}");
    }
    for text in ["bücher.example", "exampl\u{435}.org", "example\u{3002}org", "*.bücher.example"] {
        assert!(matches!(error(text), HostError::NotAscii { .. }), "{text:?}");
        assert!(error(text).to_string().contains("punycode"));
    }
    for text in
        ["0x7f.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "1.2.3.4.5", "256.1.1.1", "a.1", "0x"]
    {
        assert!(matches!(error(text), HostError::NumericAddress { .. }), "{text:?}");
    }
    for text in ["a..b", ".a.b", "a.b..", "-a.b", "a-.b", "."] {
        assert!(matches!(error(text), HostError::Label { .. }), "{text:?}");
    }
    assert!(matches!(error(&"a".repeat(64)), HostError::Label { .. }));
    assert!("a.".repeat(127).parse::<HostPattern>().is_ok(), "253 characters and the trailing dot");
    assert!(matches!(error(&format!("{}a", "a.".repeat(127))), HostError::Label { .. }));
    for text in ["https://example.org", "example.org/path", "user@example.org", "10.0.0.0/8"] {
        assert!(matches!(error(text), HostError::MoreThanHost { .. }), "{text:?}");
    }
    for text in ["example.org:", "example.org:0", "example.org:65536", "example.org:+1", "example.org:x"] {
        assert!(matches!(error(text), HostError::Port { .. }), "{text:?}");
    }
    for text in ["fe80::1%eth0", "[::1", "::1]", "1:2:3", "[::1]x:1", "[127.0.0.1]"] {
        assert!(matches!(error(text), HostError::Ipv6 { .. }), "{text:?}");
    }
    for text in ["*", "*:443", "*.com", "*.localhost"] {
        assert!(matches!(error(text), HostError::TooWide { .. }), "{text:?}");
    }
    for text in ["*example.org", "a.*.org", "*.*.org", "example.*", "*.0.0.1", "*.127.0.0.1"] {
        assert!(
            matches!(error(text), HostError::Wildcard { .. } | HostError::NumericAddress { .. }),
            "{text:?}"
        );
    }
}

#[test]
fn an_exact_host_matches_itself_however_it_is_spelt() {
    let rules = allowlist(&["api.github.com:443"]);
    assert!(allows(&rules, "api.github.com", 443));
    assert!(allows(&rules, "API.GITHUB.COM.", 443));
    for host in ["github.com", "x.api.github.com", "api.github.com.evil.org", "xapi.github.com"] {
        assert!(!allows(&rules, host, 443), "{host}");
    }
    assert!(!allows(&rules, "api.github.com", 80));
}

#[test]
fn a_wildcard_matches_below_and_not_the_name_itself() {
    let rules = allowlist(&["*.example.org"]);
    for host in ["a.example.org", "a.b.c.example.org", "A.Example.Org."] {
        assert!(allows(&rules, host, 22), "{host}");
    }
    for host in
        ["example.org", "aexample.org", "example.org.evil.net", ".example.org", "evil.net\0.example.org"]
    {
        assert!(!allows(&rules, host, 22), "{host:?}");
    }
}

#[test]
fn deny_wins_over_allow() {
    let rules = rules(
        NetworkMode::Allowlist,
        &["*.example.org", "192.0.2.7"],
        &["*.secret.example.org", "192.0.2.7:22"],
    );
    assert!(allows(&rules, "www.example.org", 443));
    assert!(allows(&rules, "secret.example.org", 443));
    assert!(!allows(&rules, "a.secret.example.org", 443));
    assert!(allows(&rules, "192.0.2.7", 443));
    assert!(!allows(&rules, "192.0.2.7", 22));
    let verdict = rules.decide("a.secret.example.org", 443);
    assert_eq!(verdict.origin, Origin::Project("deny: *.secret.example.org".to_owned()));
}

#[test]
fn a_rule_for_one_port_and_a_rule_for_all_stand_side_by_side() {
    let rules = rules(NetworkMode::Allowlist, &["example.org"], &["example.org:25"]);
    assert!(allows(&rules, "example.org", 443));
    assert!(!allows(&rules, "example.org", 25));
}

#[test]
fn what_nothing_allows_is_denied_and_what_would_be_allowed_is_listed() {
    let verdict = allowlist(&["a.example", "*.b.example"]).decide("evil.example", 443);
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.rule.contains("`evil.example:443`"), "{}", verdict.rule);
    assert!(verdict.rule.contains("`a.example`, `*.b.example`"), "{}", verdict.rule);
    assert!(allowlist(&[]).decide("evil.example", 443).rule.contains("allows nothing"));
}

#[test]
fn the_mode_decides_first() {
    assert!(!allows(&rules(NetworkMode::None, &["example.org"], &[]), "example.org", 443));
    let open = rules(NetworkMode::Open, &[], &["*.evil.example"]);
    assert!(allows(&open, "example.org", 443));
    assert!(!allows(&open, "a.evil.example", 443));
    assert!(!allows(&open, "0x7f.1", 443), "a host that is not canonical is denied in every mode");
}

const INTERNAL: &[&str] = &[
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "100.100.100.201", "172.16.0.1", "172.31.255.255",
    "192.0.0.8", "192.168.1.1", "198.19.0.1", "224.0.0.251", "255.255.255.255", "::1", "::",
    "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b:1::1", "2001:0:1234::1", "2002:7f00:1::1", "fc00::1",
    "fe80::1", "fec0::1", "ff02::1",
];

const METADATA: &[&str] = &[
    "169.254.169.254", "169.254.170.2", "169.254.0.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00:ec2::254", "fd20:ce::254",
    "fe80::a9fe:a9fe", "fd00:42::42", "64:ff9b:1::a9fe:a9fe",
];

#[test]
fn metadata_services_are_denied_even_where_they_are_named() {
    for address in METADATA {
        // A list cannot hold it, and a rule that came by another way changes nothing.
        assert!(matches!(address.parse::<AllowedHosts>(), Err(HostError::Metadata { .. })), "{address}");
        let named = allowlist(&[address, "example.org"]);
        let verdict = named.decide(address, 80);
        assert_eq!(verdict.decision, Decision::Deny, "{address}");
        assert!(verdict.rule.ends_with("no rule allows it"), "{}", verdict.rule);
        assert!(named.ports(&address.parse().unwrap()).is_err(), "{address}");
        let resolved = named.decide_resolved("example.org", ip(address), 80);
        assert_eq!(resolved.decision, Decision::Deny, "{address}");
        assert!(resolved.rule.ends_with("no rule allows it"), "{}", resolved.rule);
    }
}

#[test]
fn internal_addresses_are_denied_unless_they_are_named_exactly() {
    let wide = allowlist(&["*.example.org", "example.org"]);
    for address in INTERNAL {
        assert!(!allows(&wide, address, 80), "{address}");
        assert!(allows(&allowlist(&[address]), address, 80), "{address} is named");
    }
    for address in
        ["1.1.1.1", "172.32.0.1", "100.128.0.1", "168.63.129.17", "2606:4700::1111", "64:ff9b::101:101"]
    {
        assert!(
            wide.decide_resolved("example.org", ip(address), 80).decision == Decision::Allow,
            "{address}"
        );
    }
}

#[test]
fn an_allowed_name_that_resolves_inwards_is_denied() {
    let rules = allowlist(&["example.org", "*.nip.example"]);
    for address in INTERNAL.iter().chain(METADATA) {
        for host in ["example.org", "a.nip.example"] {
            let verdict = rules.decide_resolved(host, ip(address), 443);
            assert_eq!(verdict.decision, Decision::Deny, "{host} -> {address}");
        }
    }
    let named = allowlist(&["git.corp.example", "10.0.0.5:443"]);
    assert_eq!(named.decide_resolved("git.corp.example", ip("10.0.0.5"), 443).decision, Decision::Allow);
    assert_eq!(named.decide_resolved("git.corp.example", ip("10.0.0.5"), 22).decision, Decision::Deny);
    assert_eq!(named.decide_resolved("git.corp.example", ip("10.0.0.6"), 443).decision, Decision::Deny);
    assert_eq!(named.decide_resolved("evil.example", ip("10.0.0.5"), 443).decision, Decision::Deny);
}

#[test]
fn a_denied_address_is_denied_behind_every_name() {
    let rules = rules(NetworkMode::Allowlist, &["example.org"], &["203.0.113.9"]);
    assert_eq!(rules.decide_resolved("example.org", ip("203.0.113.9"), 443).decision, Decision::Deny);
    assert_eq!(rules.decide_resolved("example.org", ip("::ffff:203.0.113.9"), 443).decision, Decision::Deny);
    assert_eq!(rules.decide_resolved("example.org", ip("203.0.113.8"), 443).decision, Decision::Allow);
}

#[test]
fn the_address_that_was_checked_is_the_one_that_may_be_dialled() {
    let rules = allowlist(&["203.0.113.9", "203.0.113.8"]);
    assert_eq!(rules.decide_resolved("203.0.113.9", ip("203.0.113.9"), 443).decision, Decision::Allow);
    assert_eq!(rules.decide_resolved("203.0.113.9", ip("203.0.113.8"), 443).decision, Decision::Deny);
}

#[test]
fn localhost_is_allowed_only_by_name() {
    let wide = allowlist(&["*.example.org"]);
    for host in ["localhost", "LOCALHOST.", "app.localhost"] {
        assert!(!allows(&wide, host, 80), "{host}");
    }
    let named = allowlist(&["localhost:8080"]);
    assert_eq!(named.decide_resolved("localhost", ip("127.0.0.1"), 8080).decision, Decision::Allow);
    assert_eq!(named.decide_resolved("localhost", ip("127.0.0.1"), 22).decision, Decision::Deny);
    assert_eq!(named.decide_resolved("localhost", ip("10.0.0.1"), 8080).decision, Decision::Deny);
}

#[test]
fn hosts_are_compared_in_their_canonical_form() {
    assert_eq!("Example.ORG.".parse(), Ok(Host::Name("example.org".to_owned())));
    assert_eq!("::FFFF:10.0.0.1".parse(), Ok(Host::Address(ip("10.0.0.1"))));
}

#[test]
fn errors_do_not_pass_control_characters_on_to_a_terminal() {
    for text in
        ["\u{1b}[31m", "a/\u{1b}", "*.\u{1b}", "https://\u{1b}", "x:\u{1b}", "*\u{1b}.a.b", "[\u{1b}]:1"]
    {
        let error = text.parse::<HostPattern>().expect_err(text);
        assert!(matches!(error, HostError::Character { .. }), "{error:?}");
        assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
        assert!(!allowlist(&[]).decide(text, 1).rule.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn the_ports_of_a_host_are_those_on_which_it_is_allowed() {
    let only = |ports: &[u16]| Some(AllowedPorts::Only(ports.iter().copied().collect()));
    let all_but = |ports: &[u16]| Some(AllowedPorts::AllBut(ports.iter().copied().collect()));
    for (allow, deny, host, expected) in [
        (&["a.example.org:443"][..], &[][..], "a.example.org", only(&[443])),
        (&["a.example.org:443", "*.example.org:22"], &[], "a.example.org", only(&[22, 443])),
        (&["a.example.org:443", "*.example.org"], &[], "a.example.org", all_but(&[])),
        (&["*.example.org", "*.b.example.org:22"], &["*.example.org:22"], "a.b.example.org", all_but(&[22])),
        (&["a.example.org:443"], &["*.example.org:22"], "a.example.org", only(&[443])),
        (&["a.example.org:443"], &["a.example.org:443"], "a.example.org", None),
        (&["a.example.org"], &["*.example.org"], "a.example.org", None),
        (&["a.example.org"], &[], "b.example.org", None),
        (&["*.a.example.org"], &[], "a.example.org", None),
        (&["a.localhost:80", "*.a.localhost"], &[], "a.localhost", only(&[80])),
        (&["*.a.localhost"], &[], "b.a.localhost", None),
        (&["192.0.2.1:80"], &[], "192.0.2.1", only(&[80])),
        (&[], &[], "a.example.org", None),
    ] {
        let rules = rules(NetworkMode::Allowlist, allow, deny);
        let ports = rules.ports(&host.parse().expect("a host"));
        assert_eq!(ports.clone().ok(), expected, "{allow:?} {deny:?} {host}");
        for port in [22, 80, 443] {
            let listed = match &ports {
                Ok(AllowedPorts::Only(ports)) => ports.contains(&port),
                Ok(AllowedPorts::AllBut(ports)) => !ports.contains(&port),
                Err(_) => false,
            };
            assert_eq!(listed, allows(&rules, host, port), "{allow:?} {deny:?} {host}:{port}");
        }
    }
    let host = "a.example.org".parse().expect("a host");
    assert_eq!(rules(NetworkMode::Open, &[], &[]).ports(&host), Ok(AllowedPorts::AllBut([].into())));
    assert!(rules(NetworkMode::None, &["a.example.org"], &[]).ports(&host).is_err());
}

#[test]
fn a_host_without_ports_is_denied_with_the_rule_that_says_so() {
    let host = "a.example.org".parse().expect("a host");
    let why =
        |allow, deny| rules(NetworkMode::Allowlist, allow, deny).ports(&host).expect_err("no ports").rule;
    assert_eq!(
        why(&["b.example.org:443"], &[]),
        "`a.example.org` matches nothing in `[network] allow`, which allows `b.example.org:443`"
    );
    let denied = "`a.example.org:443` in `[network] deny`, which wins over `allow`";
    assert_eq!(why(&["*.example.org:443"], &["a.example.org:443"]), denied);
    assert_eq!(
        allowlist(&["a.example.org:443", "b.example.org", "c.example.org:22"]).named_ports(),
        &BTreeSet::from([22, 443])
    );
}

#[test]
fn rules_for_other_hosts_keep_what_is_denied() {
    let all = rules(NetworkMode::None, &["api.example.org"], &["denied.example.org"]);
    let allow = ["127.0.0.1:11434", "denied.example.org"];
    let parse = |text: &str| HostRule::new(text.parse().expect("a pattern"), Origin::Default);
    let only = all.only(allow.iter().copied().map(parse).collect());
    assert!(allows(&only, "127.0.0.1", 11434));
    for (host, port) in [("127.0.0.1", 80), ("denied.example.org", 443), ("api.example.org", 443)] {
        assert!(!allows(&only, host, port), "{host}");
    }
}

#[test]
fn a_person_is_asked_about_what_no_rule_says_anything_of() {
    let rules = rules(
        NetworkMode::Allowlist,
        &["a.example.org:443", "*.example.net", "GET http://r.example.org/*"],
        &["b.example.org:22", "c.example.org", "DELETE http://s.example.org/*"],
    );
    for (host, port, undecided) in [
        ("a.example.org", 443, false),
        ("a.example.org", 22, true),
        ("a.example.org", 0, true),
        ("x.example.net", 1, false),
        ("b.example.org", 22, false),
        ("b.example.org", 443, true),
        ("c.example.org", 443, false),
        ("c.example.org", 0, false),
        ("d.example.org", 443, true),
        ("r.example.org", 80, false),
        ("r.example.org", 443, true),
        ("s.example.org", 80, false),
        ("192.0.2.1", 443, true),
        ("localhost", 443, false),
        ("127.0.0.1", 443, false),
        ("169.254.169.254", 80, false),
        ("fd00:ec2::254", 80, false),
    ] {
        assert_eq!(rules.is_undecided(&host.parse().unwrap(), port), undecided, "{host}:{port}");
    }
    // What is allowed to one connection still does not lead inwards by its address, and is still denied by a rule.
    let with = rules
        .with(HostRule::new("d.example.org:443".parse().unwrap(), Origin::Live("egress ask".to_owned())));
    assert!(allows(&with, "d.example.org", 443) && !allows(&rules, "d.example.org", 443));
    let resolved = |address| with.decide_resolved("d.example.org", ip(address), 443).decision;
    assert_eq!((resolved("192.0.2.1"), resolved("127.0.0.1")), (Decision::Allow, Decision::Deny));
    let denied = rules.with(HostRule::new("c.example.org:443".parse().unwrap(), Origin::Default));
    assert!(!allows(&denied, "c.example.org", 443));
    for mode in [NetworkMode::None, NetworkMode::Open] {
        let rules = HostRules::new(mode, Vec::new(), Vec::new());
        assert!(!rules.is_undecided(&"d.example.org".parse().unwrap(), 443), "{mode:?}");
    }
}
