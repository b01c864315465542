//! Environment rules: which variables an agent sees.
//!
//! The same function serves the place where a plan is made (from the caller's environment, where nothing
//! passes that is not named) and the entrypoint (from a container's environment, where everything passes that
//! is not reserved). Names are compared byte for byte, as programs do.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rules::verdict::{Origin, Verdict, shown};

/// What a control plane passes to the entrypoint; the agent never sees it.
pub const CONTROL_PLANE: &[&str] = &["SESSION_TOKEN", "CONTROL_PLANE_URL", "SESSION_ID"];

/// The command the agent is started with.
pub const AGENT_COMMAND: &str = "AGENT_COMMAND";
/// Its arguments, as a JSON array of strings.
pub const AGENT_ARGS: &str = "AGENT_ARGS";
/// The user that the agent runs as: a name, or `uid[:gid]`.
pub const AGENT_USER: &str = "AGENT_USER";
/// Where the agent starts.
pub const AGENT_WORKDIR: &str = "AGENT_WORKDIR";
/// Whether the entrypoint stays as PID 1.
pub const AGENT_INIT: &str = "AGENT_INIT";
/// The explicit opt-in to run the agent as root.
pub const AGENT_ALLOW_ROOT: &str = "AGENT_ALLOW_ROOT";
/// The explicit opt-in to run without what no emulator of a processor can do.
pub const AGENT_ALLOW_EMULATION: &str = "AGENT_ALLOW_EMULATION";

/// What configures the entrypoint. Other names that begin with `AGENT_` mean nothing to it and are kept.
pub const ENTRYPOINT: &[&str] = &[
    AGENT_COMMAND, AGENT_ARGS, AGENT_USER, AGENT_WORKDIR, AGENT_INIT, AGENT_ALLOW_ROOT, AGENT_ALLOW_EMULATION,
];

/// Every name that begins like this is the toolchain's own.
pub const RESERVED_PREFIX: &str = "SANDBOX_";

/// Variables of the caller that may pass without being named: language, terminal and time zone.
///
/// None of them names a file that is read or a program that is run, and none identifies the caller.
pub const HARMLESS: &[&str] = &[
    "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR", "LANG", "LANGUAGE", "LC_ADDRESS", "LC_ALL",
    "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME",
    "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "NO_COLOR", "TERM", "TZ",
];

/// The name of a variable that may be given to an agent: `[A-Za-z_][A-Za-z0-9_]*` (POSIX) and not reserved.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String", try_from = "String")]
pub struct Name(String);

/// Why text is not the name of a variable that may be given to an agent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    #[error("an empty variable name; expected letters, digits and `_`, such as `NO_COLOR`")]
    Empty,
    #[error("{given:?} is not a variable name; expected letters, digits and `_`, not beginning with a digit")]
    Malformed { given: String },
    #[error("`{given}` is reserved: {reason}; choose another name")]
    Reserved { given: String, reason: ReservedReason },
}

/// Why a name is reserved.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservedReason {
    /// It is one of [`CONTROL_PLANE`].
    ControlPlane,
    /// It is one of [`ENTRYPOINT`].
    Entrypoint,
    /// It begins with [`RESERVED_PREFIX`].
    Prefix,
}

impl fmt::Display for ReservedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "it belongs to the control plane",
            Self::Entrypoint => "it configures the entrypoint",
            Self::Prefix => "names that begin with `SANDBOX_` belong to the sandbox",
        })
    }
}

impl Name {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.starts_with(|first: char| first.is_ascii_digit()) || !text.bytes().all(word) {
            return Err(NameError::Malformed { given: text.to_owned() });
        }
        match reserved(text) {
            Some(reason) => Err(NameError::Reserved { given: text.to_owned(), reason }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What happens to a variable that no rule names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unnamed {
    /// It goes: what comes from a caller's environment must be asked for.
    Drop,
    /// It stays: what an image sets is the image's business.
    Keep,
}

/// What happens to a variable that a rule names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EnvRule {
    Pass,
    /// It has this value, whatever the caller's is.
    Set(OsString),
    /// A secret of this name provides the value when the sandbox starts; the caller's value never passes.
    Secret(String),
    /// It has the path inside of the host's socket of this name; the caller's value never passes.
    Socket(String),
    /// It is not there, whoever would set it.
    Unset,
}

/// The environment rules of one sandbox.
#[derive(Clone, Debug)]
pub struct EnvRules {
    rules: HashMap<Name, (EnvRule, Origin)>,
    unnamed: Unnamed,
}

impl EnvRules {
    /// Makes rules that name nothing yet.
    pub fn new(unnamed: Unnamed) -> Self {
        Self { rules: HashMap::new(), unnamed }
    }

    /// Makes rules for a caller's environment: nothing passes but [`HARMLESS`] and what is added.
    pub fn for_caller() -> Self {
        let mut rules = Self::new(Unnamed::Drop);
        for name in HARMLESS {
            rules.insert(Name((*name).to_owned()), EnvRule::Pass, Origin::Default);
        }
        rules
    }

    /// Lists the variables that are not there, whoever would set them.
    pub fn unset(&self) -> impl Iterator<Item = &Name> {
        let rules = self.rules.iter();
        rules.filter(|(_, (rule, _))| *rule == EnvRule::Unset).map(|(name, _)| name)
    }

    /// Lists the variables with a rule of this kind.
    pub fn named(&self, is: impl Fn(&EnvRule) -> bool) -> impl Iterator<Item = &Name> {
        self.rules.iter().filter(move |(_, (rule, _))| is(rule)).map(|(name, _)| name)
    }

    /// Names a variable; returns the rule that stood for it before.
    pub fn insert(&mut self, name: Name, rule: EnvRule, origin: Origin) -> Option<(EnvRule, Origin)> {
        self.rules.insert(name, (rule, origin))
    }

    fn get(&self, name: &OsStr) -> Option<&(EnvRule, Origin)> {
        name.to_str().and_then(|name| self.rules.get(name))
    }
}

/// Why the agent does not see a variable.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Stripped {
    /// No program could read it: an empty name, `=` in the name, or NUL.
    Malformed,
    Reserved(ReservedReason),
    /// A secret provides the value.
    Secret,
    /// A socket of the host does.
    Socket,
    /// A rule takes it away.
    Unset,
    Unnamed,
}

/// An environment that the rules were applied to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Environment {
    /// What the agent sees; every name once.
    pub kept: Vec<(OsString, OsString)>,
    /// The names that were taken away, each once, and why. Values are not kept: they may be secrets.
    pub stripped: Vec<(OsString, Stripped)>,
}

/// Applies the rules to an environment. Values need not be UTF-8.
pub fn apply(given: impl IntoIterator<Item = (OsString, OsString)>, rules: &EnvRules) -> Environment {
    let mut environment = Environment::default();
    let mut positions: HashMap<OsString, usize> = HashMap::new();
    let mut stripped: HashSet<OsString> = HashSet::new();
    for (name, value) in given {
        // 1. What is no variable goes: a program could read it as another one than we do.
        // 2. Reserved names go, every occurrence of them: removing the first would uncover the second.
        // 3. Names that a secret owns go: their value comes when the sandbox starts.
        // 4. Names that no rule names go, unless unnamed ones are kept.
        if let Some(why) = strip(&name, &value, rules) {
            if stripped.insert(name.clone()) {
                environment.stripped.push((name, why));
            }
            continue;
        }
        // 5. Of duplicates the last wins, once: shells take the last, libc takes the first.
        if let Some(position) = positions.get(&name) {
            environment.kept[*position].1 = value;
        } else {
            positions.insert(name.clone(), environment.kept.len());
            environment.kept.push((name, value));
        }
    }
    // 6. What is set is set last, in the order of names, so that nothing given can change it.
    let mut set: Vec<(&Name, &OsString)> = rules
        .rules
        .iter()
        .filter_map(|(name, (rule, _))| match rule {
            EnvRule::Set(value) => Some((name, value)),
            EnvRule::Pass | EnvRule::Secret(_) | EnvRule::Socket(_) | EnvRule::Unset => None,
        })
        .collect();
    set.sort_unstable();
    for (name, value) in set {
        match positions.get(OsStr::new(name.as_str())) {
            Some(position) => environment.kept[*position].1.clone_from(value),
            None => environment.kept.push((name.as_str().into(), value.clone())),
        }
    }
    environment
}

/// Splits an entry of an environment block at its first `=`; `None` for one that has none.
pub fn split_entry(entry: OsString) -> Option<(OsString, OsString)> {
    let mut name = entry.into_vec();
    let equals = name.iter().position(|byte| *byte == b'=')?;
    let value = name.split_off(equals + 1);
    name.truncate(equals);
    Some((OsString::from_vec(name), OsString::from_vec(value)))
}

/// Returns whether a name is reserved, and for whom. With `_FILE` at the end a reserved name is still reserved: by
/// convention it names a file that holds the value.
pub fn reserved(name: &str) -> Option<ReservedReason> {
    reserved_bytes(name.as_bytes())
}

/// Decides whether the agent sees a variable of this name.
pub fn decide(name: &str, rules: &EnvRules) -> Verdict {
    let shown = shown(name);
    if name.is_empty() || name.contains(['=', '\0']) {
        return Verdict::deny(format!("`{shown}` cannot be the name of a variable"), Origin::Default);
    }
    if let Some(reason) = reserved(name) {
        return Verdict::deny(
            format!("`{shown}` is reserved: {reason}; it is always stripped"),
            Origin::Default,
        );
    }
    match (rules.rules.get(name), rules.unnamed) {
        (Some((EnvRule::Unset, origin)), _) => {
            Verdict::deny(format!("`{shown}` is not there: `[env] unset` takes it away"), origin.clone())
        }
        (Some((rule, origin)), _) => {
            let why = match rule {
                EnvRule::Pass if *origin == Origin::Default => format!("`{shown}` is harmless and passes"),
                EnvRule::Pass => format!("`{shown}` passes: `[env] pass` names it"),
                EnvRule::Set(_) => format!("`{shown}` has the value that `[env] set` gives it"),
                EnvRule::Secret(secret) => format!("`{shown}` holds the secret `{secret}`"),
                EnvRule::Socket(socket) => format!("`{shown}` has the path of the socket `{socket}`"),
                EnvRule::Unset => String::new(),
            };
            Verdict::allow(why, origin.clone())
        }
        (None, Unnamed::Keep) => {
            Verdict::allow(format!("`{shown}` is kept: it is not reserved"), Origin::Default)
        }
        (None, Unnamed::Drop) => Verdict::deny(
            format!("`{shown}` is not named; add it to `[env] pass` to let the caller's value in"),
            Origin::Default,
        ),
    }
}

fn strip(name: &OsStr, value: &OsStr, rules: &EnvRules) -> Option<Stripped> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) || value.as_bytes().contains(&0) {
        return Some(Stripped::Malformed);
    }
    if let Some(reason) = reserved_bytes(bytes) {
        return Some(Stripped::Reserved(reason));
    }
    match (rules.get(name), rules.unnamed) {
        (Some((EnvRule::Secret(_), _)), _) => Some(Stripped::Secret),
        (Some((EnvRule::Socket(_), _)), _) => Some(Stripped::Socket),
        (Some((EnvRule::Unset, _)), _) => Some(Stripped::Unset),
        (None, Unnamed::Drop) => Some(Stripped::Unnamed),
        (Some(_), _) | (None, Unnamed::Keep) => None,
    }
}

fn reserved_bytes(name: &[u8]) -> Option<ReservedReason> {
    let base = name.strip_suffix(b"_FILE").unwrap_or(name);
    let is = |list: &[&str]| list.iter().any(|entry| entry.as_bytes() == base);
    if name.starts_with(RESERVED_PREFIX.as_bytes()) {
        Some(ReservedReason::Prefix)
    } else if is(CONTROL_PLANE) {
        Some(ReservedReason::ControlPlane)
    } else if is(ENTRYPOINT) {
        Some(ReservedReason::Entrypoint)
    } else {
        None
    }
}
