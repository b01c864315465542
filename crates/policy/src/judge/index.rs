//! What an index of git lists, see gitformat-index(5): entries whose changes `git status` does not show, submodules, and
//! paths that no work tree has.
//!
//! Git checks a path when it adds an entry, and not when it reads an index: `git checkout -- .` writes to whatever a forged
//! one names, `../.bashrc` and `.git/hooks/pre-commit` too.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git;

/// The bit of an entry that git calls `assume-unchanged`.
const ASSUME_VALID: u16 = 0x8000;

/// The bit that says that an entry has a second half of its flags.
const EXTENDED: u16 = 0x4000;

/// The bit of that half that git calls `skip-worktree`.
const SKIP_WORKTREE: u16 = 0x4000;

/// How many bytes of an entry come before the number of its content: times, numbers, mode, owner and size.
const BEFORE_NUMBER: usize = 40;

/// Where in them the mode stands.
const MODE: usize = 24;

/// The mode of a submodule, and the bits of a mode that say what an entry is.
const SUBMODULE: u32 = 0o160_000;
const KIND: u32 = 0o170_000;

/// How long the extension is that says where entries end, with its header. It has a number of SHA-1 in any index.
const END_OF_ENTRIES: usize = 32;

/// What cannot be read as an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

/// What an index lists.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Paths {
    /// Paths that git leaves out of `git status` because of a bit.
    pub hidden: Vec<PathBuf>,
    /// Submodules: git asks each for its state.
    pub submodules: Vec<PathBuf>,
    /// Files that git writes by itself, as soon as it has something to do.
    pub written: Vec<PathBuf>,
    /// A path that git itself would refuse to add.
    pub outside: Option<PathBuf>,
}

/// What names the objects of a repository. An index does not say which it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ObjectFormat {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl ObjectFormat {
    /// The one of a repository with this configuration.
    pub fn of(config: &[u8]) -> Self {
        if git::has(config, ("extensions", "objectformat"), "sha256") { Self::Sha256 } else { Self::Sha1 }
    }

    /// How long its names are, in bytes.
    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// What a `MERGE_RR` lists, see rerere.c of git: a number, a tab and a path, each ended by NUL. `git commit` reads and
/// writes what is at such a path, once there is an `rr-cache`.
pub fn merged(content: &[u8]) -> Paths {
    let paths = content.split(|byte| *byte == 0).filter_map(|record| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        record.get(tab + 1..).map(|path| PathBuf::from(OsStr::from_bytes(path)))
    });
    let written: Vec<PathBuf> = paths.collect();
    Paths { outside: written.iter().find(|path| is_outside(path)).cloned(), written, ..Paths::default() }
}

/// Whether a path leads out of a work tree, or into the data of its repository: `verify_path` of git's `read-cache.c`.
fn is_outside(path: &Path) -> bool {
    // Of a directory in a sparse index, the path ends with a slash.
    let path = path.as_os_str().as_bytes();
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.split(|byte| *byte == b'/')
        .any(|name| matches!(name, b"" | b"." | b"..") || name.eq_ignore_ascii_case(b".git"))
}

/// What an index lists; of hidden paths, `most` at most.
pub fn read(content: &[u8], format: ObjectFormat, most: usize) -> Result<Paths, Malformed> {
    let number = format.length();
    let mut found = Paths::default();
    let mut rest = content.strip_prefix(b"DIRC").ok_or(Malformed)?;
    let version = u32::from_be_bytes(take(&mut rest)?);
    let entries = u32::from_be_bytes(take(&mut rest)?);
    if !(2..=4).contains(&version) {
        return Err(Malformed);
    }
    let mut path = Vec::new();
    let mut blocks = Blocks::of(content, number);
    for entry in 0..entries {
        let before = rest.len();
        let begins_block = match &mut blocks {
            Some(blocks) => blocks.begins(entry, content.len() - before)?,
            None => false,
        };
        let (mut mode, after) = rest
            .split_at_checked(BEFORE_NUMBER + number)
            .and_then(|(first, after)| Some((first.get(MODE..)?, after)))
            .ok_or(Malformed)?;
        let kind = u32::from_be_bytes(take(&mut mode)?) & KIND;
        rest = after;
        let flags = u16::from_be_bytes(take(&mut rest)?);
        let more =
            if version > 2 && flags & EXTENDED != 0 { u16::from_be_bytes(take(&mut rest)?) } else { 0 };
        if version == 4 {
            let dropped = offset(&mut rest)?;
            path.truncate(path.len().checked_sub(dropped).ok_or(Malformed)?);
            // The first path of a block takes nothing from the one before.
            if begins_block && !path.is_empty() {
                return Err(Malformed);
            }
        } else {
            path.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
        path.extend_from_slice(&rest[..end]);
        // Before version 4 an entry is filled with NUL to a multiple of eight bytes, by one at least.
        let filled = if version == 4 { end + 1 } else { end + 8 - (before - rest.len() + end) % 8 };
        rest = rest.get(filled..).ok_or(Malformed)?;
        let here = Path::new(OsStr::from_bytes(&path));
        let is_hidden = flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0;
        if is_hidden && found.hidden.len() < most {
            found.hidden.push(here.into());
        }
        if kind == SUBMODULE {
            found.submodules.push(here.into());
        }
        if found.outside.is_none() && is_outside(here) {
            found.outside = Some(here.into());
        }
    }
    // What follows are extensions and a checksum, as long as the name of an object.
    let is_as_said =
        blocks.is_none_or(|blocks| blocks.counts.is_empty() && blocks.end == content.len() - rest.len());
    if rest.len() < number || !is_as_said { Err(Malformed) } else { Ok(found) }
}

/// Where entries begin and end, as an index says at its own end: with `index.threads`, git reads them from there.
struct Blocks {
    /// Where each block begins, and with which entry; the last one first.
    counts: Vec<(usize, u32)>,
    end: usize,
}

impl Blocks {
    fn of(content: &[u8], number: usize) -> Option<Self> {
        let at = content.len().checked_sub(number + END_OF_ENTRIES)?;
        let mut last = content.get(at..)?.strip_prefix(b"EOIE")?;
        take::<4>(&mut last).ok()?;
        let end = u32::from_be_bytes(take(&mut last).ok()?) as usize;
        let mut blocks = Self { counts: Vec::new(), end };
        let mut rest = content.get(end..at).unwrap_or_default();
        let mut extension = || -> Result<_, Malformed> {
            let name = take::<4>(&mut rest)?;
            let size = u32::from_be_bytes(take(&mut rest)?) as usize;
            let (data, after) = rest.split_at_checked(size).ok_or(Malformed)?;
            rest = after;
            Ok((name, data))
        };
        let mut first = 0_u32;
        while let Ok((name, data)) = extension() {
            // After a version.
            for block in data.get(4..).filter(|_| &name == b"IEOT").unwrap_or_default().chunks_exact(8) {
                let (mut offset, mut count) = block.split_at(4);
                blocks.counts.push((u32::from_be_bytes(take(&mut offset).ok()?) as usize, first));
                first = first.saturating_add(u32::from_be_bytes(take(&mut count).ok()?));
            }
        }
        blocks.counts.reverse();
        Some(blocks)
    }

    /// Whether the block that begins with this entry begins here, if one does.
    fn begins(&mut self, entry: u32, here: usize) -> Result<bool, Malformed> {
        let Some((offset, _)) = self.counts.last().filter(|(_, first)| *first == entry) else {
            return Ok(false);
        };
        let is_here = *offset == here;
        self.counts.pop();
        if is_here { Ok(true) } else { Err(Malformed) }
    }
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
            assert_eq!(read(content, ObjectFormat::Sha1, 9), Err(Malformed), "{content:?}");
        }
        let empty = [&b"DIRC\0\0\0\x02\0\0\0\0"[..], &[0; 20]].concat();
        assert_eq!(read(&empty, ObjectFormat::Sha1, 9), Ok(Paths::default()));
    }
}
