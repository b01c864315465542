//! The preset `uv`: uv itself, the Pythons that it installed, and its tools.

use std::path::{Path, PathBuf};

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains, variable};
use super::{environments, python};

const NAME: &str = "uv";

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let uv = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`uv`"))?;
    found.show_program(NAME, &uv, host)?;
    for beside in host.programs("uvx").take(1) {
        found.show_program(NAME, &beside, host)?;
    }
    let data = host.directory("XDG_DATA_HOME", ".local/share");
    let own = |name: &str, default: &str| host.var(name).map_or_else(|| data.join(default), PathBuf::from);
    let pythons = own("UV_PYTHON_INSTALL_DIR", "uv/python");
    show_pythons(&pythons, host, found)?;
    let bin = ["UV_TOOL_BIN_DIR", "XDG_BIN_HOME"].iter().find_map(|name| host.var(name)).map(PathBuf::from);
    let bin = bin.or_else(|| Some(data.parent()?.join("bin"))).unwrap_or_default();
    environments::show(NAME, &own("UV_TOOL_DIR", "uv/tools"), &bin, host, found)
}

/// Shows every Python that uv installed, and the links between them. uv looks for them in the home otherwise, which is another
/// one inside.
fn show_pythons(
    pythons: &Path,
    host: &HostContext<'_>,
    found: &mut Toolchains,
) -> Result<(), ToolchainError> {
    let entries = || pythons.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_installed = |path: &PathBuf| !path.is_symlink() && (python::FORM.is_prefix)(path);
    let mut installed = entries().filter(is_installed).peekable();
    if installed.peek().is_none() {
        return Ok(());
    }
    for prefix in installed {
        found.show_parts(NAME, &prefix, super::prefix::PARTS, host)?;
    }
    for path in entries().filter(|path| path.is_symlink()) {
        found.link(&path);
    }
    found.env.push(variable("UV_PYTHON_INSTALL_DIR", pythons));
    Ok(())
}
