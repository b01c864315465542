//! Untrusted text, escaped for a person: on one line, and with nothing that a terminal interprets.
//!
//! File names and configuration are untrusted. What would move the cursor, change colours, begin a line or turn the
//! direction of writing could make a person see something else than what is there.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Escapes a text.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Escapes whatever is not ASCII: for who reads single bytes, some of which are control characters then.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if character.is_ascii() {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    Cow::Owned(shown)
}

/// Escapes what is in the strings of a JSON text. It stays the same JSON.
pub fn json(text: &str) -> Cow<'_, str> {
    // Control characters of ASCII are escaped already, but for the last one, or are white space between what is no string.
    json_where(text, |character| is_escaped(character) && !character.is_ascii() || character == '\u{7f}')
}

/// Escapes the same, and whatever is not ASCII.
pub fn ascii_json(text: &str) -> Cow<'_, str> {
    json_where(text, |character| !character.is_ascii() || character == '\u{7f}')
}

fn json_where(text: &str, is_raw: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_raw) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_raw(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Escapes a path. Bytes that are not UTF-8 are `\xNN`.
pub fn path(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Escapes a path as part of a sentence: quoted, unless it is plain, so that it cannot be taken for more of the sentence, and that no shell
/// runs what is in it.
pub fn path_in_text(name: &Path) -> String {
    let shown = path(name);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%~#=$*".contains(&byte);
    if shown.bytes().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', "\\u{27}")) }
}

/// Returns whether a character is never shown as it is.
pub(crate) fn is_escaped(character: char) -> bool {
    character.is_control()
        || !character.is_ascii()
            && (BIDIRECTIONAL.contains(&character)
                || ENDS_OF_LINES.contains(&character)
                || INVISIBLE.iter().any(|range| range.contains(&character)))
}

/// The characters that change the direction of writing, see Unicode Standard Annex 9.
const BIDIRECTIONAL: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// The characters that are shown as nothing (`Default_Ignorable_Code_Point` in `DerivedCoreProperties.txt` of Unicode).
const INVISIBLE: [RangeInclusive<char>; 14] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200d}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The ends of lines and paragraphs that are no control characters.
const ENDS_OF_LINES: [char; 2] = ['\u{2028}', '\u{2029}'];

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn json_stays_the_same_json_without_what_a_terminal_obeys() {
        let value = "a\u{9b}6n\u{9d}52;c;x\u{9c}\u{7f}\u{202e}\u{e0001}\n\u{e9}\u{1f600}";
        let text = serde_json::to_string_pretty(&serde_json::json!({ "output": value })).unwrap();
        let shown = json(&text);
        assert!(!shown.contains(|letter: char| letter != '\n' && is_escaped(letter)), "{shown}");
        assert!(shown.contains("\u{e9}\u{1f600}"));
        let ascii = ascii_json(&text);
        assert!(ascii.is_ascii(), "{ascii}");
        for shown in [shown, ascii] {
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read["output"], value);
        }
    }

    #[test]
    fn untrusted_text_cannot_draw_on_the_terminal() {
        assert_eq!(
            line("a\u{1b}[2K\nb\u{9b}\u{202e}c\u{2028}"),
            "a\\u{1b}[2K\\u{a}b\\u{9b}\\u{202e}c\\u{2028}"
        );
        assert_eq!(line("résumé 日本"), "résumé 日本");
        assert_eq!(line("a\u{200b}b\u{ad}\u{3164}"), "a\\u{200b}b\\u{ad}\\u{3164}");
    }

    #[test]
    fn what_is_read_byte_by_byte_is_ascii() {
        // The second byte of each begins a sequence in ISO 8859.
        assert_eq!(ascii("\u{11b}31m\u{1f9b} a\x1b[m"), "\\u{11b}31m\\u{1f9b} a\x1b[m");
    }

    #[test]
    fn a_name_cannot_be_taken_for_more_of_the_sentence() {
        let shown = |name: &str| path_in_text(Path::new(name));
        assert_eq!(shown("/workspace/.foo_rc-1"), "/workspace/.foo_rc-1");
        assert_eq!(shown(".a: it is harmless"), "'.a: it is harmless'");
        assert_eq!(shown(".a', 'b"), "'.a\\u{27}, \\u{27}b'");
    }

    #[test]
    fn a_name_need_not_be_text() {
        let shown = |bytes: &[u8]| path(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(shown(b"a/\xff\nerror: b\xc3"), "a/\\xff\\u{a}error: b\\xc3");
        assert_eq!(shown("日本".as_bytes()), "日本");
        assert_eq!(shown(b""), "");
    }
}
