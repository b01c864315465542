//! What has changed between a configuration of git and the one in whose place it is.
//!
//! Any setting may keep something from happening (a filter that encrypts, a rule about pushes, a check of what is fetched), or have something
//! sent elsewhere. So each change counts, but for what git and other programs write by themselves while people work.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use super::syntax::{ConfigEntry, read};
use super::values;

/// The section, subsection and key of a setting.
type Name<'e> = (&'e str, Option<&'e OsStr>, &'e str);

/// Keys of a branch that git reads; editors keep keys of their own there (`vscode-merge-base`).
const OF_BRANCH: [&str; 6] = ["description", "merge", "mergeoptions", "pushremote", "rebase", "remote"];

/// Those that git writes when a branch is made or pushed for the first time, see git-branch(1).
const FROM_GIT: [&str; 4] = ["description", "merge", "rebase", "remote"];

/// Sections and keys that programs write by themselves: git-lfs when it is called, and `git gui` when it ends.
const ROUTINE: [(&str, &str); 5] = [
    ("gui", "geometry"),
    ("gui", "wmstate"),
    ("lfs", "access"),
    ("lfs", "locksverify"),
    ("lfs", "repositoryformatversion"),
];

/// Sections that say what runs, what is checked, and where something goes: they are named first, and those of branches, of which there may be
/// many, next.
const FIRST: [&str; 14] = [
    "commit", "core", "credential", "fetch", "filter", "http", "include", "includeif", "lfs", "push",
    "remote", "submodule", "transfer", "url",
];

/// Returns the settings that a configuration has set, taken away, changed or overridden, compared with another one. There are none if one
/// of them cannot be read.
pub(in crate::classify) fn changed(before: &[u8], now: &[u8]) -> Vec<String> {
    let (Ok(before), Ok(now)) = (read(before), read(now)) else { return Vec::new() };
    let (known, held) = (by_name(&before), by_name(&now));
    let is_same = |name: &Name<'_>| match (known.get(name), held.get(name)) {
        (Some(known), Some(held)) => {
            known.iter().map(|one| one.value()).eq(held.iter().map(|one| one.value()))
        }
        (None, Some(held)) => held.iter().all(|one| is_of_git(one, &before)),
        _ => false,
    };
    let names: BTreeSet<_> = known.keys().chain(held.keys()).collect();
    let mut changed: Vec<_> = names.into_iter().filter(|name| !is_same(name)).collect();
    changed.sort_by_key(|(section, _, _)| (!FIRST.contains(section), *section != "branch"));
    let entries = changed.into_iter().filter_map(|name| held.get(name).or_else(|| known.get(name))?.first());
    let names: Vec<String> = entries.map(|entry| entry.name()).collect();
    if names.is_empty() { moved(&before, &now).into_iter().collect() } else { names }
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
    let is_of_editor = of("branch", entry).is_some() && !OF_BRANCH.contains(&entry.key.as_str());
    is_of_editor || ROUTINE.iter().any(|(section, key)| entry.is(section, key))
}

/// Returns the remote, or the branch, that an entry is of.
fn of<'e>(section: &str, entry: &'e ConfigEntry) -> Option<&'e OsStr> {
    entry.subsection.as_deref().filter(|_| entry.section == section)
}

/// Returns whether a new entry is what git writes for a branch, which takes from a remote that was there, or has git read the configuration of a
/// work tree.
fn is_of_git(entry: &ConfigEntry, before: &[ConfigEntry]) -> bool {
    if of("branch", entry).is_some() {
        let was_there = |remote: &OsStr| before.iter().any(|entry| of("remote", entry) == Some(remote));
        let leads_to_new = entry.key == "remote" && entry.value() != "." && !was_there(entry.value());
        return FROM_GIT.contains(&entry.key.as_str()) && !leads_to_new;
    }
    entry.is("extensions", "worktreeconfig") && values::is_true(entry.value())
}

/// Returns the first setting that is at another place among those that were there: what comes later may override it.
fn moved(before: &[ConfigEntry], now: &[ConfigEntry]) -> Option<String> {
    let (known, held): (BTreeSet<_>, BTreeSet<_>) =
        (before.iter().map(name).collect(), now.iter().map(name).collect());
    let stays = |entry: &&ConfigEntry| {
        !is_routine(entry) && known.contains(&name(entry)) && held.contains(&name(entry))
    };
    let mut pairs = before.iter().filter(stays).zip(now.iter().filter(stays));
    pairs.find(|(before, now)| name(before) != name(now)).map(|(before, _)| before.name())
}
