//! Indexes of git: which changes they hide that they did not hide at the start.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use policy::judge::{Reason, index};
use serde::{Deserialize, Serialize};

use super::Stamp;
use crate::beneath;
use crate::deadline::Deadline;
use crate::protect::Mounts;

/// The largest index that is read, in bytes. One of a million files has some 100 MB.
const LARGEST: u64 = 64 << 20;

/// How many hidden files of one index are remembered. A sparse checkout hides more, and is not compared.
const MOST_HIDDEN: usize = 1000;

/// An index as it was at the start.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Index {
    #[serde(with = "policy::json_bytes::path")]
    path: PathBuf,
    stamp: Stamp,
    hidden: Vec<String>,
}

/// Remembers what the indexes in a boundary hide. What cannot be read as one, git cannot read either.
pub(super) fn take(root: BorrowedFd<'_>, mounts: &Mounts) -> Vec<Index> {
    mounts.indexes.iter().filter_map(|path| read(root, path)).collect()
}

/// What they hide that they did not hide then.
pub(super) fn news(
    before: &[Index],
    root: BorrowedFd<'_>,
    until: Deadline,
) -> impl Iterator<Item = (PathBuf, Reason)> {
    before.iter().take_while(move |_| !until.is_over()).filter_map(move |before| {
        let is_same = beneath::stat(root, &before.path).is_ok_and(|stat| Stamp::of(&stat) == before.stamp);
        if is_same || before.hidden.len() >= MOST_HIDDEN {
            return None;
        }
        let known: BTreeSet<&String> = before.hidden.iter().collect();
        let now = read(root, &before.path)?.hidden;
        let new: Vec<&String> = now.iter().filter(|path| !known.contains(path)).collect();
        let example = (*new.first()?).clone();
        Some((before.path.clone(), Reason::HidesChanges { files: new.len(), example }))
    })
}

fn read(root: BorrowedFd<'_>, path: &Path) -> Option<Index> {
    let (file, stat) = beneath::file(root, path).ok()?;
    let mut content = Vec::new();
    std::fs::File::from(file).take(LARGEST).read_to_end(&mut content).ok()?;
    let hidden = index::hidden(&content, MOST_HIDDEN).ok()?;
    let hidden = hidden.into_iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Some(Index { path: path.into(), stamp: Stamp::of(&stat), hidden })
}
