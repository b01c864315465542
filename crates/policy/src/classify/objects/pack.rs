//! Packs of objects and their indexes, see gitformat-pack(5).
//!
//! What is read of them lies at places that they themselves name, so no place is believed: the caller reads, and says how much there was.

use std::cmp::Ordering;

use super::inflate::Inflater;
use super::{ObjectId, ObjectKind, UnreadableObject};
use crate::classify::index::{ObjectFormat, hex};

/// How an index begins from version 2 on, and with version 2. The first version has nothing before its fan-out table.
const SIGNATURE: &[u8] = b"\xfftOc";
const SECOND: &[u8] = b"\xfftOc\0\0\0\x02";

/// How long the fan-out table is: for each first byte of a number, how many numbers begin with it or with a lower one.
const FAN_OUT: usize = 4 * 256;

/// The bit of a place in an index that says that the rest is a position among the places of 64 bits.
const LARGE: u32 = 1 << 31;

/// How long the header of a pack is.
const PACK_HEADER: u64 = 12;

/// How much of a pack is read at a time, in bytes. Most objects are in the first piece.
const FIRST_PIECE: usize = 4 << 10;
const PIECE: usize = 64 << 10;

/// How many bytes beyond twice the length of an object are read to inflate it. Deflate makes hardly anything longer, but whoever forges a stream can have it go
/// on for ever with blocks that are empty.
const MAX_OVERHEAD: u64 = 4 * PIECE as u64;

/// The shortest delta that git reads, in bytes.
const MIN_DELTA: usize = 4;

/// How much a delta copies where it does not say.
const WHOLE_COPY: usize = 0x10000;

/// What a pack stores of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stored {
    Whole(ObjectKind, Vec<u8>),
    /// How it differs from another one, of the same kind: see [`apply`].
    Delta {
        base: Base,
        delta: Vec<u8>,
    },
}

/// From what an object differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Base {
    /// From the one at this place in the same pack, which is before it: so this comes to an end.
    At(u64),
    /// From any object. A forged one may differ from itself.
    Object(ObjectId),
}

/// Finds where an object lies in a pack, by the pack's index; `None` if it has none. `read` returns up to `length` bytes of the index at a place,
/// fewer only at its end.
///
/// Where numbers are not in their order, what is found is what git finds.
///
/// # Errors
///
/// The index is of no known version, or shorter or longer than it says.
pub fn find(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    id: &ObjectId,
) -> Result<Option<u64>, UnreadableObject> {
    let number = id.bytes();
    let Index { is_second, fan_out, count, begin, hash } = Index::open(&read, number.len())?;
    let number_at = |index: u64| number_at(index, is_second, begin, hash);
    let first = usize::from(number[0]);
    let bound = |byte: usize| fan_out.get(byte).copied().map_or(0, u64::from);
    let (mut low, mut high) = (first.checked_sub(1).map_or(0, bound), bound(first));
    while low < high {
        let middle = low + (high - low) / 2;
        match exactly(&read, number_at(middle), number.len())?.as_slice().cmp(number) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal if is_second => {
                return place(&read, begin + count * (hash + 4), count, middle).map(Some);
            }
            Ordering::Equal => {
                let place = exactly(&read, number_at(middle) - 4, 4)?;
                return Ok(Some(be32(&place).into()));
            }
        }
    }
    Ok(None)
}

/// Returns whether an index of a pack has an object whose number, of so many bytes, begins with these hexadecimal digits.
///
/// # Errors
///
/// The same as of [`find`].
pub fn has_prefix(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    digits: &str,
    length: usize,
) -> Result<bool, UnreadableObject> {
    let Index { is_second, count, begin, hash, .. } = Index::open(&read, length)?;
    let number = |index: u64| exactly(&read, number_at(index, is_second, begin, hash), length);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if *hex(&number(middle)?) < *digits {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low < count && hex(&number(low)?).starts_with(digits))
}

/// What an index of a pack says of itself.
struct Index {
    /// Whether it is of version 2.
    is_second: bool,
    /// How many numbers there are that begin with each byte or a lower one.
    fan_out: Vec<u32>,
    count: u64,
    /// Where the numbers begin.
    begin: u64,
    /// How long each is, in bytes.
    hash: u64,
}

impl Index {
    fn open(read: impl Fn(u64, usize) -> Option<Vec<u8>>, length: usize) -> Result<Self, UnreadableObject> {
        let hash = length as u64;
        // Every index is longer than this, of any version.
        let beginning = exactly(&read, 0, SECOND.len() + FAN_OUT)?;
        let is_second = beginning.starts_with(SECOND);
        if !is_second && beginning.starts_with(SIGNATURE) {
            return Err(UnreadableObject);
        }
        let skipped = if is_second { SECOND.len() } else { 0 };
        let fan_out: Vec<u32> = beginning[skipped..].chunks_exact(4).take(256).map(be32).collect();
        let count =
            fan_out.last().copied().map(u64::from).filter(|_| fan_out.is_sorted()).ok_or(UnreadableObject)?;
        // All of this is less than 2^39.
        let begin = (skipped + FAN_OUT) as u64;
        let beside = if is_second { 8 } else { 4 };
        let shortest = begin + count * (hash + beside) + 2 * hash;
        let longest = if is_second { shortest + 8 * count.saturating_sub(1) } else { shortest };
        exactly(&read, shortest - 1, 1)?;
        if read(longest, 1).is_some_and(|beyond| !beyond.is_empty()) {
            return Err(UnreadableObject);
        }
        Ok(Self { is_second, fan_out, count, begin, hash })
    }
}

/// Returns where a number stands.
fn number_at(index: u64, is_second: bool, begin: u64, hash: u64) -> u64 {
    // The first version has a place before each number, the second one has checksums and places behind all numbers.
    if is_second { begin + index * hash } else { begin + index * (4 + hash) + 4 }
}

/// Returns the place of the object with this index, of so many in an index of version 2, whose places begin `at`.
fn place(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    at: u64,
    count: u64,
    index: u64,
) -> Result<u64, UnreadableObject> {
    let small = be32(&exactly(&read, at + 4 * index, 4)?);
    if small & LARGE == 0 {
        return Ok(small.into());
    }
    let large = exactly(&read, at + 4 * count + 8 * u64::from(small & !LARGE), 8)?;
    Ok(large.iter().fold(0, |place, byte| place << 8 | u64::from(*byte)))
}

/// Reads what a pack stores at a place. `read` returns up to `length` bytes of the pack at a place, fewer only at its end; `longest` is
/// how long the object or the delta may be, in bytes.
///
/// # Errors
///
/// What is there is longer than `longest` or not as long as it says, of no known kind, not a zlib stream, or differs from what is not before it.
pub fn stored(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    at: u64,
    format: ObjectFormat,
    longest: usize,
) -> Result<Stored, UnreadableObject> {
    read_stored(read, at, format, longest).ok_or(UnreadableObject)
}

/// What an object is that lies in a pack.
enum PackedKind {
    Whole(ObjectKind),
    Delta(Base),
}

fn read_stored(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    at: u64,
    format: ObjectFormat,
    longest: usize,
) -> Option<Stored> {
    if at < PACK_HEADER {
        return None;
    }
    let first = some(&read, at, FIRST_PIECE)?;
    let mut rest = first.as_slice();
    let (kind, length) = kind_and_length(&mut rest)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= longest)?;
    let kind = match kind {
        1 => PackedKind::Whole(ObjectKind::Commit),
        2 => PackedKind::Whole(ObjectKind::Tree),
        3 => PackedKind::Whole(ObjectKind::Blob),
        4 => PackedKind::Whole(ObjectKind::Tag),
        6 => {
            let base = at.checked_sub(offset(&mut rest)?);
            PackedKind::Delta(Base::At(base.filter(|base| (PACK_HEADER..at).contains(base))?))
        }
        7 => {
            let (number, after) = rest.split_at_checked(format.length())?;
            rest = after;
            PackedKind::Delta(Base::Object(ObjectId::from_bytes(number)?))
        }
        _ => return None,
    };
    // With room for one byte more, a longer one shows.
    let most = length.checked_add(1)?;
    let mut inflater = Inflater::default();
    inflater.inflate(rest, most)?;
    let mut next = at.checked_add(first.len() as u64)?;
    let mut left = (length as u64).saturating_mul(2).saturating_add(MAX_OVERHEAD);
    while inflater.wants_more(most) {
        let piece = some(&read, next, PIECE)?;
        next = next.checked_add(piece.len() as u64)?;
        left = left.checked_sub(piece.len() as u64)?;
        inflater.inflate(&piece, most)?;
    }
    let content = inflater.whole(length)?;
    Some(match kind {
        PackedKind::Whole(kind) => Stored::Whole(kind, content),
        PackedKind::Delta(base) => Stored::Delta { base, delta: content },
    })
}

/// Reads the kind and the length of what follows, of which the first byte has four bits and every other one seven, the lowest first.
fn kind_and_length(rest: &mut &[u8]) -> Option<(u8, u64)> {
    let mut byte = next(rest)?;
    let kind = byte >> 4 & 7;
    let mut length = u64::from(byte & 15);
    let mut shift = 4;
    while byte & 0x80 != 0 {
        byte = next(rest)?;
        // Git reads no more bits than that.
        if shift > u64::BITS - 7 {
            return None;
        }
        length |= u64::from(byte & 0x7f) << shift;
        shift += 7;
    }
    Some((kind, length))
}

/// Reads how far a base lies before what differs from it. The highest bits come first, and each byte but the first counts one more.
fn offset(rest: &mut &[u8]) -> Option<u64> {
    let mut byte = next(rest)?;
    let mut offset = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next(rest)?;
        offset = offset.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
    }
    Some(offset)
}

/// Applies a delta to its base. What comes out has `longest` bytes at most.
///
/// # Errors
///
/// The delta is for a base of another length, copies what the base does not have, is malformed, or makes more or less than it says or more than `longest`.
pub fn apply(base: &[u8], delta: &[u8], longest: usize) -> Result<Vec<u8>, UnreadableObject> {
    applied(base, delta, longest).ok_or(UnreadableObject)
}

fn applied(base: &[u8], delta: &[u8], longest: usize) -> Option<Vec<u8>> {
    let mut rest = delta;
    let of_base = length(&mut rest)?;
    let length = usize::try_from(length(&mut rest)?).ok()?;
    if delta.len() < MIN_DELTA || of_base != base.len() as u64 || length > longest {
        return None;
    }
    let mut made = Vec::new();
    while let Some((command, after)) = rest.split_first() {
        rest = after;
        let part = match command {
            // It is reserved.
            0 => return None,
            1..=0x7f => {
                let (inserted, after) = rest.split_at_checked(usize::from(*command))?;
                rest = after;
                inserted
            }
            0x80.. => {
                let from = number(&mut rest, *command, 4)?;
                let length = match number(&mut rest, *command >> 4, 3)? {
                    0 => WHOLE_COPY,
                    length => length,
                };
                base.get(from..from.checked_add(length)?)?
            }
        };
        if part.len() > length - made.len() {
            return None;
        }
        made.extend_from_slice(part);
    }
    (made.len() == length).then_some(made)
}

/// Reads a number of which only those of its bytes are there whose bits are set, the lowest first.
fn number(rest: &mut &[u8], present: u8, most: u32) -> Option<usize> {
    let mut number = 0_u32;
    for byte in 0..most {
        if present >> byte & 1 != 0 {
            number |= u32::from(next(rest)?) << (8 * byte);
        }
    }
    usize::try_from(number).ok()
}

/// Reads a length, of which every byte has seven bits, the lowest first.
fn length(rest: &mut &[u8]) -> Option<u64> {
    let (mut length, mut shift) = (0, 0);
    loop {
        let byte = next(rest)?;
        if shift > u64::BITS - 7 {
            return None;
        }
        length |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Reads up to so many bytes at a place; `None` if there are none.
fn some(read: impl Fn(u64, usize) -> Option<Vec<u8>>, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut piece = read(at, length)?;
    piece.truncate(length);
    Some(piece).filter(|piece| !piece.is_empty())
}

/// Reads so many bytes at a place.
fn exactly(
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
    at: u64,
    length: usize,
) -> Result<Vec<u8>, UnreadableObject> {
    some(read, at, length).filter(|piece| piece.len() == length).ok_or(UnreadableObject)
}

/// Returns the number in these bytes, the highest first.
fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
