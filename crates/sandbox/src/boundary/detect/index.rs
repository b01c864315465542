//! Indexes of git and their like: what they say that they did not say at the start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::classify::index::Paths;
use policy::classify::{FileFormat, Reason};
use serde::{Deserialize, Serialize};

use crate::boundary::detect::finding::Origin;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::path_list::MOST_HIDDEN;
use crate::boundary::protect::path_list::{Listed, PathList};
use crate::host::stamp::Stamp;

/// An index as it was at the start.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Index {
    #[serde(with = "policy::text::json_bytes::path")]
    path: PathBuf,
    stamp: Stamp,
    hidden: Vec<String>,
}

impl Index {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the same at another path.
    pub(crate) fn at(&self, path: PathBuf) -> Self {
        Self { path, ..self.clone() }
    }
}

/// Remembers what the indexes in a boundary hide.
pub(crate) fn take(mounts: &Mounts) -> Vec<Index> {
    let remember = |list: &PathList| {
        let hidden = match &list.listed {
            Listed::Paths(paths) => paths.hidden.iter().map(|path| text(path)).collect(),
            Listed::Lines(lines) => lines.clone(),
            Listed::TooMany | Listed::Malformed => Vec::new(),
        };
        Index { path: list.path.clone(), stamp: list.stamp, hidden }
    };
    mounts.path_lists.iter().map(remember).collect()
}

/// Lists what is listed that was not listed then. `was_searched` says whether a directory of git's data was looked at.
pub(crate) fn news(
    before: &[Index],
    mounts: &Mounts,
    was_searched: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = (PathBuf, Reason, Origin)> {
    mounts.path_lists.iter().filter_map(move |list| {
        let before = before.iter().find(|before| before.path == list.path);
        if before.is_some_and(|before| before.stamp == list.stamp) {
            return None;
        }
        let unreadable = Reason::Unreadable { format: FileFormat::Index };
        let is_new = if before.is_some() { Origin::Replaced } else { Origin::Created };
        let (reason, origin) = match &list.listed {
            // Git does not write a path that leads elsewhere, nor what cannot be read.
            Listed::Malformed => (unreadable, is_new),
            Listed::TooMany => (unreadable, Origin::Earlier),
            Listed::Paths(Paths { outside: Some(path), .. }) => {
                (Reason::WritesElsewhere { example: text(path) }, is_new)
            }
            Listed::Paths(paths) => {
                let (files, example) = added(&before?.hidden, paths.hidden.iter().map(|path| text(path)))?;
                (Reason::HidesChanges { files, example }, Origin::Earlier)
            }
            // Those of a new repository are its own.
            Listed::Lines(now) => {
                let before = before.map_or(&[][..], |before| &before.hidden);
                let (lines, example) =
                    added(before, now.iter().cloned()).filter(|_| was_searched(&list.git))?;
                (Reason::HidesByLines { lines, example }, Origin::Earlier)
            }
        };
        Some((list.path.clone(), reason, origin))
    })
}

/// Returns how many are there that were not there before, and one of them.
fn added(before: &[String], now: impl Iterator<Item = String>) -> Option<(usize, String)> {
    if before.len() >= MOST_HIDDEN {
        return None;
    }
    let known: BTreeSet<&String> = before.iter().collect();
    let mut new = now.filter(|one| !known.contains(one)).peekable();
    let example = new.peek()?.clone();
    Some((new.count(), example))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
