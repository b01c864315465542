//! Reach: from where protected paths were searched, and what makes programs look there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use policy::text::json_bytes;
use serde::{Deserialize, Serialize};

/// From where a protected path was looked for.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// A work tree, or the boundary itself.
    Tree(#[serde(with = "json_bytes::path")] PathBuf),
    /// A directory in which git keeps the data of a repository.
    Git(#[serde(with = "json_bytes::path")] PathBuf),
    /// What a link or a configuration leads to, whether or not anything is there.
    Led(#[serde(with = "json_bytes::path")] PathBuf),
    /// What is no link on the way of what leads git elsewhere.
    Passed(#[serde(with = "json_bytes::path")] PathBuf),
}

impl Base {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Tree(path) | Self::Git(path) | Self::Led(path) | Self::Passed(path) => path,
        }
    }
}

/// What makes programs look at a base.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum DiscoveredBy {
    /// Nothing but its name: the walk finds it whatever it holds.
    Walk,
    /// It lies in this one.
    Within(Base),
    /// This file, link or directory: without it, nobody would look there.
    Path(PathBuf),
}

/// Every base that was looked at, with what it was discovered by. Of a [`Base::Led`] these are the links that
/// lead there; configurations that do, and what leads past a [`Base::Passed`], are classified by themselves.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reach {
    discovered_by: BTreeMap<Base, BTreeSet<DiscoveredBy>>,
    /// Where repositories lie that only the last look finds, because they are too deep or in a directory that is skipped.
    beyond: BTreeSet<PathBuf>,
}

impl Reach {
    pub(crate) fn note(&mut self, base: Base, discovered_by: impl IntoIterator<Item = DiscoveredBy>) {
        self.discovered_by.entry(base).or_default().extend(discovered_by);
    }

    pub(crate) fn forget(&mut self, base: &Base) {
        self.discovered_by.remove(base);
    }

    pub(crate) fn note_beyond(&mut self, repository: &Path) {
        self.beyond.insert(repository.into());
    }

    /// Returns whether a path lies in a repository that only the last search finds.
    pub fn is_beyond(&self, path: &Path) -> bool {
        !self.beyond.is_empty() && path.ancestors().any(|above| self.beyond.contains(above))
    }

    pub(crate) fn contains(&self, base: &Base) -> bool {
        self.discovered_by.contains_key(base)
    }

    /// Lists what was searched.
    pub fn bases(&self) -> impl Iterator<Item = &Base> {
        self.discovered_by.keys()
    }

    /// Returns whether the walk finds a base by its name alone.
    pub fn is_walked(&self, base: &Base) -> bool {
        self.around(base).contains(&DiscoveredBy::Walk)
    }

    /// Lists everything that makes programs look at a base.
    pub fn by(&self, base: &Base) -> BTreeSet<&Path> {
        let paths = self.around(base).into_iter().filter_map(|discovery| match discovery {
            DiscoveredBy::Path(path) => Some(path.as_path()),
            DiscoveredBy::Walk | DiscoveredBy::Within(_) => None,
        });
        paths.collect()
    }

    /// Lists what a base was discovered by, and those that it lies in. With links, two may lie in each other.
    fn around(&self, base: &Base) -> BTreeSet<&DiscoveredBy> {
        let mut around = BTreeSet::new();
        let mut ahead = vec![base];
        while let Some(base) = ahead.pop() {
            for discovery in self.discovered_by.get(base).into_iter().flatten() {
                match discovery {
                    DiscoveredBy::Within(outer) if around.insert(discovery) => ahead.push(outer),
                    _ => drop(around.insert(discovery)),
                }
            }
        }
        around
    }
}
