//! Text of anybody's, as it may be shown on a terminal.

use policy::text::escape;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_stranger_passes_for_one_of_ours() {
        assert_eq!(lines("cannot read a\nerror: b\n  c\n"), "cannot read a\n  error: b\n  c\n");
        assert_eq!(several("a\nb\r\n"), "a\nb\\u{d}\n");
    }
}
