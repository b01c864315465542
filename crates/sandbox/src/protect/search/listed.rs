//! The paths of the list, to be looked up by the names that a directory has.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use policy::protect::table::Pattern;
use rustix::fs::RawDir;
use rustix::io::Errno;

use crate::host::deadline::Deadline;
use crate::protect::Cause;

/// How much of a directory is read at once, as in the walk.
const LISTING: usize = 64 << 10;

/// Paths of the list that are looked for in one directory.
pub(super) struct Listed<'a> {
    all: Vec<(&'a Path, Cause)>,
    /// Positions in `all` by the first name of each path, in lower case: on some file systems that is the same.
    by_name: HashMap<Vec<u8>, Vec<usize>>,
    /// The paths that stand for several names.
    patterns: Vec<(Pattern<'a>, Cause)>,
    /// With which bytes the first names begin, and the names of patterns end. Most names of a project's do neither.
    begins: Bytes,
    ends: Bytes,
    longest: usize,
}

/// A set of bytes, in which upper and lower case are the same.
struct Bytes([bool; 256]);

impl Bytes {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte.to_ascii_lowercase())] = true;
        self.0[usize::from(byte.to_ascii_uppercase())] = true;
    }

    fn contains(&self, byte: Option<&u8>) -> bool {
        byte.is_some_and(|byte| self.0[usize::from(*byte)])
    }
}

impl<'a> Listed<'a> {
    pub(super) fn new(paths: impl Iterator<Item = (&'a Path, Cause)>) -> Self {
        let mut listed = Self {
            all: Vec::new(),
            by_name: HashMap::new(),
            patterns: Vec::new(),
            begins: Bytes([false; 256]),
            ends: Bytes([false; 256]),
            longest: 0,
        };
        for (path, cause) in paths {
            if let Some(pattern) = path.to_str().and_then(Pattern::of) {
                path.as_os_str().as_bytes().last().into_iter().for_each(|byte| listed.ends.insert(*byte));
                listed.patterns.push((pattern, cause));
            } else if let Some(Component::Normal(first)) = path.components().next() {
                let name = first.as_bytes().to_ascii_lowercase();
                listed.longest = listed.longest.max(name.len());
                name.first().into_iter().for_each(|byte| listed.begins.insert(*byte));
                listed.by_name.entry(name).or_default().push(listed.all.len());
                listed.all.push((path, cause));
            }
        }
        listed
    }

    /// Whether this path is on the list.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.all.iter().any(|(listed, _)| *listed == path)
    }

    /// Every path that is no pattern, for a directory that does not show its names.
    pub(super) fn without_patterns(&self) -> Vec<(PathBuf, Cause)> {
        self.all.iter().map(|(path, cause)| (path.to_path_buf(), *cause)).collect()
    }

    /// The paths of the list whose first name is in a directory, as they are written there.
    ///
    /// Most of the list is in no directory: to read its names once costs less than to ask for each path.
    pub(super) fn first_names_in(
        &self,
        directory: impl AsFd,
        until: Deadline,
    ) -> Result<Vec<(PathBuf, Cause)>, Errno> {
        let mut found = Vec::new();
        let mut buffer: Vec<u8> = Vec::with_capacity(LISTING);
        let mut listing = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry?;
            self.add(entry.file_name().to_bytes(), &mut found);
            // The kernel gives many names at a time.
            if listing.is_buffer_empty() && until.is_over() {
                break;
            }
        }
        found.sort();
        Ok(found)
    }

    /// The same, of these names.
    pub(super) fn first_names_among<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Vec<(PathBuf, Cause)> {
        let mut found = Vec::new();
        names.for_each(|name| self.add(name, &mut found));
        found.sort();
        found
    }

    fn add(&self, name: &[u8], found: &mut Vec<(PathBuf, Cause)>) {
        let here = Path::new(OsStr::from_bytes(name));
        if self.ends.contains(name.last()) {
            let fitting = self.patterns.iter().filter(|(pattern, _)| pattern.fits(name));
            found.extend(fitting.map(|(_, cause)| (here.to_path_buf(), *cause)));
        }
        if name.len() > self.longest || !self.begins.contains(name.first()) {
            return;
        }
        for at in self.by_name.get(&name.to_ascii_lowercase()).into_iter().flatten() {
            let (path, cause) = self.all[*at];
            let rest: PathBuf = path.components().skip(1).collect();
            let path = if rest.as_os_str().is_empty() { here.to_path_buf() } else { here.join(rest) };
            found.push((path, cause));
        }
    }
}
