//! The paths of the list, to be looked up by the names that a directory has.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use policy::protect::table::NamePattern;
use rustix::fs::RawDir;
use rustix::io::Errno;

use crate::boundary::protect::mounts::Cause;
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// How much of a directory is read at once, as in the walk.
const LISTING: usize = 8 << 10;

/// Paths of the list that are looked for in one directory.
pub(crate) struct Listed<'a> {
    /// With the first name of each, in the order of its first byte in lower case.
    all: Vec<(&'a [u8], &'a Path, Cause)>,
    /// The paths that stand for several names in the directory itself, and those that may end in anything.
    patterns: Vec<(NamePattern<'a>, Cause)>,
    open: Vec<(NamePattern<'a>, Cause)>,
    /// With which bytes the first names begin, the names of patterns end, and those of open ones begin. Most names of a
    /// project's do none of it.
    begins: ByteSet,
    ends: ByteSet,
    opens: ByteSet,
    longest: usize,
}

/// A set of bytes, in which upper and lower case are the same.
struct ByteSet([bool; 256]);

impl ByteSet {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte.to_ascii_lowercase())] = true;
        self.0[usize::from(byte.to_ascii_uppercase())] = true;
    }

    fn contains(&self, byte: Option<&u8>) -> bool {
        byte.is_some_and(|byte| self.0[usize::from(*byte)])
    }
}

impl<'a> Listed<'a> {
    pub(crate) fn new(paths: impl Iterator<Item = (&'a Path, Cause)>) -> Self {
        let mut listed = Self {
            all: Vec::new(),
            patterns: Vec::new(),
            open: Vec::new(),
            begins: ByteSet([false; 256]),
            ends: ByteSet([false; 256]),
            opens: ByteSet([false; 256]),
            longest: 0,
        };
        for (path, cause) in paths {
            let pattern = path.to_str().and_then(NamePattern::of);
            if let Some(pattern) = pattern.filter(|pattern| pattern.directory == Path::new("")) {
                let written = path.as_os_str().as_bytes();
                if pattern.is_open() {
                    written.first().into_iter().for_each(|byte| listed.opens.insert(*byte));
                    listed.open.push((pattern, cause));
                } else {
                    written.last().into_iter().for_each(|byte| listed.ends.insert(*byte));
                    listed.patterns.push((pattern, cause));
                }
            } else if let Some(Component::Normal(first)) = path.components().next() {
                let name = first.as_bytes();
                listed.longest = listed.longest.max(name.len());
                name.first().into_iter().for_each(|byte| listed.begins.insert(*byte));
                listed.all.push((name, path, cause));
            }
        }
        listed.all.sort_by_key(|(name, ..)| first_byte(name));
        listed
    }

    /// Returns whether this path is on the list.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.all.iter().any(|(_, listed, _)| *listed == path)
    }

    /// Lists every path that is no pattern, for a directory that does not show its names.
    pub(crate) fn without_patterns(&self) -> Vec<(PathBuf, Cause)> {
        let plain = self.all.iter().filter(|(_, path, _)| pattern_below(path).is_none());
        plain.map(|(_, path, cause)| (path.to_path_buf(), *cause)).collect()
    }

    /// Lists the paths of the list whose first name is in a directory, as they are written there.
    ///
    /// Most of the list is in no directory: to read its names once costs less than to ask for each path. `each` is given every name.
    pub(crate) fn first_names_in(
        &self,
        directory: impl AsFd,
        until: Deadline,
        mut each: impl FnMut(&[u8]),
    ) -> Result<Vec<(PathBuf, Cause)>, Errno> {
        let directory = directory.as_fd();
        let mut found = Vec::new();
        let mut buffer: Vec<u8> = Vec::with_capacity(LISTING);
        let mut listing = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry?;
            each(entry.file_name().to_bytes());
            self.add(entry.file_name().to_bytes(), &mut found);
            // The kernel gives many names at a time.
            if listing.is_buffer_empty() && until.is_over() {
                break;
            }
        }
        Ok(with_names_below(directory, found, until))
    }

    /// Lists the paths of the list whose first name is one of these names.
    pub(crate) fn first_names_among<'n>(
        &self,
        directory: impl AsFd,
        names: impl Iterator<Item = &'n [u8]>,
        until: Deadline,
    ) -> Vec<(PathBuf, Cause)> {
        let mut found = Vec::new();
        names.for_each(|name| self.add(name, &mut found));
        with_names_below(directory.as_fd(), found, until)
    }

    /// Lists the paths of the list whose first name is this one.
    pub(crate) fn beginning_with(&self, name: &[u8]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.add(name, &mut found);
        found.into_iter().map(|(path, _)| path).collect()
    }

    fn add(&self, name: &[u8], found: &mut Vec<(PathBuf, Cause)>) {
        let here = Path::new(OsStr::from_bytes(name));
        let may_end = self.ends.contains(name.last()).then_some(&self.patterns);
        let may_begin = self.opens.contains(name.first()).then_some(&self.open);
        let fitting =
            may_end.into_iter().chain(may_begin).flatten().filter(|(pattern, _)| pattern.fits(name));
        found.extend(fitting.map(|(_, cause)| (here.to_path_buf(), *cause)));
        if name.len() > self.longest || !self.begins.contains(name.first()) {
            return;
        }
        let from = self.all.partition_point(|(listed, ..)| first_byte(listed) < first_byte(name));
        let alike = self.all[from..].iter().take_while(|(listed, ..)| first_byte(listed) == first_byte(name));
        for (_, path, cause) in alike.filter(|(listed, ..)| listed.eq_ignore_ascii_case(name)) {
            let rest: PathBuf = path.components().skip(1).collect();
            let path = if rest.as_os_str().is_empty() { here.to_path_buf() } else { here.join(rest) };
            found.push((path, *cause));
        }
    }
}

/// Puts the names that are there in the place of patterns that lie in a directory below, unless a link leads there, and sorts what
/// was found.
fn with_names_below(
    directory: BorrowedFd<'_>,
    found: Vec<(PathBuf, Cause)>,
    until: Deadline,
) -> Vec<(PathBuf, Cause)> {
    let (below, mut found): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(path, _)| pattern_below(path).is_some());
    for (path, cause) in below {
        let Some((parent, pattern)) = path.parent().zip(pattern_below(&path)) else { continue };
        let listing = match beneath::listing(directory, parent) {
            Ok(listing) => listing,
            // Where a link leads is for the search to say.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                found.push((path, cause));
                continue;
            }
            // What cannot be listed is said of the other paths of the list that lie there.
            Err(_) => continue,
        };
        let Ok(names) = beneath::entries(listing.as_fd()) else { continue };
        let names = names.take_while(|_| !until.is_over()).filter_map(Result::ok).map(|(name, _)| name);
        let fitting = names.filter(|name| pattern.fits(name.as_bytes()));
        found.extend(fitting.map(|name| (parent.join(name), cause)));
    }
    found.sort();
    found
}

/// Parses the pattern that a path is, if its names lie in a directory below.
pub(super) fn pattern_below(path: &Path) -> Option<NamePattern<'_>> {
    path.to_str().and_then(NamePattern::of).filter(|pattern| pattern.directory != Path::new(""))
}

/// Returns the first byte of a name in lower case: on some file systems that is the same.
fn first_byte(name: &[u8]) -> Option<u8> {
    name.first().map(u8::to_ascii_lowercase)
}
