//! Words of a command, as a shell splits it, see sh(1).

/// What stands for a part of a word that only a shell could work out. No value of a setting holds it.
pub(super) const UNKNOWN: char = '\0';

/// What separates words outside of quotes, besides space. git writes `!` before what a shell is to run.
const SEPARATORS: &str = ";|&()<>!";

/// Returns the words of a command, without their quotes, and those of commands within them.
pub(super) fn split(command: &str) -> Vec<String> {
    let mut reader = Reader { rest: command, words: Vec::new(), word: None };
    reader.read();
    reader.words
}

struct Reader<'a> {
    rest: &'a str,
    words: Vec<String>,
    word: Option<String>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        let mut is_quoted = false;
        while let Some(letter) = self.next() {
            match letter {
                '\'' if !is_quoted => {
                    let text = self.until('\'');
                    self.push(text);
                }
                '"' => {
                    is_quoted = !is_quoted;
                    self.push("");
                }
                '\\' => {
                    let escaped = self.rest.chars().next().unwrap_or_default();
                    if is_quoted && !"$`\"\\\n".contains(escaped) {
                        self.push("\\");
                    }
                    self.next();
                    self.push(escaped.encode_utf8(&mut [0; 4]));
                }
                '$' => self.expansion(),
                '`' => {
                    let inner = self.until('`');
                    self.command(inner);
                }
                space if !is_quoted && (space.is_whitespace() || SEPARATORS.contains(space)) => self.end(),
                letter => self.push(letter.encode_utf8(&mut [0; 4])),
            }
        }
        self.end();
    }

    /// Returns what follows a `$`.
    fn expansion(&mut self) {
        if let Some(rest) = self.rest.strip_prefix('(') {
            let mut depth = 1;
            let end = rest.find(|letter| {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                depth == 0
            });
            let inner = &rest[..end.unwrap_or(rest.len())];
            self.rest = end.map_or("", |end| &rest[end + 1..]);
            return self.command(inner);
        }
        let name = if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            self.until('}')
        } else {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
            // `$@` and its like have one letter.
            let end = if end == 0 { self.rest.chars().next().map_or(0, char::len_utf8) } else { end };
            let (name, rest) = self.rest.split_at(end);
            self.rest = rest;
            name
        };
        self.push(if name == "HOME" { "~" } else { "\0" });
    }

    /// Returns a command whose output is part of a word.
    fn command(&mut self, inner: &str) {
        self.words.extend(split(inner));
        self.push("\0");
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end(&mut self) {
        self.words.extend(self.word.take());
    }

    fn until(&mut self, end: char) -> &'a str {
        let (text, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (command, words) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            ("'my tools/x' \"and more\"/y", &["my tools/x", "and more/y"]),
            ("a\\ b 'it'\\''s'", &["a b", "it's"]),
            ("!f() { x/y; }; f", &["f", "{", "x/y", "}", "f"]),
            ("\"$(git rev-parse --git-dir)\"/x %f", &["git", "rev-parse", "--git-dir", "\0/x", "%f"]),
            ("`pwd`/x $PWD/y ${A:-b}/z $@ $HOME/h", &["pwd", "\0/x", "\0/y", "\0/z", "\0", "~/h"]),
            ("$(a $(b) c)d", &["a", "b", "\0", "c", "\0d"]),
            ("'open", &["open"]),
            ("\"C:\\x\" $", &["C:\\x", "\0"]),
            ("käse/ö \\", &["käse/ö", "\0"]),
            ("''", &[""]),
        ] {
            assert_eq!(split(command), words, "{command}");
        }
    }
}
