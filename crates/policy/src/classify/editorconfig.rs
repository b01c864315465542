//! How text is indented (`.editorconfig`): Kakoune writes some of the values into a command of its own, which may run others.
//!
//! Only those are classified, each of which is a plain word. Other programs have settings there too, .NET hundreds, with text in them.

use super::reason::Reason;

/// The settings that `editorconfig-load` of Kakoune takes.
const KEYS: [&str; 8] = [
    "charset", "end_of_line", "indent_size", "indent_style", "insert_final_newline", "max_line_length",
    "tab_width", "trim_trailing_whitespace",
];

/// A longer line some readers take for several.
const LONG: usize = 190;

/// So many settings no line has that a person writes.
const MANY: usize = 10;

/// How much of a setting is shown.
const SHOWN: usize = 100;

/// Classifies a file: the first setting whose value is no plain word.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    odd(content).into_iter().next().map(|key| Reason::Setting { key })
}

/// Returns what counts of a file: a change of anything else is none.
pub(super) fn essence(content: &[u8]) -> Vec<u8> {
    odd(content).join("\n").into_bytes()
}

/// Lists the settings whose value is no plain word, with it.
fn odd(content: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    text.split(['\n', '\r'])
        .filter(|line| is_odd(line))
        .map(|line| line.trim().chars().take(SHOWN).collect())
        .collect()
}

fn is_odd(line: &str) -> bool {
    let trimmed = line.trim();
    // To a reader in Python some are blanks.
    if trimmed.contains(|letter: char| letter.is_control() && letter != '\t') {
        return true;
    }
    // What follows the name of a section is not for all readers nothing.
    if line.len() > LONG || trimmed.starts_with('[') {
        let mut settings = settings_within(trimmed).take(MANY + 1).enumerate();
        return settings.any(|(count, value)| count == MANY || !is_harmless(value));
    }
    if trimmed.starts_with(['#', ';']) {
        return false;
    }
    match trimmed.split_once(['=', ':']) {
        Some((key, value)) => is_key(key) && !is_harmless(value),
        // Some readers take it for more of the value above.
        None => !is_harmless(trimmed),
    }
}

fn is_key(key: &str) -> bool {
    KEYS.iter().any(|known| known.eq_ignore_ascii_case(key.trim()))
}

/// Lists the values of all settings in a line, wherever they are.
fn settings_within(line: &str) -> impl Iterator<Item = &str> {
    // Where what stands before ends, without the blanks behind it: a line of a megabyte is read once.
    let mut end = 0;
    line.bytes().enumerate().filter_map(move |(at, byte)| {
        let before = &line.as_bytes()[..end];
        if !byte.is_ascii_whitespace() {
            end = at + 1;
        }
        let ends_with = |key: &str| {
            let from = before.len().checked_sub(key.len());
            from.is_some_and(|from| before[from..].eq_ignore_ascii_case(key.as_bytes()))
        };
        (b"=:".contains(&byte) && KEYS.iter().any(|key| ends_with(key))).then(|| &line[at + 1..])
    })
}

/// Returns whether a value is one plain word, or none. What follows a `#` is a comment to the reader, or else to Kakoune, unless it ends
/// what is around it there.
fn is_harmless(value: &str) -> bool {
    let (word, comment) = value.split_once(" #").unwrap_or((value, ""));
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    word.trim().bytes().all(is_part) && !comment.contains(|letter: char| "%{}()`$\\\"'".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kakoune_would_run_is_found() {
        for content in [
            "[*]\nindent_size = 4; nop %sh{id}",
            "[*]\nINDENT_SIZE=4 ;nop %sh{id}",
            "[*]\nindent_style : space; source x.kak",
            "[*]\ntab_width = 4 # } ; nop %sh{ id",
            "[*]\nmax_line_length = a[$(id)]",
            "[*]\rtab_width = `id`",
            "[*]\n\u{1c}tab_width\u{1c}= 4; nop %sh{id}",
            "\u{feff}tab_width = 4 4",
            "[*] tab_width = 4; nop %sh{id}",
            "[*]\ntab_width = 4\n  ; x\n  4 %sh{id}",
            &format!("[*]\n# {}\ttab_width = 4; nop %sh{{id}}", "x".repeat(4990)),
            &format!("[*]\nx = {}\ttab_width = 4; nop %sh{{id}}", "x".repeat(190)),
        ] {
            assert!(matches!(classify(content.as_bytes()), Some(Reason::Setting { .. })), "{content}");
        }
    }

    #[test]
    fn a_line_without_end_is_read_once() {
        for part in ["=", " =", "tab_width=4 # ", "x = 1 "] {
            let line = format!("[*]\n{}", part.repeat((1 << 20) / part.len()));
            let began = std::time::Instant::now();
            let counts = classify(line.as_bytes()).is_some();
            assert_eq!(counts, part.starts_with("tab"), "{part}");
            assert!(began.elapsed() < std::time::Duration::from_secs(5), "{part}: {:?}", began.elapsed());
        }
        let blanks = format!("[*]\ntab_width{}= 4; nop %sh{{id}}", " ".repeat(4000));
        assert!(classify(blanks.as_bytes()).is_some());
    }

    #[test]
    fn what_projects_have_passes() {
        for content in [
            "",
            "root = true\n\n[*]\nindent_style = space\nindent_size = 2\nend_of_line = lf\ncharset = utf-8\ntrim_trailing_whitespace = true\ninsert_final_newline = true\n",
            "[*.{js,jsx,ts,tsx}]\r\nindent_size = tab\r\ntab_width = 4\r\nmax_line_length = off\r\n",
            "[{package.json,*.y{a,}ml}]\nindent_size = 2 # as npm does\n; indent_size = 4; or so\n# see https://editorconfig.org (indent_size = 4)\n",
            "[Makefile]\n  indent_style = tab\n  charset = utf-8-bom\n  end_of_line = unset\n  indent_size =\n",
            "[*.cs]\nfile_header_template = Licensed to {fileName};\\nto the .NET Foundation under one or more \"agreements\".\n\
             csharp_new_line_before_open_brace = all\ndotnet_diagnostic.CA1000.severity = none # $(why)\n\
             csharp_preferred_modifier_order = public,private:suggestion\n\
             dotnet_naming_rule.x.severity = suggestion\n",
            "[*.java]\nij_java_imports_layout = *, |, javax.**, java.**, |, $*\nij_formatter_off_tag = @formatter:off\n",
            &format!("[*.cs]\nfile_header_template = {}; the {{tab}} license\n", "x".repeat(400)),
            "[*.md]\nmax_line_length = 120\ntrim_trailing_whitespace = false\nspelling_language = en-US\n",
        ] {
            assert_eq!(classify(content.as_bytes()), None, "{content}");
        }
    }
}
