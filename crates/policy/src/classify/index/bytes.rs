//! Bytes of an index, taken from the front.

/// What cannot be read as an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MalformedIndex;

pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], MalformedIndex> {
    let (first, after) = rest.split_first_chunk::<N>().ok_or(MalformedIndex)?;
    *rest = after;
    Ok(*first)
}

/// Returns a number in as many bytes as it needs, as packs have it for an offset, and git calls it a varint.
pub(super) fn offset(rest: &mut &[u8]) -> Result<usize, MalformedIndex> {
    let [mut byte] = take::<1>(rest)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        [byte] = take::<1>(rest)?;
        value = value.checked_add(1).and_then(|value| value.checked_mul(128)).ok_or(MalformedIndex)?;
        value |= usize::from(byte & 0x7f);
    }
    Ok(value)
}
