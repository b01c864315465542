//! A widening, and what a project's file is compared with to find it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::effective::Effective;
use crate::config::problem::Location;
use crate::plan::Provider;
use crate::rules::path::normalise;
use crate::text::escape;

/// What a file is compared with.
#[derive(Clone, Copy, Debug)]
pub struct TrustContext<'a> {
    /// What holds without the file: the user's own file over the defaults.
    pub without: &'a Effective,
    /// The directory of the file as its paths are written: absolute, links not resolved.
    pub directory: &'a Path,
    /// The same directory with every link resolved.
    pub resolved_directory: &'a Path,
    /// Where each path that the file names leads, and each directory that is shared without the file, by the path as [`super::paths`] and
    /// [`super::shared_directories`] give it. Where one leads that is not here is unknown.
    pub leads: &'a BTreeMap<PathBuf, ResolvedPath>,
}

/// Where a path leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResolvedPath {
    /// The path with every link resolved; for one that does not exist, what it will be.
    pub path: PathBuf,
    /// The bare repository that it lies in without being the whole of it.
    pub repository: Option<PathBuf>,
    /// How it is said that a configuration of git names it, or a directory around it, where one does.
    pub named: Option<String>,
}

/// One thing that a file would widen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Widening {
    pub key: String,
    pub location: Location,
    /// What it widens, as a sentence without a full stop. Two widenings are the same if their sentences are: a path with
    /// links on its way is named with where it leads.
    pub what: String,
    /// Where its path leads, if links lead it elsewhere.
    pub leads_to: Option<PathBuf>,
    pub applies: Applies,
}

/// When a file widens something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Applies {
    /// With every provider.
    Always,
    /// With the provider `local` alone, which isolates nothing.
    Locally,
    /// Where an image is built, and not where one is run.
    Building,
}

impl Widening {
    /// Returns whether it counts with this provider.
    pub fn applies_to(&self, provider: Provider) -> bool {
        match self.applies {
            Applies::Always => true,
            Applies::Locally => provider == Provider::Local,
            Applies::Building => false,
        }
    }

    /// Returns whether it counts where an image is built.
    pub fn applies_to_builds(&self) -> bool {
        matches!(self.applies, Applies::Always | Applies::Building)
    }
}

/// What was found so far.
pub(super) struct Widenings(pub(super) Vec<Widening>);

impl Widenings {
    pub(super) fn add(&mut self, key: impl Into<String>, location: &Location, what: impl Into<String>) {
        self.0.push(Widening {
            key: key.into(),
            location: location.clone(),
            what: what.into(),
            leads_to: None,
            applies: Applies::Always,
        });
    }

    /// Adds what a path widens, with where it leads if links lead it elsewhere.
    pub(super) fn add_path(
        &mut self,
        key: impl Into<String>,
        location: &Location,
        what: &str,
        path: &Path,
        context: &TrustContext<'_>,
    ) {
        let leads_to = context.leads.get(path).filter(|lead| lead.path != normalise(path));
        let leads_to = leads_to.map(|lead| lead.path.clone());
        let more = leads_to.iter().map(|lead| format!(", which leads to {}", escape::path(lead)));
        self.add(key, location, more.fold(what.to_owned(), |what, more| what + &more));
        if let Some(added) = self.0.last_mut() {
            added.leads_to = leads_to;
        }
    }

    pub(super) fn add_locally(
        &mut self,
        key: impl Into<String>,
        location: &Location,
        what: impl Into<String>,
    ) {
        self.add(key, location, what);
        if let Some(added) = self.0.last_mut() {
            added.applies = Applies::Locally;
        }
    }
}
