//! Path boundaries: which paths inside a sandbox may be touched, and how.
//!
//! This module compares paths, it never opens them. A path is what the sandbox sees, with every link
//! resolved by the caller; paths are compared by component, so `/a/b` does not contain `/a/bc`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::protect::{Protected, RelativePath};
use crate::rules::hide::{HidePattern, HidePatterns};
use crate::rules::verdict::{Origin, Verdict, listing, shown};
use crate::text::escape;

/// The longest path the kernel accepts, without its final NUL: `PATH_MAX` of linux/limits.h.
const MAX_LENGTH: usize = 4095;

/// Where the system stands inside: nothing may be mounted on or below these.
const RESERVED_TREES: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libo32", "/libx32", "/proc", "/sbin",
    "/sys", "/usr",
];

/// What the sandbox has of its own: nothing may be mounted on these, but below them it may.
const RESERVED_PATHS: &[&str] = &["/", "/home", "/run", "/tmp", "/var", "/var/tmp"];

/// A path as the sandbox sees it: absolute, without `.`, `..`, repeated and trailing slashes, and NUL.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GuestPath(PathBuf);

/// Why a path was refused as a path inside a sandbox.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    #[error("{path:?} is not absolute; a path inside the sandbox begins with `/`, such as `/workspace`")]
    Relative { path: PathBuf },
    #[error("{path:?} has `..`, whose meaning depends on links; write the path it leads to")]
    Parent { path: PathBuf },
    /// The path has a NUL, where the kernel would stop reading.
    #[error("{path:?} has a NUL character, which no path has")]
    Nul { path: PathBuf },
    #[error("a path of {length} bytes is too long; at most {MAX_LENGTH} are possible")]
    TooLong { length: usize },
    #[error(
        "{path:?} cannot be a mount point: `{taken}` belongs to the system; use one such as `/workspace`"
    )]
    Taken { path: PathBuf, taken: &'static str },
    #[error("`{first}` and `{second}` are both at {path:?}; every boundary needs a place of its own")]
    Twice { path: PathBuf, first: String, second: String },
}

impl GuestPath {
    /// Checks a path and brings it into its normal form.
    pub fn new(path: &Path) -> Result<Self, PathError> {
        Ok(Self(normal_form(path)?.into_owned()))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Checks that something may be mounted here without hiding the system or what the sandbox needs.
    pub fn as_mount_point(&self) -> Result<&Self, PathError> {
        let on_system = RESERVED_TREES.iter().find(|taken| self.0.starts_with(taken));
        match on_system.or_else(|| RESERVED_PATHS.iter().find(|taken| self.0 == Path::new(taken))) {
            Some(taken) => Err(PathError::Taken { path: self.0.clone(), taken }),
            None => Ok(self),
        }
    }
}

impl FromStr for GuestPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::new(Path::new(text))
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_string_lossy().fmt(f)
    }
}

/// Takes `.`, `..` and repeated slashes out of a path as if it had no links; `/..` is `/`.
///
/// Only the kernel knows where it leads.
pub fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::with_capacity(path.as_os_str().len());
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Checks a path inside a sandbox; most are in their normal form already and need no copy.
fn normal_form(path: &Path) -> Result<Cow<'_, Path>, PathError> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&0) {
        return Err(PathError::Nul { path: path.to_owned() });
    }
    if bytes.len() > MAX_LENGTH {
        return Err(PathError::TooLong { length: bytes.len() });
    }
    let Some(components) = bytes.strip_prefix(b"/") else {
        return Err(PathError::Relative { path: path.to_owned() });
    };
    let mut normal = true;
    for component in components.split(|byte| *byte == b'/') {
        match component {
            b".." => return Err(PathError::Parent { path: path.to_owned() }),
            b"" | b"." => normal = false,
            _ => {}
        }
    }
    Ok(if normal { Cow::Borrowed(path) } else { Cow::Owned(normalise(path)) })
}

/// What is to be done with a path.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PathAccess {
    /// Read a file or list a directory.
    Read,
    /// Write, create, rename or remove.
    Write,
    Execute,
}

impl fmt::Display for PathAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
        })
    }
}

/// What may be done in a boundary.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum BoundaryMode {
    #[default]
    #[serde(rename = "rw")]
    ReadWrite,
    #[serde(rename = "ro")]
    ReadOnly,
}

/// A place inside a sandbox, and what may be done there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuestBoundary {
    /// Its name in the configuration.
    pub name: String,
    pub guest: GuestPath,
    pub mode: BoundaryMode,
    pub hidden: HidePatterns,
    /// Where it is the repository of linked worktrees: which of them are shared, by the names of their data.
    pub worktrees: Vec<String>,
    pub obeyed: Obeyed,
    pub origin: Origin,
}

/// Who obeys what lies in a boundary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Obeyed {
    /// Programs outside of the sandbox: there are protected paths.
    ByPrograms,
    /// Nobody outside: the sandbox's own directories.
    ByNobody,
}

/// What rules about a path in a boundary.
pub(crate) enum PathRule<'a> {
    Allowed,
    Hidden(&'a HidePattern),
    /// It is to be written, and the boundary is read-only.
    ReadOnly,
    /// It is to be written, and is the data of this worktree, which is not shared.
    OtherWorktree(PathBuf),
    /// It is to be written, and is protected.
    Protected(&'a RelativePath),
}

impl GuestBoundary {
    /// Returns a path in it as it is seen from the root of a work tree.
    fn seen_from_tree<'p>(&self, relative: &'p Path) -> Cow<'p, Path> {
        if self.worktrees.is_empty() {
            Cow::Borrowed(relative)
        } else {
            Cow::Owned(Path::new(".git").join(relative))
        }
    }

    /// Returns the name of another worktree, where a path is or lies in its data.
    fn other_worktree<'p>(&self, relative: &'p Path) -> Option<&'p Path> {
        let name = relative.strip_prefix("worktrees").ok()?.iter().next()?;
        let is_other = !self.worktrees.is_empty() && !self.worktrees.iter().any(|own| name == own.as_str());
        is_other.then_some(Path::new(name))
    }
}

/// All boundaries of one sandbox, ready to be asked.
#[derive(Clone, Debug)]
pub struct GuestBoundaries {
    list: Vec<GuestBoundary>,
    /// Positions in `list` by path; the root is the empty path.
    index: HashMap<Vec<u8>, usize>,
    /// How many components the deepest boundary has: longer prefixes need no look-up.
    deepest: usize,
    protected: Protected,
    /// What would have been allowed, for a path that is nowhere.
    readable: String,
    /// What would have been allowed, for a path that may not be written.
    writable: String,
}

impl GuestBoundaries {
    /// Makes boundaries ready; two of them may lie within each other, but not in the same place.
    pub fn new(boundaries: Vec<GuestBoundary>, protected: Protected) -> Result<Self, PathError> {
        let mut index: HashMap<Vec<u8>, usize> = HashMap::with_capacity(boundaries.len());
        let mut deepest = 0;
        for (position, boundary) in boundaries.iter().enumerate() {
            let key = key(&boundary.guest.0).to_vec();
            deepest = deepest.max(boundary.guest.0.components().count() - 1);
            if let Some(first) = index.insert(key, position) {
                return Err(PathError::Twice {
                    path: boundary.guest.0.clone(),
                    first: boundaries[first].name.clone(),
                    second: boundary.name.clone(),
                });
            }
        }
        let readable = listing(boundaries.iter().map(|boundary| &boundary.guest));
        let is_writable = |boundary: &&GuestBoundary| boundary.mode == BoundaryMode::ReadWrite;
        let writable = listing(boundaries.iter().filter(is_writable).map(|boundary| &boundary.guest));
        Ok(Self { list: boundaries, index, deepest, protected, readable, writable })
    }

    /// Decides about one path: the innermost boundary it lies in rules, and protected paths are never
    /// written.
    pub fn decide(&self, path: &Path, access: PathAccess) -> Verdict {
        let path = match normal_form(path) {
            Ok(path) => path,
            Err(error) => return Verdict::deny(error.to_string(), Origin::Default),
        };
        let text = path.to_string_lossy();
        let shown = shown(&text);
        let Some((boundary, relative)) = self.innermost(&path) else {
            let allowed = if access == PathAccess::Write { &self.writable } else { &self.readable };
            return Verdict::deny(
                format!("cannot {access} `{shown}`: it lies in no boundary; allowed: {allowed}"),
                Origin::Default,
            );
        };
        let GuestBoundary { name, origin, .. } = &self.list[boundary];
        match self.rule(boundary, relative, access) {
            PathRule::Allowed if access == PathAccess::Write => {
                Verdict::allow(format!("`{shown}` lies in `{name}`, which is writable"), origin.clone())
            }
            PathRule::Allowed => Verdict::allow(format!("`{shown}` lies in `{name}`"), origin.clone()),
            PathRule::Hidden(pattern) => Verdict::deny(
                format!("cannot {access} `{shown}`: `{pattern}` hides it in `{name}`"),
                origin.clone(),
            ),
            PathRule::ReadOnly => Verdict::deny(
                format!("cannot write `{shown}`: `{name}` is read-only; writable: {}", self.writable),
                origin.clone(),
            ),
            PathRule::OtherWorktree(other) => Verdict::deny(
                format!(
                    "`{shown}` must not be written: `{}` is the data of a worktree that is not shared",
                    escape::path(&other)
                ),
                Origin::Default,
            ),
            PathRule::Protected(protected) => Verdict::deny(
                format!(
                    "`{shown}` must not be written: `{protected}` is protected in `{name}`; `[protect] allow` gives it up by name"
                ),
                Origin::Default,
            ),
        }
    }

    /// Returns what rules about a path in the boundary at this position, as it is seen from there.
    pub(crate) fn rule(&self, boundary: usize, relative: &Path, access: PathAccess) -> PathRule<'_> {
        let boundary = &self.list[boundary];
        if let Some(pattern) = boundary.hidden.hiding(relative) {
            return PathRule::Hidden(pattern);
        }
        if access != PathAccess::Write {
            return PathRule::Allowed;
        }
        if boundary.mode == BoundaryMode::ReadOnly {
            return PathRule::ReadOnly;
        }
        if boundary.obeyed == Obeyed::ByNobody {
            return PathRule::Allowed;
        }
        if let Some(other) = boundary.other_worktree(relative) {
            return PathRule::OtherWorktree(other.to_owned());
        }
        match self.protected.matches(&boundary.seen_from_tree(relative)) {
            Some(protected) => PathRule::Protected(protected),
            None => PathRule::Allowed,
        }
    }

    /// Returns whether something is hidden in any of them.
    pub(crate) fn hides_something(&self) -> bool {
        self.list.iter().any(|boundary| !boundary.hidden.is_empty())
    }

    /// Returns what is protected in each of them.
    pub fn protected(&self) -> &Protected {
        &self.protected
    }

    /// Returns the position of the innermost boundary that a path in its normal form lies in, and the path as it is seen from there.
    pub(crate) fn innermost<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let path = key(path);
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let ends = slashes.chain((!path.is_empty()).then_some(path.len()));
        // The first end is 0, the root; each further one is a component deeper.
        let root = path.is_empty().then_some(0);
        let (position, end) = root
            .into_iter()
            .chain(ends)
            .take(self.deepest + 1)
            .filter_map(|end| Some((*self.index.get(&path[..end])?, end)))
            .last()?;
        let below = &path[end..];
        Some((position, Path::new(OsStr::from_bytes(below.strip_prefix(b"/").unwrap_or(below)))))
    }
}

/// Returns a path as the index knows it: the root is empty, so that every prefix ends before a slash.
fn key(path: &Path) -> &[u8] {
    match path.as_os_str().as_bytes() {
        b"/" => b"",
        bytes => bytes,
    }
}
