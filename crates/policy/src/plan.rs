//! The plan: what a provider has to do, fully resolved.
//!
//! A provider reads a plan and nothing else. A plan holds no secret value: secrets are named with their
//! source and read at the moment the sandbox starts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::commands::CommandRules;
use crate::protect::borrowed;
use crate::rules::children::Children;
use crate::rules::git::GitIdentity;
use crate::rules::limits::{Bytes, Limits};
use crate::rules::network::{HostPattern, HostRule, NetworkMode};
pub use crate::rules::path::BoundaryMode;
use crate::rules::worker::AttachmentRules;
use crate::text::json_bytes;

/// Everything a provider needs to know to start one sandbox.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Plan {
    /// The name of the sandbox, chosen by the caller or made up.
    pub name: String,
    pub provider: Provider,
    /// Why it is that provider, when `auto` chose.
    pub provider_reason: Option<String>,
    pub agent: AgentProcess,
    /// The environment of the agent, without secrets; names are unique.
    pub env: Vec<Variable>,
    /// Variables that the agent does not have, though an image or the sandbox that it is in sets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// Who commits, where the caller's configuration of git says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitIdentity>,
    /// Secrets that are passed on at the start.
    pub secrets: Vec<Secret>,
    /// Where the egress proxy sends requests with credentials that it adds itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Host directories inside the sandbox. No host path lies within another's.
    pub boundaries: Vec<Boundary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<Socket>,
    pub expose: Vec<Exposed>,
    /// Links to exposed toolchains, as they are on the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What a container is made from; `None` where the provider makes none.
    pub container: Option<Container>,
    pub network: Network,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Lifecycle::is_unlimited")]
    pub lifecycle: Lifecycle,
    /// How many containers like this one are made ahead; `None` where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// The sandboxes that the agent may start beside its own; `limits` is what is left for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Children>,
    /// Which commands run that a model asks for.
    #[serde(default)]
    pub commands: CommandRules,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
    pub protect: Protect,
    /// Every layer of isolation and whether the start fails without it.
    pub layers: BTreeMap<Layer, Need>,
}

/// A sandbox to which a model delegates a part of its work.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Worker {
    /// Its name in the configuration.
    pub name: String,
    /// What it is for, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many of it live at once.
    pub max: NonZeroU32,
    pub attachments: AttachmentRules,
    /// What each of them is made from, but for its name. It has no workers.
    pub plan: Plan,
}

/// How long a persistent sandbox lives.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Lifecycle {
    /// How long it waits for a command before it ends.
    pub idle_timeout: Option<Duration>,
    /// How old it gets.
    pub max_duration: Option<Duration>,
}

impl Lifecycle {
    /// Returns whether nothing but its owner ends it.
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Containers that are made ahead.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Pool {
    /// How many wait at once.
    pub size: NonZeroU32,
    /// How long each waits.
    pub max_age: Duration,
}

/// How much of the network is there.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing but the sandbox's own loopback.
    #[default]
    None,
    /// What these rules allow, through the egress proxy.
    Allowlist {
        allow: Vec<HostRule>,
        /// Wins over `allow`.
        deny: Vec<HostRule>,
        /// Hosts to which the proxy ends TLS itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        intercept: Vec<HostPattern>,
    },
    /// Everything that the host reaches.
    Open,
}

impl Network {
    /// Returns how much of it is there.
    pub fn mode(&self) -> NetworkMode {
        match self {
            Self::None => NetworkMode::None,
            Self::Allowlist { .. } => NetworkMode::Allowlist,
            Self::Open => NetworkMode::Open,
        }
    }

    /// Returns the hosts to which the egress proxy ends TLS itself.
    pub fn intercepted(&self) -> &[HostPattern] {
        match self {
            Self::Allowlist { intercept, .. } => intercept,
            Self::None | Self::Open => &[],
        }
    }
}

/// Who carries a plan out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Docker,
    Podman,
    /// Namespaces of this Linux host, without a daemon.
    Native,
    /// No isolation at all.
    Local,
}

impl Provider {
    /// Returns whether what it runs are containers of an engine.
    pub fn runs_containers(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Native => "native",
            Self::Local => "local",
        })
    }
}

/// What a container is made from.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Container {
    pub image: String,
    pub pull: Pull,
    /// The platform of the image, where it is not the engine's own.
    pub platform: Option<String>,
    /// The runtime, where it is not the engine's own choice.
    pub runtime: Option<String>,
    /// What stands before a host path as the engine sees it.
    #[serde(default, with = "json_bytes::optional_path")]
    pub host_path_prefix: Option<PathBuf>,
}

/// Returns whether the name of an image has a registry. One without a registry is a name of this machine: a registry that
/// everybody may write to must not answer for it.
pub fn names_a_registry(image: &str) -> bool {
    image.split_once('/').is_some_and(|(first, _)| first.contains(['.', ':']) || first == "localhost")
}

/// When an engine fetches an image.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pull {
    #[default]
    Missing,
    Always,
    Never,
}

/// What runs inside, and as whom.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentProcess {
    /// The command with its arguments; never empty.
    #[serde(with = "json_bytes::os_strings")]
    pub argv: Vec<OsString>,
    /// Where it starts, as the sandbox sees it.
    #[serde(with = "json_bytes::path")]
    pub workdir: PathBuf,
    pub init: Init,
    /// Numbers of descriptors of the caller's that it has besides its streams: 3 or more, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_fd: Vec<u32>,
}

/// Which program PID 1 is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// Our own init: it reaps orphans and forwards signals.
    #[default]
    Supervise,
    /// The agent itself.
    Exec,
}

/// One variable of the agent's environment.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Variable {
    /// Its name: not empty, without `=` and NUL.
    pub name: String,
    /// Its value, which need not be UTF-8.
    #[serde(with = "json_bytes::os_string")]
    pub value: OsString,
}

impl Plan {
    /// Lists everything whose value is read at the start: what is passed on, then what the egress proxy adds.
    pub fn credentials(&self) -> impl Iterator<Item = &Secret> {
        self.secrets.iter().chain(self.routes.iter().filter_map(|route| route.credential.as_ref()))
    }

    /// Lists the variables of the caller's that these are read from.
    pub fn credential_variables(&self) -> Vec<&str> {
        let sources = self.credentials().map(|secret| &secret.source);
        let variables = sources.filter_map(|source| match source {
            SecretSource::Env(name) => Some(name.as_str()),
            SecretSource::File(_) | SecretSource::Command(_) => None,
        });
        variables.collect()
    }
}

/// A route of the egress proxy: what is asked of `/NAME/…`, or of servers to which TLS is intercepted, goes out with a credential that
/// the agent never sees.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Route {
    /// The first part of its paths on the proxy.
    pub name: String,
    pub upstream: RouteUpstream,
    /// The credential, and the variable in which the agent has a token for it; `None` where the server wants none.
    pub credential: Option<Secret>,
    /// Variables that tell the agent's programs where it is.
    pub variables: Vec<Variable>,
}

/// The server of a route.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteUpstream {
    /// That of a provider that is known by this name.
    Provider(String),
    /// Another one.
    Custom {
        url: String,
        /// The header in which it wants the credential.
        header: String,
        /// What the header says; `{}` is the credential.
        template: String,
    },
    /// No path of the proxy's own: programs ask these servers by TLS, which is intercepted.
    Intercepted(Vec<CreditedServer>),
}

/// A server that gets a credential with requests which the egress proxy intercepts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CreditedServer {
    /// What it gets the credential for: all at this URL and below it.
    pub url: String,
    pub header: String,
    /// What the header says; `{}` is the credential.
    pub template: String,
}

/// A secret of which the agent sees the value, or a token in its place. The value is not here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Secret {
    /// Its name in the configuration.
    pub name: String,
    pub env_var: String,
    /// Where the value is read from at the start.
    pub source: SecretSource,
}

/// Where the value of a secret is read from.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// A variable of the caller's environment.
    Env(String),
    /// A file; one trailing newline is not part of the value.
    File(#[serde(with = "json_bytes::path")] PathBuf),
    /// What a command prints, run by `sh -c`; one trailing newline is not part of the value.
    Command(String),
}

/// A Unix socket of the host that the agent may connect to: bytes are relayed, and no descriptors.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Socket {
    /// Its name in the configuration.
    pub name: String,
    /// The socket on the host, with every link resolved.
    #[serde(with = "json_bytes::path")]
    pub host: PathBuf,
    #[serde(with = "json_bytes::path")]
    pub guest: PathBuf,
}

/// A named directory, or file, with a mode.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Boundary {
    /// Its name in the configuration.
    pub name: String,
    /// The directory on the host, with every link resolved.
    #[serde(with = "json_bytes::path")]
    pub host: PathBuf,
    /// What it was when it was validated.
    #[serde(default)]
    pub kind: BoundaryKind,
    /// Where the sandbox sees it: absolute, without `.` and `..`.
    #[serde(with = "json_bytes::path")]
    pub guest: PathBuf,
    pub mode: BoundaryMode,
    #[serde(default)]
    pub execution: Execution,
    /// Patterns of what of it is hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Where it is the repository of linked worktrees that are shared: the names of their data in it. The data of others is
    /// read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<String>,
    #[serde(default, skip_serializing_if = "ToolRules::is_unlimited")]
    pub tools: ToolRules,
    /// The directory that was validated; what is mounted must be this one.
    pub file_id: FileId,
    /// The protected path that it is or lies in, in words, where it is writable: programs outside obey what is written
    /// there, and nothing beneath it is read-only for that.
    #[serde(default)]
    pub obeyed_as: Option<String>,
}

/// Which files of a boundary the file tools touch. Commands are not bound by it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ToolRules {
    /// The only suffixes, such as `.md`; without one, every file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suffixes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<Bytes>,
}

impl ToolRules {
    /// Returns whether every file may be touched.
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// What a boundary is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryKind {
    /// A directory with all that is in it.
    #[default]
    Directory,
    /// A single regular file, which is always read-only.
    File,
    /// A persistent home directory of sandboxes. Nothing on the host obeys what is in it, so nothing in it is protected.
    Home,
}

/// Whether programs that lie in a boundary can be executed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    #[default]
    Allowed,
    /// They cannot, nor be mapped as code: `noexec` of mount(8).
    Refused,
}

/// Which file a path led to when it was looked up.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct FileId {
    /// The device number of its file system.
    pub device: u64,
    pub inode: u64,
}

/// A toolchain of the host, read-only inside at the same path.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Exposed {
    /// The preset it belongs to, or the path that was asked for.
    pub name: String,
    /// The host path, with every link resolved.
    #[serde(with = "json_bytes::path")]
    pub host: PathBuf,
    #[serde(with = "json_bytes::path")]
    pub guest: PathBuf,
    /// Which file or directory was validated; nothing else may be mounted.
    pub file_id: FileId,
}

/// A symbolic link that a sandbox has.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Link {
    #[serde(with = "json_bytes::path")]
    pub guest: PathBuf,
    /// What it leads to inside: relative to its directory, or absolute.
    #[serde(with = "json_bytes::path")]
    pub target: PathBuf,
}

/// What stays read-only inside writable boundaries.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Protect {
    /// Relative paths that are protected in a boundary's root and in every repository within it. Those of the table are borrowed from
    /// it: there are about a thousand, and each start copies the list several times.
    #[serde(deserialize_with = "borrowed::deserialize")]
    pub paths: Vec<Cow<'static, str>>,
    /// Those of them that the caller's own configuration of git names in every work tree: nothing but git obeys them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_git: Vec<String>,
    /// Those of the built-in list that stay writable and are classified, unless `[protect] paths` names them, as it does these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<String>,
    /// Names with a leading dot that are not reported where they are new, though no list knows them.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Configurations of git around the boundaries that could not be read whole, and why: what they name is not protected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// How many directories deep nested repositories and sockets are searched.
    pub depth: u32,
    pub on_replaced: OnReplaced,
}

impl Protect {
    /// What a plan without writable boundaries protects.
    pub const NOTHING: Self = Self {
        paths: Vec::new(),
        of_git: Vec::new(),
        read_only: Vec::new(),
        allow: Vec::new(),
        unread: Vec::new(),
        depth: 1,
        on_replaced: OnReplaced::End,
    };

    /// Returns a copy that protects no path.
    #[must_use]
    pub fn without_paths(&self) -> Self {
        let Self { paths: _, of_git, read_only, allow, unread, depth, on_replaced } = self;
        Self {
            paths: Vec::new(),
            of_git: of_git.clone(),
            read_only: read_only.clone(),
            allow: allow.clone(),
            unread: unread.clone(),
            depth: *depth,
            on_replaced: *on_replaced,
        }
    }

    /// Returns whether a new name with a leading dot is not reported. Upper and lower case are the same.
    pub fn allows(&self, name: &OsStr) -> bool {
        self.allow.iter().any(|allowed| name.eq_ignore_ascii_case(allowed))
    }
}

/// What happens to a sandbox when a program of the host replaces a protected file, and what stands there then would run
/// something that it did not run before.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnReplaced {
    #[default]
    End,
    /// It runs on, and a warning is printed.
    Warn,
}

/// One mechanism of isolation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The user namespace: the identity of the agent on the host.
    User,
    /// The mount namespace: what there is to see.
    Mount,
    /// The PID namespace: which processes there are.
    Pid,
    Net,
    Ipc,
    /// The UTS namespace: the host name.
    Uts,
    Cgroup,
    Landlock,
    Seccomp,
    /// No capability in any set, and no way to gain one.
    Capabilities,
    /// Supplementary groups of the caller.
    Groups,
    Memory,
    Cpu,
    Pids,
    /// Protected paths in writable boundaries.
    Protect,
    /// Sockets that lie in boundaries.
    Sockets,
    /// Space on disk: what can be written in shared directories.
    Disk,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Mount => "mount",
            Self::Pid => "pid",
            Self::Net => "net",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
            Self::Cgroup => "cgroup",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Capabilities => "capabilities",
            Self::Groups => "groups",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
            Self::Protect => "protect",
            Self::Sockets => "sockets",
            Self::Disk => "disk",
        })
    }
}

/// Whether a start fails without a layer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// It is used where it is there, and reported either way.
    Preferred,
    /// Without it nothing starts.
    Required,
}
