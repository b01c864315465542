//! The commits to which git brings a work tree, and in what they differ.
//!
//! `git stash` and `git reset --hard` write what the commit at `HEAD` has, whatever the index holds, and `git rebase --abort` what the one has
//! from which the rebase began.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::{LINK, SUBMODULE_CONTENT, StagedKind};
use policy::classify::objects::{self, ObjectId, ObjectKind, TreeEntryKind};
use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::references::{self, References};

/// Files in git's data that name a commit to which git goes back when an operation is given up.
const ABORTED_TO: [&str; 3] = ["rebase-apply/orig-head", "rebase-merge/orig-head", "sequencer/head"];

/// Where an unfinished `git am` has begun, and that it is one.
const APPLIED_ON: &str = "ORIG_HEAD";
const APPLYING: &str = "rebase-apply/applying";

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
    /// The file in the directory of git's data.
    #[serde(with = "json_bytes::path")]
    pub(crate) by: PathBuf,
    /// The number of the commit, in hexadecimal digits.
    pub(crate) commit: String,
}

/// Lists the commits that are named in a directory of git's data, that of `HEAD` first.
pub(crate) fn named(references: &References, data: impl AsFd) -> Vec<NamedCommit> {
    let named = |by: &str, reference: &[u8]| {
        let commit = references.object(reference)?.hex();
        Some(NamedCommit { by: by.into(), commit })
    };
    let content = |path: &str| references::read(&data, Path::new(path), MAX_PATH as u64);
    let mut found: Vec<_> = named("HEAD", b"HEAD").into_iter().collect();
    found.extend(ABORTED_TO.iter().filter_map(|by| named(by, by.as_bytes())));
    if content(APPLYING).is_some() {
        found.extend(named(APPLIED_ON, APPLIED_ON.as_bytes()));
    }
    if let Some(start) = content(BISECTED_FROM) {
        let branch = [b"refs/heads/", start.trim_ascii()].concat();
        found
            .extend(named(BISECTED_FROM, BISECTED_FROM.as_bytes()).or_else(|| named(BISECTED_FROM, &branch)));
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
}

/// In what a commit differs from another one.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    pub(crate) files: Vec<ChangedFile>,
    /// The directories that they lie in, with the numbers of their trees.
    pub(crate) directories: BTreeMap<PathBuf, String>,
    /// Whether everything could be read.
    pub(crate) is_whole: bool,
}

/// Lists what a commit has that another one does not have so: everything, without another one.
pub(crate) fn difference(objects: &mut Objects, before: Option<&str>, now: &str) -> Difference {
    let mut found = Difference { is_whole: true, ..Difference::default() };
    let tree = |objects: &mut Objects, commit: &str| {
        let (kind, content) = objects.read(&ObjectId::from_hex(commit.as_bytes())?)?;
        (kind == ObjectKind::Commit).then(|| objects::tree_of(&content, objects.format()))?
    };
    let Some(now) = tree(objects, now) else { return Difference::default() };
    let before = before.and_then(|before| tree(objects, before));
    let mut left = MAX_ENTRIES;
    let mut ahead = vec![(PathBuf::new(), before, now)];
    while let Some((directory, before, now)) = ahead.pop() {
        if before.as_ref() == Some(&now) {
            continue;
        }
        let known = before.and_then(|before| entries(objects, &before)).unwrap_or_default();
        let known: BTreeMap<_, _> = known.into_iter().collect();
        let Some(entries) = entries(objects, &now) else {
            found.is_whole = false;
            continue;
        };
        found.directories.insert(directory.clone(), now.hex());
        for (name, (kind, id)) in entries {
            let path = directory.join(OsStr::from_bytes(&name));
            let was = known.get(&name);
            if left == 0 || path.as_os_str().len() > MAX_PATH || found.files.len() == MAX_CHANGED {
                found.is_whole = false;
                return found;
            }
            left -= 1;
            if was == Some(&(kind, id.clone())) {
                continue;
            }
            let (kind, before_number) = match kind {
                TreeEntryKind::Directory => {
                    let was = was.filter(|(kind, _)| *kind == TreeEntryKind::Directory);
                    ahead.push((path, was.map(|(_, id)| id.clone()), id));
                    continue;
                }
                TreeEntryKind::File => (StagedKind::File, ""),
                TreeEntryKind::Link => (StagedKind::Link, LINK),
                TreeEntryKind::Submodule => (StagedKind::Submodule, SUBMODULE_CONTENT),
            };
            found.files.push(ChangedFile { path, kind, number: format!("{before_number}{}", id.hex()) });
        }
    }
    found
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
