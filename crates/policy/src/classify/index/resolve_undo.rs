//! What an index keeps of conflicts that were resolved (`REUC`), see gitformat-index(5). `git checkout -m` makes each conflict again from it, and so
//! writes what no entry of the index lists.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::bytes::MalformedIndex;
use super::entry::{IndexEntry, KIND};

/// The sides of a merge.
const SIDES: usize = 3;

/// The most digits of a mode.
const MAX_MODE_DIGITS: usize = 6;

/// Goes through what the sides of each conflict had. `length` is that of the number of a content.
pub(super) fn entries(
    data: &[u8],
    length: usize,
    mut see: impl FnMut(&Path, &IndexEntry<'_>),
) -> Result<(), MalformedIndex> {
    let mut rest = data;
    while !rest.is_empty() {
        let path = text(&mut rest)?;
        let mut modes = [0; SIDES];
        for mode in &mut modes {
            *mode = self::mode(text(&mut rest)?)?;
        }
        // A side of mode 0 did not have the file.
        for mode in modes.into_iter().filter(|mode| *mode != 0) {
            let (number, after) = rest.split_at_checked(length).ok_or(MalformedIndex)?;
            rest = after;
            see(
                Path::new(OsStr::from_bytes(path)),
                &IndexEntry { kind: mode & KIND, number, is_hidden: false },
            );
        }
    }
    Ok(())
}

/// Reads a mode as git writes it. Git also reads one with space or a sign before it.
fn mode(text: &[u8]) -> Result<u32, MalformedIndex> {
    let is_plain = matches!(text.len(), 1..=MAX_MODE_DIGITS) && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_plain).ok_or(MalformedIndex)?;
    u32::from_str_radix(text, 8).map_err(|_| MalformedIndex)
}

/// Takes text to its NUL. An empty one is neither a path nor a mode.
fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], MalformedIndex> {
    let end = rest.iter().position(|byte| *byte == 0).filter(|end| *end > 0).ok_or(MalformedIndex)?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    Ok(text)
}
