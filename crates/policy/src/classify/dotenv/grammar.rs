//! A small grammar of `.env` lines that every reader takes alike, and what is not of it.
//!
//! Each reader has a grammar of its own, and nobody knows all of them. So few forms of lines count as clear: blank lines, comments, and
//! `NAME=value` with a value that needs no quotes or stands in one pair of them. In any other line a variable that is listed counts whatever its value is.

use super::words::{QUOTES, is_of_name, is_space};

/// A part of a file that its readers may take differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Unclear<'a> {
    /// Where a name is looked for.
    pub(super) searched: Searched<'a>,
    /// What a name that is found there may get for its value.
    pub(super) reach: &'a str,
}

/// Text in which names are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Searched<'a> {
    /// A line with those that it joins by a backslash.
    Line(&'a str),
    /// The value of one: its name is judged by it.
    Value(&'a str),
}

/// Where a reader may be before a line.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Outside of quotes, for all readers.
    Outside,
    /// In quotes that began with a value, for those readers to whom it may have more lines than one.
    Within(char),
    /// Readers differ from here on.
    Unknown,
}

/// What a line is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// A line of the grammar.
    Clear,
    /// Another one, in which all quotes and brackets end that begin there.
    Closed,
    /// A value in quotes begins, and goes on in the next line to those to whom values have more than one.
    Opens(char),
    /// Any other.
    Open,
}

/// Lists what is not of the grammar.
pub(super) fn unclear(text: &str) -> Vec<Unclear<'_>> {
    let mut found = Vec::new();
    let mut state = State::Outside;
    let mut start = 0;
    while start < text.len() {
        let line = joined(&text[start..]);
        let value = value_of(line);
        let form = form_of(line, value, &text[start + line.len()..]);
        let is_sure = matches!(state, State::Outside);
        state = match (state, form) {
            (State::Outside, Form::Clear | Form::Closed) => State::Outside,
            (State::Outside, Form::Opens(quote)) => State::Within(quote),
            (State::Within(quote), _) if is_text(line, quote) => State::Within(quote),
            (State::Within(quote), _) if closes(line, quote) => State::Outside,
            _ => State::Unknown,
        };
        if !(is_sure && form == Form::Clear) {
            let value = value.filter(|_| form != Form::Open);
            let searched = value.map_or(Searched::Line(line), Searched::Value);
            let is_over = matches!(state, State::Outside) || !line.contains(QUOTES);
            found.push(Unclear { searched, reach: if is_over { line } else { &text[start..] } });
        }
        start += line.len() + 1;
    }
    found
}

/// Returns the first line of a text, with those that it joins by a backslash.
fn joined(text: &str) -> &str {
    let is_last = |at: &usize| !text[..*at].ends_with('\\');
    let end = text.match_indices('\n').map(|(at, _)| at).find(is_last);
    &text[..end.unwrap_or(text.len())]
}

fn form_of(line: &str, value: Option<&str>, rest: &str) -> Form {
    let is_one = !line.contains('\n') && !line.ends_with('\\');
    let text = line.trim_start_matches(is_space);
    let is_clear = match value {
        Some(value) => is_clear(line, value, rest),
        None => text.is_empty() || text.starts_with('#'),
    };
    if is_one && is_clear {
        return Form::Clear;
    }
    match value.and_then(opens) {
        Some(quote) => Form::Opens(quote),
        None if is_closed(line, value) => Form::Closed,
        None => Form::Open,
    }
}

/// Returns the value of a line with what stands behind it, if the line begins with a name.
fn value_of(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(is_space);
    let exported = text.strip_prefix("export").filter(|text| text.starts_with(is_space));
    let name = exported.unwrap_or(text).trim_start_matches(is_space);
    let after = name.trim_start_matches(is_of_name);
    if name.len() == after.len() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let value = match after.trim_start_matches(is_space).strip_prefix('=') {
        Some(value) => value,
        // `NAME: value`, of which a shell takes the name for that of a program.
        None => after.strip_prefix(": ")?,
    };
    Some(value.trim_start_matches(is_space))
}

/// Returns whether every reader takes this value, which ends with its line.
fn is_clear(line: &str, value: &str, rest: &str) -> bool {
    if let Some(quote) = value.chars().next().filter(|first| QUOTES.contains(first)) {
        let is_text = |inner: &str| match quote {
            '\'' => !inner.contains('\\'),
            '"' => !inner.contains(['\\', '$', '`', '\'']),
            _ => inner.is_empty(),
        };
        return value[1..].split_once(quote).is_some_and(|(inner, after)| is_text(inner) && is_over(after));
    }
    let (bare, _) = without_comment(value);
    // Some readers go on below an empty value.
    if bare.is_empty() {
        let below = rest.trim_start_matches('\n').chars().next();
        let is_below = |next: char| next.is_ascii_alphabetic() || next == '_' || next == '#';
        return value.is_empty() && below.is_none_or(is_below);
    }
    let before = &line[..line.len() - value.len()];
    // An assignment is one for a shell, too, that has no blank around its sign, and what has none in it is one word.
    let is_word = !bare.trim_end().contains(is_space)
        && before.ends_with('=')
        && !before.trim_end_matches('=').ends_with(is_space);
    bare.chars().all(is_of_text) && (is_word || !bare.contains('='))
}

/// Returns whether a letter is text in a value without quotes, to every reader.
fn is_of_text(letter: char) -> bool {
    letter.is_alphanumeric() || is_space(letter) || "-_./:@%+,=?~!*^[]{}".contains(letter)
}

/// Splits a value without quotes from the comment behind it.
fn without_comment(value: &str) -> (&str, &str) {
    let is_behind_blank = |at: &usize| *at == 0 || value[..*at].ends_with(is_space);
    let comment = value.match_indices('#').map(|(at, _)| at).find(is_behind_blank);
    value.split_at(comment.unwrap_or(value.len()))
}

/// Returns whether nothing but a comment stands behind a value in quotes.
fn is_over(after: &str) -> bool {
    let rest = after.trim_start_matches(is_space);
    rest.is_empty() || rest.len() < after.len() && rest.starts_with('#')
}

/// Returns the quote that a value opens and does not close.
fn opens(value: &str) -> Option<char> {
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    is_text(&value[1..], quote).then_some(quote)
}

/// Returns whether a line ends a value of several lines for every reader to whom values have more than one.
fn closes(line: &str, quote: char) -> bool {
    line.split_once(quote).is_some_and(|(inner, after)| {
        is_text(inner, quote) && !after.contains(QUOTES) && !after.contains('\\') && is_over(after)
    })
}

/// Returns whether every reader is still within quotes behind a text, if it is before.
fn is_text(text: &str, quote: char) -> bool {
    !text.contains(['\\', quote]) && (quote == '\'' || !text.contains(['$', '`']))
}

/// Returns whether all that begins in a line ends there, for every reader.
fn is_closed(line: &str, value: Option<&str>) -> bool {
    // A reader that joins no lines sees each of them.
    line.split("\\\n").all(|line| is_closed_line(line.strip_suffix('\\').unwrap_or(line)))
        || value.is_some_and(|value| !line.contains('\n') && is_one_in_quotes(value))
}

fn is_closed_line(line: &str) -> bool {
    let (text, _) = without_comment(line);
    let quotes: Vec<_> = text.match_indices(QUOTES).collect();
    let is_of_one_kind = quotes.iter().all(|(_, quote)| *quote == quotes[0].1);
    let is_escaped =
        quotes.iter().any(|(at, _)| ["\\", "$", "${"].iter().any(|before| text[..*at].ends_with(before)));
    quotes.len() % 2 == 0
        && is_of_one_kind
        && !is_escaped
        && balances(text, '(', ')')
        && balances(text, '{', '}')
        && !["<<", "(("].iter().any(|form| text.contains(form))
        && !has_quotes_in_braces(text)
}

/// Returns whether a quote stands in the braces of a reference, where shells differ about it.
fn has_quotes_in_braces(text: &str) -> bool {
    text.split("${").skip(1).any(|rest| rest.split('}').next().is_some_and(|inner| inner.contains(QUOTES)))
}

/// Returns whether each bracket that opens in a line closes there, and no other closes.
fn balances(text: &str, open: char, close: char) -> bool {
    let depth = text.chars().try_fold(0_usize, |depth, letter| match letter {
        _ if letter == open => Some(depth + 1),
        _ if letter == close => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

/// Returns whether a value stands in quotes that end in its line, whether or not a backslash takes the meaning from one.
fn is_one_in_quotes(value: &str) -> bool {
    let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) else { return false };
    let inner = &value[1..];
    let is_plain = |at: &usize| !inner[..*at].ends_with('\\');
    let end = inner.match_indices(quote).map(|(at, _)| at).find(is_plain);
    let is_clear = |text: &str| match quote {
        // Shells know no backslash there.
        '\'' => !text.contains('\\'),
        _ => !text.contains("\\\\") && !text.contains(['$', '`']),
    };
    end.is_some_and(|end| is_clear(&inner[..end]) && is_over(&inner[end + 1..]))
}
