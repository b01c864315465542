//! Tools that have a virtual environment of Python each, as uv and pipx install them.

use std::path::Path;

use super::error::ToolchainError;
use super::prefix::PARTS;
use super::python;
use super::search::{HostContext, Toolchains, in_system_tree};

/// Shows the environments in a directory, their interpreters, and the links to their programs. What says where they were
/// installed from (`uv-receipt.toml`, `pipx_metadata.json`) is not shown: that may be an address with a password.
pub(super) fn show(
    name: &'static str,
    tools: &Path,
    bin: &Path,
    host: &HostContext<'_>,
    found: &mut Toolchains,
) -> Result<(), ToolchainError> {
    for entry in tools.read_dir().into_iter().flatten().flatten() {
        let environment = entry.path();
        // Without an interpreter nothing in it runs here either.
        let Ok(python) = environment.join("bin/python").canonicalize() else { continue };
        if !environment.join("pyvenv.cfg").is_file() {
            continue;
        }
        found.show_parts(name, &environment, PARTS, host)?;
        if !in_system_tree(&python) && !found.covers(&python) {
            found.show_installation(&python::FORM, &python, host)?;
        }
    }
    found.link_programs(name, bin, tools, host)
}
