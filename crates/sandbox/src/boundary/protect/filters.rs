//! Filters of git: what attributes say of the one of a file. A filter may encrypt what a commit records.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::{MAX_CONTENT, lines_about_filter, repository};
use sha2::{Digest as _, Sha256};

use crate::boundary::protect::search::progress::read_up_to;
use crate::host::beneath;

/// Returns a hash of what attributes in a boundary say of the filter of a file, from the top of its work tree down; `None` where they say
/// nothing.
pub(crate) fn filter_of(root: BorrowedFd<'_>, git: &Path, tree: &Path, path: &Path) -> Option<String> {
    let mut said = Vec::new();
    let mut say = |place: &Path, path: &Path| {
        let Ok((file, _)) = beneath::file(root, place) else { return };
        // Of one that is larger nobody knows what it says.
        let lines: Vec<Vec<u8>> = match read_up_to(file, MAX_CONTENT as u64) {
            Some((content, true)) => lines_about_filter(&content, path).map(<[u8]>::to_vec).collect(),
            _ => vec![b"[attr]".to_vec()],
        };
        for line in lines {
            said.extend([place.as_os_str().as_bytes(), b"\n", &line, b"\n"].concat());
        }
    };
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for directory in above.into_iter().rev() {
        let below = path.strip_prefix(directory).unwrap_or(path);
        say(&tree.join(directory).join(".gitattributes"), below);
    }
    say(&common(root, git).join("info/attributes"), path);
    (!said.is_empty()).then(|| format!("{:x}", Sha256::digest(&said)))
}

/// Returns the directory of the data that a directory of git's data shares with others: itself, where it shares none.
fn common(root: BorrowedFd<'_>, git: &Path) -> PathBuf {
    let named = || {
        let (file, _) = beneath::file(root, &git.join("commondir")).ok()?;
        let (content, _) = read_up_to(file, repository::MAX_POINTER_LENGTH)?;
        let mut place = git.to_path_buf();
        for name in repository::commondir(&content)?.iter().map(OsString::from) {
            if name == ".." {
                place.pop();
            } else {
                place.push(name);
            }
        }
        Some(place)
    };
    named().unwrap_or_else(|| git.into())
}
