//! Which entries of its shared index a split index deletes and replaces: the two bitmaps of its `link` extension.
//!
//! The form is that of git's `ewah/ewah_io.c`: how many bits and how many words there are, the words, and where the last
//! marker stands. A marker says how many words of the same bits come, and how many words stand behind it as they are.

use super::bytes::{MalformedIndex, take};

/// Returns the positions that are replaced, in order; no more than `most` and one.
pub(super) fn replacing(bitmaps: &[u8], most: usize) -> Result<Vec<usize>, MalformedIndex> {
    let mut rest = bitmaps;
    bitmap(&mut rest)?;
    let words = bitmap(&mut rest)?;
    if !rest.is_empty() {
        return Err(MalformedIndex);
    }
    positions(&words, most)
}

/// Returns the positions that are deleted, in order; no more than `most` and one.
pub(super) fn deleted(mut bitmaps: &[u8], most: usize) -> Result<Vec<usize>, MalformedIndex> {
    positions(&bitmap(&mut bitmaps)?, most)
}

/// Returns where the bits of a bitmap are set, in order; no more than `most` and one.
pub(super) fn positions(words: &[u64], most: usize) -> Result<Vec<usize>, MalformedIndex> {
    let mut positions = Vec::new();
    let mut at = 0_usize;
    let mut words = words.iter();
    while let Some(marker) = words.next() {
        // 31 bits of 64, and 32: neither is more than a size may be.
        let (run, plain) = ((marker >> 1 & 0xffff_ffff) as usize, (marker >> 33) as usize);
        let bits = run.checked_mul(64).ok_or(MalformedIndex)?;
        let left = (most + 1).saturating_sub(positions.len());
        positions.extend((at..).take(if marker & 1 == 1 { bits.min(left) } else { 0 }));
        at = at.checked_add(bits).ok_or(MalformedIndex)?;
        for _ in 0..plain {
            let word = words.next().ok_or(MalformedIndex)?;
            positions.extend((0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| at + bit));
            at = at.checked_add(64).ok_or(MalformedIndex)?;
        }
        if positions.len() > most {
            break;
        }
    }
    Ok(positions)
}

/// Returns the words of a bitmap.
pub(super) fn bitmap(rest: &mut &[u8]) -> Result<Vec<u64>, MalformedIndex> {
    take::<4>(rest)?;
    let words = u32::from_be_bytes(take(rest)?) as usize;
    let (data, after) =
        words.checked_mul(8).and_then(|size| rest.split_at_checked(size)).ok_or(MalformedIndex)?;
    *rest = after;
    take::<4>(rest)?;
    let mut data = data;
    (0..words).map(|_| take(&mut data).map(u64::from_be_bytes)).collect()
}
