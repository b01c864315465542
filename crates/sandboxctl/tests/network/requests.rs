//! Rules about requests: by every listener, what a rule describes reaches the server, and nothing else does.

use crate::internet::{bash, has, text};
use crate::{ask, everywhere, natively};

/// Where the caller's own settings are.
const SETTINGS: &str = ".config/sandboxctl/sandbox.toml";

/// A host with everything but some requests, and one with nothing but some.
const RULES: &str = r#"
[network]
allow = ["up.example.org:8080", "POST http://other.example.org:8080/*"]
deny = ["DELETE http://up.example.org:8080/*", "* http://up.example.org:8080/admin/*"]
"#;

/// A request on one connection after another, as bash writes it.
fn request(first: &str, last: &str) -> String {
    format!("{first} HTTP/1.1\\r\\nHost: up.example.org:8080\\r\\n{last}\\r\\n")
}

#[test]
fn requests_are_decided_one_by_one() {
    everywhere("rules about requests", |place, internet, who| {
        let close = "Connection: close\\r\\n";
        // Two of three requests are refused, whoever carries them.
        let requests =
            [request("GET /pub/LISTENER", ""), request("GET /private", ""), request("PUT /pub/x", close)]
                .concat();
        let whole = requests.replace(" /", " http://up.example.org:8080/");
        let tunnel = "CONNECT up.example.org:8080 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
        let socks = "\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x0eup.example.org\\x1f\\x90";
        let transparent = ask(&requests).replace("127.0.0.1/61080", "up.example.org/8080");
        let script = [
            ask(&whole).replace("LISTENER", "url"),
            ask(&format!("{tunnel}{requests}")).replace("LISTENER", "connect"),
            ask(&format!("{socks}{requests}")).replace("LISTENER", "socks"),
            transparent.replace("LISTENER", "transparent"),
        ]
        .map(|one| format!("({one}) | tr -d '\\0' | grep -a -o -e 'served.*HTTP' -e '1.1 403'"))
        .join("\n");
        let output =
            internet.run(place, &["--allow-host=GET,HEAD http://up.example.org:8080/pub/*"], &bash(&script));
        let listeners = ["url", "connect", "socks", "transparent"];
        let each = |listener| format!("served GET /pub/{listener} HTTP\n1.1 403\n1.1 403\n");
        assert_eq!(text(&output), listeners.map(each).concat(), "{who}: {output:?}");
        let came: Vec<_> = internet.requests().into_iter().filter(|line| line.starts_with("http")).collect();
        assert_eq!(
            came,
            listeners.map(|listener| format!("http 8080 GET /pub/{listener} HTTP/1.1 up.example.org:8080")),
            "{who}"
        );
    });
}

#[test]
fn curl_is_told_what_it_may_not_ask_for() {
    natively("curl and rules about requests", |place, internet, who| {
        if !has("curl") {
            return;
        }
        let script = r#"ask() { curl -sS -o /tmp/body -w '%{http_code} ' "$@"; grep -o -e 'served.*HTTP' -e 'egress\.[a-z]*' /tmp/body; }
            for how in '' --proxytunnel '--noproxy *' '--noproxy , --socks5-hostname 127.0.0.1:61080'; do
                ask $how http://up.example.org:8080/x
                ask $how -X DELETE http://up.example.org:8080/x
                ask $how --path-as-is http://up.example.org:8080/x/../admin/y
                ask $how -H 'Connection: Upgrade' -H 'Upgrade: websocket' http://up.example.org:8080/x
            done
            # Two hosts, one connection to the proxy.
            ask http://up.example.org:8080/1 -o /tmp/body http://other.example.org:8080/2"#;
        let settings = std::fs::read_to_string(place.home().join(SETTINGS)).unwrap_or_default();
        place.write(&format!("home/{SETTINGS}"), &(settings + RULES));
        let output = internet.run(place, &[], &bash(script));
        let each = "200 served GET /x HTTP\n403 egress.denied\n403 egress.denied\n426 egress.upgrade\n";
        assert_eq!(text(&output), each.repeat(4) + "200 403 egress.denied\n", "{who}: {output:?}");
        let came: Vec<_> = internet.requests().into_iter().filter(|line| line.starts_with("http")).collect();
        assert_eq!(came.len(), 5, "{who}: {came:?}");
    });
}
