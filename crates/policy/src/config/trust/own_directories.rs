//! What a project's file takes back of the shared directories that the user's own file has.
//!
//! A directory of the project may lie in one of the user's, or take its place by having its name. It may not be wider there than what
//! the user has said.

use std::path::{Path, PathBuf};

use super::widening::{TrustContext, Widenings};
use crate::config::problem::{Located, Location};
use crate::config::show::Show as _;
use crate::config::{Config, SharedDirTable};
use crate::plan::BoundaryMode;
use crate::rules::path::normalise;
use crate::text::escape;

/// Adds what the shared directories of a project's file widen of those that hold without it.
pub(super) fn own_directories(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    let own = &context.without.settings().shared_dirs;
    for (name, dir) in &config.shared_dirs {
        let Some(host) = &dir.value.host else { continue };
        let place = resolved(&host.value, context);
        if let Some(own) = own.get(name) {
            replaced(name, dir, &own.value, context, found);
        }
        for (own_name, own) in own {
            let Some(own_host) = own.value.host.as_ref().map(|host| resolved(&host.value, context)) else {
                continue;
            };
            if !place.starts_with(&own_host) && !own_host.starts_with(&place) {
                continue;
            }
            let has_lost = config.shared_dirs.contains_key(own_name);
            let is_same = own_host == place;
            let own_host = escape::path(&own_host);
            for Wider { key, location, what } in wider(&dir.value, &own.value, Relation { has_lost, is_same })
            {
                found.add(
                    format!("shared_dirs.{name}.{key}"),
                    location.unwrap_or(&host.location),
                    format!("{what}; your own settings share {own_host} as `{own_name}`"),
                );
            }
        }
    }
}

/// Adds where a directory has the name of one of the user's, which is not shared any more then, and is another one: that may have hidden
/// files in others, or have covered a part of one.
fn replaced(
    name: &str,
    dir: &Located<SharedDirTable>,
    own: &SharedDirTable,
    context: &TrustContext<'_>,
    found: &mut Widenings,
) {
    let (Some(host), Some(own_host)) = (&dir.value.host, &own.host) else { return };
    let own_place = resolved(&own_host.value, context);
    let mut add = |key: &str, location: &Location, what: &str| {
        let shown = escape::path(&own_place);
        let what = format!("{what}, in place of {shown}, which your own settings share as `{name}`");
        found.add(format!("shared_dirs.{name}.{key}"), location, what);
    };
    if resolved(&host.value, context) != own_place {
        add("host", &host.location, "shares another directory");
    }
    match (&dir.value.guest, &own.guest) {
        (Some(guest), Some(own)) if guest.value.of(&host.value) != own.value.of(&own_host.value) => {
            add("guest", &guest.location, "has it in another place of the sandbox");
        }
        _ => {}
    }
    let is_optional = |dir: &SharedDirTable| dir.optional.as_ref().is_some_and(|optional| optional.value);
    if let (Some(optional), true, false) = (&dir.value.optional, is_optional(&dir.value), is_optional(own)) {
        add("optional", &optional.location, "may be missing");
    }
}

/// How a directory of the project's file is to one of the user's.
#[derive(Clone, Copy)]
struct Relation {
    /// Whether the project's file has one of the same name as the user's, whose settings do not hold any more then.
    has_lost: bool,
    is_same: bool,
}

/// A key by which a directory is wider than one of the user's.
struct Wider<'a> {
    key: &'static str,
    /// Where the file has the key, if it does.
    location: Option<&'a Location>,
    what: String,
}

impl<'a> Wider<'a> {
    fn new<T>(key: &'static str, setting: Option<&'a Located<T>>, what: impl Into<String>) -> Self {
        Self { key, location: setting.map(|setting| &setting.location), what: what.into() }
    }
}

/// Lists the keys by which a directory is wider than one of the user's that it overlaps.
fn wider<'a>(dir: &'a SharedDirTable, own: &SharedDirTable, relation: Relation) -> Vec<Wider<'a>> {
    let mut found = Vec::new();
    let mode = |dir: &SharedDirTable| dir.mode.as_ref().map(|mode| mode.value).unwrap_or_default();
    if mode(dir) == BoundaryMode::ReadWrite && mode(own) == BoundaryMode::ReadOnly {
        found.push(Wider::new("mode", dir.mode.as_ref(), "lets the agent write what you share read-only"));
    }
    let is_executable = |dir: &SharedDirTable| dir.exec.as_ref().is_none_or(|exec| exec.value);
    if is_executable(dir) && !is_executable(own) {
        let what = "lets the agent execute programs where you let it execute none";
        found.push(Wider::new("exec", dir.exec.as_ref(), what));
    }
    // What a directory of the user's hides is hidden wherever else it is seen, as long as that directory is there.
    if relation.has_lost {
        let is_hidden = |pattern: &str| {
            let is_anchored = pattern.trim_end_matches('/').contains('/');
            let mut patterns = dir.hide.iter().flat_map(|list| &list.value);
            (relation.is_same || !is_anchored) && patterns.any(|hidden| hidden.value.to_string() == pattern)
        };
        let own = own.hide.iter().flat_map(|list| &list.value).map(|pattern| pattern.value.to_string());
        let shown: Vec<String> = own.filter(|pattern| !is_hidden(pattern)).collect();
        if !shown.is_empty() {
            let what = format!("shows the agent what you hide: {}", shown.join(" "));
            found.push(Wider::new("hide", dir.hide.as_ref(), what));
        }
    }
    // An empty list keeps the file tools from nothing.
    if let Some(own) = own.suffixes.as_ref().filter(|own| !own.value.is_empty()) {
        let is_own = |suffix: &Located<String>| own.value.iter().any(|one| one.value == suffix.value);
        if !dir.suffixes.as_ref().is_some_and(|list| !list.value.is_empty() && list.value.iter().all(is_own))
        {
            let what = "lets the file tools touch files that you keep them from";
            found.push(Wider::new("suffixes", dir.suffixes.as_ref(), what));
        }
    }
    if let Some(own) = &own.max_file_bytes {
        if dir.max_file_bytes.as_ref().is_none_or(|most| most.value > own.value) {
            let what = format!("lets the file tools touch files larger than {}", own.value.show());
            found.push(Wider::new("max_file_bytes", dir.max_file_bytes.as_ref(), what));
        }
    }
    found
}

/// Returns where a path leads, as far as that is known.
fn resolved(path: &Path, context: &TrustContext<'_>) -> PathBuf {
    context.leads.get(path).map_or_else(|| normalise(path), |lead| lead.path.clone())
}
