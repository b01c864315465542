//! The preset `python`: from `/usr`, from pyenv, or wherever a link leads, as uv makes them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use policy::text::escape;

use super::error::ToolchainError;
use super::search::{Form, HostContext, Toolchains, canonical, in_system_tree, is_script, one_component};
use crate::host::small_file;

const NAME: &str = "python";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name.starts_with("python"),
    is_prefix: |prefix| {
        let is_library =
            |name: OsString| ["python", "pypy"].iter().any(|word| name.to_string_lossy().starts_with(word));
        let mut libraries = prefix.join("lib").read_dir().into_iter().flatten().flatten();
        libraries.any(|entry| is_library(entry.file_name()) && entry.path().is_dir())
    },
    expected: "`bin/python3`, and `lib/python3.x`",
};

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let programs: Vec<PathBuf> = host.programs("python3").chain(host.programs(NAME)).collect();
    for program in programs {
        let real = match pyenv_root(&program, host) {
            None => canonical(NAME, &program)?,
            Some(root) => match pyenv(&root, host)? {
                SelectedPython::System => continue,
                SelectedPython::Version(prefix) => canonical(NAME, &prefix.join("bin/python"))?,
            },
        };
        if in_system_tree(&real) {
            return Ok(());
        }
        if !real.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
            || is_script(&real)
        {
            return Err(ToolchainError::Shim { preset: NAME, found: program });
        }
        return found.show_prefix(&FORM, &real, host);
    }
    Err(host.not_found(NAME, "`python3` or `python`"))
}

/// What pyenv would start.
enum SelectedPython {
    /// Whatever comes next in the `PATH`.
    System,
    /// The installation in this directory.
    Version(PathBuf),
}

/// Returns where pyenv is installed, if a program is one of its shims.
fn pyenv_root(program: &Path, host: &HostContext<'_>) -> Option<PathBuf> {
    let shims = program.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "shims"))?;
    let root = shims.parent()?;
    let named = host.var("PYENV_ROOT").is_some_and(|named| Path::new(named) == root);
    (is_script(program) && (named || root.join("versions").is_dir())).then(|| root.to_path_buf())
}

/// Finds the version that is chosen by `PYENV_VERSION`, by `.python-version` here or above, or for everywhere.
fn pyenv(root: &Path, host: &HostContext<'_>) -> Result<SelectedPython, ToolchainError> {
    let read = |path: PathBuf| String::from_utf8(small_file::read(&path, host.user).ok()?).ok();
    let of_project =
        || host.workdir.ancestors().find_map(|directory| read(directory.join(".python-version")));
    let chosen = host
        .var("PYENV_VERSION")
        .map(|version| version.to_string_lossy().into_owned())
        .or_else(of_project)
        .or_else(|| read(root.join("version")))
        .unwrap_or_else(|| "system".to_owned());
    // Several may be listed; the first one is what `python3` means.
    let Some(version) = chosen.split([':', '\n', ' ']).find_map(one_component) else {
        return Ok(SelectedPython::System);
    };
    if version == "system" {
        return Ok(SelectedPython::System);
    }
    installed(&root.join("versions"), version).map(SelectedPython::Version).ok_or_else(|| {
        ToolchainError::NotFound {
            preset: NAME,
            looked_for: format!("version {version} in `{}`", escape::path(&root.join("versions"))),
            left_out: String::new(),
        }
    })
}

/// Returns the installation of a version, or the newest one that begins with it: `3.12` is 3.12.1.
fn installed(versions: &Path, version: &str) -> Option<PathBuf> {
    let exact = versions.join(version);
    if exact.is_dir() {
        return Some(exact);
    }
    let prefix = format!("{version}.");
    let numbers =
        |name: &str| -> Vec<u32> { name.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let entries = std::fs::read_dir(versions).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with(&prefix)).max_by_key(|name| numbers(name))?;
    Some(versions.join(newest))
}
