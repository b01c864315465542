//! The preset `pipx`: the tools that pipx installed.

use std::path::PathBuf;

use policy::text::escape;

use super::environments;
use super::error::ToolchainError;
use super::prefix::PARTS;
use super::search::{HostContext, Toolchains};

const NAME: &str = "pipx";

/// Where pipx keeps what it installs, beneath the home: first where it does since version 1.2.
const HOMES: [&str; 2] = [".local/share/pipx", ".local/pipx"];

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let homes = match host.var("PIPX_HOME") {
        Some(home) => vec![PathBuf::from(home)],
        None => HOMES.iter().map(|home| host.home.join(home)).collect(),
    };
    let Some(home) = homes.iter().find(|home| home.join("venvs").is_dir()) else {
        let places: Vec<String> = homes.iter().map(|home| format!("`{}`", escape::path(home))).collect();
        let looked_for = format!("a tool in {}", places.join(" or "));
        return Err(ToolchainError::NotFound { preset: NAME, looked_for, left_out: String::new() });
    };
    // Pip itself is in an environment of its own, to which the others refer.
    let shared = home.join("shared");
    if shared.join("pyvenv.cfg").is_file() {
        found.show_parts(NAME, &shared, PARTS, host)?;
    }
    let bin = host.directory("PIPX_BIN_DIR", ".local/bin");
    environments::show(NAME, &home.join("venvs"), &bin, host, found)
}
