//! An entry of an index, and what names its content.

/// The mode of a link.
pub(super) const LINK_MODE: u32 = 0o120_000;

/// How the name of the content of a link begins.
pub const LINK: &str = "120000 ";

/// How the name of the content of a submodule begins.
pub const SUBMODULE_CONTENT: &str = "160000 ";

/// The mode of a submodule, and the bits of a mode that say what an entry is.
pub(super) const SUBMODULE: u32 = 0o160_000;
pub(super) const KIND: u32 = 0o170_000;

/// Returns a number in hexadecimal digits.
pub(in crate::classify) fn hex(number: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16);
    number.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).flatten().collect()
}

/// What an entry says beside its path.
pub(super) struct IndexEntry<'a> {
    pub(super) kind: u32,
    /// What names its content.
    pub(super) number: &'a [u8],
    pub(super) is_hidden: bool,
}

impl IndexEntry<'_> {
    /// Returns what names its content.
    pub(super) fn content(&self) -> String {
        let kind = match self.kind {
            LINK_MODE => LINK,
            SUBMODULE => SUBMODULE_CONTENT,
            _ => "",
        };
        format!("{kind}{}", hex(self.number))
    }
}
