//! The preset `node`: from `/usr`, from nvm, fnm and others that link to an installation, or from volta.

use std::path::{Path, PathBuf};

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains, canonical, in_system_tree, one_component};
use crate::host::small_file;

const NAME: &str = "node";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| matches!(name, "node" | "nodejs"),
    is_prefix: |prefix| prefix.join("include/node").is_dir() || prefix.join("lib/node_modules").is_dir(),
    expected: "`bin/node`, and `include/node` or `lib/node_modules`",
    more: &[],
};

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let node = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`node`"))?;
    let real = canonical(NAME, &node)?;
    if in_system_tree(&real) {
        return Ok(());
    }
    let program = match real.file_name().and_then(|name| name.to_str()) {
        Some("node" | "nodejs") => real,
        Some("volta-shim") => volta(host).ok_or(ToolchainError::Shim { preset: NAME, found: node })?,
        // A shim of a manager that is started under the tool's name, such as mise or asdf.
        _ => return Err(ToolchainError::Shim { preset: NAME, found: node }),
    };
    let bin = found.show_installation(&FORM, &program, host)?;
    found.path.push(bin);
    Ok(())
}

/// Finds the version that volta starts by default.
fn volta(host: &HostContext<'_>) -> Option<PathBuf> {
    let tools = host.directory("VOLTA_HOME", ".volta").join("tools");
    let platform = small_file::read(&tools.join("user/platform.json"), host.user).ok()?;
    let platform: serde_json::Value = serde_json::from_slice(&platform).ok()?;
    let version = one_component(platform.get("node")?.get("runtime")?.as_str()?)?.to_owned();
    let program = tools.join(Path::new("image/node")).join(version).join("bin/node");
    canonical(NAME, &program).ok()
}
