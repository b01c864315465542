//! What an index of git hides: entries whose changes `git status` does not show, see gitformat-index(5).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The bit of an entry that git calls `assume-unchanged`.
const ASSUME_VALID: u16 = 0x8000;

/// The bit that says that an entry has a second half of its flags.
const EXTENDED: u16 = 0x4000;

/// The bit of that half that git calls `skip-worktree`.
const SKIP_WORKTREE: u16 = 0x4000;

/// How many bytes of an entry come before the number of its content: times, numbers, mode, owner and size.
const BEFORE_NUMBER: usize = 40;

/// What cannot be read as an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

/// How long the names of objects are, in bytes: of SHA-1 and of SHA-256. The index does not say which it has.
const NUMBERS: [usize; 2] = [20, 32];

/// The paths that git leaves out of `git status` because of a bit, `most` of them at most.
pub fn hidden(content: &[u8], most: usize) -> Result<Vec<PathBuf>, Malformed> {
    NUMBERS.iter().find_map(|number| read(content, *number, most).ok()).ok_or(Malformed)
}

fn read(content: &[u8], number: usize, most: usize) -> Result<Vec<PathBuf>, Malformed> {
    let mut hidden = Vec::new();
    let mut rest = content.strip_prefix(b"DIRC").ok_or(Malformed)?;
    let version = u32::from_be_bytes(take(&mut rest)?);
    let entries = u32::from_be_bytes(take(&mut rest)?);
    if !(2..=4).contains(&version) {
        return Err(Malformed);
    }
    let mut path = Vec::new();
    for _ in 0..entries {
        let before = rest.len();
        rest = rest.get(BEFORE_NUMBER + number..).ok_or(Malformed)?;
        let flags = u16::from_be_bytes(take(&mut rest)?);
        let more =
            if version > 2 && flags & EXTENDED != 0 { u16::from_be_bytes(take(&mut rest)?) } else { 0 };
        if version == 4 {
            let dropped = offset(&mut rest)?;
            path.truncate(path.len().checked_sub(dropped).ok_or(Malformed)?);
        } else {
            path.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
        path.extend_from_slice(&rest[..end]);
        // Before version 4 an entry is filled with NUL to a multiple of eight bytes, by one at least.
        let filled = if version == 4 { end + 1 } else { end + 8 - (before - rest.len() + end) % 8 };
        rest = rest.get(filled..).ok_or(Malformed)?;
        let is_hidden = flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0;
        if is_hidden && hidden.len() < most {
            hidden.push(PathBuf::from(OsStr::from_bytes(&path)));
        }
    }
    // What follows are extensions and a checksum, as long as the name of an object.
    if rest.len() < number { Err(Malformed) } else { Ok(hidden) }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (first, after) = rest.split_first_chunk::<N>().ok_or(Malformed)?;
    *rest = after;
    Ok(*first)
}

/// A number in as many bytes as it needs, as packs have it for an offset.
fn offset(rest: &mut &[u8]) -> Result<usize, Malformed> {
    let [mut byte] = take::<1>(rest)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        [byte] = take::<1>(rest)?;
        value = value.checked_add(1).and_then(|value| value.checked_mul(128)).ok_or(Malformed)?;
        value |= usize::from(byte & 0x7f);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_index_is_none() {
        for content in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01", b"DIRC\0\0\0\x05\0\0\0\0", b"TREE"] {
            assert_eq!(hidden(content, 9), Err(Malformed), "{content:?}");
        }
        let empty = [&b"DIRC\0\0\0\x02\0\0\0\0"[..], &[0; 20]].concat();
        assert_eq!(hidden(&empty, 9), Ok(Vec::new()));
    }
}
