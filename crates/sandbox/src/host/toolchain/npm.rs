//! The preset `npm`: Node.js, and what npm installed globally beneath a prefix of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::error::ToolchainError;
use super::node;
use super::search::{HostContext, Toolchains, in_system_tree};
use crate::host::small_file;

const NAME: &str = "npm";

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    // By default the prefix is where node lies, and is shown with it.
    let Some(prefix) = prefix(host) else { return node::find(host, found) };
    let modules = prefix.join("lib/node_modules");
    if in_system_tree(&prefix) || !modules.is_dir() {
        return node::find(host, found);
    }
    found.show_parts(NAME, &prefix.join("lib"), &["node_modules"], host)?;
    found.link_programs(NAME, &prefix.join("bin"), &modules, host)?;
    node::find(host, found)
}

/// Returns the prefix that the caller has chosen, by a variable or in `~/.npmrc`. Nothing else of that file is used.
fn prefix(host: &HostContext<'_>) -> Option<PathBuf> {
    let named = |name: &str| {
        let mut variables = host.env.iter().filter(|(_, value)| !value.is_empty());
        variables.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| PathBuf::from(value))
    };
    let of_file = || {
        let path = named("npm_config_userconfig").unwrap_or_else(|| host.home.join(".npmrc"));
        let text = String::from_utf8(small_file::read(&path, host.user).ok()?).ok()?;
        text.lines().rev().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (key.trim() == "prefix" && !value.is_empty()).then(|| expanded(value, host.home))
        })
    };
    named("npm_config_prefix").or_else(of_file).filter(|prefix| prefix.is_absolute())
}

/// Expands a path as npm does in its configuration.
fn expanded(value: &str, home: &Path) -> PathBuf {
    let rest = ["~/", "${HOME}/"].iter().find_map(|start| value.strip_prefix(start));
    rest.map_or_else(|| PathBuf::from(OsStr::new(value)), |rest| home.join(rest))
}
