//! Names with a leading dot at the roots of work trees: what programs obey mostly has one, and no list knows them all. And names that read as
//! options: git hands the names of files on to other programs as they are.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use policy::protect::table;
use policy::text::fold;

use crate::boundary::protect::mounts::Dotted;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::progress::Search;
use crate::boundary::walk::{Extent, reads_as_option};
use crate::host::beneath;

/// How many names are kept of one boundary. People have a few dozen.
const MOST: usize = 10_000;

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
        let asked = |name: &OsStr| self.protected.iter().any(|path| Path::new(&**path).starts_with(name));
        let is_known = |name: &OsStr| table::is_known(Path::new(name)) || asked(name);
        names.retain(|name| self.extent == Extent::Bounded || !is_known(name));
        names.truncate(MOST.saturating_sub(self.dotted.iter().map(|one| one.names.len()).sum()));
        if !names.is_empty() {
            self.dotted.push(Dotted { tree: tree.clone(), names });
        }
    }
}
