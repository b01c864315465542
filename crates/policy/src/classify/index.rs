//! What an index of git lists, see gitformat-index(5): entries whose changes `git status` does not show, submodules, and
//! paths that no work tree has.
//!
//! Git checks a path when it adds an entry, and not when it reads an index: `git checkout -- .` writes to whatever a forged
//! one names, `../.bashrc` and `.git/hooks/pre-commit` too.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use self::bytes::MalformedIndex;
use self::bytes::{offset, take};
pub(super) use self::entry::hex;
use self::entry::{IndexEntry, KIND, LINK_MODE, SUBMODULE};
pub use self::entry::{LINK, SUBMODULE_CONTENT};
pub use self::untracked::CachedDirectory;
use super::git;

mod bytes;
mod entry;
mod resolve_undo;
mod split;
mod untracked;

/// The bit of an entry that git calls `assume-unchanged`.
const ASSUME_VALID: u16 = 0x8000;

/// The bit that says that an entry has a second half of its flags.
const EXTENDED: u16 = 0x4000;

/// The bit of that half that git calls `skip-worktree`, and all that it knows: of another one it refuses the index.
const SKIP_WORKTREE: u16 = 0x4000;
const KNOWN: u16 = 0x6000;

/// The bits that say which side of a merge an entry is from, and those that say how long its name is.
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;

/// How many bytes of an entry come before the number of its content: times, numbers, mode, owner and size.
const BEFORE_NUMBER: usize = 40;

/// Where in them the mode stands.
const MODE: usize = 24;

/// The mode of a directory in a sparse index, which stands for all that is in it and is left out of the work tree.
const DIRECTORY: u32 = 0o040_000;

/// How long the extension is that says where entries end, with its header. It has a number of SHA-1 in any index.
const END_OF_ENTRIES: usize = 32;

/// The longest path. The kernel opens none that is longer (`PATH_MAX`), so git has no such file to add, though it takes any path from an index.
const MAX_PATH: usize = 4096;

/// How many bytes all paths of an index have together, at most.
const MAX_PATHS: usize = 256 << 20;

/// How many times as long as the index itself they may be, and how long in any case. In version 4 a path says only how it differs from the one
/// before, so a small index may stand for far more than can be looked at; an entry of git's has 60 bytes and more besides.
const MAX_EXPANSION: usize = 16;
const MIN_PATHS: usize = 1 << 20;

/// How many bytes of it the paths of submodules have.
const MAX_SUBMODULES: usize = 16 << 20;

/// How many paths a `MERGE_RR` lists, at most: each is looked up in every work tree. It has one for each file with conflicts.
const MAX_MERGED: usize = 10_000;

/// How many digits the number of a variant has in a `MERGE_RR`, at most. Git counts them from 0 for each conflict that is resolved in more than one way.
const MAX_VARIANT_DIGITS: usize = 4;

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
    /// A directory that git reads for untracked files, under a name that none has.
    pub read: Option<PathBuf>,
}

/// What names the objects of a repository. An index does not say which it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// Returns the one of a repository with this configuration.
    pub fn of(config: &[u8]) -> Self {
        if git::has(config, ("extensions", "objectformat"), "sha256") { Self::Sha256 } else { Self::Sha1 }
    }

    /// Returns how long its names are, in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Returns what a `MERGE_RR` lists, see rerere.c of git: a number, a tab and a path, each ended by NUL. `git commit` reads and
/// writes what is at such a path, once there is an `rr-cache`.
///
/// It must be as git writes it. Git reads more than that: space before a number, a sign, and a variant that does not fit the number that it is made to: of
/// 4294967295 it makes -1, and then overwrites files as it pleases.
pub fn merged(content: &[u8]) -> Result<Paths, MalformedIndex> {
    let mut written = Vec::new();
    for record in content.split_inclusive(|byte| *byte == 0) {
        let record = record.strip_suffix(b"\0").ok_or(MalformedIndex)?;
        let tab = record.iter().position(|byte| *byte == b'\t').ok_or(MalformedIndex)?;
        let (name, path) = (&record[..tab], &record[tab + 1..]);
        let mut parts = name.splitn(2, |byte| *byte == b'.');
        let is_number = |number: &[u8]| number.iter().all(u8::is_ascii_hexdigit);
        let is_variant = |part: &[u8]| {
            matches!(part.len(), 1..=MAX_VARIANT_DIGITS)
                && (part == b"0" || part[0] != b'0')
                && part.iter().all(u8::is_ascii_digit)
        };
        let number = parts.next().filter(|number| matches!(number.len(), 40 | 64) && is_number(number));
        if number.is_none() || !parts.next().is_none_or(is_variant) {
            return Err(MalformedIndex);
        }
        if path.len() > MAX_PATH || written.len() == MAX_MERGED {
            return Err(MalformedIndex);
        }
        written.push(PathBuf::from(OsStr::from_bytes(path)));
    }
    let outside = written.iter().find(|path| is_outside(path)).cloned();
    Ok(Paths { written, outside, ..Paths::default() })
}

/// Returns whether a path leads out of a work tree, or into the data of its repository: `verify_path` of git's `read-cache.c`.
fn is_outside(path: &Path) -> bool {
    // Of a directory in a sparse index, the path ends with a slash.
    let path = path.as_os_str().as_bytes();
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.split(|byte| *byte == b'/')
        .any(|name| matches!(name, b"" | b"." | b"..") || name.eq_ignore_ascii_case(b".git"))
}

/// Returns what an index lists; of hidden paths, `most` at most. `shared` gives the content of the file of this name beside it.
///
/// Git believes what an index says of itself, and in more than one place: how long a name is, and where the next entry
/// begins. So an index must be as git writes it, and then it says the same to every program. Its checksum is not looked at: git
/// does not look at it either, and the author of an index can compute it.
pub fn read(
    content: &[u8],
    format: ObjectFormat,
    most: usize,
    shared: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Result<Paths, MalformedIndex> {
    let mut found = Paths::default();
    let mut replaced = Vec::new();
    let Extensions { link, untracked, resolve_undo } = entries(content, format, |path, entry| {
        // In a split index, an entry without a name replaces one of the shared index.
        if path.as_os_str().is_empty() {
            return replaced.push(entry.kind);
        }
        if entry.is_hidden && found.hidden.len() < most {
            found.hidden.push(path.into());
        }
        if entry.kind == SUBMODULE {
            found.submodules.push(path.into());
        }
        if found.outside.is_none() && is_outside(path) {
            found.outside = Some(path.into());
        }
    })?;
    resolve_undo::entries(resolve_undo.unwrap_or_default(), format.length(), |path, _| {
        if found.outside.is_none() && is_outside(path) {
            found.outside = Some(path.into());
        }
    })?;
    if let Some(untracked) = untracked {
        untracked::directories(untracked, format.length(), |directory| {
            if !directory.is_plain && found.read.is_none() {
                found.read = Some(directory.path.into());
            }
        })?;
    }
    if replaced.is_empty() {
        return checked(found);
    }
    let (number, data) =
        link.and_then(|link| link.split_at_checked(format.length())).ok_or(MalformedIndex)?;
    let replacing = split::replacing(data, replaced.len())?;
    if number.iter().all(|byte| *byte == 0) || replacing.len() != replaced.len() {
        return Err(MalformedIndex);
    }
    if replaced.contains(&SUBMODULE) {
        let mut ahead = replacing.iter().zip(&replaced).peekable();
        let mut at = 0;
        // A shared index that cannot be read is refused where it lies.
        let _ = entries(&shared(&shared_name(number)).unwrap_or_default(), format, |path, _| {
            if let Some((_, kind)) = ahead.next_if(|(position, _)| **position == at) {
                found.submodules.extend((*kind == SUBMODULE).then(|| path.into()));
            }
            at += 1;
        });
    }
    checked(found)
}

/// Refuses an index with more submodules than can be looked at.
fn checked(found: Paths) -> Result<Paths, MalformedIndex> {
    let bytes = found.submodules.iter().map(|path| path.as_os_str().len()).sum::<usize>();
    if bytes <= MAX_SUBMODULES { Ok(found) } else { Err(MalformedIndex) }
}

/// What git writes at a path of an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StagedKind {
    File,
    Link,
    /// The work tree of a submodule, with all that is in it.
    Submodule,
    /// A directory of a sparse index, with all that is in it.
    Directory,
}

impl StagedKind {
    fn of(kind: u32) -> Self {
        match kind {
            SUBMODULE => Self::Submodule,
            LINK_MODE => Self::Link,
            DIRECTORY => Self::Directory,
            _ => Self::File,
        }
    }
}

/// What stands before the number of a content that is no entry of an index, and that git may write there all the same: of a conflict that was
/// resolved (`git checkout -m`), or of a shared index, where it is deleted.
pub const NO_ENTRY: &str = "no entry ";

/// Returns the paths of files and submodules in an index that are wanted, of conflicts that were resolved too, with what names the content
/// that git would write there: its number, and before that the mode of a link ([`LINK`]) or a submodule ([`SUBMODULE_CONTENT`]), and
/// [`NO_ENTRY`] where it is none. Of a split index these are also those of its shared one, deleted ones too.
pub fn staged(
    content: &[u8],
    format: ObjectFormat,
    is_wanted: impl Fn(&Path, StagedKind) -> bool,
    shared: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Result<Vec<(PathBuf, String)>, MalformedIndex> {
    let mut staged = Vec::new();
    let mut replaced = Vec::new();
    let Extensions { link, resolve_undo, .. } = entries(content, format, |path, entry| {
        if path.as_os_str().is_empty() {
            replaced.push(entry.content());
        } else if is_wanted(path, StagedKind::of(entry.kind)) {
            staged.push((path.into(), entry.content()));
        }
    })?;
    resolve_undo::entries(resolve_undo.unwrap_or_default(), format.length(), |path, entry| {
        if is_wanted(path, StagedKind::of(entry.kind)) {
            staged.push((path.into(), format!("{NO_ENTRY}{}", entry.content())));
        }
    })?;
    let Some((number, data)) = link.and_then(|link| link.split_at_checked(format.length())) else {
        return Ok(staged);
    };
    let shared = shared(&shared_name(number)).unwrap_or_default();
    let (replacing, deleted) = if data.is_empty() {
        Default::default()
    } else {
        (split::replacing(data, replaced.len())?, split::deleted(data, shared.len() / BEFORE_NUMBER)?)
    };
    let mut ahead = replacing.into_iter().zip(replaced).peekable();
    let mut gone = deleted.into_iter().peekable();
    let mut at = 0;
    // A shared index that cannot be read is refused where it lies.
    let _ = entries(&shared, format, |path, entry| {
        let replacing = ahead.next_if(|(position, _)| *position == at).map(|(_, number)| number);
        let is_gone = gone.next_if(|position| *position == at).is_some();
        if is_wanted(path, StagedKind::of(entry.kind)) {
            let content = replacing.unwrap_or_else(|| entry.content());
            staged.push((path.into(), if is_gone { format!("{NO_ENTRY}{content}") } else { content }));
        }
        at += 1;
    });
    Ok(staged)
}

/// Returns those of the wanted paths of which no commit takes what lies there, because of a bit that all their entries have.
pub fn left_out(
    content: &[u8],
    format: ObjectFormat,
    is_wanted: impl Fn(&Path) -> bool,
    shared: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Result<BTreeSet<PathBuf>, MalformedIndex> {
    let (mut left_out, mut taken) = (BTreeSet::new(), BTreeSet::new());
    let mut note = |path: &Path, is_hidden: bool| {
        if is_wanted(path) {
            if is_hidden {
                left_out.insert(path.to_path_buf())
            } else {
                taken.insert(path.to_path_buf())
            };
        }
    };
    let mut replaced = Vec::new();
    let Extensions { link, .. } = entries(content, format, |path, entry| {
        if path.as_os_str().is_empty() {
            replaced.push(entry.is_hidden);
        } else {
            note(path, entry.is_hidden);
        }
    })?;
    if let Some((number, data)) = link.and_then(|link| link.split_at_checked(format.length())) {
        let shared = shared(&shared_name(number)).unwrap_or_default();
        let (replacing, deleted) = if data.is_empty() {
            Default::default()
        } else {
            (split::replacing(data, replaced.len())?, split::deleted(data, shared.len() / BEFORE_NUMBER)?)
        };
        let mut ahead = replacing.into_iter().zip(replaced).peekable();
        let mut gone = deleted.into_iter().peekable();
        let mut at = 0;
        let _ = entries(&shared, format, |path, entry| {
            let is_hidden = ahead.next_if(|(position, _)| *position == at).map(|(_, is_hidden)| is_hidden);
            if gone.next_if(|position| *position == at).is_none() {
                note(path, is_hidden.unwrap_or(entry.is_hidden));
            }
            at += 1;
        });
    }
    Ok(&left_out - &taken)
}

/// Goes through the directories that git reads for untracked files, because it has cached them in an index.
pub fn cached(
    content: &[u8],
    format: ObjectFormat,
    see: impl FnMut(CachedDirectory<'_>),
) -> Result<(), MalformedIndex> {
    let Extensions { untracked, .. } = entries(content, format, |_, _| ())?;
    untracked.map_or(Ok(()), |untracked| untracked::directories(untracked, format.length(), see))
}

/// Returns the name of the shared index with this number.
fn shared_name(number: &[u8]) -> String {
    format!("sharedindex.{}", hex(number))
}

/// Extensions of an index that say what git reads.
#[derive(Default)]
struct Extensions<'a> {
    /// The one that names a shared index.
    link: Option<&'a [u8]>,
    /// The untracked cache.
    untracked: Option<&'a [u8]>,
    /// What is kept of conflicts that were resolved.
    resolve_undo: Option<&'a [u8]>,
}

/// Goes through the entries of an index. Gives its extensions.
fn entries(
    content: &[u8],
    format: ObjectFormat,
    mut see: impl FnMut(&Path, IndexEntry),
) -> Result<Extensions<'_>, MalformedIndex> {
    let number = format.length();
    let mut rest = content.strip_prefix(b"DIRC").ok_or(MalformedIndex)?;
    let version = u32::from_be_bytes(take(&mut rest)?);
    let entries = u32::from_be_bytes(take(&mut rest)?);
    if !(2..=4).contains(&version) {
        return Err(MalformedIndex);
    }
    let mut path = Vec::new();
    let mut left = content.len().saturating_mul(MAX_EXPANSION).clamp(MIN_PATHS, MAX_PATHS);
    let mut last: Option<(Vec<u8>, u16)> = None;
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
            .ok_or(MalformedIndex)?;
        let kind = u32::from_be_bytes(take(&mut mode)?) & KIND;
        // Behind times, owner and size, of four bytes each.
        let name_of_content = mode.get(BEFORE_NUMBER - MODE - 4..).ok_or(MalformedIndex)?;
        rest = after;
        let flags = u16::from_be_bytes(take(&mut rest)?);
        let more = if flags & EXTENDED != 0 { u16::from_be_bytes(take(&mut rest)?) } else { 0 };
        if (version == 2 && flags & EXTENDED != 0) || more & !KNOWN != 0 {
            return Err(MalformedIndex);
        }
        if version == 4 {
            let dropped = offset(&mut rest)?;
            path.truncate(path.len().checked_sub(dropped).ok_or(MalformedIndex)?);
            // The first path of a block takes nothing from the one before.
            if begins_block && !path.is_empty() {
                return Err(MalformedIndex);
            }
        } else {
            path.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or(MalformedIndex)?;
        path.extend_from_slice(&rest[..end]);
        left = left.checked_sub(path.len()).filter(|_| path.len() <= MAX_PATH).ok_or(MalformedIndex)?;
        if usize::from(flags & LENGTH) != path.len().min(usize::from(LENGTH)) {
            return Err(MalformedIndex);
        }
        // Before version 4 an entry is filled with NUL to a multiple of eight bytes, by one at least.
        let filled = if version == 4 { end + 1 } else { end + 8 - (before - rest.len() + end) % 8 };
        let (name, after) = rest.split_at_checked(filled).ok_or(MalformedIndex)?;
        rest = after;
        let stage = flags & STAGE;
        let follows = last.as_ref().is_none_or(|(last, side)| match last.cmp(&path) {
            Ordering::Less => true,
            Ordering::Equal => path.is_empty() || (*side != 0 && *side < stage),
            Ordering::Greater => false,
        });
        if !follows || name[end..].iter().any(|byte| *byte != 0) {
            return Err(MalformedIndex);
        }
        let is_left_out = more & SKIP_WORKTREE != 0;
        if (kind == DIRECTORY) != path.ends_with(b"/") || kind == DIRECTORY && !is_left_out {
            return Err(MalformedIndex);
        }
        let is_hidden = flags & ASSUME_VALID != 0 || is_left_out;
        see(Path::new(OsStr::from_bytes(&path)), IndexEntry { kind, number: name_of_content, is_hidden });
        match &mut last {
            Some((last, side)) => {
                last.clone_from(&path);
                *side = stage;
            }
            None => last = Some((path.clone(), stage)),
        }
    }
    if blocks.is_some_and(|blocks| !blocks.end_with(entries, content.len() - rest.len())) {
        return Err(MalformedIndex);
    }
    // What follows are extensions and a checksum, as long as the name of an object.
    let mut rest = rest.len().checked_sub(number).and_then(|end| rest.get(..end)).ok_or(MalformedIndex)?;
    let mut extensions = Extensions::default();
    while !rest.is_empty() {
        let (name, data) = extension(&mut rest)?;
        let place = match &name {
            b"link" => &mut extensions.link,
            b"UNTR" => &mut extensions.untracked,
            b"REUC" => &mut extensions.resolve_undo,
            _ => continue,
        };
        if place.replace(data).is_some() {
            return Err(MalformedIndex);
        }
    }
    Ok(extensions)
}

fn extension<'a>(rest: &mut &'a [u8]) -> Result<([u8; 4], &'a [u8]), MalformedIndex> {
    let name = take::<4>(rest)?;
    let size = u32::from_be_bytes(take(rest)?) as usize;
    let (data, after) = rest.split_at_checked(size).ok_or(MalformedIndex)?;
    *rest = after;
    Ok((name, data))
}

/// Where entries begin and end, as an index says at its own end: with `index.threads`, git reads them from there.
struct Blocks {
    /// Where each block begins, and with which entry; the last one first.
    counts: Vec<(usize, u32)>,
    /// How many entries all blocks have together.
    all: u32,
    end: usize,
}

impl Blocks {
    fn of(content: &[u8], number: usize) -> Option<Self> {
        let at = content.len().checked_sub(number + END_OF_ENTRIES)?;
        let mut last = content.get(at..)?.strip_prefix(b"EOIE")?;
        take::<4>(&mut last).ok()?;
        let end = u32::from_be_bytes(take(&mut last).ok()?) as usize;
        let mut blocks = Self { counts: Vec::new(), all: 0, end };
        let mut rest = content.get(end..at).unwrap_or_default();
        while let Ok((name, data)) = extension(&mut rest) {
            // After a version.
            for block in data.get(4..).filter(|_| &name == b"IEOT").unwrap_or_default().chunks_exact(8) {
                let (mut offset, mut count) = block.split_at(4);
                blocks.counts.push((u32::from_be_bytes(take(&mut offset).ok()?) as usize, blocks.all));
                blocks.all = blocks.all.saturating_add(u32::from_be_bytes(take(&mut count).ok()?));
            }
        }
        blocks.counts.reverse();
        Some(blocks)
    }

    /// Returns whether all blocks have been seen after this many entries, which end here.
    fn end_with(&self, entries: u32, here: usize) -> bool {
        self.counts.is_empty() && (self.all == 0 || self.all == entries) && self.end == here
    }

    /// Returns whether the block that begins with this entry begins here, if one does.
    fn begins(&mut self, entry: u32, here: usize) -> Result<bool, MalformedIndex> {
        let Some((offset, _)) = self.counts.last().filter(|(_, first)| *first == entry) else {
            return Ok(false);
        };
        let is_here = *offset == here;
        self.counts.pop();
        if is_here { Ok(true) } else { Err(MalformedIndex) }
    }
}

#[cfg(test)]
mod tests;
