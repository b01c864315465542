//! The preset `bun`: Bun, and what it installed globally.

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains};

const NAME: &str = "bun";

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let bun = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`bun`"))?;
    let home = host.directory("BUN_INSTALL", ".bun");
    if home.is_dir() {
        found.show_parts(NAME, &home, &["bin"], host)?;
        found.show_parts(NAME, &home, &["install/global/node_modules"], host)?;
    }
    let bin = home.join("bin");
    if bin.is_dir() {
        found.path.push(bin);
    }
    if found.covers(&bun) { Ok(()) } else { found.show_program(NAME, &bun, host) }
}
