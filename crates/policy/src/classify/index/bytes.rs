//! Bytes of an index, taken from the front.

/// What cannot be read as an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MalformedIndex;

pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], MalformedIndex> {
    let (first, after) = rest.split_first_chunk::<N>().ok_or(MalformedIndex)?;
    *rest = after;
    Ok(*first)
}
