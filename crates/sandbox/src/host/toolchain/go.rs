//! The preset `go`: Go, and the programs of `go install`. Modules that were downloaded may be private, and are not shown.

use std::path::PathBuf;

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains, canonical, in_system_tree};

const NAME: &str = "go";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name == "go",
    is_prefix: |prefix| prefix.join("src/runtime").is_dir() && prefix.join("pkg/tool").is_dir(),
    expected: "`bin/go`, `src/runtime` and `pkg/tool`",
    // Defaults of the distribution, without which no module is found: what a user sets is in their home.
    more: &["VERSION", "api", "go.env", "misc", "pkg", "src"],
};

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let go = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`go`"))?;
    let real = canonical(NAME, &go)?;
    if !in_system_tree(&real) {
        let bin = found.show_installation(&FORM, &real, host)?;
        found.path.push(bin);
    }
    // Of several directories in GOPATH the first one gets what is installed.
    let gopath = host.var("GOPATH").and_then(|path| std::env::split_paths(path).next());
    let in_gopath = || gopath.unwrap_or_else(|| host.home.join("go")).join("bin");
    let installed = host.var("GOBIN").map_or_else(in_gopath, PathBuf::from);
    if installed.is_dir() {
        host.refuse_agent_writable(NAME, &installed)?;
        found.show(NAME, &installed, host)?;
        found.path.push(installed);
    }
    Ok(())
}
