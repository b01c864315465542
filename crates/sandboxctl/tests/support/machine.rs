//! What the machine is declared to have, and who calls.
//!
//! `SANDBOX_TEST_FEATURES` is a list such as `root,userns,landlock`. What it names must be there; what it does
//! not name is not tested, and that is said.

use std::io::Write;
use std::process::{Command, Stdio};

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Feature {
    /// The tests run as root.
    Root,
    /// A normal user may make namespaces.
    Userns,
    /// The kernel has landlock.
    Landlock,
    /// Root has control groups for processes and memory.
    Cgroup,
    /// `node` is installed.
    Node,
    /// `gcc` is installed.
    Gcc,
    /// `cargo` is installed.
    Cargo,
    /// Clients and servers of the network are installed, which `make test` does for root.
    Clients,
    /// Chromium, Go and Maven are installed, which `make test` does for root where there are packages.
    Programs,
    /// Published agents and SDKs are in `SANDBOX_TEST_AGENTS`, where `tests/agents` installs them.
    Agents,
    /// A Docker engine of root's answers on its usual socket, and has the image of the tests.
    Docker,
    /// One of the normal user's answers on `SANDBOX_TEST_ROOTLESS`.
    Rootless,
    /// Podman works, as root and as the normal user.
    Podman,
    /// Programs of the other processor start, through QEMU.
    Emulation,
}

/// Who runs a sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Runner {
    /// Namespaces of this host.
    Native,
    /// Docker, as root.
    Docker,
    /// Docker, as the caller.
    RootlessDocker,
    /// Podman: root's is that of root, everybody else's their own.
    Podman,
    /// Nobody: without isolation, on this host itself.
    Local,
}

impl Runner {
    /// Whether there is any isolation.
    pub(crate) fn isolates(self) -> bool {
        self != Self::Local
    }
}

/// Who can run sandboxes of this caller here, isolated.
pub(crate) fn runners(caller: Caller, test: &str) -> Vec<Runner> {
    let engines = [
        (Runner::Docker, Feature::Docker),
        (Runner::RootlessDocker, Feature::Rootless),
        (Runner::Podman, Feature::Podman),
    ];
    let engines = engines
        .into_iter()
        // Somebody else's engine is refused, whoever calls.
        .filter(|(runner, _)| (*runner, caller) != (Runner::RootlessDocker, Caller::Root))
        .filter(|(runner, feature)| is_there(*feature, &format!("{test} in {runner:?} as {caller:?}")))
        .map(|(runner, _)| runner);
    std::iter::once(Runner::Native).chain(engines).filter(|runner| runner.isolates()).collect()
}

/// The image that containers of the tests are made from.
pub(crate) fn image() -> String {
    std::env::var("SANDBOX_TEST_IMAGE").expect("tests/engine says which image the tests use")
}

impl Feature {
    const ALL: [Self; 14] = [
        Self::Root,
        Self::Userns,
        Self::Landlock,
        Self::Cgroup,
        Self::Node,
        Self::Gcc,
        Self::Cargo,
        Self::Clients,
        Self::Programs,
        Self::Agents,
        Self::Docker,
        Self::Rootless,
        Self::Podman,
        Self::Emulation,
    ];

    /// How it is declared.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Who calls `sandboxctl`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Caller {
    /// Root of the host.
    Root,
    /// A normal user: 1001 where the tests run as root, else whoever runs them.
    Normal,
}

/// The normal user that root calls as. No such user has to exist.
pub(crate) const NORMAL: u32 = 1001;

/// The callers that this machine can have.
pub(crate) fn callers(test: &str) -> Vec<Caller> {
    [(Caller::Root, Feature::Root), (Caller::Normal, Feature::Userns)]
        .into_iter()
        .filter(|(caller, feature)| is_there(*feature, &format!("{test} as {caller:?}")))
        .map(|(caller, _)| caller)
        .collect()
}

/// Whether a test that needs a feature can run. If it cannot, says so.
pub(crate) fn is_there(feature: Feature, test: &str) -> bool {
    let name = feature.name();
    if declared().contains(&name) {
        return true;
    }
    // What is written here and not printed is seen without `--nocapture`.
    let line = format!("not run: {test}, because {name} is not declared in {VARIABLE}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr can be written");
    false
}

/// Where Podman of the normal user keeps its images, and what it runs.
pub(crate) fn podman() -> (String, String) {
    let variable = |name| std::env::var(name).expect("tests/engine says where Podman keeps its images");
    (variable("SANDBOX_TEST_PODMAN_DATA"), variable("SANDBOX_TEST_PODMAN_RUNTIME"))
}

#[test]
fn what_is_declared_is_there() {
    for name in declared() {
        let feature = Feature::ALL.into_iter().find(|feature| feature.name() == name);
        let feature = feature.unwrap_or_else(|| panic!("{name} is no feature; those are {:?}", Feature::ALL));
        assert!(probe(feature), "{name} is declared in {VARIABLE}, and is not there");
    }
}

const VARIABLE: &str = "SANDBOX_TEST_FEATURES";

fn declared() -> Vec<String> {
    let list = std::env::var(VARIABLE).unwrap_or_default();
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn probe(feature: Feature) -> bool {
    let normal = NORMAL.to_string();
    let as_normal = ["setpriv", "--reuid", &normal, "--regid", &normal, "--clear-groups"];
    let namespaces = ["unshare", "--user", "--mount", "--pid", "--net", "true"];
    match feature {
        Feature::Root => rustix::process::geteuid().is_root(),
        Feature::Userns if rustix::process::geteuid().is_root() => {
            succeeds(&[&as_normal[..], &namespaces].concat())
        }
        Feature::Userns => succeeds(&namespaces),
        // landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
        Feature::Landlock => succeeds(&[
            "python3",
            "-c",
            "import ctypes; exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)",
        ]),
        Feature::Cgroup => succeeds(&[
            "sh",
            "-c",
            "test -w /sys/fs/cgroup/pids || grep -q pids /sys/fs/cgroup/cgroup.controllers",
        ]),
        Feature::Node => succeeds(&["node", "--version"]),
        Feature::Gcc => succeeds(&["gcc", "--version"]),
        Feature::Cargo => succeeds(&["cargo", "--version"]),
        Feature::Clients => succeeds(&[
            "sh",
            "-c",
            "PATH=/usr/bin:/bin:/usr/sbin
            for name in curl dpkg-deb java javac keytool npm openssl psql redis-cli redis-server ssh sshd; do command -v $name || exit; done
            ls /usr/lib/postgresql/*/bin/postgres && python3 -c 'import httpx, pip, requests'",
        ]),
        Feature::Programs => {
            succeeds(&["sh", "-c", "PATH=/usr/bin:/bin; for name in chromium go mvn; do command -v $name || exit; done"])
        }
        Feature::Agents => std::env::var("SANDBOX_TEST_AGENTS")
            .is_ok_and(|agents| std::path::Path::new(&agents).join("complete").exists()),
        Feature::Docker => succeeds(&["docker", "image", "inspect", &image()]),
        Feature::Rootless => std::env::var("SANDBOX_TEST_ROOTLESS")
            .is_ok_and(|host| succeeds(&["docker", "--host", &host, "image", "inspect", &image()])),
        Feature::Emulation => {
            succeeds(&["sh", "-c", "cat /proc/sys/fs/binfmt_misc/qemu-* | grep -q ^enabled"])
        }
        Feature::Podman => succeeds(&["podman", "image", "exists", &image()]),
    }
}

fn succeeds(argv: &[&str]) -> bool {
    let status = Command::new(argv[0])
        .args(&argv[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
