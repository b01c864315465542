//! Values: what one setting holds, read from text or numbers. Files, variables and flags share these rules.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::key;
use super::setting::PathBase;
use crate::agents::{PROFILES, Profile};
use crate::config::document::{Fault, Scalar};
use crate::plan::{BoundaryMode, Layer, OnReplaced, Provider, Pull, SecretSource};
use crate::rules::git::RepositoryAccess;
use crate::rules::limits::{self, Bytes, MilliCpus};
use crate::rules::network;
use crate::rules::sandbox_name::is_sandbox_name;
use crate::rules::socket::SocketSource;
use crate::rules::verdict::Decision;
use crate::rules::worker::Inherit;
use crate::text::suggest::did_you_mean;

/// Who is asked to run the sandbox.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ProviderChoice {
    /// Whichever isolates best here.
    #[default]
    Auto,
    Named(Provider),
}

/// Whether the agent sees the value of a secret.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SecretMode {
    /// It does.
    Inject,
    /// It does not: a proxy adds it to requests.
    Proxy,
}

/// Whose interface the proxy adds a secret to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SecretProvider {
    Anthropic,
    Github,
    Google,
    Openai,
    Ollama,
    /// Another one, with an upstream and a header.
    Custom,
}

/// A toolchain of the host that is readable inside.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Expose {
    /// One that is known by name: the client knows where its parts are.
    Preset(Toolchain),
    /// A path: absolute, links not resolved.
    Path(PathBuf),
}

/// A toolchain that is known by name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Toolchain {
    /// rustup's toolchains and cargo's programs.
    Rust,
    /// Node.js and what npm installed globally.
    Node,
    /// Python interpreters outside `/usr`.
    Python,
    /// uv, its Pythons and the tools it installed.
    Uv,
    /// The tools that pipx installed.
    Pipx,
    /// Node.js, and what npm installed globally beneath a prefix of its own.
    Npm,
    /// pnpm and what it installed globally.
    Pnpm,
    /// Bun and what it installed globally.
    Bun,
    Deno,
    /// Go, and the programs of `go install`.
    Go,
    /// A JDK, Maven, Gradle and their like, as SDKMAN! installs them.
    Java,
    /// Ruby with its gems.
    Ruby,
    /// PHP, and what Composer installed globally.
    Php,
    /// The programs of Nix.
    Nix,
}

/// A choice between several words.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// Each word, and what it means.
    const WORDS: &'static [(&'static str, Self)];
    /// The words alone.
    const NAMES: &'static [&'static str];
}

/// Makes a list of words the text form of an enum, both ways.
macro_rules! words {
    ($kind:ty { $($word:literal = $value:expr,)* }) => {
        impl Choice for $kind {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value),)*];
            const NAMES: &'static [&'static str] = &[$($word,)*];
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let word = Self::WORDS.iter().find(|(_, value)| value == self);
                f.write_str(word.map_or("", |(word, _)| word))
            }
        }
    };
}

impl Choice for Decision {
    const WORDS: &'static [(&'static str, Self)] =
        &[("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];
    const NAMES: &'static [&'static str] = &["allow", "ask", "deny"];
}

words! { Inherit {
    "subset" = Self::Subset,
    "none" = Self::None,
} }

words! { ProviderChoice {
    "auto" = Self::Auto,
    "docker" = Self::Named(Provider::Docker),
    "podman" = Self::Named(Provider::Podman),
    "native" = Self::Named(Provider::Native),
    "local" = Self::Named(Provider::Local),
} }
words! { SecretMode { "inject" = Self::Inject, "proxy" = Self::Proxy, } }
words! { SecretProvider {
    "anthropic" = Self::Anthropic,
    "github" = Self::Github,
    "google" = Self::Google,
    "openai" = Self::Openai,
    "ollama" = Self::Ollama,
    "custom" = Self::Custom,
} }
words! { OnReplaced { "end" = Self::End, "warn" = Self::Warn, } }
words! { Pull { "missing" = Self::Missing, "always" = Self::Always, "never" = Self::Never, } }
words! { RepositoryAccess { "rw" = Self::ReadWrite, "ro" = Self::ReadOnly, "none" = Self::None, } }
words! { BoundaryMode { "rw" = Self::ReadWrite, "ro" = Self::ReadOnly, } }
words! { network::NetworkMode { "none" = Self::None, "allowlist" = Self::Allowlist, "open" = Self::Open, } }
words! { Toolchain {
    "rust" = Self::Rust,
    "node" = Self::Node,
    "python" = Self::Python,
    "uv" = Self::Uv,
    "pipx" = Self::Pipx,
    "npm" = Self::Npm,
    "pnpm" = Self::Pnpm,
    "bun" = Self::Bun,
    "deno" = Self::Deno,
    "go" = Self::Go,
    "java" = Self::Java,
    "ruby" = Self::Ruby,
    "php" = Self::Php,
    "nix" = Self::Nix,
} }

impl Choice for Profile {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self(PROFILES[0])); PROFILES.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = (PROFILES[at].name, Self(PROFILES[at]));
            at += 1;
        }
        words
    };
    const NAMES: &'static [&'static str] = &{
        let mut names = [""; PROFILES.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = PROFILES[at].name;
            at += 1;
        }
        names
    };
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Toolchain {
    /// Lists all of them, in the order in which they are documented.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::WORDS.iter().map(|(_, preset)| *preset)
    }
}

impl fmt::Display for Expose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(preset) => preset.fmt(f),
            Self::Path(path) => path.to_string_lossy().fmt(f),
        }
    }
}

/// Reads one of several words.
pub(crate) fn word<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, Fault> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| value.clone());
    found.ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Fault::Value {
            message: format!("{text:?} is not known"),
            expected: Some(key::one_of(&known)),
            hint: did_you_mean(text, known),
        }
    })
}

pub(crate) fn layer(text: &str) -> Result<Layer, Fault> {
    if text == Layer::Disk.to_string() {
        return Err(Fault::value(
            "space in shared directories cannot be bounded, so \"disk\" can only be reported, never required",
        ));
    }
    let names: Vec<(String, Layer)> =
        key::LAYERS.iter().map(|(layer, _)| (layer.to_string(), *layer)).collect();
    let words: Vec<(&str, Layer)> = names.iter().map(|(name, layer)| (name.as_str(), *layer)).collect();
    word(text, &words)
}

/// What Podman reads an image from besides registries, see containers-transports(5): archives and directories of this
/// machine among them, which name images themselves.
const TRANSPORTS: &[&str] = &[
    "atomic", "containers-storage", "dir", "docker", "docker-archive", "docker-daemon", "oci", "oci-archive",
    "ostree", "sif", "tarball",
];

/// Reads the name of an image, or what a new one starts from.
pub(crate) fn image(text: &str) -> Result<String, Fault> {
    if let Some((transport, _)) = text.split_once(':').filter(|(before, _)| TRANSPORTS.contains(before)) {
        return Err(Fault::Value {
            message: format!(
                "{text:?} names a transport, and images come from registries and the engine's own store"
            ),
            expected: None,
            hint: Some(format!(
                "load what `{transport}:` names by the engine's own command; for an image that is called so, write its registry in full"
            )),
        });
    }
    // Whatever engines make of the rest: this never looks like an option of theirs, nor like a path or an address.
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    let sound = text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(known)
        && !text.contains("://")
        && !text.contains("..")
        && text.len() <= 255;
    if sound {
        Ok(text.to_owned())
    } else {
        Err(Fault::value(format!(
            "{text:?} cannot name an image; expected such as \"debian:trixie-slim\" or \"registry.example.org/team/image:tag\""
        )))
    }
}

/// Reads the name of a runtime, as an engine's settings have it. A path would have the engine run whatever lies there by then.
pub(crate) fn runtime(text: &str) -> Result<String, Fault> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if text.bytes().all(known) && text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        Ok(text.to_owned())
    } else {
        Err(Fault::value(format!("{text:?} cannot name a runtime; expected such as \"runsc\"")))
    }
}

/// Reads what comes before a path; empty is nothing.
pub(crate) fn prefix(text: &str) -> Result<PathBuf, Fault> {
    if text.is_empty() || text.starts_with('/') && !text.split('/').any(|part| part == "..") {
        Ok(PathBuf::from(text))
    } else {
        Err(Fault::value(format!("{text:?} is not an absolute path without \"..\"")))
    }
}

pub(crate) fn platform(text: &str) -> Result<String, Fault> {
    let words: Vec<(&str, &str)> = key::PLATFORMS.iter().map(|word| (*word, *word)).collect();
    word(text, &words).map(str::to_owned)
}

/// Reads text of a flag or a variable as the scalar that a file would hold.
pub(crate) fn scalar(text: &str) -> Scalar<'_> {
    if let Ok(number) = text.parse() {
        Scalar::Integer(number)
    } else if let Some(number) = text.parse().ok().filter(|number: &f64| number.is_finite()) {
        Scalar::Float(number)
    } else {
        match text {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            text => Scalar::Text(text),
        }
    }
}

/// Reads what implements `FromStr`.
pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(Fault::value)
}

pub(crate) fn boolean(scalar: Scalar<'_>) -> Result<bool, Fault> {
    match scalar {
        Scalar::Bool(value) => Ok(value),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn integer(scalar: Scalar<'_>, least: u32, most: u32) -> Result<u32, Fault> {
    let Scalar::Integer(number) = scalar else { return Err(Fault::Type) };
    u32::try_from(number).ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let allowed = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Fault::value(format!("{number} is out of range; expected {allowed}"))
    })
}

/// Reads a limit that can also be the word for none.
pub(crate) fn or_unlimited<T>(
    scalar: Scalar<'_>,
    parse: impl Fn(Scalar<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    if scalar == Scalar::Text(key::UNLIMITED) { Ok(None) } else { parse(scalar).map(Some) }
}

pub(crate) fn size(scalar: Scalar<'_>) -> Result<Bytes, Fault> {
    bytes(scalar)?.as_size().map_err(Fault::value)
}

pub(crate) fn memory(scalar: Scalar<'_>) -> Result<Bytes, Fault> {
    bytes(scalar)?.as_memory().map_err(Fault::value)
}

fn bytes(scalar: Scalar<'_>) -> Result<Bytes, Fault> {
    match scalar {
        Scalar::Text(text) => parsed(text),
        Scalar::Integer(number) => u64::try_from(number)
            .map(Bytes)
            .map_err(|_| Fault::value(format!("{number} is less than nothing; expected a number of bytes"))),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn cpus(scalar: Scalar<'_>) -> Result<MilliCpus, Fault> {
    match scalar {
        Scalar::Integer(number) => parsed(&number.to_string()),
        Scalar::Float(number) => MilliCpus::try_from(number).map_err(Fault::value),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn pids(scalar: Scalar<'_>) -> Result<u32, Fault> {
    match scalar {
        Scalar::Integer(number) => limits::pids(number).map_err(Fault::value),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn timeout(scalar: Scalar<'_>) -> Result<Duration, Fault> {
    match scalar {
        Scalar::Text(text) => duration(text),
        Scalar::Integer(seconds) => duration(&seconds.to_string()),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn cpu_time(scalar: Scalar<'_>) -> Result<Duration, Fault> {
    match scalar {
        Scalar::Text(text) => limits::cpu_time(text).map_err(Fault::value),
        Scalar::Integer(seconds) => limits::cpu_time(&seconds.to_string()).map_err(Fault::value),
        _ => Err(Fault::Type),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, Fault> {
    limits::duration(text).map_err(Fault::value)
}

/// Reads text that can be passed to the system: without NUL.
pub(crate) fn any(text: &str) -> Result<String, Fault> {
    if text.contains('\0') { Err(Fault::value("a NUL cannot be part of it")) } else { Ok(text.to_owned()) }
}

pub(crate) fn not_empty(text: &str) -> Result<String, Fault> {
    if text.trim().is_empty() { Err(Fault::value("it is empty")) } else { any(text) }
}

pub(crate) fn argument(text: &str) -> Result<OsString, Fault> {
    any(text).map(Into::into)
}

/// Reads a name of our own: it ends up in file names, labels and messages.
pub(crate) fn name(text: &str) -> Result<String, Fault> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let outer = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    if text.len() <= 63 && text.bytes().all(inner) && text.as_bytes().first().is_some_and(outer) {
        return Ok(text.to_owned());
    }
    Err(Fault::value(format!(
        "{text:?} cannot be a name; expected lower-case letters, digits, \"-\" and \"_\", at most 63, beginning with a letter or digit"
    )))
}

/// Reads the name of a sandbox.
pub(crate) fn sandbox_name(text: &str) -> Result<String, Fault> {
    if is_sandbox_name(text) {
        return Ok(text.to_owned());
    }
    Err(Fault::value(format!(
        "{text:?} cannot be the name of a sandbox; expected letters and digits of ASCII, \"-\", \"_\" and \".\", at most 63, beginning with a letter or digit"
    )))
}

/// Reads a path on the host, made absolute, without the `.` that means nothing; links and `..` stay as they are.
pub(crate) fn host_path(text: &str, base: &PathBase) -> Result<PathBuf, Fault> {
    any(text)?;
    if text.is_empty() {
        return Err(Fault::value("it is empty; \".\" is the directory of the file"));
    }
    let plain = |path: PathBuf| Ok(path.components().collect());
    match text.strip_prefix('~') {
        None => plain(base.directory.join(text)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match &base.home {
            Some(home) => plain(home.join(rest.trim_start_matches('/'))),
            None => Err(Fault::value(format!("{text:?} needs a home directory, and there is none"))),
        },
        Some(_) => Err(Fault::Value {
            message: format!("{text:?} begins with another user's home directory"),
            expected: None,
            hint: Some("write the path in full, or \"./~...\" for a file of that name".to_owned()),
        }),
    }
}

/// Reads which socket of the host is meant.
pub(crate) fn socket(text: &str, base: &PathBase) -> Result<SocketSource, Fault> {
    match text.strip_prefix("env:") {
        Some(name) if name.is_empty() || name.contains(['=', '\0']) => {
            Err(Fault::value(format!("{text:?} does not name a variable")))
        }
        Some(name) => Ok(SocketSource::Variable(name.to_owned())),
        None => host_path(text, base).map(SocketSource::Path),
    }
}

/// Reads where a secret comes from.
pub(crate) fn source(text: &str, base: &PathBase) -> Result<SecretSource, Fault> {
    let malformed = |message: String| Fault::Value {
        message,
        expected: Some("\"env:NAME\", \"file:PATH\" or \"command:TEXT\"".to_owned()),
        hint: None,
    };
    // What does not name a source is not repeated: it may be the secret itself.
    let Some((kind, rest)) = text.split_once(':') else {
        return Err(malformed("this does not say where the value is read from".to_owned()));
    };
    match kind {
        "env" | "file" | "command" if rest.trim().is_empty() => {
            Err(malformed(format!("nothing follows \"{kind}:\"")))
        }
        // The caller's own variable may have any name that a variable can have, a reserved one too.
        "env" if rest.contains(['=', '\0']) => {
            Err(malformed("this cannot be the name of a variable".to_owned()))
        }
        "env" => Ok(SecretSource::Env(rest.to_owned())),
        "file" => host_path(rest, base).map(SecretSource::File),
        "command" => any(rest).map(|line| SecretSource::Command(from_here(line, base))),
        _ => Err(malformed("this does not say where the value is read from".to_owned())),
    }
}

/// Makes the program of a command line absolute where it is relative to the directory of the file: it runs in `/`. What else is
/// relative in it, only a shell knows.
fn from_here(line: String, base: &PathBase) -> String {
    let start = line.trim_start();
    let program = start.split(|letter: char| letter.is_whitespace() || ";|&()<>".contains(letter)).next();
    let is_relative = |program: &&str| {
        let quoted = program.contains(['\'', '"', '\\', '$', '`', '=']);
        program.contains('/') && !program.starts_with(['/', '~']) && !quoted
    };
    match program.filter(is_relative) {
        Some(program) => {
            let path: PathBuf = base.directory.join(program).components().collect();
            // For the shell: nothing between these quotes means anything to it.
            let path = path.to_string_lossy().replace('\'', "'\\''");
            format!("'{path}'{}", &start[program.len()..])
        }
        None => line,
    }
}

pub(crate) fn exposed(text: &str, base: &PathBase) -> Result<Expose, Fault> {
    if Path::new(text).is_absolute() || text.starts_with('~') {
        return host_path(text, base).map(Expose::Path);
    }
    word(text, Toolchain::WORDS).map(Expose::Preset).map_err(|fault| match fault {
        Fault::Value { message, hint, .. } => {
            let names = key::one_of(Toolchain::NAMES);
            let expected = Some(format!("{names}, or a path that is absolute or beneath \"~/\""));
            Fault::Value { message, expected, hint }
        }
        fault @ Fault::Type => fault,
    })
}

pub(crate) fn suffix(text: &str) -> Result<String, Fault> {
    if text.len() > 1 && text.starts_with('.') && !text.contains(['/', '\0']) {
        Ok(text.to_owned())
    } else {
        Err(Fault::value(format!("{text:?} is not a suffix; expected a dot and more, such as \".md\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_is_no_number() {
        assert_eq!(scalar("inf"), Scalar::Text("inf"));
        assert_eq!(scalar("unlimited"), Scalar::Text("unlimited"));
        assert_eq!(scalar("-1"), Scalar::Integer(-1));
        assert_eq!(scalar("true"), Scalar::Bool(true));
    }

    #[test]
    fn the_name_of_a_sandbox_is_a_part_of_that_of_a_container() {
        let longest = "N".repeat(63);
        for name in ["a", "7", "Work", "my_sandbox-1.2", "a..b", "a.", "A-_.", &longest] {
            assert_eq!(sandbox_name(name).unwrap(), name);
        }
        let long = "n".repeat(64);
        for name in [
            "", ".", "..", ".a", "-a", "_a", "a/b", "a:b", "a b", "a\n", "a\0", "grün", "Ａ", "a@b", "~",
            &long,
        ] {
            assert!(sandbox_name(name).is_err(), "{name:?}");
        }
        // Those of homes, shared directories, secrets and sockets keep a form of their own.
        for text in ["Work", "a.b"] {
            assert!(name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_command_is_seen_from_its_file() {
        let base = PathBase { directory: "/p/it's".into(), home: None };
        for (written, meant) in [
            ("./get token", "'/p/it'\\''s/get' token"),
            (" bin/get|head -1", "'/p/it'\\''s/bin/get'|head -1"),
            ("../get", "'/p/it'\\''s/../get'"),
            ("pass show x/y", "pass show x/y"),
            ("/usr/bin/get ./x", "/usr/bin/get ./x"),
            ("~/bin/get", "~/bin/get"),
            ("A=b/c get", "A=b/c get"),
            ("\"$HOME\"/bin/get", "\"$HOME\"/bin/get"),
        ] {
            assert_eq!(from_here(written.to_owned(), &base), meant, "{written}");
        }
    }
}
