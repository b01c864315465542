//! Settings in properties of Java, as `java.util.Properties.load` reads them.

use super::SettingsReader;

impl SettingsReader {
    pub(super) fn properties(&mut self, text: &str) {
        for line in logical_lines(text) {
            let (key, value) = split(&line);
            self.enter_below(Vec::new(), &unescaped(key));
            self.value(&unescaped(value));
        }
    }
}

/// Lists what Java takes for one line each, without blank lines and comments. A line that ends in a backslash goes on with the next one,
/// whatever that is, without the white space before it.
fn logical_lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let mut lines = Vec::new();
    let mut above: Option<String> = None;
    for natural in text.split(['\n', '\r']) {
        let natural = natural.trim_start_matches(is_white);
        if above.is_none() && (natural.is_empty() || natural.starts_with(['#', '!'])) {
            continue;
        }
        let backslashes = natural.len() - natural.trim_end_matches('\\').len();
        let goes_on = backslashes % 2 == 1;
        let line = above.take().unwrap_or_default() + &natural[..natural.len() - usize::from(goes_on)];
        if goes_on {
            above = Some(line);
        } else {
            lines.push(line);
        }
    }
    lines.extend(above);
    lines
}

/// Splits a line at the first `=`, `:` or white space that no backslash is before. White space may be around the first of the others.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|letter| {
        let ends = !is_escaped && (matches!(letter, '=' | ':') || is_white(letter));
        is_escaped = letter == '\\' && !is_escaped;
        ends
    });
    let Some(end) = end else { return (line, "") };
    let rest = line[end..].trim_start_matches(is_white);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], value.trim_start_matches(is_white))
}

/// Returns a text without its backslashes, and with the letters that they stand for.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        let rest = letters.as_str();
        let number = rest.strip_prefix('u').and_then(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok());
        match (number, letters.next()) {
            (Some(number), _) => {
                // Half of a letter of UTF-16 is in no key that counts.
                plain.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
                letters = rest[5..].chars();
            }
            (None, Some('t')) => plain.push('\t'),
            (None, Some('n')) => plain.push('\n'),
            (None, Some('r')) => plain.push('\r'),
            (None, Some('f')) => plain.push('\u{c}'),
            (None, Some(other)) => plain.push(other),
            (None, None) => {}
        }
    }
    plain
}

fn is_white(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\u{c}')
}
