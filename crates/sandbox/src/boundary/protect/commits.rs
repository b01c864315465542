//! The commits to which git brings a work tree, and in what they differ.
//!
//! `git stash` and `git reset --hard` write what the commit at `HEAD` has, whatever the index holds, and `git rebase --abort` what the one has
//! from which the rebase began.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::{LINK, SUBMODULE_CONTENT, StagedKind};
use policy::classify::objects::{self, ObjectId, ObjectKind, TreeEntryKind};
use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::references::{self, References, UnclearReference};

/// What names the commit that is checked out.
pub(crate) const HEAD: &str = "HEAD";

/// Files in git's data that name a commit to which git goes back when an operation is given up.
const ABORTED_TO: [&str; 5] = [
    "rebase-apply/head", "rebase-apply/orig-head", "rebase-merge/head", "rebase-merge/orig-head",
    "sequencer/head",
];

/// Where an unfinished `git am` has begun, and what it needs to be one.
const APPLIED_ON: &str = "ORIG_HEAD";
const APPLYING: &str = "rebase-apply/next";

/// Where an unfinished `git bisect` has begun: a commit, or the name of a branch.
const BISECTED_FROM: &str = "BISECT_START";

/// How many entries of trees are compared, and how long a path may be, in bytes.
const MAX_ENTRIES: usize = 1_000_000;
const MAX_PATH: usize = 4096;

/// How many files are kept that differ.
const MAX_CHANGED: usize = 200_000;

/// What names a commit to which git brings a work tree.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct NamedCommit {
    /// The directory of the data of the superproject that names it for this submodule; `None` if these data name it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_bytes::optional_path")]
    pub(crate) superproject: Option<PathBuf>,
    /// The file in the directory of git's data.
    #[serde(with = "json_bytes::path")]
    pub(crate) by: PathBuf,
    /// The number of the commit, in hexadecimal digits; `None` if nobody but git knows which it is.
    pub(crate) commit: Option<String>,
}

impl NamedCommit {
    /// Returns whether it is the one that is checked out.
    pub(crate) fn is_head(&self) -> bool {
        self.superproject.is_none() && self.by == Path::new(HEAD)
    }

    /// Returns where the file lies, of a commit for the work trees of this directory of git's data.
    pub(crate) fn file(&self, git: &Path) -> PathBuf {
        self.superproject.as_deref().unwrap_or(git).join(&self.by)
    }
}

/// Lists the commits that are named in a directory of git's data, that of `HEAD` first.
pub(crate) fn named(references: &References, data: impl AsFd) -> Vec<NamedCommit> {
    let named = |by: &str, object: Result<Option<ObjectId>, UnclearReference>| {
        let commit = object.transpose()?.ok().map(|id| id.hex());
        Some(NamedCommit { superproject: None, by: by.into(), commit })
    };
    let content = |path: &str| references::read(&data, Path::new(path), MAX_PATH as u64);
    let mut found: Vec<_> = named(HEAD, references.object(HEAD.as_bytes())).into_iter().collect();
    found.extend(ABORTED_TO.iter().filter_map(|by| named(by, references.object_in(by))));
    if content(APPLYING).is_some() {
        found.extend(named(APPLIED_ON, references.object_by_short_name(APPLIED_ON)));
    }
    if let Some(start) = content(BISECTED_FROM) {
        let branch = [b"refs/heads/", start.trim_ascii()].concat();
        // Git itself writes a number or the name of a branch, and takes any other revision.
        let started = references.object_in(BISECTED_FROM).or_else(|_| match references.object(&branch) {
            Ok(None) => Err(UnclearReference),
            found => found,
        });
        found.extend(named(BISECTED_FROM, started));
    }
    found
}

/// A file that one commit has, and another one does not have so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ChangedFile {
    pub(crate) path: PathBuf,
    pub(crate) kind: StagedKind,
    /// What names its content, as in an index.
    pub(crate) number: String,
    /// The same of what the other commit has there.
    pub(crate) before: Option<String>,
    /// What the index has of that path.
    pub(crate) indexed: Indexed,
}

/// What an index has of a path that a commit has otherwise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Indexed {
    Nothing,
    /// What the commit before has.
    AsBefore,
    /// Something else: somebody has staged that.
    Otherwise,
}

/// In what a commit differs from another one.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    pub(crate) files: Vec<ChangedFile>,
    /// What the other one has and this one has not, with what names its content.
    pub(crate) removed: Vec<(PathBuf, String)>,
    /// The directories that the files lie in, with the numbers of their trees.
    pub(crate) directories: BTreeMap<PathBuf, String>,
    /// Whether everything could be read.
    pub(crate) is_whole: bool,
}

/// Lists what a commit has that another one does not have so: everything, without another one.
pub(crate) fn difference(objects: &mut Objects, before: Option<&str>, now: &str) -> Difference {
    let Some(now) = tree_of(objects, now) else { return Difference::default() };
    let before = before.and_then(|before| tree_of(objects, before));
    compared(objects, PathBuf::new(), before, now)
}

/// Lists what a commit has in a directory: nothing, if it has none at this path.
pub(crate) fn files_in(objects: &mut Objects, commit: &str, directory: &Path) -> Difference {
    match entry_at(objects, commit, directory, TreeEntryKind::Directory) {
        Err(UnreadTree) => Difference::default(),
        Ok(Some(tree)) => compared(objects, directory.into(), None, tree),
        Ok(None) => Difference { is_whole: true, ..Difference::default() },
    }
}

/// Returns the file that a commit has at a path.
pub(crate) fn file_at(objects: &mut Objects, commit: &str, path: &Path) -> Option<ObjectId> {
    entry_at(objects, commit, path, TreeEntryKind::File).ok().flatten()
}

/// A tree, or the commit that it is of, could not be read.
struct UnreadTree;

/// Returns what a commit has at a path, if it is of this kind. Of two entries of one name, git writes both.
fn entry_at(
    objects: &mut Objects,
    commit: &str,
    path: &Path,
    kind: TreeEntryKind,
) -> Result<Option<ObjectId>, UnreadTree> {
    let mut found = tree_of(objects, commit).ok_or(UnreadTree)?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let wanted = if names.peek().is_none() { kind } else { TreeEntryKind::Directory };
        let mut entries = entries(objects, &found).ok_or(UnreadTree)?.into_iter();
        let entry = entries.find(|(entry, (kind, _))| entry == name.as_bytes() && *kind == wanted);
        match entry {
            Some((_, (_, id))) => found = id,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn tree_of(objects: &mut Objects, commit: &str) -> Option<ObjectId> {
    let (kind, content) = objects.read(&ObjectId::from_hex(commit.as_bytes())?)?;
    (kind == ObjectKind::Commit).then(|| objects::tree_of(&content, objects.format()))?
}

fn compared(
    objects: &mut Objects,
    directory: PathBuf,
    before: Option<ObjectId>,
    now: ObjectId,
) -> Difference {
    let mut found = Difference { is_whole: true, ..Difference::default() };
    let mut left = MAX_ENTRIES;
    let mut ahead = vec![(directory, before, Some(now))];
    while let Some((directory, before, now)) = ahead.pop() {
        if before == now {
            continue;
        }
        let known = before.and_then(|before| entries(objects, &before)).unwrap_or_default();
        let known: BTreeMap<_, _> = known.into_iter().collect();
        let Some(entries) = now.as_ref().map_or_else(|| Some(Vec::new()), |now| entries(objects, now)) else {
            found.is_whole = false;
            continue;
        };
        if let Some(now) = now {
            found.directories.insert(directory.clone(), now.hex());
        }
        let mut is_too_much = |path: &Path, found: &Difference| {
            let is_bounded = left > 0 && found.files.len() + found.removed.len() < MAX_CHANGED;
            left = left.saturating_sub(1);
            !is_bounded || path.as_os_str().len() > MAX_PATH
        };
        let names: BTreeSet<&Vec<u8>> = entries.iter().map(|(name, _)| name).collect();
        for (name, (kind, id)) in known.iter().filter(|(name, _)| !names.contains(name)) {
            let path = directory.join(OsStr::from_bytes(name));
            if is_too_much(&path, &found) {
                found.is_whole = false;
                return found;
            }
            match staged(*kind, id) {
                Some((_, number)) => found.removed.push((path, number)),
                None => ahead.push((path, Some(id.clone()), None)),
            }
        }
        for (name, (kind, id)) in entries {
            let path = directory.join(OsStr::from_bytes(&name));
            let was = known.get(&name);
            if is_too_much(&path, &found) {
                found.is_whole = false;
                return found;
            }
            if was == Some(&(kind, id.clone())) {
                continue;
            }
            let Some((kind, number)) = staged(kind, &id) else {
                let was = was.filter(|(kind, _)| *kind == TreeEntryKind::Directory);
                ahead.push((path, was.map(|(_, id)| id.clone()), Some(id)));
                continue;
            };
            let before = was.and_then(|(kind, id)| staged(*kind, id)).map(|(_, number)| number);
            found.files.push(ChangedFile { path, kind, number, before, indexed: Indexed::Nothing });
        }
    }
    found
}

/// Returns how an index calls an entry of a tree and its content; `None` of a directory.
fn staged(kind: TreeEntryKind, id: &ObjectId) -> Option<(StagedKind, String)> {
    let (kind, mark) = match kind {
        TreeEntryKind::Directory => return None,
        TreeEntryKind::File => (StagedKind::File, ""),
        TreeEntryKind::Link => (StagedKind::Link, LINK),
        TreeEntryKind::Submodule => (StagedKind::Submodule, SUBMODULE_CONTENT),
    };
    Some((kind, format!("{mark}{}", id.hex())))
}

/// Of a tree: names, with what each is. One may stand there twice, and git writes both.
type Entries = Vec<(Vec<u8>, (TreeEntryKind, ObjectId))>;

fn entries(objects: &mut Objects, tree: &ObjectId) -> Option<Entries> {
    let (kind, content) = objects.read(tree)?;
    if kind != ObjectKind::Tree {
        return None;
    }
    let entries = objects::tree_entries(&content, objects.format());
    entries.map(|entry| entry.map(|entry| (entry.name.to_vec(), (entry.kind, entry.id))).ok()).collect()
}
