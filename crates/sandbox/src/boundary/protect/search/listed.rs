//! The paths of the list, to be looked up by the names that a directory has.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::StagedKind;
use policy::protect::table::{self, NamePattern};
use policy::text::fold;
use rustix::fs::RawDir;
use rustix::io::Errno;

use crate::boundary::protect::mounts::Cause;
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// How much of a directory is read at once, as in the walk.
const LISTING: usize = 8 << 10;

/// Paths of the list that are looked for in one directory.
#[derive(Default)]
pub(crate) struct Listed<'a> {
    all: Vec<ListedPath<'a>>,
    /// The last one of those that begin with each byte. Most names of a project's begin with none of them.
    first: ByteMap<Option<u32>>,
    /// The paths that stand for several names in the directory itself, and those that may end in anything.
    patterns: Vec<(NamePattern<'a>, Cause)>,
    open: Vec<(NamePattern<'a>, Cause)>,
    /// With which bytes the names of patterns end, and those of open ones begin.
    ends: ByteMap<bool>,
    opens: ByteMap<bool>,
    longest: usize,
}

/// A path of the list that is no pattern for a name in the directory itself.
struct ListedPath<'a> {
    path: &'a str,
    /// How long its first name is.
    first_len: usize,
    cause: Cause,
    /// The one before it that begins with the same byte.
    before: Option<u32>,
}

impl ListedPath<'_> {
    fn first_name(&self) -> &[u8] {
        &self.path.as_bytes()[..self.first_len]
    }

    /// Returns what comes after its first name.
    fn rest(&self) -> Option<&str> {
        self.path.get(self.first_len + 1..)
    }
}

/// What is known of each byte. Upper and lower case are the same: on some file systems they are.
struct ByteMap<T>([T; 256]);

impl<T: Copy + Default> Default for ByteMap<T> {
    fn default() -> Self {
        Self([T::default(); 256])
    }
}

impl<T: Copy + Default> ByteMap<T> {
    fn get(&self, byte: Option<&u8>) -> T {
        byte.map_or_else(T::default, |byte| self.0[usize::from(byte.to_ascii_lowercase())])
    }

    /// Replaces what is known of a byte, and returns what was known before.
    fn replace(&mut self, byte: u8, value: T) -> T {
        std::mem::replace(&mut self.0[usize::from(byte.to_ascii_lowercase())], value)
    }
}

impl<'a> Listed<'a> {
    /// Makes an empty list with room for so many paths.
    pub(super) fn with_capacity(paths: usize) -> Self {
        Self { all: Vec::with_capacity(paths), ..Self::default() }
    }

    /// Adds a path. Each run adds the whole list, so this looks at bytes, which costs a fraction of what `Path` does.
    pub(super) fn insert(&mut self, path: &'a str, cause: Cause) {
        let written = path.as_bytes();
        let (Some(begins), Some(ends)) = (written.first(), written.last()) else { return };
        let pattern = written.contains(&b'*').then(|| NamePattern::of(path)).flatten();
        if let Some(pattern) = pattern.filter(|pattern| pattern.directory == Path::new("")) {
            if pattern.is_open() {
                self.opens.replace(*begins, true);
                self.open.push((pattern, cause));
            } else {
                self.ends.replace(*ends, true);
                self.patterns.push((pattern, cause));
            }
            return;
        }
        let first_len = written.iter().position(|byte| *byte == b'/').unwrap_or(written.len());
        self.longest = self.longest.max(first_len);
        let before = self.first.replace(*begins, u32::try_from(self.all.len()).ok());
        self.all.push(ListedPath { path, first_len, cause, before });
    }

    /// Returns whether this path is on the list.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.all.iter().any(|listed| Path::new(listed.path) == path)
    }

    /// Lists every path that is no pattern, for a directory that does not show its names.
    pub(crate) fn without_patterns(&self) -> Vec<(PathBuf, Cause)> {
        let plain = self.all.iter().filter(|listed| pattern_below(Path::new(listed.path)).is_none());
        plain.map(|listed| (listed.path.into(), listed.cause)).collect()
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
        self.add_as(name, here, found);
        if !name.is_ascii() {
            self.add_as(fold::name(name).as_bytes(), here, found);
        }
    }

    /// Adds what is listed under a name in one of its forms.
    fn add_as(&self, name: &[u8], here: &Path, found: &mut Vec<(PathBuf, Cause)>) {
        let may_end = self.ends.get(name.last()).then_some(&self.patterns);
        let may_begin = self.opens.get(name.first()).then_some(&self.open);
        let fitting =
            may_end.into_iter().chain(may_begin).flatten().filter(|(pattern, _)| pattern.fits(name));
        found.extend(fitting.map(|(_, cause)| (here.to_path_buf(), *cause)));
        if name.len() > self.longest {
            return;
        }
        let mut next = self.first.get(name.first());
        while let Some(listed) = next.and_then(|at| self.all.get(usize::try_from(at).ok()?)) {
            if listed.first_name().eq_ignore_ascii_case(name) {
                let path = listed.rest().map_or_else(|| here.to_path_buf(), |rest| here.join(rest));
                found.push((path, listed.cause));
            }
            next = listed.before;
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
    // A name may fit in both of its forms.
    found.dedup();
    found
}

/// Parses the pattern that a path is, if its names lie in a directory below.
pub(super) fn pattern_below(path: &Path) -> Option<NamePattern<'_>> {
    path.to_str().and_then(NamePattern::of).filter(|pattern| pattern.directory != Path::new(""))
}

/// Returns whether git writes something at a path of the list, or below it, where it writes an entry of an index.
pub(super) fn would_write(listed: &Path, path: &Path, kind: StagedKind) -> bool {
    let is_whole = matches!(kind, StagedKind::Submodule | StagedKind::Directory);
    let is_above = is_whole && listed.starts_with(path);
    is_above
        || match listed.to_str() {
            Some(text) => table::covers(text, path),
            None => path.starts_with(listed),
        }
}
