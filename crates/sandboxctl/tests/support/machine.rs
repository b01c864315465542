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
}

impl Feature {
    const ALL: [Self; 7] =
        [Self::Root, Self::Userns, Self::Landlock, Self::Cgroup, Self::Node, Self::Gcc, Self::Cargo];

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
