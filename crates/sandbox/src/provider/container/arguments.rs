//! The command line by which an engine is told to run a container: data in, words out.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use confine::init::{MEET_ARGUMENT, MEETING_POINT};
use policy::limits::{Bytes, MilliCpus};
use policy::network;
use policy::plan::{Boundary, Container, Mode, Plan};
use policy::policy::HOME;

use super::meeting;
use super::who::{Namespace, Who};
use crate::engine::Kind;
use crate::protect::Mounts;
use crate::provider::native::HOSTNAME;
use crate::record::{Client, RunId};

/// Where anything may be written until the sandbox ends.
pub(super) const TEMPORARY: [&str; 4] = ["/dev/shm", HOME, "/run", "/tmp"];

/// What marks a container as ours.
pub(super) const MANAGED: &str = "sandbox.managed=true";

/// The label that names the run.
pub(super) const ID: &str = "sandbox.id";

/// The label with the user whose run it is.
pub(super) const OWNER: &str = "sandbox.owner";

/// The label with the name of the sandbox.
pub(super) const NAME: &str = "sandbox.name";

/// The label with the process that drives it.
pub(super) const CLIENT: &str = "sandbox.client";

/// Everything that the words are made of.
pub(super) struct Wanted<'a> {
    pub(super) kind: Kind,
    pub(super) plan: &'a Plan,
    pub(super) container: &'a Container,
    pub(super) platform: &'a str,
    pub(super) who: &'a Who,
    pub(super) run: &'a RunId,
    pub(super) owner: u32,
    pub(super) client: Client,
    /// Seconds since 1970.
    pub(super) created: u64,
    /// The directory of the meeting.
    pub(super) meeting: &'a Path,
    /// What is to be mounted over each boundary.
    pub(super) protected: &'a [Mounts],
}

/// The name of the container. It may be another one's, so nothing is ever told by it.
fn name(plan: &Plan) -> String {
    format!("sandboxctl-{}", plan.name)
}

/// The words after the name of the engine's command.
pub(super) fn run(wanted: &Wanted<'_>) -> Vec<OsString> {
    let Wanted { kind, plan, container, who, .. } = wanted;
    let mut words = Words(Vec::new());

    // 1. It goes when it ends, and the command stays until it is gone.
    words.add(["run", "--rm", "--pull=never", "--log-driver=none"]);
    words.add(["--attach=stderr", "--sig-proxy=false"]);
    words.pair("--name=", name(plan));
    for label in [
        MANAGED.to_owned(),
        format!("{ID}={}", wanted.run.as_str()),
        format!("{OWNER}={}", wanted.owner),
        format!("{NAME}={}", plan.name),
        format!("{CLIENT}={}", wanted.client),
        format!("sandbox.created={}", wanted.created),
    ] {
        words.pair("--label=", label);
    }

    // 2. Our own PID 1. The engine's has an environment that can be read; a health check would start programs
    //    beside it.
    words.add(["--init=false", "--no-healthcheck", "--workdir=/"]);
    words.pair("--entrypoint=", format!("{MEETING_POINT}/{}", meeting::PROGRAM));

    // 3. The agent from the start, without any right to be somebody else.
    let (uid, gid) = who.inside;
    words.pair("--user=", format!("{uid}:{gid}"));
    words.add(["--cap-drop=ALL", "--security-opt=no-new-privileges"]);
    match (who.namespace, kind) {
        (Namespace::Host, Kind::Docker) => words.add(["--userns=host"]),
        (Namespace::Own, _) => words.pair("--userns=", format!("keep-id:uid={uid},gid={gid}")),
        (Namespace::Host | Namespace::Engine, _) => {}
    }

    // 4. Namespaces of its own, whatever the engine's defaults are.
    words.add(["--ipc=private", "--cgroupns=private"]);
    words.pair("--hostname=", HOSTNAME);
    if plan.network == network::Mode::None {
        words.add(["--network=none"]);
    }

    // 5. Limits. What the engine cannot set it leaves out without a word; PID 1 looks.
    if let Some(Bytes(bytes)) = plan.limits.memory {
        // As much with swap as without: no swap.
        words.pair("--memory=", format!("{bytes}b"));
        words.pair("--memory-swap=", format!("{bytes}b"));
    }
    if let Some(cpus @ MilliCpus(_)) = plan.limits.cpus {
        words.pair("--cpus=", cpus.to_string());
    }
    words.pair("--pids-limit=", plan.limits.pids.map_or_else(|| "-1".to_owned(), |pids| pids.to_string()));

    // 6. What there is to see: the image, read-only; room to write that ends with the container; the boundaries.
    words.add(["--read-only"]);
    let size = plan.limits.tmp_size.0;
    words.pair("--shm-size=", format!("{size}b"));
    // The agent's own: a runtime may take the mode of what the image has there.
    for path in TEMPORARY.iter().filter(|path| **path != "/dev/shm") {
        match kind {
            Kind::Docker => {
                let options = format!("rw,exec,nosuid,nodev,mode=1777,size={size},uid={uid},gid={gid}");
                words.pair("--tmpfs=", format!("{path}:{options}"));
            }
            Kind::Podman => {
                let options = format!("tmpfs-mode=1777,tmpfs-size={size},chown=true,notmpcopyup");
                words.pair("--mount=", format!("type=tmpfs,destination={path},{options}"));
            }
        }
    }
    if *kind == Kind::Podman {
        // It would mount more of the kind, and let the caller's proxies in.
        words.add(["--read-only-tmpfs=false", "--http-proxy=false"]);
    }
    let seen = |path: &Path| seen_by_engine(container.host_path_prefix.as_deref(), path);
    words.mount(*kind, &seen(wanted.meeting), Path::new(MEETING_POINT), Mode::ReadOnly);
    for file in ["passwd", "group"] {
        words.mount(*kind, &seen(&wanted.meeting.join(file)), &Path::new("/etc").join(file), Mode::ReadOnly);
    }
    let mut boundaries: Vec<_> = plan.boundaries.iter().zip(wanted.protected).collect();
    boundaries.sort_by_key(|(boundary, _)| boundary.guest.components().count());
    for (boundary, protected) in boundaries {
        if who.agent.is_nobody {
            // We mount it ourselves, with its owner mapped. Here is where.
            words.place(&boundary.guest);
        } else {
            words.mount(*kind, &seen(&boundary.host), &boundary.guest, boundary.mode);
            words.protect(*kind, boundary, protected, &seen);
        }
    }

    // 7. Which image, run by what.
    words.pair("--platform=", wanted.platform);
    if let Some(runtime) = &container.runtime {
        words.pair("--runtime=", runtime);
    }
    words.add([container.image.as_str(), MEET_ARGUMENT]);
    words.0
}

struct Words(Vec<OsString>);

impl Words {
    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn pair(&mut self, flag: &str, value: impl AsRef<OsStr>) {
        let mut word = OsString::from(flag);
        word.push(value);
        self.0.push(word);
    }

    /// Pins every directory on the way to a protected path, makes the path itself read-only, and covers sockets.
    fn protect(
        &mut self,
        kind: Kind,
        boundary: &Boundary,
        protected: &Mounts,
        seen: &dyn Fn(&Path) -> PathBuf,
    ) {
        let mut over = |path: &Path, mode| {
            self.mount(kind, &seen(&boundary.host.join(path)), &boundary.guest.join(path), mode);
        };
        for pin in &protected.pins {
            over(pin, boundary.mode);
        }
        for file in &protected.read_only {
            over(&file.path, Mode::ReadOnly);
        }
        for socket in &protected.masked_sockets {
            self.mount(kind, Path::new("/dev/null"), &boundary.guest.join(&socket.path), Mode::ReadOnly);
        }
    }

    /// An empty directory to mount something on.
    fn place(&mut self, target: &Path) {
        let mut value = b"type=tmpfs,tmpfs-size=4096,tmpfs-mode=0555,".to_vec();
        value.extend(field("target", target));
        self.pair("--mount=", OsString::from_vec(value));
    }

    /// One mount. The value is a line of CSV, so that a path may hold commas.
    fn mount(&mut self, kind: Kind, source: &Path, target: &Path, mode: Mode) {
        let mut value = b"type=bind,".to_vec();
        for (key, path) in [("source", source), ("target", target)] {
            value.extend(field(key, path));
            value.push(b',');
        }
        match mode {
            Mode::ReadWrite => value.extend(b"bind-propagation=rprivate"),
            Mode::ReadOnly => value.extend(b"readonly,bind-propagation=rprivate"),
        }
        // What is mounted below would stay writable.
        if kind == Kind::Podman && mode == Mode::ReadOnly {
            value.extend(b",bind-nonrecursive");
        }
        self.pair("--mount=", OsString::from_vec(value));
    }
}

/// One field of a line of CSV, in quotes.
fn field(key: &str, path: &Path) -> Vec<u8> {
    let mut field = [b"\"", key.as_bytes(), b"="].concat();
    for byte in path.as_os_str().as_bytes() {
        field.extend(if *byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(byte) });
    }
    field.push(b'"');
    field
}

/// A path of this machine, as the engine sees it.
fn seen_by_engine(prefix: Option<&Path>, host: &Path) -> PathBuf {
    match prefix {
        None => host.to_owned(),
        Some(prefix) => prefix.components().chain(host.components().skip(1)).collect(),
    }
}
