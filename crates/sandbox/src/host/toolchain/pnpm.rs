//! The preset `pnpm`: pnpm, and what it installed globally.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use policy::text::escape;

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains};

const NAME: &str = "pnpm";

/// What pnpm keeps beneath its home: programs (since version 11; before, right in it), packages, its own other versions, and
/// versions of Node.js. Not the rest: its store has every package that was ever installed anywhere.
const PARTS: &[&str] = &["bin", "global", ".tools", "nodejs"];

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let data = host.directory("XDG_DATA_HOME", ".local/share");
    let home = host.var("PNPM_HOME").map_or_else(|| data.join("pnpm"), PathBuf::from);
    let program = host.programs(NAME).next();
    if program.is_none() && !home.join("global").is_dir() {
        let looked_for = format!("`pnpm` in the PATH, or its home `{}`", escape::path(&home));
        return Err(ToolchainError::NotFound { preset: NAME, looked_for, left_out: String::new() });
    }
    if home.is_dir() {
        show_home(&home, host, found)?;
    }
    match program {
        // As npm or corepack installs it: more than one file, which another preset shows.
        Some(program) if !found.covers(&program) && is_of_npm(&program) => super::npm::find(host, found),
        Some(program) if !found.covers(&program) => found.show_program(NAME, &program, host),
        _ => Ok(()),
    }
}

fn show_home(home: &Path, host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    found.show_parts(NAME, home, PARTS, host)?;
    // What is installed globally leads into this part of the store, since version 11.
    for version in home.join("store").read_dir().into_iter().flatten().flatten() {
        found.show_parts(NAME, &version.path(), &["links"], host)?;
    }
    for entry in home.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let is_program =
            path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        if path.is_symlink() {
            found.link(&path);
        } else if is_program {
            found.show(NAME, &path, host)?;
        }
    }
    let bins = [home.to_owned(), home.join("bin")];
    found.path.extend(bins.into_iter().filter(|bin| bin.is_dir()));
    Ok(())
}

fn is_of_npm(program: &Path) -> bool {
    program.canonicalize().is_ok_and(|real| real.iter().any(|name| name == "node_modules"))
}
