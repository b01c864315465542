//! The preset `rust`.
//!
//! With rustup: its proxies, all installed toolchains and `settings.toml`, so that the choice of a toolchain
//! works inside as it does outside, by default, by directory and by `rust-toolchain.toml`. `CARGO_HOME` is not
//! among it: inside it is `~/.cargo` on the agent's own tmpfs, without `config.toml` and `credentials.toml`.
//! What was downloaded from crates.io is shown in there, so that builds work offline, unless cargo can download it itself: it
//! cannot add to what is read-only. Sources and indexes of other registries may be private and are not shown.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use policy::text::escape;

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{
    Crates, HostContext, Toolchains, canonical, exposed, find_path, in_system_tree, variable,
};

const NAME: &str = "rust";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name == "cargo",
    is_prefix: |prefix| prefix.join("lib/rustlib").is_dir(),
    expected: "`bin/cargo` and `lib/rustlib`",
    more: &[],
};

/// How cargo calls the directories of crates.io; a hash follows.
const CRATES_IO: &[&str] = &["github.com-", "index.crates.io-"];

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let cargo = host.programs("cargo").next().ok_or_else(|| host.not_found(NAME, "`cargo`"))?;
    let real = canonical(NAME, &cargo)?;
    if is_rustup(&real) {
        let rustup_home = host.directory("RUSTUP_HOME", ".rustup");
        let toolchains = rustup_home.join("toolchains");
        let installed = std::fs::read_dir(&toolchains).map(Iterator::count).unwrap_or_default();
        if installed == 0 {
            let looked_for = format!("a toolchain in `{}`", escape::path(&toolchains));
            return Err(ToolchainError::NotFound { preset: NAME, looked_for, left_out: String::new() });
        }
        host.refuse_agent_writable(NAME, &toolchains)?;
        found.show(NAME, &toolchains, host)?;
        show_linked(&toolchains, host, found)?;
        let settings = rustup_home.join("settings.toml");
        if settings.exists() && host.programs.writable().of(&settings).is_none() {
            // One file: the directory also holds downloads, and is where rustup would write.
            found.exposed.push(exposed(NAME, find_path(NAME, &settings)?, settings));
        }
        // Where the proxies are: a directory in which one of them is only linked to holds other things.
        let mut places = [&cargo, &real].into_iter().filter_map(|program| program.parent());
        let bin = places.find(|bin| bin.join("rustup").is_file());
        if let Some(bin) = bin.filter(|bin| !in_system_tree(bin)) {
            host.refuse_agent_writable(NAME, bin)?;
            found.show(NAME, bin, host)?;
            found.path.push(bin.to_path_buf());
        }
        found.env.push(variable("RUSTUP_HOME", rustup_home));
        // Nothing can be installed in what is read-only: say so at once instead of trying.
        found.env.push(variable("RUSTUP_AUTO_INSTALL", "0"));
    } else if !in_system_tree(&real) {
        let bin = found.show_installation(&FORM, &real, host)?;
        found.path.push(bin);
    }
    match host.crates {
        Crates::Host => show_crates(host, found),
        Crates::Network => Ok(()),
    }
}

/// Returns whether a program is one of rustup's proxies, which are links to it, or other names of it.
fn is_rustup(program: &Path) -> bool {
    let same = |rustup: &Path| match (program.metadata(), rustup.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    };
    program.file_name().is_some_and(|name| name == "rustup" || name == "rustup-init")
        || program.parent().is_some_and(|bin| same(&bin.join("rustup")))
}

/// Shows toolchains that are links to somewhere else, as `rustup toolchain link` makes them.
fn show_linked(
    toolchains: &Path,
    host: &HostContext<'_>,
    found: &mut Toolchains,
) -> Result<(), ToolchainError> {
    let inside = canonical(NAME, toolchains)?;
    for entry in std::fs::read_dir(toolchains).into_iter().flatten().flatten() {
        let Ok(target) = entry.path().canonicalize() else { continue };
        // One that somebody works on, in a directory that is shared, is there as their work and not as a toolchain.
        let is_apart = host.programs.writable().touching(&entry.path()).is_none()
            && host.programs.writable().touching(&target).is_none();
        if !target.starts_with(&inside) && target.join("bin/rustc").is_file() && is_apart {
            found.show(NAME, &target, host)?;
        }
    }
    Ok(())
}

fn show_crates(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let registry = host.directory("CARGO_HOME", ".cargo").join("registry");
    for kind in ["cache", "index", "src"] {
        for entry in std::fs::read_dir(registry.join(kind)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_public = CRATES_IO.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
            if is_public && host.programs.writable().touching(&entry.path()).is_none() {
                let guest = host.guest_home.join(".cargo/registry").join(kind).join(name);
                found.exposed.push(exposed(NAME, find_path(NAME, &entry.path())?, guest));
            }
        }
    }
    Ok(())
}
