//! Version managers that put shims into the `PATH` and versions below their root: rbenv, and those that were made after it.

use std::path::{Path, PathBuf};

use policy::text::escape;

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains, canonical, in_system_tree, is_script, one_component};
use crate::host::small_file;

/// One version manager.
pub(super) struct VersionManager {
    pub(super) preset: &'static str,
    /// The variable that names its root.
    pub(super) root: &'static str,
    /// The variable that chooses a version.
    pub(super) version: &'static str,
    /// The file that chooses one for a directory and those below it.
    pub(super) file: &'static str,
}

/// What a shim would start.
enum Selected {
    /// Whatever comes next in the `PATH`.
    System,
    /// The installation in this directory.
    Version(PathBuf),
}

impl VersionManager {
    /// Shows the installation of the first program in the `PATH` that has one of these names, or of the version that its shim
    /// would start, which has the last of them.
    pub(super) fn show(
        &self,
        names: &[&str],
        form: &Form,
        host: &HostContext<'_>,
        found: &mut Toolchains,
    ) -> Result<(), ToolchainError> {
        let programs: Vec<PathBuf> = names.iter().flat_map(|name| host.programs(name)).collect();
        for program in programs {
            let real = match self.root_of(&program, host) {
                None => canonical(self.preset, &program)?,
                Some(root) => match self.select(&root, host)? {
                    Selected::System => continue,
                    Selected::Version(prefix) => {
                        let name = names.last().copied().unwrap_or_default();
                        canonical(self.preset, &prefix.join("bin").join(name))?
                    }
                },
            };
            if in_system_tree(&real) {
                return Ok(());
            }
            let is_named = real.file_name().is_some_and(|name| (form.is_program)(&name.to_string_lossy()));
            if !is_named || is_script(&real) {
                return Err(ToolchainError::Shim { preset: self.preset, found: program });
            }
            let bin = found.show_installation(form, &real, host)?;
            found.path.push(bin);
            return Ok(());
        }
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Err(host.not_found(self.preset, &names.join(" or ")))
    }

    /// Returns where the manager is installed, if a program is one of its shims.
    fn root_of(&self, program: &Path, host: &HostContext<'_>) -> Option<PathBuf> {
        let shims =
            program.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "shims"))?;
        let root = shims.parent()?;
        let named = host.var(self.root).is_some_and(|named| Path::new(named) == root);
        (is_script(program) && (named || root.join("versions").is_dir())).then(|| root.to_path_buf())
    }

    /// Finds the version that is chosen by the variable, by the file here or above, or for everywhere.
    fn select(&self, root: &Path, host: &HostContext<'_>) -> Result<Selected, ToolchainError> {
        let read = |path: PathBuf| String::from_utf8(small_file::read(&path, host.user).ok()?).ok();
        let of_project = || host.workdir.ancestors().find_map(|directory| read(directory.join(self.file)));
        let chosen = host
            .var(self.version)
            .map(|version| version.to_string_lossy().into_owned())
            .or_else(of_project)
            .or_else(|| read(root.join("version")))
            .unwrap_or_else(|| "system".to_owned());
        // Several may be listed; the first one is what the program means.
        let Some(version) = chosen.split([':', '\n', ' ']).find_map(one_component) else {
            return Ok(Selected::System);
        };
        if version == "system" {
            return Ok(Selected::System);
        }
        installed(&root.join("versions"), version).map(Selected::Version).ok_or_else(|| {
            ToolchainError::NotFound {
                preset: self.preset,
                looked_for: format!("version {version} in `{}`", escape::path(&root.join("versions"))),
                left_out: String::new(),
            }
        })
    }
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
