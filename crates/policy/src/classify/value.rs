//! Values of settings: whether one is of the type that its key has in the list of harmless ones.

use crate::protect::table::harmless::ValueType;

impl ValueType {
    /// Returns whether a value of this type may go on over lines, of which each is looked at.
    pub(super) fn is_of_lines(self) -> bool {
        matches!(self, Self::Text | Self::Without(_) | Self::Words | Self::Lines(_))
    }

    /// Returns whether a value is of this type. One that is empty is of any.
    pub(super) fn fits(self, value: &str) -> bool {
        let is_of_type = match self {
            Self::Word => is_plain(value),
            Self::Model => is_model(value),
            Self::Pattern => is_pattern(value),
            Self::Text => true,
            Self::Is(only) => value == only,
            Self::Begins(beginning) => is_plain(value) && value.starts_with(beginning),
            // A backslash may stand for any letter.
            Self::Without(mark) => !value.contains(mark) && !value.contains('\\'),
            Self::Words => {
                value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-.,:*?+'\"".contains(&byte))
            }
            // These say themselves what a program expands.
            Self::Lines(lines) => return value.is_empty() || lines.contains(&value.trim_matches(' ')),
        };
        value.is_empty() || is_of_type && !expands(value)
    }
}

/// Returns whether a word is no path, no address, no command and no option of one.
pub(super) fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_option = word.starts_with('-') && word.parse::<f64>().is_err();
    !word.is_empty() && word.bytes().all(is_plain) && !word.starts_with('.') && !is_option
}

/// Returns whether a name is that of a model, after a provider's: an address or a path has more slashes, or a colon.
fn is_model(name: &str) -> bool {
    let names: Vec<&str> = name.split('/').collect();
    let is_name =
        |name: &&str| name.split([' ', '(', ')', '[', ']']).all(|word| word.is_empty() || is_plain(word));
    names.len() <= 2 && names.iter().all(|name| !name.is_empty()) && names.iter().all(is_name)
}

/// Returns whether a pattern of files stays within the directory, however its braces and wildcards are expanded.
fn is_pattern(pattern: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "._+-*?/[]{}!,()@# ".contains(letter);
    // What a path from the root, or an address, has before a slash is no part of a name.
    let is_within = |(at, _): (usize, &str)| {
        pattern[..at].ends_with(|last: char| last.is_alphanumeric() || "._+-*?]})@".contains(last))
    };
    pattern.chars().all(is_part) && !pattern.contains("..") && pattern.match_indices('/').all(is_within)
}

/// Returns whether a program might run a command, hand over a variable, or read a file, to make something else of a value.
fn expands(value: &str) -> bool {
    let begins = |rest: &str| rest.starts_with(|next: char| next == '_' || next.is_ascii_alphabetic());
    let mut after_dollars = value.split('$').skip(1);
    ["${", "$(", "!{", "@{", "{env:", "{file:", "{{"].into_iter().any(|mark| value.contains(mark))
        || after_dollars.any(begins)
        // `%NAME%`
        || value.split('%').skip(1).any(begins) && value.matches('%').count() > 1
}

/// Returns whether some readers end a line at a character, or leave it out, and others do not. A carriage return is one where no
/// newline follows it.
pub(super) fn is_unclear(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}') || letter.is_control() && !matches!(letter, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::ValueType::{self, Model, Pattern, Text, Word};

    #[test]
    fn a_value_that_could_carry_a_command_an_address_or_a_path_is_of_no_type() {
        for value in [
            "https://evil.example", "oobabooga/http://127.0.0.1/https", "//evil.example/x", "/etc/passwd",
            "~/.ssh/id_rsa", "../x", "a/../../x", "$HOME/x", "%HOME%/x", "{{exec(command='evil')}}", "C:\\x",
            "sh -c 'evil'; x", "`evil`", "{/etc,a}/x", "a,/etc/x", "!/etc", "a//b", "{env:KEY}", "@{x}",
        ] {
            for value_type in [Word, Model, Pattern] {
                assert!(!value_type.fits(value), "{value_type:?}: {value}");
            }
        }
        for (value_type, value) in [
            (Word, "a/b"),
            (Word, "a b"),
            (Word, "--evil"),
            (Model, "a/b/c"),
            (Model, "a:b"),
            (Model, "/a"),
            (Model, "../a"),
            (Model, "--x"),
            (Text, "${x}"),
            (Text, "$(x)"),
            (Text, "!{x}"),
            (Text, "@{x}"),
            (ValueType::Is("."), "./node_modules"),
            (ValueType::Begins("known."), "evil.known.x"),
            (ValueType::Begins("known."), "known.x::y/z"),
            (ValueType::Without("evil"), "an evil one"),
            (ValueType::Without("evil"), "ev\\x69l"),
            (ValueType::Words, "__import__('os').system('evil')"),
            (ValueType::Lines(&["file: a.md"]), "file: a.md b"),
            (ValueType::Lines(&["file: a.md"]), "file: /a.md"),
        ] {
            assert!(!value_type.fits(value), "{value_type:?}: {value}");
        }
    }

    #[test]
    fn a_value_of_its_type_passes() {
        for (value_type, value) in [
            (Word, "true"),
            (Word, "-1"),
            (Word, "-0.5"),
            (Word, "node-modules"),
            (Word, "esbenp.prettier-vscode"),
            (Word, ""),
            (Model, "opus"),
            (Model, "anthropic/claude-sonnet-4-5"),
            (Model, "Claude Sonnet 4.5 (copilot)"),
            (Model, "opus[1m]"),
            (Pattern, "**/*.{ts,tsx}"),
            (Pattern, "src/(app)/[id]/**"),
            (Pattern, "!**/test/**"),
            (Pattern, "a/**, b/*.md"),
            (Pattern, ".venv"),
            (Text, "Use it: when https://example.org says so"),
            (ValueType::Is("."), "."),
            (ValueType::Begins("known."), "known.filters.x"),
            (ValueType::Without("evil"), "a: b"),
            (ValueType::Words, "  PKG: '*'"),
            (ValueType::Lines(&["file: a.md", "{{ .Content }}"]), "  {{ .Content }}"),
        ] {
            assert!(value_type.fits(value), "{value_type:?}: {value}");
        }
    }
}
