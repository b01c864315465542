//! Indexes of git and their like: what they list that they did not list at the start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
            Listed::TooMany | Listed::Malformed => Vec::new(),
        };
        Index { path: list.path.clone(), stamp: list.stamp, hidden }
    };
    mounts.path_lists.iter().map(remember).collect()
}

/// Lists what is listed that was not listed then.
pub(crate) fn news(before: &[Index], mounts: &Mounts) -> impl Iterator<Item = (PathBuf, Reason, Origin)> {
    mounts.path_lists.iter().filter_map(|list| {
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
            Listed::Paths(paths) => match &paths.outside {
                Some(path) => (Reason::WritesElsewhere { example: text(path) }, is_new),
                None => (newly_hidden(&before?.hidden, &paths.hidden)?, Origin::Earlier),
            },
        };
        Some((list.path.clone(), reason, origin))
    })
}

fn newly_hidden(before: &[String], now: &[PathBuf]) -> Option<Reason> {
    if before.len() >= MOST_HIDDEN {
        return None;
    }
    let known: BTreeSet<&String> = before.iter().collect();
    let mut new = now.iter().map(|path| text(path)).filter(|path| !known.contains(path)).peekable();
    let example = new.peek()?.clone();
    Some(Reason::HidesChanges { files: new.count(), example })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
