//! Which `sandbox.toml` was in force: a file that comes to lie nearer, or a repository at which the search ends, does not take its place
//! without its owner's word.
//!
//! An agent may leave either in a shared directory. Both narrow nothing but what they leave out: that of the file above.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::acting::ActingAs;
use crate::state::directory::StateDir;
use crate::state::trust::{SearchEnd, TrustError};

/// How many places are kept before those are forgotten where nothing is any more.
const MANY: usize = 1000;

/// The store of places where searches have ended, of one user.
#[derive(Debug)]
pub struct InForce(StateDir);

/// Where searches have ended before.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Places {
    #[serde(with = "policy::text::json_bytes::os_strings")]
    files: Vec<OsString>,
    #[serde(with = "policy::text::json_bytes::os_strings")]
    repositories: Vec<OsString>,
}

impl Places {
    /// Returns whether a search has ended at this place before.
    pub fn contains(&self, place: &SearchEnd) -> bool {
        match place {
            SearchEnd::File(path) => self.files.iter().any(|known| known == path),
            SearchEnd::Repository(path) => self.repositories.iter().any(|known| known == path),
        }
    }

    /// Lists the files that were in force.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(Path::new)
    }

    fn add(&mut self, place: &SearchEnd) {
        let (known, path) = match place {
            SearchEnd::File(path) => (&mut self.files, path),
            SearchEnd::Repository(path) => (&mut self.repositories, path),
        };
        if known.len() >= MANY {
            known.retain(|path| Path::new(path).symlink_metadata().is_ok());
        }
        let all: BTreeSet<OsString> = known.drain(..).chain([path.clone().into_os_string()]).collect();
        known.extend(all);
    }
}

impl InForce {
    const NAME: &'static str = "in-force.json";
    const LOCK: &'static str = "in-force.lock";

    /// Opens the store within a state directory.
    pub fn new(state: StateDir) -> Self {
        Self(state)
    }

    /// Reads where searches have ended.
    pub fn read(&self) -> Result<Places, TrustError> {
        match self.0.read(Self::NAME)? {
            None => Ok(Places::default()),
            Some(text) => serde_json::from_slice(&text)
                .map_err(|source| TrustError::Damaged { name: Self::NAME, source }),
        }
    }

    /// Notes that a search has ended at this place, and that this is as its owner wants it.
    pub fn note(&self, place: &SearchEnd) -> Result<(), TrustError> {
        if self.read()?.contains(place) {
            return Ok(());
        }
        let _lock = self.0.lock(Self::LOCK)?;
        let mut places = self.read()?;
        // Root asks with the rights of the user behind it what is still there.
        let acting = ActingAs::user(self.0.owner());
        let acting = acting.map_err(|source| TrustError::Read { path: self.0.path().into(), source })?;
        places.add(place);
        drop(acting);
        let text = serde_json::to_vec_pretty(&places)
            .map_err(|source| TrustError::Damaged { name: Self::NAME, source })?;
        Ok(self.0.write(Self::NAME, &text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::identity::Identity;

    #[test]
    fn places_are_kept_and_distinguished() {
        let top = tempfile::tempdir().unwrap();
        let store = InForce::new(StateDir::open(&top.path().join("state"), Identity::own()).unwrap());
        let [file, repository] = [SearchEnd::File("/a".into()), SearchEnd::Repository("/a".into())];
        assert!(!store.read().unwrap().contains(&file));
        store.note(&file).unwrap();
        store.note(&file).unwrap();
        let places = store.read().unwrap();
        assert!(places.contains(&file) && !places.contains(&repository));
        assert_eq!(places.files().collect::<Vec<_>>(), [Path::new("/a")]);
        store.note(&repository).unwrap();
        assert!(store.read().unwrap().contains(&repository));
    }

    #[test]
    fn of_very_many_places_those_are_kept_that_are_still_there() {
        let top = tempfile::tempdir().unwrap();
        let there = top.path().to_path_buf();
        let mut places = Places::default();
        places.add(&SearchEnd::File(there.clone()));
        for number in 0..MANY {
            places.add(&SearchEnd::File(format!("/nothing/{number}").into()));
        }
        assert!(
            places.contains(&SearchEnd::File(there)) && places.files.len() < 10,
            "{}",
            places.files.len()
        );
    }
}
