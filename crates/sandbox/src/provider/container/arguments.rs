//! The command line by which an engine runs a container: data in, arguments out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use confine::mount::mountinfo;
use confine::protocol::{Cover, RENDEZVOUS_ARGUMENT};
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, Container, Execution, Network, Plan};
use policy::rules::limits::{Bytes, MilliCpus, TmpfsLimits, TmpfsMemory};
use policy::rules::rootfs::{PRESSURE, TMPFS_PATHS};
use sha2::{Digest, Sha256};

use super::directories::HeldDirectories;
use crate::boundary::protect::mounts::Mounts;
use crate::engine::csv::field;
use crate::engine::image::Image;
use crate::engine::kind::EngineKind;
use crate::host::programs::PROXIES;
use crate::provider::container::identity::{Mounter, Namespace};
use crate::provider::container::rendezvous;
use crate::provider::mount_plan::HOSTNAME;
use crate::state::client::Client;
use crate::state::record::RunId;

/// Lists where a tmpfs is in a container of this plan: everywhere but where a boundary takes the place.
pub(super) fn tmpfs_paths(plan: &Plan) -> impl Iterator<Item = &'static str> {
    let is_taken = |path: &str| plan.boundaries.iter().any(|boundary| boundary.guest == Path::new(path));
    TMPFS_PATHS.into_iter().filter(move |path| !is_taken(path))
}

/// What the name of a container begins with; the rest is that of the sandbox.
pub(super) const CONTAINER: &str = "sandboxctl-";

/// What marks a container as ours.
pub(super) const MANAGED: &str = "sandbox.managed=true";

/// The label that names the run.
pub(super) const ID: &str = "sandbox.id";

/// The label with the user whose run it is.
pub(super) const OWNER: &str = "sandbox.owner";

/// The label with the state directory that has the record of the run, as a digest.
pub(super) const STATE: &str = "sandbox.state";

/// The label with the name of the sandbox.
pub(super) const NAME: &str = "sandbox.name";

/// The label with the process that drives it.
pub(super) const CLIENT: &str = "sandbox.client";

/// The label with what the life of the container depends on.
pub(super) const LIFE: &str = "sandbox.life";

/// What the life of a container depends on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Life {
    /// The process that made it.
    OfItsClient,
    /// Nobody: it is of a persistent sandbox.
    Stays,
    /// Nobody, until somebody takes it: it is made ahead.
    Waits,
}

impl Life {
    /// Returns the value of the label.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::OfItsClient => "client",
            Self::Stays => "stays",
            Self::Waits => "waits",
        }
    }
}

/// A run, as the labels of its containers distinguish it from all others: also from those of the same owner with another state
/// directory, whose records are not here.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) id: &'a RunId,
    pub(super) owner: u32,
    pub(super) state: &'a Path,
    /// The directory of this process's own user, which has the rendezvous of its PID 1 and its client.
    pub(super) own: &'a Path,
}

impl Run<'_> {
    /// Returns the labels that each of its containers has.
    pub(super) fn labels(&self) -> [String; 4] {
        [
            MANAGED.to_owned(),
            format!("{ID}={}", self.id.as_str()),
            format!("{OWNER}={}", self.owner),
            format!("{STATE}={}", self.state_label()),
        ]
    }

    /// Returns the value of the label of its state directory.
    pub(super) fn state_label(&self) -> String {
        format!("{:x}", Sha256::digest(self.state.as_os_str().as_bytes()))
    }
}

/// Everything that the arguments are made of.
pub(super) struct ContainerRequest<'a> {
    pub(super) kind: EngineKind,
    pub(super) plan: &'a Plan,
    pub(super) container: &'a Container,
    pub(super) image: &'a Image,
    pub(super) platform: &'a str,
    /// User and group of the agent inside.
    pub(super) inside: (u32, u32),
    pub(super) namespace: Namespace,
    pub(super) mounter: Mounter,
    pub(super) run: Run<'a>,
    pub(super) client: Client,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) rendezvous: &'a Path,
    /// What is to be mounted over each boundary.
    pub(super) protected: &'a [Mounts],
    /// What the engine is given by descriptor.
    pub(super) held: &'a HeldDirectories,
    pub(super) life: Life,
}

/// Returns the name of the container: that of its sandbox, if it has one already. Another container may have it, so nothing is identified
/// by it.
fn name(wanted: &ContainerRequest<'_>) -> String {
    let name = match wanted.life {
        Life::OfItsClient | Life::Stays => wanted.plan.name.as_str(),
        Life::Waits => wanted.run.id.as_str(),
    };
    format!("{CONTAINER}{name}")
}

/// Returns the name of the container that is created to inspect an image, and never started. No sandbox has such a name.
pub(super) fn inspection_container_name(run: &RunId) -> String {
    format!("sandboxctl_{}", run.as_str())
}

/// Returns the arguments of the engine's command.
pub(super) fn run(wanted: &ContainerRequest<'_>) -> Vec<OsString> {
    let ContainerRequest { kind, plan, container, namespace, mounter, .. } = wanted;
    let mut arguments = Arguments(Vec::new());

    // 1. It goes when it ends, and the command stays until it is gone. Podman's is made first, and started by another call:
    //    what it would hand to the runtime is looked at in between.
    match kind {
        EngineKind::Docker => arguments.add(["run", "--attach=stderr", "--sig-proxy=false"]),
        EngineKind::Podman => arguments.add(["create"]),
    }
    arguments.add(["--rm", "--pull=never", "--log-driver=none"]);
    arguments.pair("--name=", name(wanted));
    let more = [
        format!("{NAME}={}", plan.name),
        format!("{CLIENT}={}", wanted.client),
        format!("{LIFE}={}", wanted.life.label()),
        format!("sandbox.created={}", wanted.created),
    ];
    for label in wanted.run.labels().into_iter().chain(more) {
        arguments.pair("--label=", label);
    }

    // 2. Our own PID 1. The engine's has an environment that can be read; a health check would start programs
    //    beside it.
    arguments.add(["--init=false", "--no-healthcheck", "--workdir=/"]);
    let point = rendezvous::point(wanted.run.id);
    arguments.pair("--entrypoint=", point.join(rendezvous::PROGRAM));

    // 3. The agent from the start, without any right to be somebody else.
    let (uid, gid) = wanted.inside;
    arguments.pair("--user=", format!("{uid}:{gid}"));
    arguments.add(["--cap-drop=ALL", "--security-opt=no-new-privileges"]);
    // Where SELinux keeps containers from the files of users, it would keep this one from what it shares, and relabelling
    // changes the files for everybody else. Landlock confines the agent to them.
    arguments.add(["--security-opt=label=disable"]);
    // There every process may set triggers, for each of which the kernel waits when it goes. Docker has no such option: there
    // landlock refuses to write to any file of `/proc`.
    if *kind == EngineKind::Podman {
        arguments.pair("--security-opt=mask=", PRESSURE);
    }
    match (namespace, kind) {
        (Namespace::Host, EngineKind::Docker) => arguments.add(["--userns=host"]),
        (Namespace::Own, _) => arguments.pair("--userns=", format!("keep-id:uid={uid},gid={gid}")),
        (Namespace::Host | Namespace::Engine, _) => {}
    }

    // 4. Namespaces of its own, whatever the engine's defaults are.
    arguments.add(["--ipc=private", "--cgroupns=private"]);
    arguments.pair("--hostname=", HOSTNAME);
    match (&plan.network, kind) {
        (Network::None, _) => arguments.add(["--network=none"]),
        // What leads out are listeners, and some of those have low ports.
        (Network::Allowlist { .. }, _) => {
            arguments.add(["--network=none", "--sysctl=net.ipv4.ip_unprivileged_port_start=0"]);
        }
        // Its settings may say that it is the host's.
        (Network::Open, EngineKind::Podman) => arguments.add(["--network=private"]),
        (Network::Open, EngineKind::Docker) => {}
    }

    // 5. Limits. Some engines refuse what they cannot set, others leave it out silently; PID 1 checks them.
    if let Some(Bytes(bytes)) = plan.limits.memory {
        // As much with swap as without: no swap.
        arguments.pair("--memory=", format!("{bytes}b"));
        arguments.pair("--memory-swap=", format!("{bytes}b"));
    }
    if let Some(cpus @ MilliCpus(_)) = plan.limits.cpus {
        arguments.pair("--cpus=", cpus.to_string());
    }
    arguments
        .pair("--pids-limit=", plan.limits.pids.map_or_else(|| "-1".to_owned(), |pids| pids.to_string()));

    // 6. What there is to see: the image, read-only; room to write that ends with the container; the boundaries.
    arguments.add(["--read-only"]);
    let memory = match namespace {
        Namespace::Host => TmpfsMemory::Counted,
        // A rootless engine may have no control groups, and leaves limits out silently.
        Namespace::Engine | Namespace::Own => {
            TmpfsMemory::Uncounted { tmpfs: u64::try_from(TMPFS_PATHS.len()).unwrap_or(u64::MAX) }
        }
    };
    let TmpfsLimits { size: Bytes(size), inodes } = plan.limits.tmpfs(memory);
    arguments.pair("--shm-size=", format!("{size}b"));
    // The agent's own: a runtime may take the mode of what the image has there.
    for path in tmpfs_paths(plan).filter(|path| *path != "/dev/shm") {
        match kind {
            EngineKind::Docker => {
                let limits = format!("size={size},nr_inodes={inodes}");
                let options = format!("rw,exec,nosuid,nodev,mode=1777,{limits},uid={uid},gid={gid}");
                arguments.pair("--tmpfs=", format!("{path}:{options}"));
            }
            // Its `--mount` has no option that limits inodes, and its `--tmpfs` none that copies nothing into it.
            EngineKind::Podman => {
                let options = format!("tmpfs-mode=1777,tmpfs-size={size},chown=true,notmpcopyup");
                arguments.pair("--mount=", format!("type=tmpfs,destination={path},{options}"));
            }
        }
    }
    match kind {
        // Docker's command adds the proxies of its settings. A name without a value, which the command's own environment
        // does not have either, takes their place.
        EngineKind::Docker => PROXIES.iter().for_each(|name| arguments.pair("--env=", name)),
        // Podman would mount more tmpfs, and pass the caller's proxies on.
        EngineKind::Podman => arguments.add(["--read-only-tmpfs=false", "--http-proxy=false"]),
    }
    let seen = |path: &Path| seen_by_engine(container, path);
    arguments.mount(*kind, &seen(wanted.rendezvous), &point, BoundaryMode::ReadOnly);
    for file in rendezvous::files_of_etc(&plan.network) {
        arguments.mount(
            *kind,
            &seen(&wanted.rendezvous.join(file)),
            &Path::new("/etc").join(file),
            BoundaryMode::ReadOnly,
        );
    }
    let mut boundaries: Vec<_> = plan.boundaries.iter().zip(wanted.protected).collect();
    boundaries.sort_by_key(|(boundary, _)| boundary.guest.components().count());
    for (boundary, protected) in boundaries {
        match mounter {
            // The client mounts it itself, here.
            Mounter::Client => arguments.place(wanted.kind, &boundary.guest, boundary.kind),
            Mounter::Engine | Mounter::EngineByDescriptor => {
                arguments.directory(wanted, boundary, Path::new(""), boundary.mode);
                arguments.protect(wanted, boundary, protected);
            }
        }
    }

    // 7. Which image, run by what.
    arguments.pair("--platform=", wanted.platform);
    if let Some(runtime) = &container.runtime {
        arguments.pair("--runtime=", runtime);
    }
    arguments.add([wanted.image.id.as_str(), RENDEZVOUS_ARGUMENT]);
    arguments.0.push(point.into());
    arguments.0
}

/// Lists what makes two containers alike but for what is protected in shared directories: what the engine gets, without what says
/// whose it is, and which one.
pub(super) fn in_common(wanted: &ContainerRequest<'_>) -> Vec<OsString> {
    let point = rendezvous::point(wanted.run.id);
    let is_own = |argument: &OsString| {
        let argument = argument.as_bytes();
        let has = |what: &[u8]| argument.windows(what.len()).any(|part| part == what);
        argument.starts_with(b"--label=")
            || argument.starts_with(b"--name=")
            || has(point.as_os_str().as_bytes())
    };
    run(wanted).into_iter().filter(|argument| !is_own(argument)).collect()
}

/// Lists where else the engine may mount something: what the image requests, and what is mounted in shared directories on
/// the host.
pub(super) fn places(plan: &Plan, image: &Image) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = image.config.volumes().collect();
    for boundary in &plan.boundaries {
        let nested = mountinfo::beneath(&boundary.host)?;
        let below = nested.iter().filter_map(|point| point.strip_prefix(&boundary.host).ok());
        all.extend(below.map(|below| boundary.guest.join(below)));
    }
    Ok(all)
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        self.0.extend(arguments.into_iter().map(OsString::from));
    }

    fn pair(&mut self, flag: &str, value: impl AsRef<OsStr>) {
        let mut argument = OsString::from(flag);
        argument.push(value);
        self.0.push(argument);
    }

    /// Pins every directory on the way to a protected path, makes the path itself read-only, and covers sockets.
    fn protect(&mut self, wanted: &ContainerRequest<'_>, boundary: &Boundary, protected: &Mounts) {
        let mut over = |path: &Path, mode| self.directory(wanted, boundary, path, mode);
        for pin in &protected.pins {
            over(pin, boundary.mode);
        }
        for file in &protected.read_only {
            over(&file.path, BoundaryMode::ReadOnly);
        }
        for socket in &protected.masked_sockets {
            self.mount(
                wanted.kind,
                Path::new("/dev/null"),
                &boundary.guest.join(&socket.path),
                BoundaryMode::ReadOnly,
            );
        }
        for hidden in &protected.hidden {
            let cover = match hidden.cover() {
                Cover::EmptyDirectory => {
                    seen_by_engine(wanted.container, &wanted.rendezvous.join(rendezvous::EMPTY))
                }
                Cover::EmptyFile | Cover::Nothing => PathBuf::from("/dev/null"),
            };
            self.mount(wanted.kind, &cover, &boundary.guest.join(&hidden.path), BoundaryMode::ReadOnly);
        }
    }

    /// Adds something empty to mount on.
    fn place(&mut self, kind: EngineKind, target: &Path, what: BoundaryKind) {
        match what {
            BoundaryKind::Directory | BoundaryKind::Home => {
                let mut value = b"type=tmpfs,tmpfs-size=4096,tmpfs-mode=0555,".to_vec();
                value.extend(field("target", target));
                self.pair("--mount=", OsString::from_vec(value));
            }
            BoundaryKind::File => self.mount(kind, Path::new("/dev/null"), target, BoundaryMode::ReadOnly),
        }
    }

    /// Adds something of a boundary, by its descriptor where it is held.
    fn directory(
        &mut self,
        wanted: &ContainerRequest<'_>,
        boundary: &Boundary,
        path: &Path,
        mode: BoundaryMode,
    ) {
        let join = |base: &Path| if path == Path::new("") { base.to_owned() } else { base.join(path) };
        let (host, target) = (join(&boundary.host), join(&boundary.guest));
        if let Some(device) = wanted.held.device(&host) {
            self.volume(&device, &target);
        } else {
            let source = seen_by_engine(wanted.container, &host);
            self.bind(wanted.kind, &source, &target, mode, boundary.execution);
        }
    }

    /// Adds a writable mount that Docker itself makes, for the container alone. It is without a name, and so goes with
    /// the container; nothing of the image is copied into it, and nothing that is mounted on the host later shows in it.
    fn volume(&mut self, device: &str, target: &Path) {
        let mut value = b"type=volume,volume-driver=local,volume-nocopy,volume-opt=type=none,".to_vec();
        value.extend(format!("\"volume-opt=o=rbind,rprivate\",volume-opt=device={device},").bytes());
        value.extend(field("target", target));
        self.pair("--mount=", OsString::from_vec(value));
    }

    /// Adds one mount.
    fn mount(&mut self, kind: EngineKind, source: &Path, target: &Path, mode: BoundaryMode) {
        self.bind(kind, source, target, mode, Execution::Allowed);
    }

    /// Adds one mount. The value is a line of CSV, so that a path may hold commas.
    fn bind(
        &mut self,
        kind: EngineKind,
        source: &Path,
        target: &Path,
        mode: BoundaryMode,
        execution: Execution,
    ) {
        let mut value = b"type=bind,".to_vec();
        for (key, path) in [("source", source), ("target", target)] {
            value.extend(field(key, path));
            value.push(b',');
        }
        match mode {
            BoundaryMode::ReadWrite => value.extend(b"bind-propagation=rprivate"),
            BoundaryMode::ReadOnly => value.extend(b"readonly,bind-propagation=rprivate"),
        }
        // What is mounted below would stay writable.
        if kind == EngineKind::Podman && mode == BoundaryMode::ReadOnly {
            value.extend(b",bind-nonrecursive");
        }
        // Docker knows no such option, and was not asked for it.
        if kind == EngineKind::Podman && execution == Execution::Refused {
            value.extend(b",noexec");
        }
        self.pair("--mount=", OsString::from_vec(value));
    }
}

/// Translates a path of this machine to the engine's.
fn seen_by_engine(container: &Container, host: &Path) -> PathBuf {
    match &container.host_path_prefix {
        None => host.to_owned(),
        Some(prefix) => prefix.components().chain(host.components().skip(1)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use policy::plan::{self, FileId, Init, Protect, Provider, Pull};
    use policy::rules::limits::Limits;

    use super::*;

    const ID: FileId = FileId { device: 1, inode: 2 };

    fn arguments(
        kind: EngineKind,
        network: Network,
        namespace: Namespace,
        inside: (u32, u32),
    ) -> Vec<String> {
        let boundary = |name: &str, guest: &str, mode| Boundary {
            name: name.to_owned(),
            host: Path::new("/srv").join(name),
            guest: guest.into(),
            mode,
            file_id: ID,
            obeyed_as: None,
            worktrees: Vec::new(),
            tools: policy::plan::ToolRules::default(),
            hide: Vec::new(),
            execution: Execution::Allowed,
            kind: BoundaryKind::Directory,
        };
        let plan = Plan {
            name: "box".to_owned(),
            provider: Provider::Docker,
            provider_reason: None,
            agent: plan::AgentProcess {
                argv: vec!["true".into()],
                workdir: "/workspace".into(),
                init: Init::Supervise,
                pass_fd: Vec::new(),
            },
            env: Vec::new(),
            git: None,
            secrets: Vec::new(),
            routes: Vec::new(),
            unset: Vec::new(),
            boundaries: vec![
                boundary("inner, \"one\"", "/workspace/inner", BoundaryMode::ReadOnly),
                boundary("outer", "/workspace", BoundaryMode::ReadWrite),
            ],
            sockets: Vec::new(),
            expose: Vec::new(),
            links: Vec::new(),
            container: None,
            network,
            limits: Limits { memory: Some(Bytes(1 << 20)), cpus: Some(MilliCpus(1500)), ..Limits::default() },
            pool: None,
            children: None,
            commands: policy::commands::CommandRules::default(),
            workers: Vec::new(),
            protect: Protect::NOTHING,
            lifecycle: policy::plan::Lifecycle::default(),
            layers: std::collections::BTreeMap::new(),
        };
        let container = Container {
            image: "registry.example.org/box:1".to_owned(),
            pull: Pull::Never,
            platform: None,
            runtime: Some("runsc".to_owned()),
            host_path_prefix: Some("/host".into()),
        };
        let image = Image {
            name: container.image.clone(),
            id: format!("sha256:{}", "0".repeat(64)).try_into().unwrap(),
            architecture: "amd64".to_owned(),
            config: crate::engine::image::ImageConfig::default(),
            annotations: std::collections::BTreeMap::new(),
            unfetched: None,
        };
        let protected = [Mounts::default(), Mounts { pins: vec![".git".into()], ..Mounts::default() }];
        let wanted = ContainerRequest {
            kind,
            plan: &plan,
            container: &container,
            image: &image,
            platform: "linux/amd64",
            inside,
            namespace,
            mounter: Mounter::Engine,
            run: Run {
                id: &RunId::generate().unwrap(),
                owner: 1001,
                state: Path::new("/state"),
                own: Path::new("/own"),
            },
            client: Client::this().unwrap(),
            created: 7,
            rendezvous: Path::new("/state/rendezvous"),
            protected: &protected,
            held: &HeldDirectories::default(),
            life: Life::OfItsClient,
        };
        run(&wanted).into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[test]
    fn every_container_is_without_rights_and_without_what_engines_add() {
        for (kind, namespace) in [(EngineKind::Docker, Namespace::Host), (EngineKind::Podman, Namespace::Own)]
        {
            let arguments = arguments(kind, Network::None, namespace, (1001, 1002));
            for flag in [
                "--rm", "--pull=never", "--init=false", "--no-healthcheck", "--user=1001:1002",
                "--cap-drop=ALL", "--security-opt=no-new-privileges", "--ipc=private", "--cgroupns=private",
                "--network=none", "--memory=1048576b", "--memory-swap=1048576b", "--cpus=1.5", "--read-only",
                "--runtime=runsc", "--label=sandbox.owner=1001",
            ] {
                assert!(arguments.iter().any(|argument| argument == flag), "{flag} in {arguments:#?}");
            }
            let point = arguments.last().unwrap();
            assert!(point.starts_with("/sandboxctl-") && point.len() == 28, "{point}");
            assert!(arguments.contains(&format!("--entrypoint={point}/entrypoint")), "{arguments:#?}");
            let digest = format!("sha256:{}", "0".repeat(64));
            assert_eq!(
                arguments[arguments.len() - 3..arguments.len() - 1],
                [digest.as_str(), "--rendezvous"],
                "never by a name"
            );
            assert!(
                !arguments
                    .iter()
                    .any(|argument| argument.starts_with("--env") && argument.matches('=').count() > 1
                        || argument.contains("privileged"))
            );
        }
        let open = arguments(EngineKind::Docker, Network::Open, Namespace::Host, (1001, 1001));
        assert!(!open.iter().any(|argument| argument.starts_with("--network")));
        let own = arguments(EngineKind::Podman, Network::None, Namespace::Own, (1000, 1000));
        assert!(own.iter().any(|argument| argument == "--userns=keep-id:uid=1000,gid=1000"), "{own:#?}");
        assert!(own.iter().any(|argument| argument == "--security-opt=mask=/proc/pressure"), "{own:#?}");
    }

    #[test]
    fn directories_are_mounted_outer_first_and_as_the_engine_sees_them() {
        let arguments = arguments(EngineKind::Docker, Network::None, Namespace::Host, (1001, 1001));
        let shared: Vec<&str> =
            arguments.iter().filter(|argument| argument.contains("/srv/")).map(String::as_str).collect();
        let end = "bind-propagation=rprivate";
        assert_eq!(
            shared,
            [
                format!("--mount=type=bind,\"source=/host/srv/outer\",\"target=/workspace\",{end}"),
                format!("--mount=type=bind,\"source=/host/srv/outer/.git\",\"target=/workspace/.git\",{end}"),
                format!(
                    "--mount=type=bind,\"source=/host/srv/inner, \"\"one\"\"\",\"target=/workspace/inner\",readonly,{end}"
                ),
            ]
        );
    }
}
