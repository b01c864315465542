//! Toolchains of the host: where a compiler or interpreter really lies, and what of it a sandbox may see.
//!
//! What lies in `/usr` is in every sandbox's rootfs already. The rest is found as a shell would find it, past the
//! shims of version managers, and shown read-only at the same path. Never shown: a whole home, a directory
//! that holds credentials, a package manager's configuration.
//!
//! An agent must not choose what the next sandbox sees. So nothing is looked for where one may write, nothing is shown that
//! lies there, and what a preset shows has the form of the toolchain that it is named after.

use std::path::Path;

use policy::config::{Expose, Toolchain};
use rustix::fs::Access;

use self::error::ToolchainError;
use self::prefix::PARTS;
use self::search::{HostContext, Toolchains};
use crate::host::acting::ActingAs;

mod bun;
mod deno;
mod environments;
pub mod error;
mod go;
mod java;
pub mod locate;
mod nix;
mod node;
mod npm;
mod php;
mod pipx;
mod pnpm;
mod prefix;
mod python;
mod ruby;
mod rust;
pub mod search;
mod uv;
mod version_manager;

/// Finds everything that `native.expose` names. All mistakes are returned at once.
pub fn resolve(wanted: &[Expose], host: &HostContext<'_>) -> Result<Toolchains, Vec<ToolchainError>> {
    if wanted.is_empty() {
        return Ok(Toolchains::default());
    }
    let _acting = ActingAs::user(host.user).map_err(|source| {
        let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        vec![ToolchainError::File { name: names.join(", "), path: host.home.to_owned(), source }]
    })?;
    let mut found = Toolchains::default();
    let mut errors = Vec::new();
    for one in wanted {
        errors.extend(find(one, host, &mut found).err());
    }
    if errors.is_empty() { Ok(found.without_repetition()) } else { Err(errors) }
}

/// Finds what is wanted: a preset, or a path.
fn find(wanted: &Expose, host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let preset = match wanted {
        Expose::Path(path) => return own_path(path, host, found),
        Expose::Preset(preset) => preset,
    };
    let find = match preset {
        Toolchain::Rust => rust::find,
        Toolchain::Node => node::find,
        Toolchain::Python => python::find,
        Toolchain::Uv => uv::find,
        Toolchain::Pipx => pipx::find,
        Toolchain::Npm => npm::find,
        Toolchain::Pnpm => pnpm::find,
        Toolchain::Bun => bun::find,
        Toolchain::Deno => deno::find,
        Toolchain::Go => go::find,
        Toolchain::Java => java::find,
        Toolchain::Ruby => ruby::find,
        Toolchain::Php => php::find,
        Toolchain::Nix => nix::find,
    };
    find(host, found)
}

/// Shows a path that was named, if it passes the rules for shared directories.
fn own_path(path: &Path, host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let name = path.to_string_lossy();
    if let Some(writable) = host.programs.writable().of(path) {
        return Err(ToolchainError::Writable {
            name: name.into_owned(),
            path: path.into(),
            writable: writable.into(),
        });
    }
    found.show(&name, path, host)?;
    let bin = path.join("bin");
    let programs = if bin.is_dir() {
        Some(bin.as_path())
    } else if path.is_file() {
        // A program: by its name there, it is found as on the host.
        path.parent().filter(|_| is_executable(path))
    } else {
        Some(path).filter(|path| !PARTS.iter().any(|part| path.ends_with(part)) || path.ends_with("bin"))
    };
    found.path.extend(programs.map(Path::to_owned));
    Ok(())
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
