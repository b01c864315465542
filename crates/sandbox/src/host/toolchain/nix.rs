//! The preset `nix`: the store, which every user of the host can read, and its programs in the `PATH`.

use std::path::{Path, PathBuf};

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains};

const NAME: &str = "nix";
const STORE: &str = "/nix/store";

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    // A profile is a link into the store, which is not followed inside: another generation is another link.
    let in_store = host.programs.directories().filter(|directory| directory.starts_with(STORE));
    let bins: Vec<PathBuf> = in_store.map(Path::to_owned).collect();
    if bins.is_empty() {
        let looked_for = format!("a profile in the PATH that leads to `{STORE}`");
        return Err(ToolchainError::NotFound { preset: NAME, looked_for, left_out: String::new() });
    }
    host.refuse_agent_writable(NAME, Path::new(STORE))?;
    found.show(NAME, Path::new(STORE), host)?;
    found.path.extend(bins);
    Ok(())
}
