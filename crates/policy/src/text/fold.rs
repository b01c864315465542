//! Names as file systems compare them that ignore upper and lower case.

use std::borrow::Cow;
use std::path::Path;

/// Folds a path: every name of ASCII has the same form as each other name that such a file system finds it under.
pub fn path(path: &Path) -> String {
    name(path.as_os_str().as_encoded_bytes()).into_owned()
}

/// Folds a name. One that is not UTF-8 is folded as far as it is.
pub fn name(name: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(name);
    if text.is_ascii() {
        let is_folded = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if is_folded { text } else { Cow::Owned(text.to_ascii_lowercase()) };
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars().filter(|character| !is_ignored(*character)) {
        match in_ascii(character) {
            Some(letters) => folded.push_str(letters),
            None => folded.push(character.to_ascii_lowercase()),
        }
    }
    Cow::Owned(folded)
}

/// Returns whether such a file system finds both names under one.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other) || !(one.is_ascii() && other.is_ascii()) && name(one) == name(other)
}

/// Returns the letters of ASCII that a character beyond it is, in one case or both: see `CaseFolding.txt` of Unicode, and for the dotless and
/// the dotted I what they are in upper and lower case.
fn in_ascii(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{df}' | '\u{1e9e}' => "ss",
        '\u{130}' | '\u{131}' => "i",
        '\u{17f}' => "s",
        '\u{212a}' => "k",
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => return None,
    })
}

/// Returns whether some of these file systems take a character for nothing: `Default_Ignorable_Code_Point` of Unicode. HFS+ ignores some of
/// them, as git has them in `utf8.c`; ext4, F2FS and tmpfs with case folding ignore all.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form_in_whatever_letters_a_file_system_finds_it() {
        for (other, folded) in [
            ("mise.toml", "mise.toml"),
            ("MISE.Toml", "mise.toml"),
            ("mi\u{17f}e.toml", "mise.toml"),
            (".vs\u{200c}code", ".vscode"),
            ("\u{212a}.E\u{fb03}", "k.effi"),
            ("\u{fb05}art\u{df}", "startss"),
            ("M\u{131}SE.toml", "mise.toml"),
            // What is no letter of ASCII in any form stays, also in case.
            ("Ärger.toml", "Ärger.toml"),
        ] {
            assert_eq!(name(other.as_bytes()), folded, "{other:?}");
        }
        assert_eq!(name(b"A\xff"), "a\u{fffd}");
        assert!(is_same(b"HEAD", b"head") && is_same(".\u{17f}l".as_bytes(), b".SL") && !is_same(b"a", b"b"));
        assert_eq!(path(Path::new("A/.Ba\u{17f}hrc")), "a/.bashrc");
    }
}
