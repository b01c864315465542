//! Where a line of YAML begins: in quotes, in brackets, in text over several lines, or in none of them.

/// Follows a document line by line. Where readers may differ, or read it as broken, it is unclear from there on.
#[derive(Debug, Default)]
pub(in crate::classify) struct Position {
    state: State,
    /// The column of the innermost key or list so far: what goes on with a value there is indented further.
    inner: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Where a key, an item or a value may begin.
    #[default]
    Outside,
    /// In a value without quotes: quotes are text where the line is indented further than `above`.
    Plain {
        above: usize,
    },
    /// In text after `|` or `>`, in the same way. The first line says how far all are indented.
    Lines {
        above: usize,
        own: Option<usize>,
    },
    /// In quotes, within so many brackets.
    Quoted {
        quote: char,
        depth: usize,
    },
    /// In brackets, and what was last in them.
    Brackets {
        depth: usize,
        last: Part,
    },
    Unclear,
}

/// What is in brackets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    /// A value may begin here.
    Start,
    /// The end of a key, which a space follows.
    Colon,
    Text,
    /// A value that has ended with its quotes or brackets.
    Closed,
}

impl Position {
    /// Returns whether a key may begin in the first column: whether nothing above goes on there.
    pub(in crate::classify) fn is_closed(&self) -> bool {
        !matches!(self.state, State::Quoted { .. } | State::Brackets { .. } | State::Unclear)
    }

    /// Returns whether quotes at the beginning of the next line surely begin a value.
    pub(in crate::classify) fn begins_quotes(&self) -> bool {
        match self.state {
            State::Outside | State::Plain { .. } | State::Lines { .. } => true,
            State::Brackets { last, .. } => last == Part::Start,
            State::Quoted { .. } | State::Unclear => false,
        }
    }

    /// Returns whether a line that begins with a number sign is a comment here.
    pub(in crate::classify) fn is_comment(&self, line: &str) -> bool {
        match self.state {
            State::Lines { above, .. } => indent_of(line) <= above,
            State::Quoted { .. } | State::Unclear => false,
            State::Outside | State::Plain { .. } | State::Brackets { .. } => true,
        }
    }

    /// Goes on to the end of a line.
    pub(in crate::classify) fn read(&mut self, line: &str) {
        let content = line.trim_matches(' ');
        let indent = indent_of(line);
        if content.is_empty() {
            return;
        }
        match self.state {
            State::Unclear => {}
            State::Quoted { .. } | State::Brackets { .. } => self.go_on(content),
            State::Lines { above, own } if indent > above => {
                let is_one = own.is_none_or(|own| indent >= own);
                self.state =
                    if is_one { State::Lines { above, own: own.or(Some(indent)) } } else { State::Unclear };
            }
            // A comment ends it.
            State::Plain { above } if indent > above && !content.starts_with('#') => {
                self.plain(content, above);
            }
            _ => self.begin(content, indent),
        }
    }

    /// Reads a line on which something begins, behind the marks of lists.
    fn begin(&mut self, mut content: &str, mut column: usize) {
        self.state = State::Outside;
        while let Some(after) = content.strip_prefix('-').filter(|after| is_apart(after)) {
            self.inner = column;
            let item = after.trim_start_matches(' ');
            column += content.len() - item.len();
            content = item;
        }
        let after_key = match content.chars().next() {
            Some(quote @ ('"' | '\'')) => length_in_quotes(quote, &content[1..])
                .map(|length| content[1 + length..].trim_start_matches(' '))
                .and_then(|after| after.strip_prefix(':')),
            // It has a key over several lines.
            Some('?') if is_apart(&content[1..]) => {
                self.state = State::Unclear;
                return;
            }
            Some('#' | '[' | '{' | '|' | '>') | None => None,
            Some(_) => {
                let text = content.split(" #").next().unwrap_or_default();
                let end = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1));
                end.map(|end| &content[end + 1..])
            }
        };
        match after_key.filter(|value| is_apart(value)) {
            Some(value) => {
                self.inner = column;
                self.value(value.trim_start_matches(' '));
            }
            None => self.value(content),
        }
    }

    /// Reads a value up to the end of its first line.
    fn value(&mut self, value: &str) {
        match value.chars().next() {
            None | Some('#') => self.state = State::Outside,
            Some(quote @ ('"' | '\'')) => {
                self.state = State::Quoted { quote, depth: 0 };
                self.go_on(&value[1..]);
            }
            Some('[' | '{') => {
                self.state = State::Brackets { depth: 0, last: Part::Start };
                self.go_on(value);
            }
            Some('|' | '>') => {
                let header = value[1..].split(" #").next().unwrap_or_default().trim_end_matches(' ');
                let marks = header.trim_matches(['+', '-']);
                let own = marks.parse().ok().filter(|_| marks.len() == 1).map(|own: usize| self.inner + own);
                self.state = if marks.is_empty() || own.is_some() {
                    State::Lines { above: self.inner, own }
                } else {
                    State::Unclear
                };
            }
            Some(_) => self.plain(value, self.inner),
        }
    }

    /// Reads a line of a value without quotes.
    fn plain(&mut self, text: &str, above: usize) {
        self.state = if text.contains(" #") { State::Outside } else { State::Plain { above } };
    }

    /// Reads what follows a value in quotes or brackets, which can only be a comment.
    fn end(&mut self, after: &str) {
        let is_comment = after.starts_with(' ') && after.trim_start_matches(' ').starts_with('#');
        let is_over = is_comment || after.trim_start_matches(' ').is_empty();
        self.state = if is_over { State::Outside } else { State::Unclear };
    }

    /// Goes on in quotes or brackets.
    fn go_on(&mut self, line: &str) {
        let mut rest = line;
        loop {
            match self.state {
                State::Quoted { quote, depth } => {
                    let Some(length) = length_in_quotes(quote, rest) else { return };
                    rest = &rest[length..];
                    if depth == 0 {
                        return self.end(rest);
                    }
                    self.state = State::Brackets { depth, last: Part::Closed };
                }
                State::Brackets { depth, last } => {
                    let Some(letter) = rest.chars().next() else { return };
                    let is_first = rest.len() == line.len() || line[..line.len() - rest.len()].ends_with(' ');
                    rest = &rest[letter.len_utf8()..];
                    let next = match letter {
                        ' ' => continue,
                        '#' if is_first => return,
                        _ => part_in_brackets(letter, last, depth, rest),
                    };
                    if matches!(next, State::Brackets { depth: 0, .. }) {
                        return self.end(rest);
                    }
                    self.state = next;
                }
                _ => return,
            }
        }
    }
}

/// Returns what follows a letter in brackets, which is no space and begins no comment.
fn part_in_brackets(letter: char, last: Part, depth: usize, rest: &str) -> State {
    let part = |last| State::Brackets { depth, last };
    let begins = matches!(last, Part::Start | Part::Colon);
    match letter {
        '[' | '{' if begins => State::Brackets { depth: depth + 1, last: Part::Start },
        ']' | '}' => State::Brackets { depth: depth - 1, last: Part::Closed },
        ',' => part(Part::Start),
        '"' | '\'' if begins => State::Quoted { quote: letter, depth },
        // A value may follow such a key at once.
        ':' if last == Part::Closed => part(Part::Start),
        ':' if is_apart(rest) || rest.starts_with([',', '[', ']', '{', '}']) => part(Part::Colon),
        // To some readers, one ends a key, to others it is text.
        ':' if rest.starts_with(['"', '\'']) => State::Unclear,
        '?' | '-' if begins && is_apart(rest) => State::Unclear,
        '#' if last != Part::Text => State::Unclear,
        '[' | '{' => State::Unclear,
        _ if last == Part::Closed => State::Unclear,
        _ => part(Part::Text),
    }
}

/// Returns whether what follows a mark is apart from it.
fn is_apart(after: &str) -> bool {
    after.is_empty() || after.starts_with(' ')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns how long the rest of a value in quotes is, the last one included, if it ends on this line.
pub(super) fn length_in_quotes(quote: char, rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            ('"', '\\') => {
                letters.next();
            }
            ('\'', '\'') if letters.peek().is_some_and(|(_, next)| *next == '\'') => {
                letters.next();
            }
            ('"', '"') | ('\'', '\'') => return Some(at + 1),
            ('"' | '\'', _) => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Position;

    fn after(text: &str) -> Position {
        let mut position = Position::default();
        text.split('\n').for_each(|line| position.read(line));
        position
    }

    #[test]
    fn quotes_and_brackets_that_go_on_are_noticed() {
        for text in [
            "a: \"", "a: '", "a: [", "a: {", "a: [\"", "a: [b, 'c", "a: \"b\\\"", "a: 'b''", "- \"",
            "- - 'a", "- a: \"", "a:\n  b: \"", "a:\n  \"b", "a:\n  - \"b", "a: [\n  b: \"]", "a: {b: \"}",
            "a: {\"b\":\"}", "a: \"b\n  c", "a: [\n# ]", "a: [ # ]", "\"a\": \"", "'a' : [",
            "a: \"b\n  \\\"", "a: [b]: \"",
            // What follows is broken, or differs from reader to reader.
            "a: \"b\" c", "a: {b:\"c\"}", "a: [- \"b\"]", "a: [#b\"]", "? a", "a: |x", "a: |\n    b\n  c",
            "a: [\"b\"c]", "a: [b [c]]",
        ] {
            assert!(!after(text).is_closed(), "{text:?}");
        }
    }

    #[test]
    fn a_quote_in_text_opens_nothing() {
        for text in [
            "a: it's", "a: b \"c", "- it's", "- a: it's", "a:\n  b: it's\n  c: d", "a:\n  it's\n  \"b",
            "a: b\n  \"c\n  - 'd", "a: |\n  it's\n  \"", "a: >-2\n  \"", "a: |2\n    \"b\n  'c", "- |\n  \"",
            "a:\n  - b: >\n      it's", "# it's", "a: # it's", "a: \"it's\" # it's", "a: 'b''c'",
            "a: \"b\\\"\"", "a: \"b\n  it's\"", "a: [b, it's]", "a: [\n  \"b\", # it's\n  c: 'd',\n]",
            "a: {\"b\":\"c\"}", "a: {b: [c, \"d]\"], e: 'f'}", "\"a\": b", "a: b # it's\nc: d",
            "a: http://b/'",
        ] {
            assert!(after(text).is_closed(), "{text:?}");
        }
    }

    #[test]
    fn a_number_sign_begins_a_comment_outside_of_text_alone() {
        for (text, line, is_comment) in [
            ("a: b", "# c", true),
            ("a: |", "  # b", false),
            ("a: |\n  b", "# c", true),
            ("a: \"", "# b", false),
            ("a: [", "  # b", true),
            ("a: it's", "# b", true),
        ] {
            assert_eq!(after(text).is_comment(line), is_comment, "{text:?} {line:?}");
        }
    }
}
