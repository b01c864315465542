//! JSON with the comments and trailing commas that editors allow.

use super::value::is_unclear;

/// Whether a reader takes comments in JSON for such.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Comments {
    Allowed,
    Refused,
}

/// Strips the comments and trailing commas that editors allow from JSON; `None` if readers differ about where they end.
pub(super) fn plain_json(text: &str, comments: Comments) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let (length, is_comment) = match first {
            '"' => (string_length(rest), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => (rest[2..].find("*/").map(|end| end + 4)?, true),
            other => (other.len_utf8(), false),
        };
        let (taken, after) = rest.split_at(length);
        let is_refused = is_comment && comments == Comments::Refused;
        if is_refused || first != '"' && taken.contains(is_unclear) {
            return None;
        }
        if matches!(first, ']' | '}') {
            let content = plain.trim_end().len();
            if plain[..content].ends_with(',') {
                plain.truncate(content - 1);
            }
        }
        if !is_comment {
            plain.push_str(taken);
        }
        rest = after;
    }
    Some(plain)
}

/// Returns how long the string is that `text` begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
