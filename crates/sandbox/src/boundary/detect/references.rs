//! References in a directory of git's data, as they are and as they were at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::{MAX_CONTENT, ambiguous, repository};
use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

use super::origin::{Facts, Time};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::references::{self, Budget, MAX_REFERENCE, Store};
use crate::boundary::protect::search::resolved;
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// The references in a directory of git's data at the start.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct KnownReferences {
    #[serde(with = "json_bytes::path")]
    pub(super) git: PathBuf,
    #[serde(with = "json_bytes::os_strings")]
    pub(super) names: Vec<OsString>,
}

/// How many references of all repositories in a boundary are remembered, and how many bytes their names and the paths of the repositories have: an
/// agent may make as many as it likes, each start reads them, and the record of a run has an end.
const MAX_KNOWN: usize = 10_000;
const MAX_KNOWN_BYTES: usize = 4 << 20;

/// Remembers which references there are in a boundary. Of those of a repository that are too many, none is known.
pub(super) fn take(root: BorrowedFd<'_>, mounts: &Mounts) -> Vec<KnownReferences> {
    let mut budget = Budget::default();
    let mut known: Vec<KnownReferences> = Vec::new();
    let (mut left, mut left_bytes) = (MAX_KNOWN, MAX_KNOWN_BYTES);
    let gits = mounts.reach.bases().filter_map(|base| match base {
        Base::Git(git) => Some(git.as_path()),
        Base::Tree(_) | Base::Led(_) | Base::Passed(_) => None,
    });
    let mut gits: Vec<&Path> = gits.collect();
    gits.sort_by_cached_key(|git| turn(root, git));
    for git in gits {
        let Some(data) = Data::open(root, git) else { continue };
        let Some(mut found) = data.references(&mut budget, left, Deadline::NEVER) else { continue };
        let is_common = |one: &&KnownReferences| data.common.as_ref().is_some_and(|(git, _)| one.git == *git);
        let shared = known.iter().filter(is_common).flat_map(|one| &one.names).map(|name| name.as_bytes());
        let beside = data.beside(found.keys().map(Vec::as_slice).chain(shared));
        found.extend(beside);
        let bytes = git.as_os_str().len() + found.keys().map(Vec::len).sum::<usize>();
        if found.is_empty() || found.len() > left || bytes > left_bytes {
            continue;
        }
        left -= found.len();
        left_bytes -= bytes;
        let names = found.into_keys().map(OsString::from_vec).collect();
        known.push(KnownReferences { git: git.to_path_buf(), names });
    }
    known
}

/// Returns what says when it is the turn of a directory of git's data: the root's comes first, then the older one. An agent makes none that is
/// older than what was there. That of a repository comes before those of its linked work trees.
fn turn<'g>(root: BorrowedFd<'_>, git: &'g Path) -> (bool, Option<Time>, &'g Path) {
    let born = |git: &Path| Facts::at(root, git).and_then(|facts| facts.btime);
    let common = git.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
    let is_roots = [Path::new(""), Path::new(".git")].contains(&git);
    (!is_roots, born(git).max(common.and_then(born)), git)
}

/// A directory of git's data.
pub(super) struct Data {
    own: OwnedFd,
    /// That of the repository, for a linked work tree, with its path.
    pub(super) common: Option<(PathBuf, OwnedFd)>,
    store: Store,
}

impl Data {
    /// Opens one; `None` if it is none, as one of logs.
    pub(super) fn open(root: BorrowedFd<'_>, git: &Path) -> Option<Self> {
        let own = beneath::directory(root, git).ok()?;
        let is_there = |name: &str| beneath::stat(&own, Path::new(name)).is_ok();
        let common = if is_there("commondir") {
            let common = git.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
            Some((common.to_path_buf(), beneath::directory(root, common).ok()?))
        } else if is_there("objects") {
            None
        } else {
            return None;
        };
        let store = Store::of(common.as_ref().map_or(&own, |(_, common)| common));
        Some(Self { own, common, store })
    }

    /// Lists its references by their names, with the file that each is in; `None` if they are more than these, or too many to be read.
    pub(super) fn references(
        &self,
        budget: &mut Budget,
        most: usize,
        until: Deadline,
    ) -> Option<BTreeMap<Vec<u8>, PathBuf>> {
        references::all(&self.own, self.store, budget, most, until)
    }

    /// Lists the files beside `refs` that git takes for one of these references where that is called by its short name.
    pub(super) fn beside<'n>(
        &self,
        references: impl Iterator<Item = &'n [u8]>,
    ) -> BTreeMap<Vec<u8>, PathBuf> {
        let listed = beneath::listing(&self.own, Path::new("")).ok();
        let entries = listed.as_ref().and_then(|opened| beneath::entries(opened.as_fd()).ok());
        let there: BTreeSet<Vec<u8>> =
            entries.into_iter().flatten().flatten().map(|(name, _)| name.into_encoded_bytes()).collect();
        let is_reference = |name: &&[u8]| {
            let first = name.split(|byte| *byte == b'/').next().unwrap_or(name);
            let read = || references::read(&self.own, path(name), MAX_REFERENCE);
            first != b"refs"
                && there.contains(first)
                && read().is_some_and(|content| repository::is_head(&content))
        };
        let names = references.flat_map(ambiguous::short_names).filter(is_reference);
        names.map(|name| (name.to_vec(), path(name).to_path_buf())).collect()
    }

    /// Opens the objects of the repository. `git` is the path of this in the boundary, which lies at `host`.
    pub(super) fn objects(&self, git: &Path, host: &Path, until: Deadline) -> Objects {
        let (git, data) = self.common.as_ref().map_or((git, &self.own), |(common, data)| (common, data));
        let config = references::read(data, Path::new("config"), MAX_CONTENT as u64).unwrap_or_default();
        Objects::open(data, &host.join(git), ObjectFormat::of(&config), &resolved, until)
    }
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}
