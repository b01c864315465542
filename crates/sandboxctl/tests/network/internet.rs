//! An internet of one machine: names and addresses as of the real one, in a network namespace of its own, with servers that say
//! who has come.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::place::Place;

/// What has no other purpose than to be written about (RFC 5737), and is reached like any address of the internet.
pub(crate) const SERVER: &str = "198.51.100.7";

/// Another one, for the servers of [`crate::clients`].
pub(crate) const REGISTRY: &str = "198.51.100.8";

/// The names there are, and where they lead.
const HOSTS: &str = "127.0.0.1 inward.example.org
198.51.100.7 up.example.org other.example.org host-1.wild.example.org
10.1.2.3 private.example.org
198.51.100.7 mixed.example.org
10.1.2.3 mixed.example.org
169.254.169.254 metadata.example.org
fd00:ec2::254 metadata6.example.org
198.51.100.7 metadata-too.example.org
169.254.169.254 metadata-too.example.org
198.51.100.8 curl.example.org git.example.org pip.example.org npm.example.org crates.example.org debian.example.org
198.51.100.8 node.example.org requests.example.org httpx.example.org raw.example.org db.example.org
198.51.100.8 api.anthropic.com api.openai.com
";

/// Brings the interface up, with the addresses of the servers and of the resolver that this machine is configured to ask. The
/// mounts stay those of the machine: engines open files of a client by way of `/proc`.
const SCRIPT: &str = r#"ip link set lo up || exit
for address in "$1/32" "$3/32" 169.254.169.254/32 203.0.113.1/32 '2001:db8::1/128 nodad' 'fd00:ec2::254/128 nodad'; do
    ip address add $address dev lo || exit
done
# The kernel adds the route of an IPv6 address a moment after the address.
for address in 2001:db8::1 fd00:ec2::254; do
    until ip -6 route show table local | grep -q "^local $address "; do :; done
done
resolvers=$(sed -n 's/^nameserver *//p' /etc/resolv.conf)
for resolver in $resolvers; do
    case $resolver in 127.*|::1) ;; *) ip address add "$resolver" dev lo ;; esac
done
exec python3 "$0" "$1" "$2" ${resolvers:-127.0.0.1}"#;

/// One that is up. It ends when this is dropped.
pub(crate) struct Internet {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Internet {
    /// Makes one, with its files in a place.
    pub(crate) fn of(place: &Place) -> Self {
        let hosts = place.path("hosts");
        fs::write(&hosts, HOSTS).unwrap();
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/network/server.py");
        let mut process = Command::new("unshare")
            .args(["--net", "sh", "-c", SCRIPT, server, SERVER])
            .arg(&hosts)
            .arg(REGISTRY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        assert_eq!(first, "ready\n", "the servers are not up");
        Self { process, said }
    }

    /// Runs a sandbox whose client is on this internet.
    pub(crate) fn run(&self, place: &Place, flags: &[&str], argv: &[&str]) -> Output {
        self.command(&place.inside(flags, argv)).output().unwrap()
    }

    /// Moves a command onto this internet.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let pid = self.process.id().to_string();
        let mut moved = Command::new("nsenter");
        moved.args(["--net", "--target", &pid, "--"]).arg(command.get_program()).args(command.get_args());
        moved.current_dir(command.get_current_dir().unwrap());
        moved.env_clear().stdin(Stdio::null());
        moved.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        moved
    }

    /// Ends it, and returns what its servers have said: a line for each request that has come.
    pub(crate) fn requests(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        said.lines().map(str::to_owned).collect()
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a command has written to standard output.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A script for bash.
pub(crate) fn bash(script: &str) -> [&str; 3] {
    ["bash", "-c", script]
}

/// Whether a program is on this machine.
pub(crate) fn has(program: &str) -> bool {
    std::env::split_paths(OsStr::new("/usr/local/bin:/usr/bin:/bin")).any(|path| path.join(program).exists())
}
