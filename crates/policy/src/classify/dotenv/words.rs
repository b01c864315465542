//! Of which letters names in a `.env` and what is between them consist, and how long its values may be.

/// What readers take for quotes; a shell runs what is between backticks.
pub(super) const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The longest value that is told from what follows it.
pub(super) const LONGEST: usize = 4096;

/// Returns whether a letter may be in the name of a variable.
pub(super) fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns whether a letter is white space within a line to every reader.
pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

/// Returns whether a letter is white space to some reader: U+FEFF is to JavaScript, and Unicode had another idea of others once.
pub(super) fn may_be_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{feff}' | '\u{180e}' | '\u{200b}')
}
