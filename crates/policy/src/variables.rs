//! Variables of the environment by which a program loads or runs a file, or learns where it sends something.
//!
//! The lists are taken from the manuals of the programs. Whoever starts a program of the host, and whoever classifies a `.env`, asks them.

mod agents;
mod families;
mod kind;
mod lists;

pub(crate) use self::kind::VariableKind;
use self::lists::LOADS_CODE;

/// Returns whether a loader or an interpreter loads what a variable names: libraries, modules, scripts.
pub fn loads_code(name: &str) -> bool {
    let has_options = || {
        let kind = lists::EXACT.iter().chain(lists::ENDS).find(|(names, _)| names.contains(&name));
        matches!(
            kind,
            Some((_, VariableKind::EnvironmentName | VariableKind::JavaOptions | VariableKind::NodeOptions))
        )
    };
    LOADS_CODE.contains(&name) || has_options()
}

/// Returns what a variable does, if it is one of those that may run something, or say where something goes. The name is in upper case.
pub(crate) fn kind(name: &str) -> Option<VariableKind> {
    let is_of = |names: &[&str]| names.contains(&name);
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if begins(lists::BUILT_INTO_PAGES) || is_of(lists::ORDINARY) {
        return None;
    }
    if let Some((_, kind)) = lists::EXACT.iter().find(|(names, _)| is_of(names)) {
        return Some(*kind);
    }
    if is_of(LOADS_CODE) || is_of(lists::RUN) {
        return Some(VariableKind::Runs);
    }
    if let Some(kind) = agents::kind(name) {
        return Some(kind);
    }
    match families::kind(name) {
        families::Membership::Of(VariableKind::Setting) if names_place(name) => {
            return Some(VariableKind::Runs);
        }
        families::Membership::Of(kind) => return Some(kind),
        families::Membership::Harmless => return None,
        families::Membership::None => {}
    }
    let (_, kind) = lists::ENDS.iter().find(|(names, _)| ends(names))?;
    Some(*kind)
}

/// Returns whether a variable is called as those are that name a file or a directory: `1` is one too, in the directory where a program starts.
fn names_place(name: &str) -> bool {
    const ENDS: [&str; 24] = [
        "_BIN", "_CACHE", "_CFG", "_CMD", "_COMMAND", "_CONFIG", "_DIR", "_DIRECTORY", "_DIRS", "_EXE",
        "_FILE", "_FILES", "_FOLDER", "_HOME", "_INIT", "_LIBRARY", "_PATH", "_PATHS", "_PREFIX", "_PROGRAM",
        "_ROOT", "_SCRIPT", "_USERCONFIG", "_WRAPPER",
    ];
    // `PIP_NO_CACHE_DIR` is a switch.
    ENDS.iter().any(|end| name.ends_with(end)) && !name.contains("_NO_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_one_list_only() {
        let exact = lists::EXACT.iter().flat_map(|(names, _)| names.iter());
        let mut all: Vec<&str> =
            exact.chain(LOADS_CODE).chain(lists::RUN).chain(lists::ORDINARY).copied().collect();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
