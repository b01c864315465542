//! What the rules allow is reached, and the rest is refused with the rule that is missing.

use crate::internet::{SERVER, bash, has, text};
use crate::{ask, everywhere, natively};

/// The connection closes after the answer.
fn get(url: &str) -> String {
    ask(&format!("GET {url} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"))
}

#[test]
fn a_host_of_the_list_is_reached_and_no_other() {
    everywhere("hosts of the list", |place, internet, who| {
        let script =
            [get("http://up.example.org:8080/one"), get("http://other.example.org:8080/two")].join("\n");
        let output = internet.run(place, &["--allow-host", "up.example.org:8080"], &bash(&script));
        let said = text(&output);
        assert!(
            said.contains("served GET /one HTTP/1.1 for up.example.org:8080"),
            "{who}: {said} {output:?}"
        );
        assert!(said.contains("HTTP/1.1 403 Forbidden"), "{who}: {said}");
        assert!(said.contains(r#""remedy":"add \"other.example.org:8080\" to `allow`"#), "{who}: {said}");
        assert!(!said.contains("served GET /two"), "{who}: {said}");
    });
}

#[test]
fn programs_that_know_proxies_need_nothing_else() {
    if !has("curl") {
        return;
    }
    natively("curl through the proxy", |place, internet, who| {
        let script = "curl -sS http://up.example.org:8080/curl; curl -sS -o /dev/null -w '%{http_code}' http://other.example.org/";
        let output = internet.run(place, &["--allow-host", "up.example.org:8080"], &bash(script));
        let said = text(&output);
        assert_eq!(said, "served GET /curl HTTP/1.1 for up.example.org:8080\n403", "{who}: {output:?}");
    });
}

#[test]
fn a_pattern_stands_for_names_below_it_and_a_denial_wins() {
    natively("patterns", |place, internet, who| {
        place.write(
            "home/.config/sandboxctl/sandbox.toml",
            "[network]\nallow = [\"*.example.org\"]\ndeny = [\"other.example.org\"]\n",
        );
        let urls = ["http://host-1.wild.example.org:8080/", "http://other.example.org:8080/"];
        let output = internet.run(place, &[], &bash(&urls.map(get).join("\n")));
        let said = text(&output);
        assert!(said.contains("for host-1.wild.example.org:8080"), "{who}: {said} {output:?}");
        assert!(said.contains("wins over `allow`"), "{who}: {said}");
        assert!(!said.contains("for other.example.org"), "{who}: {said}");
    });
}

#[test]
fn what_has_passed_is_counted_and_listed() {
    natively("counts", |place, internet, who| {
        let script =
            [get("http://up.example.org:8080/one"), get("http://other.example.org:8080/two")].join("\n");
        let flags = ["--format=json", "--name=counted", "--allow-host=up.example.org:8080"];
        let output = internet.run(place, &flags, &bash(&script));
        let outcome: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let egress = &outcome["egress"];
        assert_eq!(egress["connections"], 1, "{who}: {outcome}");
        assert_eq!(egress["refusals"], 1, "{who}: the question at the start does not count: {outcome}");
        assert!(
            egress["received"].as_u64() > Some(50) && egress["sent"].as_u64() > Some(20),
            "{who}: {outcome}"
        );
        let words =
            [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), "counted".into()];
        let log = text(&place.outside(&words).output().unwrap());
        let lines: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [allowed, denied] = lines.as_slice() else { panic!("{who}: {log}") };
        assert_eq!(
            (&allowed["host"], &allowed["address"]),
            (&"up.example.org".into(), &SERVER.into()),
            "{who}"
        );
        assert_eq!(
            (&denied["host"], &denied["verdict"]),
            (&"other.example.org".into(), &"deny".into()),
            "{who}"
        );
        let words = [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), "../x".into()];
        assert_eq!(place.outside(&words).output().unwrap().status.code(), Some(125), "{who}");
    });
}

#[test]
fn no_more_passes_than_the_limit() {
    natively("a limit of bytes", |place, internet, who| {
        let request = get("http://up.example.org:8080/one");
        let script = format!("for i in {{1..5}}; do {request}; done");
        let served = |limit: &str| {
            place.write(
                "home/.config/sandboxctl/sandbox.toml",
                &format!("[limits]\nnetwork_bytes = {limit}\n"),
            );
            let output = internet.run(place, &["--allow-host=up.example.org:8080"], &bash(&script));
            let said = text(&output);
            (said.matches("served GET /one").count(), said)
        };
        assert_eq!(served("\"1g\"").0, 5, "{who}");
        let (count, said) = served("600");
        assert!((1..5).contains(&count) && said.contains("egress.volume"), "{who}: {said}");
        assert!(said.contains("`[limits] network_bytes`"), "{who}: {said}");
    });
}

#[test]
fn what_is_open_at_the_end_is_counted_too() {
    natively("a connection that is open at the end", |place, internet, who| {
        let script = "exec 3<>/dev/tcp/127.0.0.1/61080; \
            printf 'CONNECT up.example.org:22 HTTP/1.1\\r\\nHost: up.example.org:22\\r\\n\\r\\n' >&3; head -n 4 <&3 >/dev/null; kill -9 $$";
        let flags = ["--format=json", "--name=open", "--allow-host=up.example.org:22"];
        let output = internet.run(place, &flags, &bash(script));
        let outcome: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        assert_eq!(outcome["result"]["signal"], 9, "{who}: {outcome}");
        assert_eq!(outcome["egress"]["connections"], 1, "{who}: {outcome}");
    });
}

#[test]
fn hosts_that_were_refused_are_named_at_the_end_unless_a_rule_denies_them() {
    natively("named at the end", |place, internet, who| {
        place.write("home/.config/sandboxctl/sandbox.toml", "[network]\ndeny = [\"up.example.org\"]\n");
        let urls = ["http://up.example.org:8080/", "http://other.example.org:8080/"];
        let script = urls.map(get).join("\n");
        let warned = |flags: &[&str]| {
            let output = internet.run(place, flags, &bash(&script));
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let said = warned(&["--allow-host=x.example.org:80"]);
        let named = "no rule allows what was asked for: \"other.example.org:8080\"; ";
        assert!(
            said.contains(named) && said.contains("--allow-host other.example.org:8080"),
            "{who}: {said}"
        );
        let said = warned(&["-q", "--allow-host=x.example.org:80"]);
        assert!(!said.contains("no rule allows"), "{who}: {said}");
    });
}
