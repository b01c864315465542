//! Names with a leading dot at the roots of work trees: what programs obey mostly has one, and no list knows them all. And names that read as
//! options: git hands the names of files on to other programs as they are.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use policy::protect::table;
use policy::text::fold;
use rustix::fs::{AtFlags, FileType, statat};

use crate::boundary::protect::mounts::{Dotted, Stamped, Unknown};
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::progress::Search;
use crate::boundary::walk::{Extent, reads_as_option};
use crate::host::beneath;
use crate::host::stamp::Stamp;

/// How many names are kept of one boundary. People have a few dozen.
const MOST: usize = 10_000;

/// How many entries of one directory are listed. Those that hold more are data.
const MOST_IN_ONE: usize = 1000;

/// Ends of names of files that no program obeys.
const NOT_OBEYED: [&[u8]; 4] = [b".lock", b".log", b".pid", b".swp"];

/// The directory whose names count like those beside it.
const CONFIG: &str = ".config";

/// Keeps a name that begins with a dot, or as an option does: with `-`, or with the `+` of vi and less.
pub(super) fn note(dotted: &mut Vec<OsString>, name: &[u8]) {
    let is_dotted = name.starts_with(b".") && !matches!(name, b"." | b"..");
    let counts = is_dotted || reads_as_option(name);
    if counts && dotted.len() < 10 * MOST {
        dotted.push(OsString::from_vec(name.to_vec()));
    }
}

impl Search<'_> {
    /// Keeps the names of the work tree that is searched at the moment: in the last look those that no list knows.
    pub(super) fn dotted(&mut self, directory: &OwnedFd, mut names: Vec<OsString>) {
        // Behind a link or an index the user's own may lie.
        let Base::Tree(tree) = &self.base else { return };
        if self.behind.is_some() {
            return;
        }
        if names.iter().any(|name| fold::is_same(name.as_encoded_bytes(), CONFIG.as_bytes())) {
            let listing = beneath::listing(directory, Path::new(CONFIG)).ok();
            let entries = listing.as_ref().and_then(|listing| beneath::entries(listing.as_fd()).ok());
            let below = entries.into_iter().flatten().take(MOST).filter_map(Result::ok);
            names.extend(below.map(|(name, _)| Path::new(CONFIG).join(name).into_os_string()));
        }
        let tree = tree.clone();
        let mut unknown: Vec<OsString> =
            names.iter().filter(|name| !self.is_known_name(name)).cloned().collect();
        if self.extent == Extent::Whole {
            names.clone_from(&unknown);
        }
        names.truncate(MOST.saturating_sub(self.dotted.iter().map(|one| one.names.len()).sum()));
        unknown.retain(|name| !reads_as_option(name.as_bytes()));
        unknown.sort();
        let kept = self.dotted.iter().flat_map(|one| &one.unknown);
        let left = MOST.saturating_sub(kept.map(|one| 1 + one.files.as_ref().map_or(0, Vec::len)).sum());
        let unknown = look_at(directory, &unknown, left);
        if !names.is_empty() {
            self.dotted.push(Dotted { tree, names, unknown });
        }
    }

    /// Returns whether a name at the root of a work tree begins with a dot, and no list knows it.
    pub(super) fn is_unknown_name(&self, name: &OsStr) -> bool {
        let is_dotted = name.as_bytes().starts_with(b".");
        is_dotted && !matches!(name.as_bytes(), b"." | b".." | b".config") && !self.is_listed(name)
    }

    fn is_listed(&self, name: &OsStr) -> bool {
        let asked = || self.protected.iter().any(|path| Path::new(&**path).starts_with(name));
        table::is_known(Path::new(name)) || asked()
    }

    /// Returns whether a list knows a name, or `[protect] paths` has it.
    fn is_known_name(&mut self, name: &OsStr) -> bool {
        if let Some(is_known) = self.known_names.get(name) {
            return *is_known;
        }
        let is_known = self.is_listed(name);
        // An agent can make any number of names.
        if self.known_names.len() < MOST {
            self.known_names.insert(name.to_owned(), is_known);
        }
        is_known
    }
}

/// Looks at what lies at names, at so many files at most.
fn look_at(directory: &OwnedFd, names: &[OsString], mut left: usize) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    for name in names {
        // What is gone by now does nothing.
        let Ok(stat) = beneath::stat(directory, Path::new(name)) else { continue };
        if left == 0 {
            break;
        }
        left -= 1;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let files =
            is_directory.then(|| files_in(directory, Path::new(name), left.min(MOST_IN_ONE))).flatten();
        left -= files.as_ref().map_or(0, Vec::len);
        unknown.push(Unknown { file: Stamped { path: name.into(), stamp: Stamp::of(&stat) }, files });
    }
    unknown
}

/// Lists the files and links right in a directory, in order; `None` if there are more than so many, or it cannot be listed.
fn files_in(directory: &OwnedFd, name: &Path, most: usize) -> Option<Vec<Stamped>> {
    let listing = beneath::listing(directory, name).ok()?;
    let mut files = Vec::new();
    for (seen, entry) in beneath::entries(listing.as_fd()).ok()?.enumerate() {
        let (name, kind) = entry.ok().filter(|_| seen < most)?;
        let is_data = NOT_OBEYED.iter().any(|end| name.as_encoded_bytes().ends_with(end));
        if matches!(kind, FileType::RegularFile | FileType::Symlink) && !is_data {
            // What is gone by now does nothing.
            if let Ok(stat) = statat(&listing, &name, AtFlags::SYMLINK_NOFOLLOW) {
                files.push(Stamped { path: name.into(), stamp: Stamp::of(&stat) });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Some(files)
}
