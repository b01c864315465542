//! The preset `deno`: Deno, and the programs of `deno install --global`. The modules that these need are downloaded again.

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains};

const NAME: &str = "deno";

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let deno = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`deno`"))?;
    let bin = host.directory("DENO_INSTALL_ROOT", ".deno").join("bin");
    if bin.is_dir() {
        host.refuse_agent_writable(NAME, &bin)?;
        found.show(NAME, &bin, host)?;
        found.path.push(bin);
    }
    if found.covers(&deno) { Ok(()) } else { found.show_program(NAME, &deno, host) }
}
