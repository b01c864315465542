//! The one table of every key of `sandbox.toml`.
//!
//! What a file may contain, the suggestion for a mistyped key, the JSON Schema and the reference page all come
//! from here, so they cannot disagree. In a path, `*` stands for a name that the file chooses.

use crate::plan::{Layer, Need};

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where it stands, such as `limits.memory` or `secrets.*.env_var`.
    pub path: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What holds without it, as TOML text; empty where nothing does.
    pub default: &'static str,
    /// What it is for, in sentences.
    pub doc: &'static str,
    /// A value that is valid, as TOML text; empty for tables.
    pub example: &'static str,
    /// Whether it is acted on.
    pub status: Status,
    /// Whether a project's file may set it without the user's trust.
    pub trust: Trust,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A table with the keys that follow in [`KEYS`].
    Table,
    /// A table whose keys the file chooses.
    Named(Format),
    /// `true` or `false`.
    Bool,
    /// A whole number between two others, both included.
    Integer(u32, u32),
    /// A whole number of processes, or `"unlimited"`.
    Pids,
    /// A number of processors, or `"unlimited"`.
    Cpus,
    /// A size: text with a unit, or a whole number of bytes.
    Size,
    /// A size, or `"unlimited"`.
    Memory,
    /// A duration, or `"unlimited"`.
    Timeout,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// Text.
    Text(Format),
    /// A list of text.
    List(Format),
    /// A list of text that must not be empty.
    Command,
}

/// What a text must look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// Any text without NUL.
    Any,
    /// Any text without NUL that is not empty.
    NotEmpty,
    /// A name of our own: lower-case letters, digits, `-` and `_`.
    Name,
    /// The name of a variable.
    Variable,
    /// A path on the host; a relative one starts at the directory of the file.
    HostPath,
    /// An absolute path inside the sandbox.
    GuestPath,
    /// A relative path inside a boundary.
    InnerPath,
    /// A user of the image.
    User,
    /// Where a secret is read from.
    Source,
    /// A host, with a wildcard or a port if need be.
    Host,
    /// The address of an upstream.
    Url,
    /// A platform of an image.
    Platform,
    /// The suffix of a file name.
    Suffix,
    /// A layer of isolation that can be required.
    Layer,
    /// A preset of a toolchain, or a path.
    Toolchain,
    /// A duration.
    Duration,
}

/// Whether a key is acted on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It is.
    ActedOn,
    /// It is read and checked; what it asks for is not built yet, so it is refused. The text says which values
    /// that concerns.
    NotYet(&'static str),
    /// It belongs to providers that run containers, and means nothing to the others.
    Containers,
}

/// Whether a project's file may set a key without the user's trust.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trust {
    /// It may, whatever the value: the key cannot widen what the agent reaches on the host.
    Free,
    /// It may not when the text holds.
    Needed(&'static str),
}

/// What `provider` can be.
pub const PROVIDERS: &[&str] = &["auto", "docker", "podman", "native", "local"];
/// What `network.mode` can be.
pub const NETWORK_MODES: &[&str] = &["none", "allowlist", "open"];
/// What the mode of a boundary can be.
pub const BOUNDARY_MODES: &[&str] = &["rw", "ro"];
/// What the mode of a secret can be.
pub const SECRET_MODES: &[&str] = &["inject", "proxy"];
/// What the provider of a proxied secret can be.
pub const SECRET_PROVIDERS: &[&str] = &["anthropic", "openai", "ollama", "custom"];
/// What `container.pull` can be.
pub const PULL: &[&str] = &["missing", "always", "never"];
/// The platforms an image can be built for.
pub const PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];
/// The toolchains that can be exposed by name.
pub const TOOLCHAINS: &[&str] = &["rust", "node", "python"];
/// The most that `protect.depth` can be: a walk that deep reads most trees whole.
pub const MAX_DEPTH: u32 = 32;
/// The word for no limit.
pub const UNLIMITED: &str = "unlimited";

/// Every layer that `native.require` can name, and whether it is required when the key is not there.
///
/// `disk` is not among them: nothing can bound what is written in shared directories, so requiring it could
/// only ever fail.
pub const LAYERS: &[(Layer, Need)] = &[
    (Layer::User, Need::Required),
    (Layer::Mount, Need::Required),
    (Layer::Pid, Need::Required),
    (Layer::Net, Need::Required),
    (Layer::Ipc, Need::Required),
    (Layer::Landlock, Need::Required),
    (Layer::Seccomp, Need::Required),
    (Layer::Capabilities, Need::Required),
    (Layer::Uts, Need::Preferred),
    (Layer::Cgroup, Need::Preferred),
    (Layer::Groups, Need::Preferred),
    (Layer::Memory, Need::Preferred),
    (Layer::Cpu, Need::Preferred),
    (Layer::Pids, Need::Preferred),
    (Layer::Protect, Need::Preferred),
    (Layer::Sockets, Need::Preferred),
];

/// The key called `name` in the table at `table` (empty: the top), both as they stand in [`KEYS`].
///
/// Where the file chooses the names, every name is that one key.
pub fn find(table: &str, name: &str) -> Option<&'static Key> {
    let mut chosen = None;
    for key in KEYS {
        match split(key.path) {
            (of, own) if of == table && own == name => return Some(key),
            (of, "*") if of == table => chosen = Some(key),
            _ => {}
        }
    }
    chosen
}

/// The names of the keys that may stand in the table at `table`; `*` where the file chooses.
pub fn children(table: &str) -> impl Iterator<Item = &'static str> + '_ {
    KEYS.iter().map(|key| split(key.path)).filter(move |(of, _)| *of == table).map(|(_, name)| name)
}

/// The table that a key stands in, and its own name.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

impl Kind {
    /// What a person is told to write.
    pub fn expected(self) -> String {
        match self {
            Self::Table => "a table".to_owned(),
            Self::Named(Format::Any) => "a table of text values, such as { NAME = \"value\" }".to_owned(),
            Self::Named(_) => "a table of tables, one for each name".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Integer(least, most) if least == most => format!("the number {least}"),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Pids => "a whole number of processes, or \"unlimited\"".to_owned(),
            Self::Cpus => "a number of processors such as 0.5 or 2, or \"unlimited\"".to_owned(),
            Self::Size => "a size such as \"512m\" or \"1g\", or a whole number of bytes".to_owned(),
            Self::Memory => {
                "a size such as \"512m\" or \"1g\", a whole number of bytes, or \"unlimited\"".to_owned()
            }
            Self::Timeout => "a duration such as \"90s\", \"30m\" or \"1h30m\", or \"unlimited\"".to_owned(),
            Self::Choice(words) => one_of(words),
            Self::Text(format) => format.expected().to_owned(),
            Self::List(_) => format!("a list in which each entry is {}", self.entry()),
            Self::Command => "a list of text with the command first, such as [\"bash\", \"-l\"]".to_owned(),
        }
    }

    /// What a person is told to write as an entry of a list.
    pub fn entry(self) -> &'static str {
        match self {
            Self::List(format) => format.expected(),
            _ => Format::Any.expected(),
        }
    }
}

impl Format {
    /// What a person is told to write.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Any => "text",
            Self::NotEmpty => "text that is not empty",
            Self::Name => "a name of lower-case letters, digits, \"-\" and \"_\", at most 63 long",
            Self::Variable => "the name of a variable",
            Self::HostPath => {
                "a path on the host: absolute, beneath \"~/\", or relative to the directory of the file"
            }
            Self::GuestPath => "an absolute path inside the sandbox, without \".\" and \"..\"",
            Self::InnerPath => "a relative path without \".\" and \"..\"",
            Self::User => "a user's name, or uid or uid:gid in digits",
            Self::Source => "\"env:NAME\", \"file:PATH\" or \"command:TEXT\"",
            Self::Host => "a host such as \"api.example.org\", \"*.example.org\" or \"api.example.org:443\"",
            Self::Url => "an address that begins with \"https://\" or \"http://\"",
            Self::Platform => "\"linux/amd64\" or \"linux/arm64\"",
            Self::Suffix => "a suffix with its dot, such as \".md\"",
            Self::Layer => "the name of a layer of isolation",
            Self::Toolchain => {
                "\"rust\", \"node\" or \"python\", or a path that is absolute or beneath \"~/\""
            }
            Self::Duration => "a duration such as \"90s\", \"30m\" or \"1h30m\"",
        }
    }
}

/// `"a", "b" or "c"`.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => format!("{word:?}"),
        [words @ .., last] => {
            let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("{} or {last:?}", words.join(", "))
        }
    }
}

const PROXY_SECRETS: &str = "secrets with mode = \"proxy\"";

/// Every key, in the order in which a person reads a file. A table stands before its keys.
pub const KEYS: &[Key] = &[
    Key {
        path: "version",
        kind: Kind::Integer(1, 1),
        default: "1",
        doc: "The version of this format.",
        example: "1",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "provider",
        kind: Kind::Choice(PROVIDERS),
        default: "\"auto\"",
        doc: "Who runs the sandbox. `auto` takes the strongest isolation there is and says which and why; \
              today that is `native`. `local` isolates nothing, and is only ever taken when it is asked for by name.",
        example: "\"native\"",
        status: Status::NotYet("`docker` and `podman`"),
        trust: Trust::Needed("it is `local`"),
    },
    Key {
        path: "require_os_sandbox",
        kind: Kind::Bool,
        default: "true",
        doc: "Whether a start must fail where the operating system cannot isolate. When a file or a flag sets \
              it to `true`, `local` is refused even when it is asked for by name.",
        example: "true",
        status: Status::ActedOn,
        trust: Trust::Needed("it is `false`"),
    },
    Key {
        path: "agent",
        kind: Kind::Table,
        default: "",
        doc: "What runs inside, and as whom.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "agent.command",
        kind: Kind::Command,
        default: "[\"bash\", \"-l\"]",
        doc: "The command with its arguments. What follows `--` on the command line replaces it.",
        example: "[\"python3\", \"agent.py\"]",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "agent.user",
        kind: Kind::Text(Format::User),
        default: "\"agent\"",
        doc: "Who the agent is: a name in the image, or uid[:gid]. The native provider has one user, `agent`, \
              with uid 1000.",
        example: "\"agent\"",
        status: Status::NotYet("every user but `agent`"),
        trust: Trust::Needed("it is root"),
    },
    Key {
        path: "agent.workdir",
        kind: Kind::Text(Format::GuestPath),
        default: "\"/workspace\"",
        doc: "Where the command starts, as the sandbox sees it. Without a boundary at `/workspace` the default \
              is `/home/agent`.",
        example: "\"/workspace/project\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "agent.init",
        kind: Kind::Bool,
        default: "true",
        doc: "Whether PID 1 is an init that reaps orphans and forwards signals; with `false` the agent itself \
              becomes PID 1.",
        example: "true",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "image",
        kind: Kind::Table,
        default: "",
        doc: "How the image for container providers is built.",
        example: "",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.name",
        kind: Kind::Text(Format::NotEmpty),
        default: "\"sandbox-image\"",
        doc: "The name of the image.",
        example: "\"registry.example.org/team/sandbox\"",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.base",
        kind: Kind::Text(Format::NotEmpty),
        default: "\"alpine:3.23\"",
        doc: "The image it starts from, of the Alpine or the Debian family.",
        example: "\"debian:trixie-slim\"",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.packages",
        kind: Kind::List(Format::NotEmpty),
        default: "[\"bash\", \"curl\", \"git\", \"openssh-client\", \"python3\", \"nodejs\", \"npm\"]",
        doc: "The packages of the distribution that are installed.",
        example: "[\"bash\", \"git\"]",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.platforms",
        kind: Kind::List(Format::Platform),
        default: "[\"linux/amd64\", \"linux/arm64\"]",
        doc: "The platforms it is built for.",
        example: "[\"linux/amd64\"]",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.dockerfile",
        kind: Kind::Text(Format::HostPath),
        default: "",
        doc: "A Dockerfile of your own, in place of the stock one.",
        example: "\"docker/Dockerfile\"",
        status: Status::Containers,
        trust: Trust::Needed("it is set: a build runs what it says"),
    },
    Key {
        path: "image.build_args",
        kind: Kind::Named(Format::Any),
        default: "{}",
        doc: "Arguments of the build. They stay readable in the image, so they are no place for a secret.",
        example: "",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.build_args.*",
        kind: Kind::Text(Format::Any),
        default: "",
        doc: "The value of one argument.",
        example: "\"3.13\"",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "image.ca_certificates",
        kind: Kind::Text(Format::HostPath),
        default: "",
        doc: "Certificates that the build trusts besides the usual ones.",
        example: "\"corp-ca.pem\"",
        status: Status::Containers,
        trust: Trust::Needed("it is set: whoever holds such a key can pose as any site"),
    },
    Key {
        path: "shared_dirs",
        kind: Kind::Named(Format::Name),
        default: "",
        doc: "Directories of the host inside the sandbox, one table for each. Where no file has this table, the \
              working directory is shared as `/workspace`, read and write; an empty table shares nothing.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "shared_dirs.*",
        kind: Kind::Table,
        default: "",
        doc: "One boundary.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "shared_dirs.*.host",
        kind: Kind::Text(Format::HostPath),
        default: "",
        doc: "The directory on the host. Required.",
        example: "\"./workspace\"",
        status: Status::ActedOn,
        trust: Trust::Needed(
            "it leads out of the directory of the file, as written or once links are resolved",
        ),
    },
    Key {
        path: "shared_dirs.*.guest",
        kind: Kind::Text(Format::GuestPath),
        default: "",
        doc: "Where the sandbox sees it. Required.",
        example: "\"/workspace\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "shared_dirs.*.mode",
        kind: Kind::Choice(BOUNDARY_MODES),
        default: "\"rw\"",
        doc: "`rw` to read and write, `ro` to read only.",
        example: "\"ro\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "shared_dirs.*.suffixes",
        kind: Kind::List(Format::Suffix),
        default: "",
        doc: "The only suffixes of files that the file tools touch there.",
        example: "[\".md\", \".pdf\"]",
        status: Status::NotYet("every value"),
        trust: Trust::Free,
    },
    Key {
        path: "shared_dirs.*.max_file_bytes",
        kind: Kind::Size,
        default: "",
        doc: "The largest file that the file tools touch there.",
        example: "10_000_000",
        status: Status::NotYet("every value"),
        trust: Trust::Free,
    },
    Key {
        path: "env",
        kind: Kind::Table,
        default: "",
        doc: "The environment of the agent.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "env.pass",
        kind: Kind::List(Format::Variable),
        default: "[]",
        doc: "Variables of the host that enter, besides the harmless ones that always do.",
        example: "[\"LANG\", \"TERM\"]",
        status: Status::ActedOn,
        trust: Trust::Needed("it names a variable that is not one of the harmless ones"),
    },
    Key {
        path: "env.set",
        kind: Kind::Named(Format::Variable),
        default: "{}",
        doc: "Variables that are set inside. A secret does not belong here: this file is readable.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "env.set.*",
        kind: Kind::Text(Format::Any),
        default: "",
        doc: "The value of one variable.",
        example: "\"1\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "secrets",
        kind: Kind::Named(Format::Name),
        default: "",
        doc: "Credentials of the agent, one table for each. The value itself never stands here.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*",
        kind: Kind::Table,
        default: "",
        doc: "One secret.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Needed("it is there: it hands a credential to the agent"),
    },
    Key {
        path: "secrets.*.mode",
        kind: Kind::Choice(SECRET_MODES),
        default: "",
        doc: "`inject` makes the value visible inside; with `proxy` it never enters. Required.",
        example: "\"inject\"",
        status: Status::NotYet("`proxy`"),
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*.env_var",
        kind: Kind::Text(Format::Variable),
        default: "",
        doc: "The variable it becomes inside. Required.",
        example: "\"GITHUB_TOKEN\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*.source",
        kind: Kind::Text(Format::Source),
        default: "",
        doc: "Where the value is read from at the start: `env:NAME`, `file:PATH`, or what a shell prints for \
              `command:TEXT`. Required.",
        example: "\"env:GITHUB_TOKEN\"",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*.provider",
        kind: Kind::Choice(SECRET_PROVIDERS),
        default: "",
        doc: "Whose interface the proxy adds the value to; `custom` needs `upstream` and `header`.",
        example: "\"anthropic\"",
        status: Status::NotYet(PROXY_SECRETS),
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*.upstream",
        kind: Kind::Text(Format::Url),
        default: "",
        doc: "Where the proxy sends requests of a `custom` provider.",
        example: "\"https://api.example.org\"",
        status: Status::NotYet(PROXY_SECRETS),
        trust: Trust::Free,
    },
    Key {
        path: "secrets.*.header",
        kind: Kind::Text(Format::NotEmpty),
        default: "",
        doc: "The header in which a `custom` provider wants the value.",
        example: "\"x-api-key\"",
        status: Status::NotYet(PROXY_SECRETS),
        trust: Trust::Free,
    },
    Key {
        path: "network",
        kind: Kind::Table,
        default: "",
        doc: "How much of the network the sandbox sees.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "network.mode",
        kind: Kind::Choice(NETWORK_MODES),
        default: "\"none\"",
        doc: "`none` leaves the sandbox its own loopback, `allowlist` the named hosts, `open` what the host \
              reaches. The native provider refuses `open`.",
        example: "\"none\"",
        status: Status::NotYet("`allowlist`"),
        trust: Trust::Needed("it is `allowlist` or `open`"),
    },
    Key {
        path: "network.allow",
        kind: Kind::List(Format::Host),
        default: "[]",
        doc: "The hosts that may be reached with `allowlist`.",
        example: "[\"api.github.com:443\", \"*.example.org\"]",
        status: Status::NotYet("every list that is not empty"),
        trust: Trust::Needed("it is not empty"),
    },
    Key {
        path: "network.deny",
        kind: Kind::List(Format::Host),
        default: "[]",
        doc: "The hosts that may not be reached although `allow` matches them.",
        example: "[\"internal.example.org\"]",
        status: Status::NotYet("every list that is not empty"),
        trust: Trust::Free,
    },
    Key {
        path: "limits",
        kind: Kind::Table,
        default: "",
        doc: "What the sandbox may use. Sizes count in powers of 1024.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "limits.memory",
        kind: Kind::Memory,
        default: "\"unlimited\"",
        doc: "Resident memory of everything inside together.",
        example: "\"1g\"",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "limits.cpus",
        kind: Kind::Cpus,
        default: "\"unlimited\"",
        doc: "Processor time of everything inside together, in processors.",
        example: "1.5",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "limits.pids",
        kind: Kind::Pids,
        default: "1024",
        doc: "Processes and threads alive at once.",
        example: "256",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "limits.timeout",
        kind: Kind::Timeout,
        default: "\"unlimited\"",
        doc: "How long one command may run.",
        example: "\"30m\"",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "limits.output_bytes",
        kind: Kind::Size,
        default: "\"10m\"",
        doc: "How much captured output is kept of each stream. A pipe or a terminal is never cut.",
        example: "\"10m\"",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "limits.tmp_size",
        kind: Kind::Size,
        default: "\"512m\"",
        doc: "The size of each tmpfs. Space in shared directories cannot be bounded, and the report says so.",
        example: "\"256m\"",
        status: Status::ActedOn,
        trust: Trust::Needed(RAISED),
    },
    Key {
        path: "protect",
        kind: Kind::Table,
        default: "",
        doc: "What stays read-only inside writable boundaries.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "protect.paths",
        kind: Kind::List(Format::InnerPath),
        default: "[]",
        doc: "Paths that are protected besides the built-in ones. The lists of all files add up.",
        example: "[\".github/workflows\"]",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "protect.allow",
        kind: Kind::List(Format::InnerPath),
        default: "[]",
        doc: "Built-in paths that are given up, by name.",
        example: "[\".git/config\"]",
        status: Status::ActedOn,
        trust: Trust::Needed("it is not empty"),
    },
    Key {
        path: "protect.depth",
        kind: Kind::Integer(0, MAX_DEPTH),
        default: "3",
        doc: "How many directories deep nested repositories and sockets are looked for.",
        example: "4",
        status: Status::ActedOn,
        trust: Trust::Needed("it is lower than what holds without the file"),
    },
    Key {
        path: "native",
        kind: Kind::Table,
        default: "",
        doc: "What concerns the native provider alone.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "native.require",
        kind: Kind::List(Format::Layer),
        default: "[\"user\", \"mount\", \"pid\", \"net\", \"ipc\", \"landlock\", \"seccomp\", \"capabilities\"]",
        doc: "The layers of isolation without which nothing starts. The others are used where they are there, \
              and reported either way.",
        example: "[\"user\", \"mount\", \"pid\", \"net\", \"ipc\", \"landlock\", \"seccomp\", \"capabilities\", \"memory\"]",
        status: Status::ActedOn,
        trust: Trust::Needed("it leaves out a layer that is required without the file"),
    },
    Key {
        path: "native.expose",
        kind: Kind::List(Format::Toolchain),
        default: "[]",
        doc: "Toolchains of the host that are readable inside at the same path: presets or paths. Never \
              credentials.",
        example: "[\"rust\", \"node\", \"python\"]",
        status: Status::ActedOn,
        trust: Trust::Needed("it names a path"),
    },
    Key {
        path: "container",
        kind: Kind::Table,
        default: "",
        doc: "What concerns the providers that run containers.",
        example: "",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "container.runtime",
        kind: Kind::Text(Format::NotEmpty),
        default: "",
        doc: "The runtime of the engine, where it is not the engine's own choice.",
        example: "\"runsc\"",
        status: Status::Containers,
        trust: Trust::Needed("it is set"),
    },
    Key {
        path: "container.host_path_prefix",
        kind: Kind::Text(Format::Any),
        default: "\"\"",
        doc: "What stands before a host path as the engine sees it, where the engine runs elsewhere.",
        example: "\"/host_mnt\"",
        status: Status::Containers,
        trust: Trust::Needed("it is set"),
    },
    Key {
        path: "container.pull",
        kind: Kind::Choice(PULL),
        default: "\"missing\"",
        doc: "When the engine fetches the image.",
        example: "\"never\"",
        status: Status::Containers,
        trust: Trust::Free,
    },
    Key {
        path: "lifecycle",
        kind: Kind::Table,
        default: "",
        doc: "How long a sandbox stays.",
        example: "",
        status: Status::ActedOn,
        trust: Trust::Free,
    },
    Key {
        path: "lifecycle.idle_timeout",
        kind: Kind::Text(Format::Duration),
        default: "",
        doc: "How long a sandbox without a session stays alive.",
        example: "\"15m\"",
        status: Status::NotYet("every value"),
        trust: Trust::Free,
    },
];

const RAISED: &str = "it is higher than what holds without the file: the default, or the user's own setting";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_stands_before_its_keys_and_no_key_stands_twice() {
        for (index, key) in KEYS.iter().enumerate() {
            let before = &KEYS[..index];
            assert!(before.iter().all(|other| other.path != key.path), "{} stands twice", key.path);
            if let Some((table, _)) = key.path.rsplit_once('.') {
                assert!(
                    before.iter().any(|other| other.path == table),
                    "{} stands before its table",
                    key.path
                );
            }
        }
    }

    #[test]
    fn every_key_is_documented_and_every_leaf_has_an_example() {
        for key in KEYS {
            assert!(key.doc.ends_with('.'), "{}", key.path);
            let table = matches!(key.kind, Kind::Table | Kind::Named(_));
            assert_eq!(key.example.is_empty(), table, "{}", key.path);
        }
    }

    #[test]
    fn finds_keys_under_chosen_names() {
        assert_eq!(find("", "limits").unwrap().path, "limits");
        assert_eq!(find("secrets", "github").unwrap().path, "secrets.*");
        assert_eq!(find("secrets.*", "env_var").unwrap().path, "secrets.*.env_var");
        assert_eq!(find("env.set", "A.B").unwrap().path, "env.set.*");
        assert!(find("secrets.*", "nothing").is_none());
        assert!(find("limits.memory", "more").is_none());
        assert!(find("", "memory").is_none());
    }

    #[test]
    fn lists_the_keys_of_a_table() {
        assert_eq!(children("protect").collect::<Vec<_>>(), ["paths", "allow", "depth"]);
        assert_eq!(children("env.set").collect::<Vec<_>>(), ["*"]);
        assert!(children("").any(|key| key == "limits"));
    }

    #[test]
    fn the_default_of_require_is_the_list_of_required_layers() {
        let required: Vec<_> = LAYERS
            .iter()
            .filter(|(_, need)| *need == Need::Required)
            .map(|(layer, _)| format!("{:?}", layer.to_string()))
            .collect();
        assert_eq!(find("native", "require").unwrap().default, format!("[{}]", required.join(", ")));
    }
}
