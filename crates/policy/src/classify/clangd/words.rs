//! The words of `.clangd`, each with what it is there. Only YAML is read in which every reader finds keys in the same places: where one begins a
//! line, or follows `{` or a comma in such brackets. Whatever else looks like a key would end the list of options in which it stands.

/// A word, and what it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Word<'a> {
    Key(&'a str),
    /// A part of a value, between spaces, quotes and brackets.
    Part(&'a str),
}

/// Where commas separate words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Commas {
    Everywhere,
    /// In brackets and outside of quotes, as YAML has it.
    InBrackets,
}

/// Lists the words of lines without comments; `None` where something looks like a key in a place where not every reader finds one.
pub(super) fn words<'a>(lines: &[&'a str], commas: Commas) -> Option<Vec<Word<'a>>> {
    let mut outline = Outline::default();
    for line in lines {
        outline.line(line, commas)?;
    }
    outline.brackets.is_empty().then_some(outline.words)
}

#[derive(Debug, Default)]
struct Outline<'a> {
    words: Vec<Word<'a>>,
    /// Those that are open.
    brackets: Vec<char>,
    /// The last letter that is no space.
    last: Option<char>,
    /// The column of the mark of the list in which this is.
    item: Option<usize>,
    /// The last key outside of brackets.
    key: Option<LastKey>,
}

#[derive(Clone, Copy, Debug)]
struct LastKey {
    column: usize,
    has_value: bool,
}

/// What is around a word in its line.
#[derive(Clone, Copy, Debug)]
struct Around {
    column: usize,
    is_quoted: bool,
    begins_line: bool,
    next: Option<char>,
}

impl<'a> Outline<'a> {
    fn line(&mut self, line: &'a str, commas: Commas) -> Option<()> {
        if line.contains('\t') {
            return None;
        }
        let line = line.trim_end_matches(' ');
        let mut begin = line.len() - line.trim_start_matches(' ').len();
        if self.brackets.is_empty() {
            if matches!(line, "---" | "...") {
                (self.item, self.key) = (None, None);
                return Some(());
            }
            if let Some(item) =
                line[begin..].strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
            {
                self.item = Some(begin);
                begin = line.len() - item.trim_start_matches(' ').len();
                // What is in the item follows in other lines, or is a list.
                if begin == line.len() || line[begin..].starts_with("- ") {
                    return None;
                }
                // What is deeper belongs to the item, and not to the key above.
                self.key = self.key.map(|key| LastKey { has_value: true, ..key });
            }
        }
        let is_item = self.item.is_some_and(|item| begin > item && line[item..begin].starts_with('-'));
        let mut quote = None;
        let mut start: Option<Around> = None;
        let mut letters = line[begin..].char_indices();
        while let Some((at, letter)) = letters.next() {
            let at = begin + at;
            let separates = match letter {
                ',' => commas == Commas::Everywhere || quote.is_none() && !self.brackets.is_empty(),
                ' ' | '"' | '\'' | '[' | ']' | '{' | '}' => true,
                _ => false,
            };
            if let Some(around) = start.take_if(|_| separates) {
                self.word(&line[around.column..at], Around { next: Some(letter), ..around })?;
            }
            match (quote, letter) {
                (Some('"'), '\\') => drop(letters.next()),
                (Some(open), _) if letter == open => quote = None,
                (None, '"' | '\'') => quote = Some(letter),
                (None, '[' | '{' | ']' | '}') => self.bracket(letter)?,
                _ => {}
            }
            if !separates && start.is_none() {
                start = Some(Around {
                    column: at,
                    is_quoted: quote.is_some(),
                    begins_line: at == begin && !is_item,
                    next: None,
                });
            }
            if separates && letter != ' ' {
                self.last = Some(letter);
            }
        }
        match start {
            Some(around) => self.word(&line[around.column..], around),
            None => Some(()),
        }
    }

    fn bracket(&mut self, bracket: char) -> Option<()> {
        match bracket {
            // A list of options holds no mapping.
            '{' if self.brackets.last() == Some(&'[') => return None,
            '[' | '{' => {
                self.has_value();
                self.brackets.push(bracket);
            }
            _ => {
                let fits = match self.brackets.pop() {
                    Some('[') => bracket == ']',
                    Some(_) => bracket == '}',
                    // It is text.
                    None => true,
                };
                return fits.then_some(());
            }
        }
        Some(())
    }

    /// Remembers that something follows the last key outside of brackets.
    fn has_value(&mut self) {
        if let Some(key) = self.key.as_mut().filter(|_| self.brackets.is_empty()) {
            key.has_value = true;
        }
    }

    fn word(&mut self, word: &'a str, around: Around) -> Option<()> {
        let word = word.trim_end_matches(',');
        if word.starts_with(':') || word == "?" {
            return None;
        }
        let Some(key) = word.strip_suffix(':') else {
            self.has_value();
            self.last = word.chars().next_back().or(self.last);
            if !word.is_empty() && word != "-" {
                self.words.push(Word::Part(word));
            }
            return Some(());
        };
        if !self.is_key(key, around) {
            return None;
        }
        if self.brackets.is_empty() {
            self.key = Some(LastKey { column: around.column, has_value: false });
            self.item = None;
        }
        self.last = Some(':');
        self.words.push(Word::Key(key));
        Some(())
    }

    /// Returns whether every reader finds a key here.
    fn is_key(&self, key: &str, around: Around) -> bool {
        let is_name = !key.starts_with('-')
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let is_here = match self.brackets.last() {
            // Deeper than an item it would be in that, and deeper than a key with a value in none.
            None => {
                let above = self.key.is_none_or(|key| around.column <= key.column || !key.has_value);
                around.begins_line && above && self.item.is_none_or(|item| around.column <= item)
            }
            Some('{') => matches!(self.last, Some('{' | ',')),
            Some(_) => false,
        };
        is_name && is_here && !around.is_quoted && matches!(around.next, None | Some(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::Word::{Key, Part};
    use super::*;

    #[test]
    fn keys_are_found_where_every_reader_finds_them() {
        let read = |text: &'static str| words(&text.split('\n').collect::<Vec<_>>(), Commas::InBrackets);
        assert_eq!(
            read("A: {B: [-x, 'y z'], C: d}\nE:\n- f,g\nH: \"i\"\n---\n  J:"),
            Some(vec![
                Key("A"),
                Key("B"),
                Part("-x"),
                Part("y"),
                Part("z"),
                Key("C"),
                Part("d"),
                Key("E"),
                Part("f,g"),
                Key("H"),
                Part("i"),
                Key("J"),
            ])
        );
        assert_eq!(read("A: {\n  B: c,\n  D: e\n}"), read("A: {B: c, D: e}"));
        for text in [
            "A: [\"b:\", c]", "A: [b: c]", "A: [b:, c]", "A: [{B: c}]", "A: [{}]", "- A: b",
            "A:\n  -\n    B: c", "A:\n  - b\n    C: d", "A: b\n  C: d", "A:\n  b\n  C: d", "A: b C: d",
            "A: {b C: d}", "A: [b", "A: b:,", "-A: b", "\"A\": b", "A:\tb", "A:\n- - b",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
