//! Which `sandbox.toml` was in force: a file that comes to lie nearer, or a repository at which the search ends, does not take its place
//! without its owner's word.
//!
//! Beside it, which directories agents could write to: what lies there may be an agent's long after it has ended.
//!
//! An agent may leave either in a shared directory. Both narrow nothing but what they leave out: that of the file above.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    /// Files that decided because something named them, and that no search has found.
    #[serde(with = "policy::text::json_bytes::os_strings", default)]
    named: Vec<OsString>,
    /// Directories that agents could write to.
    #[serde(with = "policy::text::json_bytes::os_strings", default)]
    shared: Vec<OsString>,
}

/// What holds for a sandbox that starts, and is as its owner wants it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noted<'a> {
    /// Where the search for a file has ended, if at anything.
    pub end: Option<&'a SearchEnd>,
    /// The files that decide.
    pub deciding: &'a [PathBuf],
    /// The directories that its agent may write to.
    pub shared: &'a [PathBuf],
}

impl Places {
    /// Returns whether a search has ended at this place before.
    pub fn contains(&self, place: &SearchEnd) -> bool {
        match place {
            SearchEnd::File(path) => self.files.iter().any(|known| known == path),
            SearchEnd::Repository(path) => self.repositories.iter().any(|known| known == path),
        }
    }

    /// Lists the files at which a search has ended.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(Path::new)
    }

    /// Lists the files that were in force, found or named.
    pub fn all_files(&self) -> impl Iterator<Item = &Path> {
        self.files().chain(self.named.iter().map(Path::new))
    }

    /// Lists the directories that agents could write to, as far as they are not in others of them.
    pub fn shared(&self) -> impl Iterator<Item = &Path> {
        self.shared.iter().map(Path::new)
    }

    fn has(&self, Noted { end, deciding, shared }: Noted<'_>) -> bool {
        end.is_none_or(|end| self.contains(end))
            && deciding.iter().all(|path| self.all_files().any(|known| known == path))
            && shared.iter().all(|path| self.shared().any(|known| path.starts_with(known)))
    }

    fn note(&mut self, Noted { end, deciding, shared }: Noted<'_>) {
        if let Some(end) = end {
            self.add(end);
        }
        for path in deciding {
            if !self.all_files().any(|known| known == path) {
                add(&mut self.named, path);
            }
        }
        for path in shared {
            if !self.shared().any(|known| path.starts_with(known)) {
                self.shared.retain(|known| !Path::new(known).starts_with(path));
                add(&mut self.shared, path);
            }
        }
    }

    fn add(&mut self, place: &SearchEnd) {
        match place {
            SearchEnd::File(path) => add(&mut self.files, path),
            SearchEnd::Repository(path) => add(&mut self.repositories, path),
        }
    }
}

fn add(known: &mut Vec<OsString>, path: &Path) {
    if known.len() >= MANY {
        known.retain(|path| Path::new(path).symlink_metadata().is_ok());
    }
    let all: BTreeSet<OsString> = known.drain(..).chain([path.into()]).collect();
    known.extend(all);
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

    /// Notes this for the next sandboxes.
    pub fn note(&self, noted: Noted<'_>) -> Result<(), TrustError> {
        if self.read()?.has(noted) {
            return Ok(());
        }
        let _lock = self.0.lock(Self::LOCK)?;
        let mut places = self.read()?;
        // Root asks with the rights of the user behind it what is still there.
        let acting = ActingAs::user(self.0.owner());
        let acting = acting.map_err(|source| TrustError::Read { path: self.0.path().into(), source })?;
        places.note(noted);
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
        store.note(Noted { end: Some(&file), ..Noted::default() }).unwrap();
        store.note(Noted { end: Some(&file), ..Noted::default() }).unwrap();
        let places = store.read().unwrap();
        assert!(places.contains(&file) && !places.contains(&repository));
        assert_eq!(places.files().collect::<Vec<_>>(), [Path::new("/a")]);
        store.note(Noted { end: Some(&repository), ..Noted::default() }).unwrap();
        assert!(store.read().unwrap().contains(&repository));

        // A file that was named decides, and is nothing that a search has ended at.
        let deciding = ["/a".into(), "/ci.toml".into()];
        store.note(Noted { deciding: &deciding, ..Noted::default() }).unwrap();
        let places = store.read().unwrap();
        assert_eq!(places.all_files().collect::<Vec<_>>(), [Path::new("/a"), Path::new("/ci.toml")]);
        assert!(!places.contains(&SearchEnd::File("/ci.toml".into())));

        for shared in ["/s/b", "/s/a/c", "/s/a", "/s/a/d"] {
            store.note(Noted { shared: &[shared.into()], ..Noted::default() }).unwrap();
        }
        let places = store.read().unwrap();
        assert_eq!(places.shared().collect::<Vec<_>>(), [Path::new("/s/a"), Path::new("/s/b")]);
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
