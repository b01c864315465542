//! Programs that know no proxy: a name has an address inside, and a connection there reaches the host that was meant.

use crate::internet::{bash, has, text};
use crate::{everywhere, natively};

/// Bash without a proxy: what a server says to a line.
fn line(host: &str, port: u16, line: &str) -> String {
    format!("(exec 3<>/dev/tcp/{host}/{port} && printf '{line}' >&3 && timeout 10 cat <&3) 2>&1")
}

#[test]
fn a_program_without_a_proxy_reaches_what_the_rules_allow() {
    everywhere("programs that know no proxy", |place, internet, who| {
        let script = [
            line("up.example.org", 8080, "GET /one HTTP/1.1\\r\\nHost: up.example.org:8080\\r\\n\\r\\n"),
            // A server that speaks first.
            line("up.example.org", 22, "hello"),
            // On a port, and a name, that no rule allows.
            line("up.example.org", 80, "GET /two HTTP/1.1\\r\\nHost: up.example.org\\r\\n\\r\\n"),
            line("other.example.org", 8080, "GET /three HTTP/1.1\\r\\nHost: other.example.org\\r\\n\\r\\n"),
        ]
        .join("\necho\n");
        let flags = ["--allow-host=up.example.org:8080", "--allow-host=up.example.org:22"];
        let output = internet.run(place, &flags, &bash(&script));
        let said = text(&output);
        assert!(
            said.contains("served GET /one HTTP/1.1 for up.example.org:8080"),
            "{who}: {said} {output:?}"
        );
        assert!(said.contains("SSH-2.0-test") && said.contains("you said hello"), "{who}: {said}");
        assert!(said.contains("/80: Connection refused"), "{who}: {said}");
        assert!(said.contains("other.example.org"), "{who}: {said}");
        for refused in ["served GET /two", "served GET /three"] {
            assert!(!said.contains(refused), "{who}: {said}");
        }
        // Nothing was looked up outside but what was connected to.
        let came = internet.requests();
        assert!(came.contains(&"dns up.example.org".to_owned()), "{who}: {came:?}");
        assert!(!came.iter().any(|line| line.contains("other.example.org")), "{who}: {came:?}");
    });
}

#[test]
fn a_name_stands_for_itself_alone() {
    natively("another host's name", |place, internet, who| {
        // The address of one name, and a request for another.
        let request = "GET / HTTP/1.1\\r\\nHost: other.example.org\\r\\n\\r\\n";
        let flags = ["--allow-host=up.example.org:80", "--allow-host=other.example.org:8080"];
        let output = internet.run(place, &flags, &bash(&line("up.example.org", 80, request)));
        let said = text(&output);
        assert!(said.starts_with("HTTP/1.1 403"), "{who}: {said} {output:?}");
        let came = internet.requests();
        assert!(!came.iter().any(|line| line.starts_with("http")), "{who}: {came:?}");
    });
}

#[test]
fn names_that_no_rule_allows_do_not_exist() {
    natively("unknown names", |place, internet, who| {
        let script = "for name in up.example.org other.example.org a.b.c.data.example.com 8.8.8.8.in-addr.arpa localhost; do
            echo \"$name $(getent ahosts $name | head -n 1 | cut -d' ' -f1)\"; done";
        let output = internet.run(place, &["--allow-host=up.example.org:8080"], &bash(script));
        let said = text(&output);
        assert_eq!(
            said,
            "up.example.org 127.64.0.1\nother.example.org \na.b.c.data.example.com \n8.8.8.8.in-addr.arpa \nlocalhost 127.0.0.1\n",
            "{who}: {output:?}"
        );
        assert_eq!(internet.requests(), [""; 0], "{who}: a question alone asks nobody outside");
    });
}

#[test]
fn a_server_inside_keeps_its_ports() {
    natively("servers inside", |place, internet, who| {
        // A server on all addresses, on a port of the list: the name cannot have it as well, and the log says why.
        let script = "python3 -m http.server 8080 >/dev/null 2>&1 & until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do :; done
            getent ahosts up.example.org >/dev/null || echo no address
            curl -sS --noproxy '*' -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8080/
            curl -sS http://up.example.org:8080/by-proxy; kill %1";
        if !has("curl") {
            return;
        }
        let flags = ["--name=taken", "--allow-host=up.example.org:8080"];
        let output = internet.run(place, &flags, &bash(script));
        let said = text(&output);
        assert_eq!(
            said, "no address\n200\nserved GET /by-proxy HTTP/1.1 for up.example.org:8080\n",
            "{who}: {output:?}"
        );
        let words =
            [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), "taken".into()];
        let log = text(&place.outside(&words).output().unwrap());
        assert!(log.contains("a program inside listens on port 8080 of all addresses"), "{who}: {log}");
    });
}
