//! Text of anybody's, as it may be shown on a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use policy::text::escape;
use sandbox::host::terminal::Charset;

/// Escapes text, whoever wrote it, so that it may be shown on one line.
pub(crate) fn one_line(text: &str) -> String {
    escape::line(text).into_owned()
}

/// Escapes text of several lines, of which each but the first is indented: none can pass for a message of ours.
pub(crate) fn lines(text: &str) -> String {
    let shown = text.split('\n').map(escape::line).enumerate().map(|(at, line)| match at {
        0 => line,
        _ if line.is_empty() || line.starts_with(' ') => line,
        _ => format!("  {line}").into(),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Escapes each line of a text.
pub(crate) fn several(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

/// Returns text of ours and others' as it is written to standard error: who reads no UTF-8 would take pieces of letters for control
/// characters.
pub(crate) fn for_stderr(text: &str) -> Cow<'_, str> {
    match Charset::of(io::stderr()) {
        Charset::Utf8 => Cow::Borrowed(text),
        Charset::Bytes => escape::ascii(text),
    }
}

/// Returns the same for standard output, which is as it is for programs.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    if shows_bytes() { escape::ascii(text) } else { Cow::Borrowed(text) }
}

/// Returns JSON for standard output, without what a terminal obeys.
pub(crate) fn json_for_stdout(text: &str) -> Cow<'_, str> {
    if shows_bytes() { escape::ascii_json(text) } else { escape::json(text) }
}

/// Returns whether standard output is a terminal that reads no UTF-8.
fn shows_bytes() -> bool {
    let stdout = io::stdout();
    stdout.is_terminal() && Charset::of(&stdout) == Charset::Bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_stranger_passes_for_one_of_ours() {
        assert_eq!(lines("cannot read a\nerror: b\n  c\n"), "cannot read a\n  error: b\n  c\n");
        assert_eq!(several("a\nb\r\n"), "a\nb\\u{d}\n");
    }
}
