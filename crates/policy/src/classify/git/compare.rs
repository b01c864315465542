//! What has changed between a configuration of git and the one in whose place it is.
//!
//! Any setting may keep something from happening (a filter that encrypts, a rule about pushes, a check of what is fetched), or have something
//! sent elsewhere. So each change counts, but for what git and other programs write by themselves while people work.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use super::syntax::{ConfigEntry, read};

/// The section, subsection and key of a setting.
type Name<'e> = (&'e str, Option<&'e OsStr>, &'e str);

/// Keys of a branch that git reads; editors keep keys of their own there (`vscode-merge-base`).
const OF_BRANCH: [&str; 6] = ["description", "merge", "mergeoptions", "pushremote", "rebase", "remote"];

/// Those that git writes for a branch that is pushed or made for the first time, see git-branch(1).
const OF_NEW_BRANCH: [&str; 3] = ["merge", "rebase", "remote"];

/// Sections and keys that programs write by themselves, and that lead nowhere: git-lfs when it is called, and `git gui` when it ends.
const ROUTINE: [(&str, &str); 5] = [
    ("gui", "geometry"),
    ("gui", "wmstate"),
    ("lfs", "access"),
    ("lfs", "locksverify"),
    ("lfs", "repositoryformatversion"),
];

/// Returns the settings that a configuration has set, taken away, changed or overridden, compared with another one. There are none if one
/// of them cannot be read.
pub(in crate::classify) fn changed(before: &[u8], now: &[u8]) -> Vec<String> {
    let (Ok(before), Ok(now)) = (read(before), read(now)) else { return Vec::new() };
    let (known, held) = (by_name(&before), by_name(&now));
    let remotes: BTreeSet<_> = before.iter().filter_map(remote).collect();
    let is_same = |name: &Name<'_>| match (known.get(name), held.get(name)) {
        (Some(known), Some(held)) => {
            known.iter().map(|one| one.value()).eq(held.iter().map(|one| one.value()))
        }
        (None, Some(held)) => held.iter().all(|one| is_of_new(one, &remotes)),
        _ => false,
    };
    let names: BTreeSet<_> = known.keys().chain(held.keys()).collect();
    let changed: Vec<_> = names.into_iter().filter(|name| !is_same(name)).collect();
    if changed.is_empty() && !is_included_alike(&before, &now) {
        return vec!["include.path".to_owned()];
    }
    let entries = changed.into_iter().filter_map(|name| held.get(name).or_else(|| known.get(name))?.first());
    entries.map(|entry| entry.name()).collect()
}

/// Returns the settings that count, each with all of its entries: of most settings, git takes the last one, and of some each.
fn by_name(entries: &[ConfigEntry]) -> BTreeMap<Name<'_>, Vec<&ConfigEntry>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for entry in entries.iter().filter(|entry| !is_routine(entry)) {
        all.entry(name(entry)).or_default().push(entry);
    }
    all
}

fn name(entry: &ConfigEntry) -> Name<'_> {
    (entry.section.as_str(), entry.subsection.as_deref(), entry.key.as_str())
}

fn is_routine(entry: &ConfigEntry) -> bool {
    let is_of_editor =
        entry.section == "branch" && entry.subsection.is_some() && !OF_BRANCH.contains(&entry.key.as_str());
    is_of_editor || ROUTINE.iter().any(|(section, key)| entry.is(section, key))
}

/// Returns the remote that an entry is of.
fn remote(entry: &ConfigEntry) -> Option<&OsStr> {
    entry.subsection.as_deref().filter(|_| entry.section == "remote")
}

/// Returns whether a new entry is one of a remote that was not there, or of a branch that had no such thing: it leads nowhere unless it is
/// asked to.
fn is_of_new(entry: &ConfigEntry, remotes: &BTreeSet<&OsStr>) -> bool {
    let is_of_branch = entry.section == "branch" && entry.subsection.is_some();
    match remote(entry) {
        Some(remote) => !remotes.contains(remote),
        None => is_of_branch && OF_NEW_BRANCH.contains(&entry.key.as_str()),
    }
}

/// Returns whether files are included at the same places among the settings that were there: what comes later overrides them.
fn is_included_alike(before: &[ConfigEntry], now: &[ConfigEntry]) -> bool {
    let known: BTreeSet<_> = before.iter().map(name).collect();
    let order = |entries: &[ConfigEntry]| -> Vec<ConfigEntry> {
        let counting = entries.iter().filter(|entry| !is_routine(entry) && known.contains(&name(entry)));
        counting.cloned().collect()
    };
    let is_include = |entry: &ConfigEntry| matches!(entry.section.as_str(), "include" | "includeif");
    !before.iter().any(is_include) || order(before) == order(now)
}
