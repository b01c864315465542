//! Links in a directory: who cannot write there may still write what they lead to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::host::acting::ActingAs;
use crate::host::follow;
use crate::host::identity::Identity;

/// How deep links are looked for: hooks lie right in their directory, those of a template of git in the `hooks` of it.
const LEVELS: u32 = 2;

/// How many entries are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The links in a directory.
#[derive(Debug, Default)]
pub struct Links {
    /// Each by its name in that directory.
    pub paths: Vec<PathBuf>,
    /// Whether there were too many entries to look at all of them.
    pub may_be_more: bool,
}

/// Lists the links in a directory that this user would see, and those in the directories right in it.
pub fn within(directory: &Path, reader: Identity) -> io::Result<Links> {
    let _acting = ActingAs::user(reader)?;
    Ok(within_as_this_user(directory, |path| Some(path.to_owned())))
}

/// Lists each link on the way that a path leads for this user, where it lies without links, and what the path leads to in the end.
///
/// # Errors
///
/// This process cannot act for that user.
pub fn on_the_way(path: &Path, reader: Identity) -> io::Result<Vec<PathBuf>> {
    let _acting = ActingAs::user(reader)?;
    let (passed, end) = follow::traversed_paths(path);
    Ok(passed.into_iter().filter(|path| path.is_symlink()).chain([end]).collect())
}

/// Lists the same as [`within`] with the rights that this thread has. `enters` says where a directory is to be listed, or that it is not.
pub(crate) fn within_as_this_user(directory: &Path, enters: impl Fn(&Path) -> Option<PathBuf>) -> Links {
    let mut links = Links::default();
    let mut left = MAX_ENTRIES;
    let mut ahead = vec![(PathBuf::new(), LEVELS)];
    while let Some((below, levels)) = ahead.pop() {
        let Some(levels) = levels.checked_sub(1) else { continue };
        let Some(Ok(entries)) = enters(&directory.join(&below)).map(fs::read_dir) else { continue };
        for entry in entries.filter_map(Result::ok) {
            if left == 0 {
                links.may_be_more = true;
                return links;
            }
            left -= 1;
            let path = below.join(entry.file_name());
            let is = |test: fn(&fs::FileType) -> bool| entry.file_type().is_ok_and(|kind| test(&kind));
            if is(fs::FileType::is_symlink) {
                links.paths.push(path.clone());
            }
            if !is(fs::FileType::is_file) {
                ahead.push((path, levels));
            }
        }
    }
    links.paths.sort();
    links
}
