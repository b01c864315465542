//! Facts: what the caller found on the host of what a policy names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use super::boundary::BoundaryRequest;
use crate::config::Expose;
use crate::plan::{self, FileId, Variable};
use crate::rules::git::GitIdentity;
use crate::rules::path::PathError;
use crate::rules::shared_dir::PathKind;

/// What the caller found on the host.
#[derive(Clone, Debug)]
pub struct HostFacts {
    /// What the sandbox is called unless the policy names it.
    pub name: String,
    /// The caller's environment. What the policy does not name goes no further than this.
    pub environment: Vec<(OsString, OsString)>,
    /// What each boundary led to, by name.
    pub directories: BTreeMap<String, Result<HostDirectory, Unavailable>>,
    /// The persistent home directory, if the policy has one: [`Policy::home`](super::Policy::home).
    pub home: Option<HostHome>,
    /// The boundaries that need not be there, and are not, by name.
    pub absent: BTreeSet<String>,
    /// Whether the directory of the host behind [`Policy::workdir`](super::Policy::workdir) is there; fine where there is none behind it.
    pub workdir: Result<(), Unavailable>,
    /// Where each socket is, by name, with every link resolved.
    pub sockets: BTreeMap<String, Result<PathBuf, Unavailable>>,
    /// Who the caller is for git.
    pub git: Option<GitIdentity>,
    /// What each toolchain consists of, or why it is not here.
    pub toolchains: BTreeMap<Expose, Result<ToolchainParts, Unavailable>>,
    /// The user who asks: who called sudo, when root was reached that way.
    pub uid: u32,
    /// Every spelling of the caller's home: as the environment gives it, and with its links resolved.
    pub homes: Vec<PathBuf>,
    /// Other homes whose credentials the caller can read: see [`Caller`](crate::rules::shared_dir::Caller).
    pub other_homes: Vec<PathBuf>,
    /// The directory that everything shared must lie in, with every link resolved; `None` is no such rule.
    pub allowed_root: Option<PathBuf>,
}

impl HostFacts {
    /// Returns whether a boundary leads to a single file.
    pub(super) fn is_file(&self, wanted: &BoundaryRequest) -> bool {
        let led = self.directories.get(&wanted.name);
        led.is_some_and(|led| led.as_ref().is_ok_and(|led| led.kind == PathKind::File))
    }
}

/// What a boundary led to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostDirectory {
    /// The path with every link resolved.
    pub host: PathBuf,
    pub kind: PathKind,
    pub owner: u32,
    pub file_id: FileId,
    /// Whether git takes it for a repository by what lies right in it.
    pub is_repository: bool,
    /// The bare repository that it lies in without being the whole of it.
    pub repository: Option<PathBuf>,
}

/// A persistent home directory. It need not be there yet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostHome {
    pub name: String,
    /// Where it is, or will be.
    pub host: PathBuf,
    /// Which directory it is, where it is there.
    pub file_id: Option<FileId>,
}

/// What a toolchain consists of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolchainParts {
    pub exposed: Vec<plan::Exposed>,
    pub links: Vec<plan::Link>,
    /// Directories of programs as the sandbox sees them, to stand in front of `PATH`.
    pub bin: Vec<PathBuf>,
    /// Variables without which the toolchain does not find itself.
    pub variables: Vec<Variable>,
}

/// A shared directory that is a linked worktree, and its repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkedWorktree {
    /// The name of the shared directory.
    pub directory: String,
    /// The repository on the host, with every link resolved.
    pub repository: PathBuf,
    /// The name of the worktree's data in it.
    pub data: String,
    /// The directory of those data as the `.git` file names it: absolute, or relative to the worktree.
    pub names: PathBuf,
    /// The `.git` file as the data name it: absolute, or relative to the data.
    pub named: PathBuf,
}

/// Why the repository of a worktree cannot be shared.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotShared {
    #[error("the `.git` file does not name it as `REPOSITORY/worktrees/NAME`")]
    Form,
    /// It cannot be inside where git looks for it.
    #[error(transparent)]
    Place(#[from] PathError),
    #[error("`{0}` is shared there")]
    Taken(String),
}

/// Why something of the host is not there to be shared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unavailable {
    pub reason: String,
    pub hint: Option<String>,
}
