//! A key of `sandbox.toml`: path, value, default, flag, variable, trust and documentation.
//!
//! In the path of a key, `*` stands for a name that the file chooses.

use crate::plan::{Layer, Need};

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where it stands, such as `limits.memory` or `secrets.*.env_var`.
    pub path: &'static str,
    pub kind: ValueKind,
    /// What holds without it, as TOML text; empty where nothing does.
    pub default: &'static str,
    /// What it is for, in sentences.
    pub doc: &'static str,
    /// A value that is valid, as TOML text; empty for tables.
    pub example: &'static str,
    /// Another key of the table, and the value that is proposed where that one is there.
    pub example_beside: Option<(&'static str, &'static str)>,
    pub status: Support,
    pub trust: TrustRule,
    /// Whether the table that it stands in is incomplete without it.
    pub required: bool,
    /// Where it is required: the word of another key of the table with which it is not.
    pub unless: Option<(&'static str, &'static str)>,
    pub flag: Option<Flag>,
    pub variable: Option<&'static str>,
}

impl Key {
    /// The fields that a row need not have.
    pub(crate) const NONE: Self = Self {
        path: "",
        kind: ValueKind::Table,
        default: "",
        doc: "",
        example: "",
        example_beside: None,
        status: Support::ActedOn,
        trust: TrustRule::Free,
        required: false,
        unless: None,
        flag: None,
        variable: None,
    };
}

/// A flag that sets a key.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub long: &'static str,
    pub short: Option<char>,
    /// What its value is called in the help.
    pub value: &'static str,
    pub help: &'static str,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ValueKind {
    /// A table with the keys that follow in the table of keys.
    Table,
    /// A table whose keys the file chooses.
    Named(TextFormat),
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
    Choice(&'static [&'static str]),
    Text(TextFormat),
    List(TextFormat),
    /// A list of text that must not be empty.
    Command,
}

/// What a text must look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TextFormat {
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
    /// An absolute path inside the sandbox, or `same` for the path on the host.
    GuestPlace,
    /// An absolute path inside the sandbox, or a relative one.
    Start,
    /// A relative path inside a boundary.
    InnerPath,
    /// A pattern of paths beneath a shared directory.
    HidePattern,
    /// A user of the image.
    User,
    /// A socket of the host: its path, or a variable that has it.
    Socket,
    /// Where the sandbox has a socket.
    GuestSocket,
    /// Where a secret is read from.
    Source,
    /// A host, with a wildcard or a port if need be.
    Host,
    /// The same, or requests to it.
    Rule,
    /// The same, or the name of a preset.
    Allowed,
    /// The address of an upstream.
    Url,
    /// The name of a header for credentials.
    Header,
    /// What such a header says, with a place for the value.
    Template,
    Platform,
    Image,
    Suffix,
    /// A layer of isolation that can be required.
    Layer,
    /// A preset of a toolchain, or a path.
    Toolchain,
    Duration,
}

/// Whether a key is acted on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Support {
    ActedOn,
    /// It is read and checked; what it asks for is not built yet, so it is refused. The text names the values
    /// that this concerns.
    NotYet(&'static str),
    /// It belongs to providers that run containers, and means nothing to the others.
    Containers,
}

/// Whether a project's file may set a key without the user's trust.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrustRule {
    /// It may, whatever the value: the key cannot widen what the agent reaches on the host.
    Free,
    /// It may not when the text holds.
    Needed(&'static str),
}

impl TrustRule {
    /// What a command or a variable needs, which acts on the host itself without isolation.
    pub(crate) const LOCAL: Self = Self::Needed(
        "your own settings or a flag name the provider `local`, with which it acts on this machine itself",
    );
    /// What a limit needs.
    pub(crate) const RAISED: Self =
        Self::Needed("it is higher than what holds without the file: the default, or the user's own setting");
}

/// The platforms an image can be built for.
pub const PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];
/// The most that `protect.depth` can be: a walk that deep reads most trees whole.
pub const MAX_DEPTH: u32 = 32;
/// The most that `pool.size` can be: each is a container with its processes.
pub const MAX_POOL: u32 = 64;
/// The most that `children.max` can be: each is a sandbox with its processes.
pub const MAX_CHILDREN: u32 = 64;

/// The most that live of a worker at once.
pub const MAX_WORKERS: u32 = 64;

/// The most files that a worker is handed.
pub const MAX_ATTACHMENTS: u32 = 256;
/// The most that `children.depth` can be.
pub const MAX_GENERATIONS: u32 = 3;
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

/// Finds the key called `name` in the table at `table` (empty: the top), both as they stand in `keys`.
///
/// Where the file chooses the names, every name is that one key.
pub(crate) fn find(keys: &'static [Key], table: &str, name: &str) -> Option<&'static Key> {
    let named = |name: &str| keys.iter().find(|key| is_at(key.path, table, name));
    // A dot within a name is part of the name, and no key of ours has one.
    if name.contains('.') { named("*") } else { named(name).or_else(|| named("*")) }
}

/// Returns whether `path` is `table`, a dot and `name`. Compares lengths first: this runs for every key of a file.
fn is_at(path: &str, table: &str, name: &str) -> bool {
    if table.is_empty() {
        return path == name;
    }
    path.len() == table.len() + 1 + name.len()
        && path.ends_with(name)
        && path.as_bytes()[table.len()] == b'.'
        && path.starts_with(table)
}

/// Lists the names of the keys that may stand in the table at `table`; `*` where the file chooses.
pub(crate) fn children(keys: &'static [Key], table: &str) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| split(key.path)).filter(move |(of, _)| *of == table).map(|(_, name)| name)
}

/// Splits the path of a key into that of its table and its own name.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

impl ValueKind {
    /// Returns what a message says is expected.
    pub fn expected(self) -> String {
        match self {
            Self::Table => "a table".to_owned(),
            Self::Named(TextFormat::Any) => "a table of text values, such as { NAME = \"value\" }".to_owned(),
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
            Self::Timeout => {
                "a duration such as \"90s\", \"30m\" or \"1h30m\", a number of seconds, or \"unlimited\""
                    .to_owned()
            }
            Self::Choice(words) => one_of(words),
            Self::Text(format) => format.expected().to_owned(),
            Self::List(_) => format!("a list in which each entry is {}", self.entry()),
            Self::Command => "a list of text with the command first, such as [\"bash\", \"-l\"]".to_owned(),
        }
    }

    /// Returns what a message says is expected as an entry of a list.
    pub fn entry(self) -> &'static str {
        match self {
            Self::List(format) => format.expected(),
            _ => TextFormat::Any.expected(),
        }
    }
}

impl TextFormat {
    /// Returns what a message says is expected.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Any => "text",
            Self::NotEmpty => "text that is not empty",
            Self::Name => "a name of lower-case letters, digits, \"-\" and \"_\", at most 63 long",
            Self::Variable => "the name of a variable",
            Self::HostPath => {
                "a path on the host: absolute, beneath \"~/\", or relative to the directory of the file"
            }
            Self::GuestPlace => "an absolute path inside the sandbox, without \".\" and \"..\", or \"same\"",
            Self::Start => "a path inside the sandbox, without \"..\"",
            Self::InnerPath => "a relative path without \".\" and \"..\"",
            Self::HidePattern => "a pattern such as \".env\", \"secrets/\" or \"/config/*.key\"",
            Self::User => "a user, or user:group, each a name or digits",
            Self::Socket => "a path on the host, or \"env:NAME\"",
            Self::GuestSocket => "a path beneath /run or /tmp",
            Self::Source => "\"env:NAME\", \"file:PATH\" or \"command:TEXT\"",
            Self::Host => "a host such as \"api.example.org\", \"*.example.org\" or \"api.example.org:443\"",
            Self::Rule => {
                "a host such as \"api.example.org\", \"*.example.org\" or \"api.example.org:443\", or requests such as \"GET http://example.org/pub/*\""
            }
            Self::Allowed => {
                "a host such as \"api.example.org\", \"*.example.org\" or \"api.example.org:443\", requests such as \"GET http://example.org/pub/*\", or a preset such as \"preset:npm\""
            }
            Self::Header => "the name of a header, such as \"Authorization\"",
            Self::Template => "text with one \"{}\", such as \"Bearer {}\"",
            Self::Url => "an address that begins with \"https://\" or \"http://\"",
            Self::Image => "the name of an image, such as \"debian:trixie-slim\"",
            Self::Platform => "\"linux/amd64\" or \"linux/arm64\"",
            Self::Suffix => "a suffix with its dot, such as \".md\"",
            Self::Layer => "the name of a layer of isolation",
            Self::Toolchain => "a toolchain such as \"node\", or a path that is absolute or beneath \"~/\"",
            Self::Duration => "a duration such as \"90s\", \"30m\" or \"1h30m\"",
        }
    }
}

/// Writes words as `"a", "b" or "c"`.
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

/// Joins a path of keys and a name, which is quoted where TOML asks for quotes.
pub(crate) fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let name = if bare { name.to_owned() } else { format!("{name:?}") };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
