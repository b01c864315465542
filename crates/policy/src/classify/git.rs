//! What git obeys: its configuration, `.gitmodules`, and files that say where a repository is.
//!
//! A setting counts unless it is of a type that runs nothing, and has a value of that type. What cannot be read is suspicious.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;

pub(super) use self::compare::changed;
pub use self::identity::{IdentityEntry, identity};
pub use self::named::{
    Reference, beyond_prefix, does_without_work_tree, has_sparse_checkout, is_configuration, names_relative,
    references, submodules,
};
use self::syntax::{ConfigEntry, ConfigError, read};
use super::reason::Reason;
use crate::protect::table;
use crate::protect::table::content::FileFormat;

mod commands;
mod compare;
mod executing;
mod harmless;
mod identity;
mod named;
mod runners;
mod syntax;
mod values;

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ConfigKind {
    /// That of a repository whose work tree is the directory that `.git` lies in.
    Repository,
    /// That of a submodule, which says where the work tree is.
    Submodule,
    /// Perhaps that of a bare repository: many programs have a `config`, and unknown settings say nothing.
    Loose,
}

/// Returns whether a configuration has this value for a key. Of several, the last one counts.
pub(super) fn has(content: &[u8], (section, key): (&str, &str), value: &str) -> bool {
    let entries = read(content).unwrap_or_default();
    let last = entries.iter().rev().find(|entry| entry.is(section, key) && entry.subsection.is_none());
    last.and_then(|entry| entry.value.as_deref()) == Some(OsStr::new(value))
}

/// Classifies a configuration of git.
pub(super) fn classify_config(content: &[u8], kind: ConfigKind) -> Option<Reason> {
    classify_entries(content, |entry| counts(entry, kind))
}

/// Returns the settings of any file that git reads as a configuration: the names of each, and its value. `None` if it cannot be read.
pub(super) fn settings(content: &[u8]) -> Option<Vec<(Vec<String>, String)>> {
    let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
    let setting = |entry: &ConfigEntry| {
        let subsection = entry.subsection.as_deref().map(lossy);
        let names = [entry.section.clone()].into_iter().chain(subsection).chain([entry.key.clone()]);
        (names.collect(), lossy(entry.value()))
    };
    Some(read(content).ok()?.iter().map(setting).collect())
}

/// Returns the settings of a configuration that count, with their values, and the paths that it names; all of it where it cannot be
/// read.
pub(super) fn counting(content: &[u8], kind: ConfigKind) -> Vec<u8> {
    let Ok(entries) = read(content) else { return content.to_vec() };
    let counting = entries.iter().filter(|entry| counts(entry, kind)).map(|entry| format!("{entry:?}"));
    // Without a work tree, what is relative is another path.
    let bare = entries.iter().find(|entry| named::is_bare(entry)).map(|entry| format!("{entry:?}"));
    let named = format!("{:?}", references(content));
    counting.chain([named]).chain(bare).flat_map(String::into_bytes).collect()
}

/// How git comes to read a configuration beside that of a repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BesideKind {
    /// It is of one work tree (`config.worktree`).
    OfWorkTree,
    /// The other one includes it.
    Included,
}

/// What git itself writes to the configuration of a work tree: that of a sparse checkout, and what `git worktree` takes over.
const OF_WORK_TREE: [(&str, &str); 5] = [
    ("core", "bare"),
    ("core", "sparsecheckout"),
    ("core", "sparsecheckoutcone"),
    ("core", "worktree"),
    ("index", "sparse"),
];

/// Returns the first setting of a configuration that holds in the place of the repository's: any but those that git writes for a work tree
/// alone. It writes that there is none (`core.bare`) only where the repository said so itself.
pub(super) fn overriding(content: &[u8], kind: BesideKind) -> Option<String> {
    let is_of_work_tree = |entry: &ConfigEntry| {
        let is_listed = || OF_WORK_TREE.iter().any(|(section, key)| entry.is(section, key));
        kind == BesideKind::OfWorkTree && is_listed() && !named::is_bare(entry)
    };
    let other = read(content).ok()?.into_iter().find(|entry| !is_of_work_tree(entry))?;
    Some(other.name())
}

fn counts(entry: &ConfigEntry, kind: ConfigKind) -> bool {
    let is_of_git = || harmless::values(entry).is_some() || executing::is_known_to_run(entry);
    kind == ConfigKind::Repository && entry.is("core", "worktree")
        || !harmless::runs_nothing(entry) && (kind != ConfigKind::Loose || is_of_git())
}

/// Classifies the options of an interrupted operation, which are written like a configuration.
pub(super) fn classify_options(content: &[u8], is_known: impl Fn(&str, &str) -> bool) -> Option<Reason> {
    classify_entries(content, |entry| {
        let is_known = |value| entry.section == "options" && is_known(&entry.key, value);
        !entry.value().to_str().is_some_and(is_known)
    })
}

/// How many submodules a `.gitmodules` may have: the path of each is looked up in the table of protected paths.
const MAX_MODULES: usize = 1000;

/// Classifies a `.gitmodules`: the same, and paths at which a program obeys what is there. No type holds what made git itself run
/// something: names that lead out of `.git/modules` (CVE-2018-11235), and values that read as options (CVE-2018-17456).
pub(super) fn classify_modules(content: &[u8]) -> Option<Reason> {
    let left = Cell::new(MAX_MODULES);
    classify_entries(content, |entry| {
        // Git checks a submodule out at its path, and what it brings along lies there.
        let is_path = entry.is("submodule", "path");
        let is_too_many = is_path && left.get() == 0;
        left.set(left.get().saturating_sub(usize::from(is_path)));
        let is_obeyed = is_path && (is_too_many || is_protected(&entry.value().to_string_lossy()));
        counts(entry, ConfigKind::Repository) || is_obeyed
    })
}

/// Returns whether a path is a protected one, lies in one, or is a hidden directory above one.
fn is_protected(path: &str) -> bool {
    let folded = path.to_ascii_lowercase();
    let names: Vec<&str> = folded.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let joined = names.join("/");
    let is_in_one = table::built_in().any(|listed| table::covers(listed, Path::new(&joined)));
    is_in_one || names.iter().any(|name| matches!(*name, ".git" | "..")) || table::leads_to_protected(&names)
}

/// Classifies a `.git` that is a file: submodules and worktrees have one that leads into a repository's `.git`,
/// where configuration and hooks are classified by their place.
pub(super) fn classify_git_file(content: &[u8]) -> Option<Reason> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    };
    let path = text.strip_prefix("gitdir: ").unwrap_or_default().trim_end();
    let mut in_git = path.split('/').skip_while(|part| *part != ".git").skip(1);
    let ordinary = matches!(in_git.next(), Some("modules" | "worktrees")) && !in_git.any(|part| part == "..");
    (!ordinary).then_some(Reason::GitElsewhere)
}

fn classify_entries(content: &[u8], suspicious: impl Fn(&ConfigEntry) -> bool) -> Option<Reason> {
    match read(content) {
        Err(ConfigError::Malformed) => Some(Reason::Unreadable { format: FileFormat::Git }),
        Err(ConfigError::LongNames) => Some(Reason::TooLarge { bytes: content.len() }),
        Ok(entries) => {
            entries.iter().find(|entry| suspicious(entry)).map(|entry| Reason::Setting { key: entry.name() })
        }
    }
}

#[cfg(test)]
mod tests;
