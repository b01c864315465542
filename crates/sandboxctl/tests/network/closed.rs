//! Nothing leaves but through the proxy, and the proxy leads nowhere inwards.

use crate::internet::{SERVER, bash, text};
use crate::{ask, everywhere};

/// Everything that could be sent without a proxy: each line says what has gone.
const DIRECT: &str = r#"
try() { name=$1; shift; if timeout 2 "$@" 2>/dev/null; then echo "left: $name"; fi; }
try tcp bash -c 'exec 3<>/dev/tcp/198.51.100.7/8080'
try udp bash -c 'echo x >/dev/udp/198.51.100.7/53'
try host bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080'
try metadata bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'
try ipv6 bash -c 'exec 3<>/dev/tcp/2001:db8::1/80'
try resolver bash -c 'echo x >/dev/udp/203.0.113.1/53'
grep -v -e '^ *lo:' -e '|' /proc/net/dev
tail -n +2 /proc/net/route
echo done
"#;

#[test]
fn nothing_leaves_without_the_proxy() {
    everywhere("direct ways out", |place, internet, who| {
        // The control: whoever is on this internet itself sends all of it but what has no address here.
        let outside = text(&internet.command(&place.outside(&bash(DIRECT))).output().unwrap());
        for way in ["tcp", "udp", "host"] {
            assert!(outside.contains(&format!("left: {way}\n")), "{who}: {outside}");
        }
        for flags in [&[][..], &["--allow-host", "up.example.org:8080"]] {
            let output = internet.run(place, flags, &bash(DIRECT));
            assert_eq!(text(&output), "done\n", "{who} with {flags:?}: {output:?}");
        }
    });
}

#[test]
fn the_proxy_leads_nowhere_inwards() {
    everywhere("ways inwards", |place, internet, who| {
        let hosts = [
            "127.0.0.1:8080", "localhost:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080", "0.0.0.0:8080",
            "2130706433:8080", "0177.0.0.1:8080", "127.1:8080", "169.254.169.254:80", "[fd00:ec2::254]:80",
            "inward.example.org:8080", "private.example.org:80", "mixed.example.org:8080",
            "up.example.org:22",
        ];
        let asked = hosts.map(|host| {
            let request =
                format!("CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n");
            format!("echo 'to {host}'; {} | head -n 1", ask(&request).replace("; exec 3>&-", ""))
        });
        let flags = ["--allow-host=*.example.org:8080", "--allow-host=*.example.org:80"];
        let output = internet.run(place, &flags, &bash(&asked.join("\n")));
        let said = text(&output).replace('\r', "");
        for host in hosts {
            assert!(
                said.contains(&format!("to {host}\nHTTP/1.1 403 Forbidden\n")),
                "{who}: {host} was not refused: {said} {output:?}"
            );
        }
        let came = internet.requests();
        assert!(came.iter().all(|line| line.starts_with("dns ")), "{who}: somebody has connected: {came:?}");
    });
}

#[test]
fn without_a_list_nobody_answers_where_the_proxy_would() {
    everywhere("no proxy", |place, internet, who| {
        let script =
            "env | grep -ci proxy; (exec 3<>/dev/tcp/127.0.0.1/61080) 2>/dev/null && echo open; echo done";
        let output = internet.run(place, &[], &bash(script));
        assert_eq!(text(&output), "0\ndone\n", "{who}: {output:?}");
    });
}

#[test]
fn a_name_is_not_looked_up_where_no_rule_asks_for_it() {
    everywhere("no look-ups", |place, internet, who| {
        let script =
            ask(&format!("CONNECT {SERVER}:8080 HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"));
        let output = internet.run(place, &["--allow-host", "up.example.org:8080"], &bash(&script));
        // An address is no name: the rule is about the name alone.
        assert!(text(&output).starts_with("HTTP/1.1 403"), "{who}: {output:?}");
        assert_eq!(internet.requests(), [""; 0], "{who}");
    });
}
