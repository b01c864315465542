//! Lines of YAML: where a comment, a value in quotes, a tag or an anchor begins.

mod position;

pub(super) use self::position::Position;
use self::position::length_in_quotes;

/// Returns a line of YAML without its comment, if it surely is one: in quotes it is text. Where quotes begin or end in an unusual place,
/// they may go on.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut is_unusual = false;
    let mut last = ' ';
    // The last one but spaces, and whether there is another one before it.
    let (mut last_of_text, mut has_more) = (None, false);
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if last == ' ' && at > 0 && !is_unusual => return line[..at].trim_matches(' '),
            (None, '"' | '\'') => {
                quote = Some(letter);
                is_unusual |= match last_of_text {
                    None | Some('[' | '{' | ',' | ':') => false,
                    Some('-') => has_more,
                    Some(_) => true,
                };
            }
            (Some(open), _) if letter == open => {
                quote = None;
                is_unusual |= !line[at + 1..].starts_with([' ', ',', ']', '}', ':']) && at + 1 < line.len();
            }
            // What it does depends on the quotes.
            (Some(_), '\\') => is_unusual = true,
            _ => {}
        }
        if letter != ' ' {
            has_more = last_of_text.is_some();
            last_of_text = Some(letter);
        }
        last = letter;
    }
    line.trim_matches(' ')
}

/// Returns what is in the quotes of a value, if they are around all of it.
pub(super) fn unquoted(value: &str) -> &str {
    let value = value.trim_matches(' ');
    let inner = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// Returns whether a tag or an anchor may begin in a line: a type, for which some readers call a function, or a name by which another
/// key gets the same value. Of either, readers take nearly any letters for the rest, also encoded ones. An alias is none without an
/// anchor. In quotes these are text, if what is above lets quotes begin a value here.
pub(super) fn has_tag_or_anchor(line: &str, above: &Position) -> bool {
    let mut before = Before::default();
    let mut in_quotes = 0;
    for (at, letter) in line.char_indices() {
        let after = &line[at + letter.len_utf8()..];
        if at >= in_quotes {
            let is_one = match letter {
                '!' => before.begins_node(),
                // A lone ampersand is an error to every reader.
                '&' => before.begins_node() && !after.is_empty() && !after.starts_with(' '),
                _ => false,
            };
            if is_one {
                return true;
            }
            if above.begins_quotes() && before.surely_begins_quotes() {
                in_quotes =
                    length_in_quotes(letter, after).map_or(0, |length| line.len() - after.len() + length);
            }
        }
        before.push(letter);
    }
    false
}

/// What counts of the part of a line that is before a letter. It is kept while the line is read, since a line may be as long as its file.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The last letter but spaces.
    last: Option<char>,
    /// How many letters there are up to that one.
    length: usize,
    /// How many of these are dashes from the first column on, without anything else.
    dashes: usize,
    /// Whether the last one is all but spaces.
    is_alone: bool,
    /// Whether a value or a key may begin in the place of the last one.
    is_node: bool,
    /// How many spaces follow it.
    spaces: usize,
    has_quotes: bool,
    /// Whether the first bracket is at the beginning of a value; `None` without one.
    bracket: Option<bool>,
}

impl Before {
    fn push(&mut self, letter: char) {
        if letter == ' ' {
            self.spaces += 1;
            return;
        }
        if matches!(letter, '[' | '{') && self.bracket.is_none() {
            self.bracket = Some(self.is_beginning());
        }
        let is_next_dash = letter == '-' && self.spaces == 0 && self.dashes == self.length;
        *self = Self {
            last: Some(letter),
            length: self.length + self.spaces + 1,
            dashes: self.dashes + usize::from(is_next_dash),
            is_alone: self.last.is_none(),
            is_node: self.begins_node(),
            spaces: 0,
            has_quotes: self.has_quotes || matches!(letter, '"' | '\''),
            bracket: self.bracket,
        };
    }

    /// Returns whether a value or a key may begin after this.
    fn begins_node(self) -> bool {
        let is_apart = self.spaces > 0;
        match self.last {
            // To some readers, nothing needs to follow the colon of a mapping in braces, nor its question mark.
            None | Some('[' | '{' | ',' | ':') => true,
            Some('?') => self.is_node,
            Some('-') => is_apart && (self.is_node || self.dashes == 3 && self.length == 3),
            Some(_) => false,
        }
    }

    /// Returns whether every reader takes a quote after this for the beginning of a value. In plain text, which may be a key, a comma and a
    /// bracket are text themselves.
    fn surely_begins_quotes(self) -> bool {
        self.is_beginning() || self.bracket == Some(true) && matches!(self.last, Some('[' | '{' | ','))
    }

    /// Returns whether this is the beginning of a line, up to a value: the mark of an item, or what ends a key.
    fn is_beginning(self) -> bool {
        let is_apart = self.spaces > 0;
        match self.last {
            None => true,
            Some('-') => is_apart && self.is_alone,
            Some(':') => is_apart && !self.has_quotes,
            Some(_) => false,
        }
    }
}
