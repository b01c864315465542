//! Which `sandbox.toml` was in force: a file that comes to lie nearer, or a repository at which the search ends, does not take its place
//! without its owner's word.
//!
//! Beside it, which directories agents could write to: what lies there may be an agent's long after it has ended.
//!
//! Both are kept by their paths. A directory that is moved takes what it holds with it, so which directory each was is kept, too: it is known
//! wherever it is. A copy of it is another one.
//!
//! An agent may leave either in a shared directory. Both narrow nothing but what they leave out: that of the file above.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::iter;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::plan::FileId;
use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::boundary::detect::origin::{Facts, Time};
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::state::directory::StateDir;
use crate::state::trust::{SearchEnd, TrustError};
use crate::state::writable;

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
    /// Which directories all these lie in, or are.
    #[serde(default)]
    directories: Vec<KnownDirectory>,
}

/// A directory that was at a path.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct KnownDirectory {
    #[serde(with = "policy::text::json_bytes::path")]
    path: PathBuf,
    device: u64,
    inode: u64,
    /// When it was made, where its file system knows that.
    born: Option<Time>,
}

impl KnownDirectory {
    /// Looks which one is there now.
    fn at(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        let Facts { file_id: FileId { device, inode }, btime: born, .. } = Facts::of(directory.as_fd())?;
        Some(Self { path: path.to_owned(), device, inode, born })
    }

    /// Returns whether it is the same directory as one that is there now.
    fn is(&self, now: &Self) -> bool {
        // Some file systems get another device number each time they are mounted.
        let is_same_device = self.born.is_some() || self.device == now.device;
        is_same_device && self.inode == now.inode && self.born == now.born
    }
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

impl Noted<'_> {
    /// Looks which directories these lie in, or are: whichever of them is moved.
    fn directories(&self) -> Vec<KnownDirectory> {
        let end = self.end.and_then(|end| match end {
            SearchEnd::File(path) => path.parent(),
            SearchEnd::Repository(path) => Some(path.as_path()),
        });
        let deciding = self.deciding.iter().filter_map(|path| path.parent());
        let all = end.into_iter().chain(deciding).chain(self.shared.iter().map(PathBuf::as_path));
        let all: BTreeSet<&Path> = all.flat_map(Path::ancestors).collect();
        all.into_iter().filter_map(KnownDirectory::at).collect()
    }
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
    fn shared(&self) -> impl Iterator<Item = &Path> {
        self.shared.iter().map(Path::new)
    }

    /// Lists the directories that agents could write to, each by its path then, and by its path now where it lies on the way to a file that was opened by
    /// this path.
    pub fn shared_on_the_way(&self, path: &Path, file: &File, reader: Identity) -> io::Result<Vec<PathBuf>> {
        let mut places = writable::places(path, reader)?;
        let _acting = ActingAs::user(reader)?;
        places.extend(beneath::path_of(file));
        let is_shared = |above: &&Path| {
            self.names_of(above).any(|name| self.shared().any(|directory| name.starts_with(directory)))
        };
        let moved = places.iter().flat_map(|place| place.ancestors()).filter(is_shared);
        Ok(self.shared().chain(moved).map(Path::to_owned).collect())
    }

    /// Lists the paths that a place has and had: its own, and that by which it was known before a directory above it was moved.
    pub fn paths_of(&self, path: &Path) -> Vec<PathBuf> {
        let moved = path.ancestors().flat_map(|above| {
            let below = path.strip_prefix(above).unwrap_or(Path::new(""));
            self.names_of(above).map(|name| name.components().chain(below.components()).collect())
        });
        iter::once(path.to_owned()).chain(moved).collect()
    }

    /// Lists the paths at which the directory that is at this one was.
    fn names_of(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        // Most are asked for where nothing is known.
        let now = if self.directories.is_empty() { None } else { KnownDirectory::at(directory) };
        let same = move |known: &&KnownDirectory| now.as_ref().is_some_and(|now| known.is(now));
        self.directories.iter().filter(same).map(|known| known.path.as_path())
    }

    fn has(&self, Noted { end, deciding, shared }: Noted<'_>, directories: &[KnownDirectory]) -> bool {
        end.is_none_or(|end| self.contains(end))
            && deciding.iter().all(|path| self.all_files().any(|known| known == path))
            && shared.iter().all(|path| self.shared().any(|known| path.starts_with(known)))
            && directories.iter().all(|directory| self.directories.contains(directory))
    }

    fn note(&mut self, Noted { end, deciding, shared }: Noted<'_>, directories: Vec<KnownDirectory>) {
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
        if self.directories.len() >= MANY {
            self.directories
                .retain(|known| KnownDirectory::at(&known.path).is_some_and(|now| known.is(&now)));
        }
        self.directories.extend(directories);
        self.directories.sort();
        self.directories.dedup();
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
        // Root asks with the rights of the user behind it what is there.
        let act = || {
            let acting = ActingAs::user(self.0.owner());
            acting.map_err(|source| TrustError::Read { path: self.0.path().into(), source })
        };
        let acting = act()?;
        let directories = noted.directories();
        drop(acting);
        if self.read()?.has(noted, &directories) {
            return Ok(());
        }
        let _lock = self.0.lock(Self::LOCK)?;
        let mut places = self.read()?;
        let acting = act()?;
        places.note(noted, directories);
        drop(acting);
        let text = serde_json::to_vec_pretty(&places)
            .map_err(|source| TrustError::Damaged { name: Self::NAME, source })?;
        Ok(self.0.write(Self::NAME, &text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
    fn a_directory_is_known_wherever_it_is_moved_and_a_copy_is_not() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path("a/p/sub")).unwrap();
        let store = InForce::new(StateDir::open(&path("state"), Identity::own()).unwrap());
        let [file, task] = ["a/p/sandbox.toml", "a/p/sub/tasks"].map(path);
        fs::write(&task, "").unwrap();
        let noted =
            Noted { end: Some(&SearchEnd::File(file.clone())), shared: &[path("a/p")], ..Noted::default() };
        store.note(noted).unwrap();
        let known = |places: &Places, at: &str| {
            let task = path(at).join("sub/tasks");
            let shared = places.shared_on_the_way(&task, &File::open(&task).unwrap(), Identity::own());
            let is_shared = shared.unwrap().iter().any(|directory| task.starts_with(directory));
            let paths = places.paths_of(&path(at).join("sandbox.toml"));
            (is_shared, places.files().any(|known| paths.iter().any(|path| path == known)))
        };
        assert_eq!(known(&store.read().unwrap(), "a/p"), (true, true));
        fs::rename(path("a/p"), path("a/p2")).unwrap();
        fs::rename(path("a"), path("b")).unwrap();
        fs::create_dir_all(path("copied/sub")).unwrap();
        fs::write(path("copied/sub/tasks"), "").unwrap();
        let places = store.read().unwrap();
        assert_eq!(known(&places, "b/p2"), (true, true));
        assert_eq!(known(&places, "copied"), (false, false));
        // Its file system was mounted again, and has another device number.
        let elsewhere = |known: &KnownDirectory| KnownDirectory { device: known.device + 1, ..known.clone() };
        let directories = places.directories.iter().map(elsewhere).collect();
        assert_eq!(known(&Places { directories, ..store.read().unwrap() }, "b/p2"), (true, true));
        // One that was born at another time has the number of the one that is gone.
        let reborn = |known: &KnownDirectory| KnownDirectory { born: Some((1, 0)), ..known.clone() };
        let directories = places.directories.iter().map(reborn).collect();
        assert_eq!(known(&Places { directories, ..places }, "b/p2"), (false, false));
        // What an older version has kept counts by its path.
        let text = format!("{{\"files\":[{file:?}],\"repositories\":[],\"shared\":[{:?}]}}", path("b/p2"));
        let old: Places = serde_json::from_str(&text).unwrap();
        assert_eq!(known(&old, "b/p2"), (true, false));
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
