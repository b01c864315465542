//! Scripts: text whose beginning says which program runs it, whatever its file is called.

/// How much of a text is read to see whether it is a script, in bytes.
pub(super) const MOST: usize = 4096;

/// Returns whether a text is a script: it begins with `#!`, for some programs also behind white space. Where only the first [`MOST`] bytes
/// count, and these are white space, it may be one.
pub(super) fn is_one(content: &[u8], is_cut: bool) -> bool {
    let text = String::from_utf8_lossy(if is_cut { &content[..MOST] } else { content });
    let text = text.trim_start_matches(is_blank);
    text.starts_with("#!") || is_cut && text.is_empty()
}

/// Returns whether a letter is white space to any reader. Python takes more control characters for that than others do, but not NUL.
pub(super) fn is_blank(letter: char) -> bool {
    letter == '\u{feff}' || letter.is_whitespace() || letter.is_control() && letter != '\0'
}
