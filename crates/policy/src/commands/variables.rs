//! What assigning a variable does.

use super::class::CommandClass;
use crate::variables::{self, VariableKind};

/// How the names of variables begin that a shell, its loader or git obeys, whatever follows.
const OBEYED: &[&str] = &["BASH", "DYLD_", "GIT_", "LD_", "PYTHON", "PERL", "RUBY", "NODE_"];

/// Other variables that the shell obeys.
const OF_SHELL: &[&str] =
    &["CDPATH", "ENV", "EXECIGNORE", "FPATH", "GLOBIGNORE", "PATH", "PS0", "PS1", "PS2", "PS4", "SHELL"];

/// Returns what assigning a variable does, if that is more than nothing: a program may load or run what it names. `IFS` is none of them: how
/// words are split that are not known changes nothing of what is known.
pub(super) fn of_variable(name: &str) -> Option<CommandClass> {
    let name = name.trim_end_matches('+');
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = !name.is_empty()
        && name.bytes().all(is_plain)
        && !name.starts_with(|first: char| first.is_ascii_digit());
    // The proxies have names in lower case, too.
    let upper = name.to_ascii_uppercase();
    let is_obeyed = OBEYED.iter().any(|beginning| name.starts_with(beginning))
        || OF_SHELL.contains(&name)
        || upper.ends_with("_PROXY")
        || (name != "IFS" && variables::kind(name).is_some_and(|kind| kind != VariableKind::PartOfAddress));
    (!is_name || is_obeyed).then_some(CommandClass::Execute)
}
