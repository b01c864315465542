//! Protected paths: what stays read-only inside a writable boundary.
//!
//! These are files that a program outside the sandbox obeys when a person opens the directory: git, a shell,
//! an editor, another agent, a tool. To write one of them is to run code outside. They stand in one [`table`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use serde::{Deserialize, Serialize};

use self::table::NamePattern;
use crate::text::{fold, suggest};

pub(crate) mod borrowed;
pub mod covering;
pub mod table;

/// Directories that a search for nested repositories does not enter: large, and filled by package managers.
pub const SKIPPED: &[&str] = &[
    ".cache", ".gradle", ".nox", ".tox", ".venv", "__pycache__", "bower_components", "node_modules",
    "target", "venv",
];

/// Where things are moved to that a program outside would obey, in the root of their boundary.
pub const QUARANTINE: &str = ".sandboxctl-quarantine";

/// A path below a boundary: relative, not empty, without `.` and `..`, in UTF-8. Its last name may be `*.suffix`, `name.*` or
/// `name.*.suffix`, which stand for every name that begins and ends so. A hyphen may be in the place of the dot before `*`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String", try_from = "String")]
pub struct RelativePath(Cow<'static, str>);

/// Why a path cannot be protected, or given up.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectError {
    /// There is nothing, or nothing but `.`.
    #[error("an empty path; expected one below the boundary, such as `.github/workflows`")]
    Empty,
    /// The path begins at the root of the file system, or at a home directory.
    #[error("`{given}` is not relative; write it as seen from the boundary, such as `.github/workflows`")]
    Absolute { given: String },
    #[error("`{given}` has `..`, which could lead out of the boundary; write the path without it")]
    Parent { given: String },
    #[error("{given:?} has a control character, which no path to protect needs")]
    Control { given: String },
    /// A wildcard: paths are taken literally, so a pattern would protect nothing.
    #[error(
        "`{given}` has a wildcard; but for `*.suffix`, `name.*`, `name-*` and `name.*.suffix` at the end, paths are taken literally, and \
         a directory covers all that is in it"
    )]
    Wildcard { given: String },
    #[error("`{given}` is not a protected path, so it cannot be given up; {}", did_you_mean(.nearest.as_deref()))]
    Unknown { given: String, nearest: Option<String> },
}

impl RelativePath {
    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path as text, which is borrowed if it is of the built-in list.
    pub fn into_text(self) -> Cow<'static, str> {
        self.0
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// Returns whether it is a name that is reported where it is new, because no list knows it.
    pub fn may_be_unknown(&self) -> bool {
        let name = self.0.strip_prefix(".config/").or_else(|| self.0.starts_with('.').then_some(&self.0));
        name.is_some_and(|name| !name.contains('/')) && !table::is_known(self.as_path())
    }

    /// Lists every directory between the boundary and this path, the outermost first.
    ///
    /// Each must be pinned as a mount point: renaming one of them would carry the protected path away, and
    /// another could be put in its place.
    pub fn pins(&self) -> impl Iterator<Item = &Path> {
        self.0.match_indices('/').map(|(slash, _)| Path::new(&self.0[..slash]))
    }
}

impl FromStr for RelativePath {
    type Err = ProtectError;

    fn from_str(text: &str) -> Result<Self, ProtectError> {
        let given = || text.to_owned();
        if text.chars().any(char::is_control) {
            return Err(ProtectError::Control { given: given() });
        }
        if text.starts_with(['/', '~']) {
            return Err(ProtectError::Absolute { given: given() });
        }
        let literal = if NamePattern::of(text).is_some() { text.replacen('*', "", 1) } else { given() };
        if literal.contains(['*', '?', '[']) {
            return Err(ProtectError::Wildcard { given: given() });
        }
        let mut components = Vec::new();
        for component in text.split('/') {
            match component {
                "" | "." => {}
                ".." => return Err(ProtectError::Parent { given: given() }),
                name => components.push(name),
            }
        }
        if components.is_empty() {
            return Err(ProtectError::Empty);
        }
        Ok(Self(components.join("/").into()))
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<RelativePath> for String {
    fn from(path: RelativePath) -> Self {
        path.0.into_owned()
    }
}

impl TryFrom<String> for RelativePath {
    type Error = ProtectError;

    fn try_from(text: String) -> Result<Self, ProtectError> {
        text.parse()
    }
}

/// The paths that are protected, ready to be asked.
#[derive(Clone, Debug)]
pub struct Protected {
    paths: Vec<RelativePath>,
    /// Made when first asked: most starts only hand the paths on.
    index: OnceLock<PathIndex>,
}

/// Where each path is in the list.
#[derive(Clone, Debug, Default)]
struct PathIndex {
    /// Positions by lower-case path: a file system may ignore case, and git does for `.git`.
    all: HashMap<String, usize>,
    /// The same for what lies in `.git`, as seen from there.
    in_git: HashMap<String, usize>,
    /// The first component of each, in lower case. Few paths begin with one of them.
    first: HashSet<String>,
    /// Positions of those that are patterns for names with a certain beginning, by what stands before the `*`.
    beginnings: HashMap<String, Vec<usize>>,
    /// Positions of the other patterns, by the directory that their names are in and by how those end.
    ends: HashMap<String, HashMap<String, usize>>,
    /// How many components the longest path has.
    deepest: usize,
}

impl PathIndex {
    fn of(paths: &[RelativePath]) -> Self {
        let mut index = Self::default();
        for (position, RelativePath(path)) in paths.iter().enumerate() {
            let folded = fold::name(path.as_bytes());
            index.deepest = index.deepest.max(path.split('/').count());
            if let Some(rest) = folded.strip_prefix(".git/") {
                index.in_git.insert(rest.to_owned(), position);
            }
            if let (Some(_), Some((before, end))) = (NamePattern::of(&folded), folded.rsplit_once('*')) {
                match before.strip_suffix('/').or_else(|| before.is_empty().then_some(before)) {
                    Some(directory) => {
                        index.ends.entry(directory.into()).or_default().insert(end.into(), position);
                    }
                    None => index.beginnings.entry(before.into()).or_default().push(position),
                }
            }
            index.first.insert(first_component(&folded).0.to_owned());
            index.all.insert(folded.into_owned(), position);
        }
        index
    }
}

impl Protected {
    /// Makes the built-in list, with some added and some given up by name. All mistakes are returned at once.
    pub fn new(added: &[RelativePath], allowed: &[RelativePath]) -> Result<Self, Vec<ProtectError>> {
        let is_kept = |path: &RelativePath| !allowed.contains(path);
        let is_known = |path: &RelativePath| {
            let is_listed = table::built_in().any(|listed| listed == path.as_str());
            // A name with one slip is mistyped. With more than one, a short name is near to many.
            let added_names = added.iter().map(RelativePath::as_str);
            let is_mistyped = suggest::is_slip_of(path.as_str(), table::built_in())
                || suggest::is_slip_of(path.as_str(), added_names);
            is_listed
                || added.contains(path)
                || path.may_be_unknown() && (path.0.contains('/') || !is_mistyped)
        };
        let unknown: Vec<ProtectError> = allowed
            .iter()
            .filter(|path| !is_known(path))
            .map(|path| ProtectError::Unknown { given: path.to_string(), nearest: meant(path, added) })
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let mut all = Self::listed(table::built_in().map(|path| RelativePath(path.into())).filter(is_kept));
        all.add(added.iter().filter(|path| is_kept(path)).cloned());
        Ok(all)
    }

    /// Returns the built-in list.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Protected> =
            LazyLock::new(|| Protected::listed(table::built_in().map(|path| RelativePath(path.into()))));
        &BUILT_IN
    }

    /// Makes a list of exactly these paths, as a plan lists them.
    pub fn exactly(paths: impl IntoIterator<Item = RelativePath>) -> Self {
        let mut protected = Self::listed([]);
        protected.add(paths);
        protected
    }

    fn listed(paths: impl IntoIterator<Item = RelativePath>) -> Self {
        Self { paths: paths.into_iter().collect(), index: OnceLock::new() }
    }

    /// Adds those that are not there yet.
    fn add(&mut self, paths: impl IntoIterator<Item = RelativePath>) {
        for path in paths {
            if !self.paths.iter().any(|listed| listed.0.eq_ignore_ascii_case(&path.0)) {
                self.paths.push(path);
            }
        }
    }

    fn index(&self) -> &PathIndex {
        self.index.get_or_init(|| PathIndex::of(&self.paths))
    }

    /// Lists every protected path, relative to a boundary's root or a repository's.
    pub fn paths(&self) -> &[RelativePath] {
        &self.paths
    }

    /// Returns the protected path that `relative` is, or lies in.
    ///
    /// `relative` is seen from a boundary's root or from the root of a repository within. Whatever concerns
    /// git is found below nested repositories, submodules and worktrees too, because `.git` says where it is.
    /// Upper and lower case are the same here: on some file systems they are.
    pub fn matches(&self, relative: &Path) -> Option<&RelativePath> {
        let folded = fold::path(relative);
        let index = self.index();
        // In a directory that no path of the list begins with, patterns for names at the root alone can match.
        let is_listed = index.first.contains(first_component(&folded).0);
        let listed = if is_listed { self.within(&index.all, &folded) } else { None };
        let directories = if is_listed { index.deepest } else { 1 };
        if let Some(path) = listed.or_else(|| self.fitting(index, directories, &folded)) {
            return Some(path);
        }
        let mut in_git: Option<&str> = None;
        let mut rest = folded.as_str();
        while !rest.is_empty() {
            let (name, after) = first_component(rest);
            let found = match in_git {
                _ if name == ".git" => {
                    in_git = Some(first_component(after).0);
                    self.within(&index.all, rest)
                }
                // Branches and tags may be called anything.
                Some("modules" | "worktrees") if matches!(name, "refs" | "logs") => {
                    in_git = None;
                    None
                }
                // A worktree's `commondir` is git's own way to say where its repository is.
                Some("worktrees") if name == "commondir" => None,
                Some("modules" | "worktrees") => self.within(&index.in_git, rest),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
            rest = after;
        }
        None
    }

    /// Returns the pattern that stands for a path, or for a directory that it lies in.
    fn fitting(&self, index: &PathIndex, most: usize, folded: &str) -> Option<&RelativePath> {
        let slashes = folded.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(slash, _)| slash);
        let directories =
            std::iter::once(("", folded)).chain(slashes.map(|at| (&folded[..at], &folded[at + 1..])));
        directories.take(most).find_map(|(directory, rest)| {
            let name = first_component(rest).0;
            let start = folded.len() - rest.len();
            let ends = index.ends.get(directory);
            let fits = |path: &RelativePath| {
                NamePattern::of(path.as_str()).is_some_and(|pattern| pattern.fits(name.as_bytes()))
            };
            // What is certain of a name begins with a dot, or ends with one or with a hyphen.
            let marks = name.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'.' | b'-'));
            let candidates = marks.flat_map(|(mark, _)| {
                let begun = index.beginnings.get(&folded[..=start + mark]).into_iter().flatten();
                let ended = ends.and_then(|ends| ends.get(&name[mark..]));
                begun.chain(ended).copied()
            });
            let paths = candidates.filter_map(|at| Some((at, self.paths.get(at)?)));
            paths.filter(|(_, path)| fits(path)).min_by_key(|(at, _)| *at).map(|(_, path)| path)
        })
    }

    /// Returns the protected path in this index that begins `folded`, component by component.
    fn within(&self, index: &HashMap<String, usize>, folded: &str) -> Option<&RelativePath> {
        let slashes = folded.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(slash, _)| slash);
        slashes
            .chain(std::iter::once(folded.len()))
            .take(self.index().deepest)
            .find_map(|end| {
                let found = index.get(&folded[..end])?;
                (end == folded.len() || !table::is_only_a_file(&folded[..end])).then_some(found)
            })
            .and_then(|position| self.paths.get(*position))
    }
}

/// Returns the first component of a path, and what comes after its slash.
fn first_component(path: &str) -> (&str, &str) {
    // By bytes: the search for a character is made for longer texts.
    match path.bytes().position(|byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (path, ""),
    }
}

/// Guesses what was meant: the nearest spelling, else a path that the given one begins or ends.
fn meant(given: &RelativePath, added: &[RelativePath]) -> Option<String> {
    let built_in = Protected::built_in().paths();
    let paths = || built_in.iter().chain(added);
    let part = |path: &&RelativePath| {
        path.as_path().starts_with(given.as_path()) || path.as_path().ends_with(given.as_path())
    };
    suggest::nearest(given.as_str(), paths().map(RelativePath::as_str))
        .or_else(|| paths().find(part).map(RelativePath::as_str))
        .map(str::to_owned)
}

fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(path) => format!("did you mean `{path}`?"),
        None => "leave it out, or see the list of protected paths in the reference".to_owned(),
    }
}
