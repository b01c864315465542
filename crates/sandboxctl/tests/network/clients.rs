//! Clients that people use, by the variables that name the proxy and without them. The servers are real; of registries, there are
//! files as the real ones have.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::internet::{Internet, REGISTRY, bash, text};
use crate::machine::{Feature, is_there};
use crate::place::Place;
use crate::{image_with_clients, in_docker, natively, toolchain};

/// What `registries.sh` prints.
pub(crate) const FETCHED: &str = "curl: 200
git: \nfrom git
pip: \n./tiny-1.0-py3-none-any.whl
npm view: 1.0.0
npm install: \ntiny
cargo: \ntiny-1.0.0.crate
apt-get update: \napt-get download: \n./tiny_1.0_all.deb
node: 200
requests: 200
httpx: 200
raw: HTTP/1.1 200
";

/// What an image of Debian need not have: programs that bring hundreds of others.
const LARGE: [&str; 2] = ["npm=(", "cargo fetch"];

/// What these print.
const FETCHED_BY_LARGE: &str = "npm view: 1.0.0\nnpm install: \ntiny\ncargo: \ntiny-1.0.0.crate\n";

/// What `services.sh` prints.
const SERVED: &str = "from git\n42\nOK\n43\nCould not connect\n";

/// Whether a client has the variables that name the proxy.
const WITHOUT: &str =
    "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy NODE_USE_ENV_PROXY\n";

/// Servers on an internet. They end when this is dropped.
pub(crate) struct Servers(Child);

impl Servers {
    /// Starts them. What clients need to trust them is in the workspace.
    pub(crate) fn start(internet: &Internet, place: &Place, names: &[&str]) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/network/servers.py");
        let mut command = place.command(&["python3", "-B", program, REGISTRY]);
        command.arg(place.path("servers")).arg(place.workspace()).args(names);
        let mut child = internet.command(&command).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n", "the servers are not up");
        for entry in fs::read_dir(place.workspace()).unwrap() {
            place.give(&entry.unwrap().path());
        }
        Self(child)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The hosts that a sandbox has connected to, each with how it was asked for.
fn reached(place: &Place, name: &str) -> Vec<[String; 2]> {
    let words = [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), name.into()];
    let log = text(&place.outside(&words).output().unwrap());
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let allowed = lines.filter(|line| line["verdict"] == "allow");
    allowed.map(|line| ["host", "via"].map(|key| line[key].as_str().unwrap().to_owned())).collect()
}

/// What is installed for these tests alone.
pub(crate) fn are_there(test: &str) -> bool {
    [Feature::Clients, Feature::Node, Feature::Cargo].into_iter().all(|feature| is_there(feature, test))
}

/// Fetches from every registry in a sandbox of each caller, and returns how each host was asked for.
fn fetch(test: &str, prefix: &str, mut check: impl FnMut(&str, &str, &str)) {
    if !are_there(test) {
        return;
    }
    natively(test, |place, internet, who| {
        let _servers = Servers::start(&internet, place, &["web"]);
        place.write("workspace/sandbox.toml", "[native]\nexpose = [\"rust\"]\n");
        let script = format!("{prefix}{}", include_str!("registries.sh"));
        let command = place.inside(&["--name=fetches", "--allow-host=*.example.org:443"], &bash(&script));
        let command = toolchain::lend(place, &toolchain::sysroot(), &command);
        let output = internet.command(&command).output().unwrap();
        assert_eq!(text(&output), FETCHED, "{who}: {output:?}");
        let reached = reached(place, "fetches");
        assert!(reached.len() >= 10, "{who}: {reached:?}");
        for [host, via] in reached {
            check(&host, &via, who);
        }
    });
}

#[test]
fn clients_of_registries_use_the_proxy_that_the_variables_name() {
    fetch("clients of registries", "", |host, via, who| match host {
        "raw.example.org" => assert_eq!(via, "transparent", "{who}: it reads no variables"),
        // Node reads them since 22.21 and 24.
        "node.example.org" => {}
        _ => assert_eq!(via, "http", "{who}: {host}"),
    });
}

#[test]
fn clients_of_registries_need_no_variables() {
    fetch("clients of registries without a proxy", WITHOUT, |host, via, who| {
        assert_eq!(via, "transparent", "{who}: {host}");
    });
}

#[test]
fn clients_of_registries_work_in_a_container() {
    let test = "clients of registries in a container";
    if !is_there(Feature::Clients, test) {
        return;
    }
    let all = include_str!("registries.sh").split("\n\n");
    let small: Vec<_> = all.filter(|part| !LARGE.iter().any(|large| part.contains(large))).collect();
    let fetched = FETCHED.replace(FETCHED_BY_LARGE, "");
    in_docker(test, |place, internet, who| {
        let _servers = Servers::start(&internet, place, &["web"]);
        place.write("home/.config/sandboxctl/sandbox.toml", &image_with_clients());
        for (name, prefix) in [("with", ""), ("without", WITHOUT)] {
            let script = format!("{prefix}{}", small.join("\n\n"));
            let flags = [&format!("--name={name}"), "--allow-host=*.example.org:443"];
            let output = internet.run(place, &flags, &bash(&script));
            assert_eq!(text(&output), fetched, "{who} {name}: {output:?}");
            let reached = reached(place, name);
            assert!(reached.len() >= 8, "{who}: {reached:?}");
            for [host, via] in reached {
                let by_proxy = name == "with" && host != "raw.example.org";
                let expected = if by_proxy { "http" } else { "transparent" };
                // Node of the image reads the variables or not.
                assert!(via == expected || host == "node.example.org", "{who}: {host} by {via}");
            }
        }
    });
}

#[test]
fn clients_of_ssh_and_databases_need_no_proxy() {
    let test = "clients of SSH and databases";
    if !are_there(test) {
        return;
    }
    natively(test, |place, internet, who| {
        let _servers = Servers::start(&internet, place, &["ssh", "postgres", "redis"]);
        let repository = place.path("servers/web/git/tiny.git");
        for prefix in ["", WITHOUT] {
            let script =
                format!("{prefix}repository={}\n{}", repository.display(), include_str!("services.sh"));
            let hosts =
                ["git.example.org:22", "db.example.org:5432", "db.example.org:6379", "db.example.org:6380"];
            let flags = hosts.map(|host| format!("--allow-host={host}"));
            let flags: Vec<_> = flags.iter().map(String::as_str).collect();
            let output = internet.run(place, &flags, &bash(&script));
            assert_eq!(text(&output), SERVED, "{who}: {output:?}");
        }
    });
}

#[test]
fn cargo_adds_to_what_it_has_where_it_may_download() {
    let test = "crates beside an exposed toolchain";
    if !are_there(test) {
        return;
    }
    natively(test, |place, internet, who| {
        place.write("workspace/sandbox.toml", "[native]\nexpose = [\"rust\"]\n");
        place.write("home/.cargo/registry/cache/index.crates.io-0/small-0.1.0.crate", "");
        let script = "cd ~/.cargo/registry/cache 2>/dev/null && ls * || echo nothing
            mkdir -p ~/.cargo/registry/cache/index.crates.io-0 && touch ~/.cargo/registry/cache/index.crates.io-0/new && echo added";
        // Without the registry, builds have what the host has downloaded; with it, cargo downloads.
        for (flags, expected) in
            [(&[][..], "small-0.1.0.crate\n"), (&["--allow-host=preset:crates"], "nothing\nadded\n")]
        {
            let command = toolchain::lend(place, &toolchain::sysroot(), &place.inside(flags, &bash(script)));
            let output = internet.command(&command).output().unwrap();
            assert_eq!(text(&output), expected, "{who}: {output:?}");
        }
    });
}
