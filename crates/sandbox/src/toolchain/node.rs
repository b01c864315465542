//! The preset `node`: from `/usr`, from nvm, fnm and others that link to an installation, or from volta.

use std::path::{Path, PathBuf};

use super::{Host, ToolchainError, Toolchains, canonical, in_view, one_component};

const NAME: &str = "node";

pub(super) fn find(host: &Host<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let node = host.programs(NAME).next().ok_or_else(|| ToolchainError::NotFound {
        preset: NAME,
        looked_for: "`node` in the PATH".to_owned(),
    })?;
    let real = canonical(NAME, &node)?;
    if in_view(&real) {
        return Ok(());
    }
    let program = match real.file_name().and_then(|name| name.to_str()) {
        Some("node" | "nodejs") => real,
        Some("volta-shim") => volta(host).ok_or(ToolchainError::Shim { preset: NAME, found: node })?,
        // A shim of a manager that is started under the tool's name, such as mise or asdf.
        _ => return Err(ToolchainError::Shim { preset: NAME, found: node }),
    };
    found.show_prefix(NAME, &program, host)
}

/// The version that volta starts by default.
fn volta(host: &Host<'_>) -> Option<PathBuf> {
    let tools = host.directory("VOLTA_HOME", ".volta").join("tools");
    let platform = std::fs::read(tools.join("user/platform.json")).ok()?;
    let platform: serde_json::Value = serde_json::from_slice(&platform).ok()?;
    let version = one_component(platform.get("node")?.get("runtime")?.as_str()?)?.to_owned();
    let program = tools.join(Path::new("image/node")).join(version).join("bin/node");
    program.is_file().then_some(program)
}
