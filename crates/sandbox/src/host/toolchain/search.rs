//! Where toolchains are looked for, and what is found of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use policy::plan::{BoundaryMode, Exposed, Link, Variable};
use policy::rules::path::normalise;
use policy::rules::shared_dir::{Caller, ShareCandidate, validate};

use policy::rules::rootfs::HOST_SYSTEM;

use super::error::ToolchainError;
use crate::boundary::resolve::Found;
use crate::host::identity::Identity;
use crate::host::programs::Programs;
use crate::host::small_file;

/// The caller's surroundings, in which toolchains are looked for.
#[derive(Clone, Copy, Debug)]
pub struct HostContext<'a> {
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Where programs are looked for, and where agents may write.
    pub programs: &'a Programs,
    /// Who asks, with their home.
    pub caller: Caller<'a>,
    /// With whose rights is looked: under sudo, what its user cannot reach is not theirs to show.
    pub user: Identity,
    pub home: &'a Path,
    /// Where the caller is: some version managers choose by directory.
    pub workdir: &'a Path,
    pub guest_home: &'a Path,
    pub crates: Crates,
}

/// Where cargo has crates from in a sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Crates {
    /// From what was downloaded on the host, which is shown read-only.
    Host,
    /// From crates.io, which the network allows. It needs to write where the host's would be.
    Network,
}

/// What is shown to a sandbox, and the variables that it needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Toolchains {
    /// Directories and files of the host, read-only. They lie in none another.
    pub exposed: Vec<Exposed>,
    /// Links of the host to what is shown.
    pub links: Vec<Link>,
    /// What goes in front of the agent's `PATH`.
    pub path: Vec<PathBuf>,
    pub env: Vec<Variable>,
}

impl HostContext<'_> {
    pub(super) fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns the directory that a variable names, or its place in the home.
    pub(super) fn directory(&self, variable: &str, in_home: &str) -> PathBuf {
        self.var(variable).map_or_else(|| self.home.join(in_home), PathBuf::from)
    }

    /// Lists every program of this name, in the order of `PATH`.
    pub(super) fn programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.programs.all(name)
    }

    /// Makes the error for a program that does not exist.
    pub(super) fn not_found(&self, preset: &'static str, program: &str) -> ToolchainError {
        let looked_for = format!("{program} in the PATH");
        ToolchainError::NotFound { preset, looked_for, left_out: self.programs.left_out() }
    }

    /// Refuses what an agent may write, or has written to choose it, or already has.
    pub(super) fn refuse_agent_writable(&self, name: &str, path: &Path) -> Result<(), ToolchainError> {
        match self.programs.writable().touching(path) {
            None => Ok(()),
            Some(writable) => Err(ToolchainError::Writable {
                name: name.to_owned(),
                path: path.into(),
                writable: writable.into(),
            }),
        }
    }
}

impl Toolchains {
    /// Shows a directory at the path it was found by, after checking where it leads.
    pub(super) fn show(
        &mut self,
        name: &str,
        path: &Path,
        host: &HostContext<'_>,
    ) -> Result<(), ToolchainError> {
        let there = find_path(name, path)?;
        let resolved = &there.path;
        if in_system_tree(resolved) && in_system_tree(path) {
            return Ok(());
        }
        // Reading is all that is given, so it does not matter whose it is.
        let candidate = ShareCandidate {
            given: path,
            resolved,
            kind: there.kind,
            owner: host.caller.uid,
            mode: BoundaryMode::ReadOnly,
        };
        let rules = Caller { allowed_root: None, ..host.caller };
        validate(&candidate, &rules).map_err(|refusal| ToolchainError::Refused {
            name: name.to_owned(),
            refusal: Box::new(refusal),
        })?;
        self.exposed.push(exposed(name, there, path.to_path_buf()));
        Ok(())
    }

    /// Makes a link that the host has, if what it leads to is shown.
    pub(super) fn link(&mut self, path: &Path) {
        let (Ok(target), Ok(real)) = (path.read_link(), path.canonicalize()) else { return };
        let next = normalise(&path.parent().unwrap_or(Path::new("/")).join(&target));
        if !self.covers(&real) {
            return;
        }
        // What the link passes on the way may not be shown, or not by that name.
        let target = if self.covers(&next) { target } else { real };
        self.links.push(Link { guest: path.to_owned(), target });
    }

    /// Returns whether a path is there inside, by that name.
    pub(super) fn covers(&self, path: &Path) -> bool {
        in_system_tree(path)
            // A directory that only holds something shown is there as well.
            || self.exposed.iter().any(|one| path.starts_with(&one.guest) || one.guest.starts_with(path))
            || self.links.iter().any(|link| link.guest == path)
    }

    pub(super) fn without_repetition(mut self) -> Self {
        self.exposed.sort_by(|a, b| a.guest.cmp(&b.guest));
        let mut kept: Vec<Exposed> = Vec::new();
        for one in self.exposed {
            // What lies in a directory that is shown is shown with it, if it lies there on the host, too.
            let covered = kept.iter().any(|outer| {
                let within = one.guest.strip_prefix(&outer.guest).map(|rest| outer.host.join(rest));
                within.is_ok_and(|path| path.components().eq(one.host.components()))
            });
            if !covered {
                kept.push(one);
            }
        }
        self.exposed = kept;
        self.links.sort_by(|a, b| a.guest.cmp(&b.guest));
        self.links.dedup_by(|a, b| a.guest == b.guest);
        let is_shown = |link: &Link| self.exposed.iter().any(|outer| link.guest.starts_with(&outer.guest));
        let links = std::mem::take(&mut self.links).into_iter().filter(|link| !is_shown(link)).collect();
        self.links = links;
        let mut path: Vec<PathBuf> = Vec::new();
        for one in self.path {
            if !path.contains(&one) {
                path.push(one);
            }
        }
        self.path = path;
        self
    }
}

/// Follows a path once, to a descriptor: what that says is validated, and is what will be mounted.
pub(super) fn find_path(name: &str, path: &Path) -> Result<Found, ToolchainError> {
    Found::at(path).map_err(|source| ToolchainError::File {
        name: name.to_owned(),
        path: path.into(),
        source,
    })
}

pub(super) fn canonical(name: &str, path: &Path) -> Result<PathBuf, ToolchainError> {
    Ok(find_path(name, path)?.path)
}

pub(super) fn exposed(name: &str, found: Found, guest: PathBuf) -> Exposed {
    Exposed { name: name.to_owned(), host: found.path, guest, file_id: found.file_id }
}

pub(super) fn in_system_tree(path: &Path) -> bool {
    HOST_SYSTEM.iter().any(|tree| path.starts_with(tree))
}

pub(super) fn variable(name: &str, value: impl Into<OsString>) -> Variable {
    Variable { name: name.to_owned(), value: value.into() }
}

/// Checks that a name from a file is one component, so that it leads nowhere else.
pub(super) fn one_component(text: &str) -> Option<&str> {
    let text = text.trim();
    let plain = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0']);
    plain.then_some(text)
}

/// Returns whether a file is a script, as execve(2) means it.
pub(super) fn is_script(path: &Path) -> bool {
    small_file::beginning(path, 2).is_ok_and(|start| start == b"#!")
}
