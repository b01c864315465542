//! The untracked cache of an index, see gitformat-index(5): a tree of the directories that git has read to find untracked files.
//!
//! Git believes the names in it. It reads each directory that may have changed again, wherever its name leads, and writes the names of the
//! files there into the index.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::bytes::{MalformedIndex, offset, take};
use super::split;

/// How many bytes say what stat(2) knows of a file, and where in them the time of its modification stands.
const STAT: usize = 36;
const MODIFIED: usize = 8;

/// How long the path of a directory is at most: git can open no longer one.
const MAX_PATH_LENGTH: usize = 4096;

/// A directory of an untracked cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CachedDirectory<'a> {
    /// Its path in the work tree.
    pub path: &'a Path,
    /// Whether its name is one that a directory in the one above may have.
    pub is_plain: bool,
    /// When the one above was modified, in seconds. Where that has another time now, git looks at what is there.
    pub above: Option<u32>,
}

/// Goes through the directories of an untracked cache, but for the root of the work tree. `length` is that of the number of a content.
pub(super) fn directories(
    data: &[u8],
    length: usize,
    mut see: impl FnMut(CachedDirectory<'_>),
) -> Result<(), MalformedIndex> {
    // A NUL ends it all.
    let mut rest = data.strip_suffix(b"\0").ok_or(MalformedIndex)?;
    let environment = offset(&mut rest)?;
    skip(&mut rest, environment)?;
    // Two files that say what git ignores, with their numbers, and flags.
    skip(&mut rest, 2 * STAT + 4 + 2 * length)?;
    text(&mut rest)?;
    let count = if rest.is_empty() { 0 } else { offset(&mut rest)? };
    if count == 0 {
        return if rest.is_empty() { Ok(()) } else { Err(MalformedIndex) };
    }
    let mut tree = rest;
    if walk(&mut rest, |_, _, _| ())? != count {
        return Err(MalformedIndex);
    }
    let mut bitmap = || {
        let positions = split::positions(&split::bitmap(&mut rest)?, count)?;
        if positions.last().is_some_and(|last| *last >= count) { Err(MalformedIndex) } else { Ok(positions) }
    };
    let (believed, _, ignoring) = (bitmap()?, bitmap()?, bitmap()?);
    let (stats, numbers) =
        rest.split_at_checked(believed.len().saturating_mul(STAT)).ok_or(MalformedIndex)?;
    if numbers.len() != ignoring.len().saturating_mul(length) {
        return Err(MalformedIndex);
    }
    let modified = |directory: usize| {
        let at = believed.binary_search(&directory).ok()? * STAT + MODIFIED;
        take(&mut stats.get(at..)?).map(u32::from_be_bytes).ok()
    };
    walk(&mut tree, |above, path, is_plain| {
        if let Some(above) = above {
            let path = Path::new(OsStr::from_bytes(path));
            see(CachedDirectory { path, is_plain, above: modified(above) });
        }
    })?;
    Ok(())
}

/// Goes through a tree of directories, each before those in it: which one is above, its path, and whether its name is plain. Returns how many
/// there are.
fn walk(rest: &mut &[u8], mut see: impl FnMut(Option<usize>, &[u8], bool)) -> Result<usize, MalformedIndex> {
    /// A directory on the way to the next one.
    struct Above {
        directory: usize,
        /// How long its path is.
        length: usize,
        /// How many of those in it are still to come.
        left: usize,
    }
    let mut above: Vec<Above> = Vec::new();
    let mut path = Vec::new();
    let mut count = 0;
    loop {
        let (files, directories) = (offset(rest)?, offset(rest)?);
        let name = text(rest)?;
        for _ in 0..files {
            text(rest)?;
        }
        let outer = above.last().map(|above| above.directory);
        if let Some(above) = above.last() {
            path.truncate(above.length);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        if path.len() > MAX_PATH_LENGTH {
            return Err(MalformedIndex);
        }
        see(outer, &path, is_plain(name));
        above.push(Above { directory: count, length: path.len(), left: directories });
        count += 1;
        while above.last().is_some_and(|above| above.left == 0) {
            above.pop();
        }
        match above.last_mut() {
            Some(above) => above.left -= 1,
            None => return Ok(count),
        }
    }
}

/// Returns whether a directory in another one may have this name, and git would look into it.
fn is_plain(name: &[u8]) -> bool {
    !name.contains(&b'/') && !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git")
}

/// Takes text that a NUL ends.
fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], MalformedIndex> {
    let end = rest.iter().position(|byte| *byte == 0).ok_or(MalformedIndex)?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    Ok(text)
}

fn skip(rest: &mut &[u8], length: usize) -> Result<(), MalformedIndex> {
    *rest = rest.get(length..).ok_or(MalformedIndex)?;
    Ok(())
}
