//! Words of a command, as a shell splits it, see sh(1). In bytes: names of files need not be text.

/// What stands for a part of a word that only a shell could work out. No value of a setting holds it.
pub(super) const UNKNOWN: u8 = 0;

/// What separates words outside of quotes, besides space. git writes `!` before what a shell is to run.
const SEPARATORS: &[u8] = b";|&()<>!";

/// How deep commands within commands are told apart. An agent may write thousands within each other, and the stack ends.
const LEVELS: u32 = 32;

/// Returns the words of a command, without their quotes, and those of commands within them.
pub(super) fn split(command: &[u8]) -> Vec<Vec<u8>> {
    split_to(command, LEVELS)
}

fn split_to(command: &[u8], levels: u32) -> Vec<Vec<u8>> {
    let mut reader = Reader { rest: command, words: Vec::new(), word: None, levels };
    reader.read();
    reader.words
}

struct Reader<'a> {
    rest: &'a [u8],
    /// How many more levels of commands are told apart. Below them `$(` is of no more meaning than `(`.
    levels: u32,
    words: Vec<Vec<u8>>,
    word: Option<Vec<u8>>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        let mut is_quoted = false;
        while let Some(byte) = self.next() {
            match byte {
                b'\'' if !is_quoted => {
                    let text = self.until(b'\'');
                    self.push(text);
                }
                b'"' => {
                    is_quoted = !is_quoted;
                    self.push(b"");
                }
                b'\\' => {
                    let escaped = self.rest.first().copied().unwrap_or_default();
                    if is_quoted && !b"$`\"\\\n".contains(&escaped) {
                        self.push(b"\\");
                    }
                    self.next();
                    self.push(&[escaped]);
                }
                b'$' => self.expansion(),
                b'`' if self.levels > 0 => {
                    let inner = self.until(b'`');
                    self.command(inner);
                }
                space if !is_quoted && (space.is_ascii_whitespace() || SEPARATORS.contains(&space)) => {
                    self.end();
                }
                byte => self.push(&[byte]),
            }
        }
        self.end();
    }

    /// Returns what follows a `$`.
    fn expansion(&mut self) {
        if let Some(rest) = self.rest.strip_prefix(b"(").filter(|_| self.levels > 0) {
            let mut depth = 1;
            let end = rest.iter().position(|byte| {
                depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
                depth == 0
            });
            let inner = &rest[..end.unwrap_or(rest.len())];
            self.rest = end.map_or(b"", |end| &rest[end + 1..]);
            return self.command(inner);
        }
        let name = if let Some(rest) = self.rest.strip_prefix(b"{") {
            self.rest = rest;
            self.until(b'}')
        } else {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = self.rest.iter().position(|byte| !is_part(byte)).unwrap_or(self.rest.len());
            // `$@` and its like have one letter.
            let (name, rest) = self.rest.split_at(end.max(1).min(self.rest.len()));
            self.rest = rest;
            name
        };
        self.push(if name == b"HOME" { b"~" } else { &[UNKNOWN] });
    }

    /// Returns a command whose output is part of a word.
    fn command(&mut self, inner: &[u8]) {
        self.words.extend(split_to(inner, self.levels.saturating_sub(1)));
        self.push(&[UNKNOWN]);
    }

    fn push(&mut self, text: &[u8]) {
        self.word.get_or_insert_default().extend(text);
    }

    fn end(&mut self) {
        self.words.extend(self.word.take());
    }

    fn until(&mut self, end: u8) -> &'a [u8] {
        let at = self.rest.iter().position(|byte| *byte == end);
        let text = &self.rest[..at.unwrap_or(self.rest.len())];
        self.rest = at.map_or(b"", |at| &self.rest[at + 1..]);
        text
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
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
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            assert_eq!(split(command.as_bytes()), words, "{command}");
        }
        let deep = [b"$(".repeat(100_000), b"tools/x".to_vec(), b")".repeat(100_000)].concat();
        let words = split(&deep);
        assert!(words.iter().any(|word| word.ends_with(b"tools/x")), "and so is one in a thousand others");
    }
}
