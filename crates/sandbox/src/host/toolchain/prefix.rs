//! Installations: a directory with programs in `bin`, and what these need beside it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::error::ToolchainError;
use super::search::{HostContext, Toolchains};

/// What is shown of an installation, and nothing beside it: `etc` and `conf`, too, hold settings and the credentials among
/// them, such as npm's `etc/npmrc`, pip's `pip.conf` and Maven's `conf/settings.xml`.
pub(super) const PARTS: &[&str] =
    &["bin", "include", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "share"];

/// How a toolchain looks that is installed as a whole.
pub(super) struct Form {
    pub(super) preset: &'static str,
    /// Whether a file has the name of the program.
    pub(super) is_program: fn(&str) -> bool,
    /// Whether a directory is one, beside having the program in its `bin`.
    pub(super) is_prefix: fn(&Path) -> bool,
    /// The same in words.
    pub(super) expected: &'static str,
    /// What is shown beside [`PARTS`].
    pub(super) more: &'static [&'static str],
}

impl Toolchains {
    /// Shows the toolchain that a program is installed in, two levels above it, and returns the directory of its programs. A
    /// link can lead to any file, so the directory must look like one.
    pub(super) fn show_installation(
        &mut self,
        form: &Form,
        program: &Path,
        host: &HostContext<'_>,
    ) -> Result<PathBuf, ToolchainError> {
        let is_program = program.file_name().and_then(OsStr::to_str).is_some_and(form.is_program);
        let bin = program.parent().filter(|bin| is_program && bin.ends_with("bin"));
        let prefix = bin.and_then(Path::parent).filter(|prefix| (form.is_prefix)(prefix));
        let (Some(bin), Some(prefix)) = (bin, prefix) else {
            let Form { preset, expected, .. } = *form;
            return Err(ToolchainError::Form { preset, found: program.to_owned(), expected });
        };
        self.show_parts(form.preset, prefix, PARTS.iter().chain(form.more), host)?;
        Ok(bin.to_path_buf())
    }

    /// Shows these parts of a directory, as far as they are there. What may not be shown as a whole is not shown in parts.
    pub(super) fn show_parts<'p>(
        &mut self,
        name: &str,
        directory: &Path,
        parts: impl IntoIterator<Item = &'p &'static str>,
        host: &HostContext<'_>,
    ) -> Result<(), ToolchainError> {
        host.refuse_agent_writable(name, directory)?;
        Self::default().show(name, directory, host)?;
        for part in parts {
            let path = directory.join(part);
            // A link that leads nowhere is no part either.
            if path.exists() {
                self.show(name, &path, host)?;
            }
        }
        Ok(())
    }

    /// Shows a program that consists of one file, and the link to it in the `PATH`.
    pub(super) fn show_program(
        &mut self,
        name: &str,
        program: &Path,
        host: &HostContext<'_>,
    ) -> Result<(), ToolchainError> {
        let real = super::search::canonical(name, program)?;
        if super::search::in_system_tree(&real) {
            return Ok(());
        }
        host.refuse_agent_writable(name, &real)?;
        self.show(name, &real, host)?;
        self.link(program);
        self.path.extend(program.parent().map(Path::to_owned));
        Ok(())
    }

    /// Makes those links of a directory of programs that lead into a tree, which is shown.
    pub(super) fn link_programs(
        &mut self,
        name: &str,
        bin: &Path,
        tree: &Path,
        host: &HostContext<'_>,
    ) -> Result<(), ToolchainError> {
        let Ok(tree) = tree.canonicalize() else { return Ok(()) };
        let programs = bin.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let leads_there =
            |program: &PathBuf| program.canonicalize().is_ok_and(|real| real.starts_with(&tree));
        let mut programs = programs.filter(leads_there).peekable();
        if programs.peek().is_some() {
            host.refuse_agent_writable(name, bin)?;
            self.path.push(bin.to_owned());
        }
        for program in programs {
            self.link(&program);
        }
        Ok(())
    }
}
