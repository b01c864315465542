//! Toolchains of the host: where a compiler or interpreter really lies, and what of it a sandbox may see.
//!
//! What lies in `/usr` is in every sandbox's view already. The rest is found as a shell would find it, past the
//! shims of version managers, and shown read-only at the same path. Never shown: a whole home, a directory
//! that holds credentials, a package manager's configuration.
//!
//! An agent must not choose what the next sandbox sees. So nothing is looked for where one may write, nothing is shown that
//! lies there, and what a preset shows has the form of the toolchain that it is named after.

use std::path::Path;

use self::error::ToolchainError;
use self::search::{HostContext, Toolchains};
use crate::host::acting::ActingAs;

pub mod error;
pub mod locate;
mod node;
mod python;
mod rust;
pub mod search;

/// Finds everything that `native.expose` names. All mistakes are returned at once.
pub fn resolve(names: &[String], host: &HostContext<'_>) -> Result<Toolchains, Vec<ToolchainError>> {
    if names.is_empty() {
        return Ok(Toolchains::default());
    }
    let _acting = ActingAs::user(host.user).map_err(|source| {
        vec![ToolchainError::File { name: names.join(", "), path: host.home.to_owned(), source }]
    })?;
    let mut found = Toolchains::default();
    let mut errors = Vec::new();
    for name in names {
        errors.extend(find(name, host, &mut found).err());
    }
    if errors.is_empty() { Ok(found.without_repetition()) } else { Err(errors) }
}

/// Finds what one name stands for: a preset, or a path.
fn find(name: &str, host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    match name {
        "rust" => rust::find(host, found),
        "node" => node::find(host, found),
        "python" => python::find(host, found),
        path if path.starts_with('/') => own_path(path, host, found),
        _ => Err(ToolchainError::UnknownPreset(name.to_owned())),
    }
}

/// Shows a path that was named, if it passes the rules for shared directories.
fn own_path(name: &str, host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let path = Path::new(name);
    if let Some(writable) = host.programs.writable().of(path) {
        return Err(ToolchainError::Writable {
            name: name.to_owned(),
            path: path.into(),
            writable: writable.into(),
        });
    }
    found.show(name, path, host)?;
    let bin = path.join("bin");
    let programs = if bin.is_dir() {
        Some(bin.as_path())
    } else if path.is_file() {
        // A program: by its name there, it is found as on the host.
        path.parent()
    } else {
        Some(path)
    };
    found.path.extend(programs.map(Path::to_owned));
    Ok(())
}
