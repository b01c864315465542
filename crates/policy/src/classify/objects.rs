//! Objects of git: loose ones, and what commits, trees and tags say, see gitrepository-layout(5) and "objects" in git's user manual.
//!
//! Whoever can write to a repository can write any bytes as an object, and git does not compare an object with its number when it reads one. So what is
//! read here is what git reads, and what git would not have written is an error.

use self::inflate::Inflater;
use super::index::{ObjectFormat, hex};

mod inflate;
pub mod pack;

/// How long the header of a loose object is at most, in bytes, with the NUL at its end. Git reads no longer one.
const MAX_HEADER: usize = 32;

/// How long the kind of an object may be in a tag, in bytes: less than git's buffer for it.
const MAX_KIND: usize = 19;

/// How much longer than the number in it a tag is at least, in bytes. Git reads no shorter one.
const MIN_TAG: usize = 24;

/// The highest mode that fits the bits of a mode. Of a higher one, git drops the rest.
const MAX_MODE: u32 = 0o177_777;

/// The bits of a mode that say what an entry is, and what they say.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DIRECTORY: u32 = 0o040_000;

/// An object that git would not have written, or that is longer than asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnreadableObject;

/// The number of an object: 20 bytes with SHA-1, 32 with SHA-256.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectId(Number);

/// What a number is made of.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Number {
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

impl ObjectId {
    /// Reads a number in 40 or 64 hexadecimal digits, capital ones too, as git does.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let pairs = text.chunks_exact(2);
        if !matches!(text.len(), 40 | 64) {
            return None;
        }
        let bytes: Option<Vec<u8>> = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
        Self::from_bytes(&bytes?)
    }

    /// Reads a number of 20 or 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = match bytes.len() {
            20 => Number::Sha1(bytes.try_into().ok()?),
            32 => Number::Sha256(bytes.try_into().ok()?),
            _ => return None,
        };
        Some(Self(number))
    }

    /// Returns the number in hexadecimal digits, small ones.
    pub fn hex(&self) -> String {
        hex(self.bytes())
    }

    /// Returns the number itself.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Number::Sha1(bytes) => bytes,
            Number::Sha256(bytes) => bytes,
        }
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl ObjectKind {
    /// Returns the kind that git calls so.
    fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"commit" => Some(Self::Commit),
            b"tree" => Some(Self::Tree),
            b"blob" => Some(Self::Blob),
            b"tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

/// Reads a loose object, which is the content of a file in `objects/xx/`; its own content has `longest` bytes at most.
///
/// # Errors
///
/// The file is not a zlib stream and nothing else, its header is not as git writes it, or its content is longer than `longest` or not as long as the header says.
pub fn loose(file: &[u8], longest: usize) -> Result<(ObjectKind, Vec<u8>), UnreadableObject> {
    read_loose(file, longest).ok_or(UnreadableObject)
}

fn read_loose(file: &[u8], longest: usize) -> Option<(ObjectKind, Vec<u8>)> {
    let mut inflater = Inflater::default();
    let begun = inflater.inflate(file, MAX_HEADER)?;
    let header = inflater.inflated().split(|byte| *byte == 0).next()?;
    let begin = header.len() + 1;
    let (kind, length) = kind_and_length(header)?;
    let whole = begin.checked_add(length).filter(|_| length <= longest)?;
    let rest = file.get(begun..)?;
    // With room for one byte more, a longer one shows.
    if inflater.inflate(rest, whole.checked_add(1)?)? != rest.len() {
        return None;
    }
    let mut object = inflater.whole(whole)?;
    object.drain(..begin);
    Some((kind, object))
}

/// Reads the header of a loose object: its kind, and its length as git writes a number.
fn kind_and_length(header: &[u8]) -> Option<(ObjectKind, usize)> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (name, digits) = (header.get(..space)?, header.get(space + 1..)?);
    let is_number = digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || !digits.starts_with(b"0"));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    Some((ObjectKind::of(name)?, digits.parse().ok()?))
}

/// Returns the tree of a commit, which its first line names: `tree HEX`.
pub fn tree_of(commit: &[u8], format: ObjectFormat) -> Option<ObjectId> {
    numbered_line(commit, b"tree ", format).map(|(tree, _)| tree)
}

/// Reads a line with the number of an object behind a word. Returns what follows the line, too.
fn numbered_line<'c>(content: &'c [u8], word: &[u8], format: ObjectFormat) -> Option<(ObjectId, &'c [u8])> {
    let (digits, rest) = content.strip_prefix(word)?.split_at_checked(2 * format.length())?;
    Some((ObjectId::from_hex(digits)?, rest.strip_prefix(b"\n")?))
}

/// What a tag object says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tag<'t> {
    pub object: ObjectId,
    /// What it says that object is.
    pub kind: ObjectKind,
    /// What the tag is called inside, which need not be what its reference is called: all of the line, which may be empty or hold any byte.
    /// Git itself shows it up to the first NUL.
    pub name: &'t [u8],
}

/// Reads a tag object as `parse_tag_buffer` of git's `tag.c` does: the lines `object`, `type` and `tag`. Of the rest nothing is required.
pub fn tag(content: &[u8], format: ObjectFormat) -> Option<Tag<'_>> {
    if content.len() < 2 * format.length() + MIN_TAG {
        return None;
    }
    let (object, rest) = numbered_line(content, b"object ", format)?;
    let (kind, rest) = line(rest.strip_prefix(b"type ")?)?;
    // Git compares it as a string of C, which ends with the first NUL.
    let kind = ObjectKind::of(kind.split(|byte| *byte == 0).next().filter(|_| kind.len() <= MAX_KIND)?)?;
    let (name, _) = line(rest.strip_prefix(b"tag ")?)?;
    Some(Tag { object, kind, name })
}

/// Splits off the first line; `None` if it does not end.
fn line(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    Some((content.get(..end)?, content.get(end + 1..)?))
}

/// What git makes of an entry of a tree.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TreeEntryKind {
    File,
    Link,
    Directory,
    /// A commit of another repository. Git takes every mode for this that is none of the others.
    Submodule,
}

impl TreeEntryKind {
    /// Returns what git makes of a mode: `canon_mode` of its `object.h`.
    fn of(mode: u32) -> Self {
        match mode & KIND {
            FILE => Self::File,
            LINK => Self::Link,
            DIRECTORY => Self::Directory,
            _ => Self::Submodule,
        }
    }
}

/// An entry of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TreeEntry<'t> {
    pub kind: TreeEntryKind,
    /// One component of a path, and neither `.` nor `..`; it may be `.git`.
    pub name: &'t [u8],
    pub id: ObjectId,
}

/// Returns the entries of a tree, each of which is `mode SP name NUL id`. Their order is not looked at, nor whether a name is there twice.
///
/// # Errors
///
/// An entry ends too early, its mode is not octal or has too many bits, or its name is none of a file. It is the last one that is returned.
pub fn tree_entries(
    tree: &[u8],
    format: ObjectFormat,
) -> impl Iterator<Item = Result<TreeEntry<'_>, UnreadableObject>> {
    let mut rest = tree;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let read = tree_entry(rest, format);
        rest = read.as_ref().map(|(_, rest)| *rest).unwrap_or_default();
        Some(read.map(|(entry, _)| entry).ok_or(UnreadableObject))
    })
}

/// Reads the first entry. Returns what follows it, too.
fn tree_entry(tree: &[u8], format: ObjectFormat) -> Option<(TreeEntry<'_>, &[u8])> {
    let space = tree.iter().position(|byte| *byte == b' ')?;
    let (digits, rest) = (tree.get(..space)?, tree.get(space + 1..)?);
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
    let (number, rest) = rest.split_at_checked(format.length())?;
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
        return None;
    }
    let entry = TreeEntry { kind: TreeEntryKind::of(mode(digits)?), name, id: ObjectId::from_bytes(number)? };
    Some((entry, rest))
}

/// Reads a mode, which may begin with zeros.
fn mode(digits: &[u8]) -> Option<u32> {
    let mode = digits.iter().try_fold(0, |mode: u32, digit| match digit {
        b'0'..=b'7' => Some(mode << 3 | u32::from(digit - b'0')).filter(|mode| *mode <= MAX_MODE),
        _ => None,
    });
    mode.filter(|_| !digits.is_empty())
}

#[cfg(test)]
mod tests;
