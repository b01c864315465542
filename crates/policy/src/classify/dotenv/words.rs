//! What names in a `.env` consist of, and how long its values may be.

/// The longest value that is told from what follows it.
pub(super) const LONGEST: usize = 4096;

/// Returns whether a letter may be in the name of a variable.
pub(super) fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
