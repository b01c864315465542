use policy::rules::network::{
    AllowedPorts, HostError, HostRule, HostRules, NetworkMode, Pattern, Request, Scheme, Wanted,
};
use policy::rules::verdict::{Decision, Origin, Verdict};

fn rules(allow: &[&str], deny: &[&str]) -> HostRules {
    let parse = |list: &[&str]| -> Vec<HostRule> {
        list.iter().map(|text| HostRule::new(text.parse().expect(text), Origin::Default)).collect()
    };
    HostRules::new(NetworkMode::Allowlist, parse(allow), parse(deny))
}

/// Decides about a request such as `GET http://example.org/`.
fn decide(rules: &HostRules, text: &str) -> Verdict {
    let (method, url) = text.split_once(' ').expect(text);
    let (scheme, rest) = match url.split_once("://").expect(text) {
        ("http", rest) => (Scheme::Http, rest),
        (_, rest) => (Scheme::Https, rest),
    };
    let (host, path) = rest.split_at(rest.find('/').expect(text));
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().expect(text)),
        None => (host, scheme.port()),
    };
    let request = Request { scheme, method: method.to_owned(), path: path.to_owned() };
    rules.decide_wanted(host, None, port, &Wanted::Request(request))
}

fn allows(rules: &HostRules, text: &str) -> bool {
    decide(rules, text).decision == Decision::Allow
}

#[test]
fn a_pattern_has_one_canonical_form() {
    for (text, canonical) in [
        ("HEAD,GET,GET http://Example.org:80/pub/*", "GET,HEAD http://example.org/pub/*"),
        ("* http://*.example.org:8080/*", "* http://*.example.org:8080/*"),
        ("DELETE https://api.example.org/", "DELETE https://api.example.org/"),
        ("GET https://api.example.org:80/", "GET https://api.example.org:80/"),
        ("GET http://[2001:DB8::1]/a", "GET http://[2001:db8::1]/a"),
        ("GET http://[2001:db8::1]:81/a", "GET http://[2001:db8::1]:81/a"),
        ("M-SEARCH http://192.0.2.1/.well-known/a*", "M-SEARCH http://192.0.2.1/.well-known/a*"),
    ] {
        let pattern: Pattern = text.parse().expect(text);
        assert_eq!(pattern.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(pattern));
    }
}

#[test]
fn what_is_no_rule_about_requests_is_refused_with_what_is_wrong() {
    let error = |text: &str| text.parse::<Pattern>().expect_err(text);
    for text in [
        "get http://a.example/", ",GET http://a.example/", "GET, http://a.example/",
        "CONNECT http://a.example/", "TRACE,GET http://a.example/", "*,GET http://a.example/",
        " http://a.example/", "G/T http://a.example/",
    ] {
        assert!(matches!(error(text), HostError::Methods { .. }), "{text}: {:?}", error(text));
    }
    for text in [
        "GET http://a.example", "GET http://a.example/a b", "GET http://a.example/a?b",
        "GET http://a.example/a#b", "GET http://a.example/../b", "GET http://a.example//b",
        "GET http://a.example/%61", "GET http://a.example/*/b", "GET http://a.example/a;b",
        "GET http://a.example/**", "GET http://a.example/é",
    ] {
        assert!(matches!(error(text), HostError::Path { .. }), "{text}: {:?}", error(text));
    }
    for text in
        ["GET ftp://a.example/", "GET  http://a.example/", "GET HTTP://a.example/", "GET a.example http://b/"]
    {
        assert!(matches!(error(text), HostError::Request { .. }), "{text}: {:?}", error(text));
    }
    for text in [
        "GET http:///", "GET http://*/", "GET http://a.example:0/", "GET http://a.example:x/",
        "GET http://me@a.example/", "GET http://a.*.example/", "GET\thttp://a.example/",
        "GET http://a.example/\u{1b}", "http://a.example/", "GET a.example",
    ] {
        let error = error(text);
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
    }
}

#[test]
fn a_request_passes_when_a_rule_describes_it() {
    let rules = rules(
        &[
            "GET,HEAD http://example.org/pub/*", "* http://example.org:8080/api/*",
            "POST http://*.example.net/hook",
        ],
        &[],
    );
    for request in [
        "GET http://example.org/pub/a", "HEAD http://EXAMPLE.org./pub/a/b", "GET http://example.org/p%75b/a",
        "BREW http://example.org:8080/api/x", "POST http://a.example.net/hook",
    ] {
        assert!(allows(&rules, request), "{request}: {}", decide(&rules, request).rule);
    }
    for request in [
        "POST http://example.org/pub/a",
        "get http://example.org/pub/a",
        "GET http://example.org/pub/",
        "GET http://example.org/PUB/a",
        "GET http://example.org/",
        "GET http://example.org/pub/../private",
        "GET http://example.org/pub/%2e%2e/private",
        "GET http://example.org/pub//a",
        "GET http://example.org/pub/a%2fb",
        "GET http://example.org/pub/..;/a",
        "GET http://example.org:81/pub/a",
        "GET https://example.org:80/pub/a",
        "GET http://example.org:8080/pub/a",
        "POST http://example.net/hook",
        "GET http://other.example/pub/a",
    ] {
        assert!(!allows(&rules, request), "{request}");
    }
    assert_eq!(
        decide(&rules, "POST http://example.org/pub/a").rule,
        "`POST http://example.org/pub/a` matches nothing in `[network] allow`, which allows there `GET,HEAD http://example.org/pub/*`"
    );
}

#[test]
fn where_every_path_is_allowed_a_path_may_have_any_form() {
    let rules = rules(&["GET http://example.org/*"], &[]);
    for path in ["/", "/@types%2fnode", "/a//b", "/a;b", "/%zz"] {
        assert!(allows(&rules, &format!("GET http://example.org{path}")), "{path}");
    }
}

#[test]
fn a_host_rule_allows_every_request_and_a_denial_wins_over_it() {
    let all = rules(
        &["example.org"],
        &["DELETE,PUT http://example.org/*", "* http://example.org/admin/*", "GET http://example.org/a"],
    );
    assert!(allows(&all, "GET http://example.org/x"));
    assert!(allows(&all, "GET http://example.org/administration"));
    assert!(allows(&all, "GET http://example.org/a.b") && allows(&all, "GET http://example.org/Inc."));
    assert!(allows(&all, "DELETE http://example.org:81/x"));
    for request in [
        "DELETE http://example.org/x", "delete http://example.org/x", "PUT http://example.org/",
        "DELETE https://example.org:80/x", "GET http://example.org/admin/x", "GET http://example.org/admin",
        "GET http://example.org/Admin/", "GET http://example.org/%61dmin/x",
        "GET http://example.org/x/../admin/x", "GET http://example.org//admin/x",
        "GET http://example.org/admin;x/y", "GET http://example.org/a", "GET http://example.org/a/",
        "GET http://example.org/a%3f", "GET http://example.org/a%23x", "GET http://example.org/a.",
        "GET http://example.org/a%20.", "GET http://example.org/a::$DATA", "GET http://example.org/admin./x",
        "GET http://example.org/A",
    ] {
        let verdict = decide(&all, request);
        assert_eq!(verdict.decision, Decision::Deny, "{request}");
        assert!(verdict.rule.contains("wins over `allow`"), "{request}: {}", verdict.rule);
    }
    let host_denied = rules(&["GET http://example.org/*"], &["example.org:80"]);
    assert!(!allows(&host_denied, "GET http://example.org/"));
    let both = rules(&["GET http://example.org/*"], &["GET http://example.org/a/*"]);
    assert!(allows(&both, "GET http://example.org/b") && !allows(&both, "GET http://example.org/a/b"));
}

#[test]
fn a_host_of_which_requests_are_decided_has_no_other_connections() {
    for (allow, deny, connection, for_requests) in [
        (&["example.org:80"][..], &[][..], true, false),
        (&["GET http://example.org/*"], &[], false, true),
        (&["GET http://*.org.example/*", "GET http://example.org:81/*"], &[], false, false),
        (&["GET http://example.org/*", "example.org:80"], &[], true, false),
        (&["example.org:80"], &["DELETE http://example.org/*"], false, true),
        (&["example.org"], &["DELETE http://example.org:81/*"], true, false),
        (&[], &["DELETE http://example.org/*"], false, false),
        (&["GET http://example.org/*"], &["example.org"], false, false),
    ] {
        let rules = rules(allow, deny);
        assert_eq!(
            rules.decide("example.org", 80).decision == Decision::Allow,
            connection,
            "{allow:?} {deny:?}"
        );
        assert_eq!(rules.is_for_requests("example.org", 80), for_requests, "{allow:?} {deny:?}");
        let host = "example.org".parse().expect("a host");
        let listed = match rules.ports(&host) {
            Ok(AllowedPorts::Only(ports)) => ports.contains(&80),
            Ok(AllowedPorts::AllBut(ports)) => !ports.contains(&80),
            Err(_) => false,
        };
        assert_eq!(listed, connection || for_requests, "{allow:?} {deny:?}");
    }
    assert_eq!(
        rules(&["GET http://example.org/*"], &[]).decide("example.org", 80).rule,
        "`example.org:80` is reached for requests alone, of which `[network] allow` has `GET http://example.org/*`"
    );
}

#[test]
fn addresses_that_lead_inwards_are_named_by_rules_about_requests_too_and_for_those_alone() {
    let resolved = |rules: &HostRules, method: &str, address: &str| {
        let request = Request { scheme: Scheme::Http, method: method.to_owned(), path: "/".to_owned() };
        let address = Some(address.parse().expect("an address"));
        rules.decide_wanted("example.org", address, 80, &Wanted::Request(request)).decision == Decision::Allow
    };
    let named = rules(&["* http://example.org/*", "GET http://10.0.0.5/*"], &["PUT http://192.0.2.9/*"]);
    assert!(resolved(&named, "GET", "10.0.0.5") && !resolved(&named, "POST", "10.0.0.5"));
    assert!(!resolved(&named, "GET", "10.0.0.6") && resolved(&named, "POST", "192.0.2.1"));
    assert!(resolved(&named, "POST", "192.0.2.9") && !resolved(&named, "PUT", "192.0.2.9"));
    assert!(allows(&named, "GET http://10.0.0.5/") && !allows(&named, "POST http://10.0.0.5/"));
    let host = rules(&["example.org"], &["PUT http://192.0.2.9/*"]);
    let tunnel = host.decide_resolved("example.org", "192.0.2.9".parse().expect("an address"), 80);
    assert_eq!(tunnel.decision, Decision::Deny, "nobody would see which requests go there");
    assert!(!rules(&["GET http://*.a.localhost/*"], &[]).is_for_requests("b.a.localhost", 80));
    assert!(rules(&["GET http://a.localhost/*"], &[]).is_for_requests("a.localhost", 80));
}

#[test]
fn requests_are_shown_without_what_could_steer_a_terminal() {
    let rule =
        decide(&rules(&["GET http://example.org/a"], &[]), "GE\u{1b}T http://example.org/\u{1b}[31m").rule;
    assert!(!rule.contains('\u{1b}') && rule.contains("\\u{1b}"), "{rule}");
}
