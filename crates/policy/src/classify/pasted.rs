//! Names that other programs paste into text that is run: those of branches into prompts, and those of patches into programs of awk.

use super::reason::Reason;
use super::repository::is_expanded;
use crate::protect::table::content::FileFormat;

/// Classifies a file with the name of a branch or a bookmark, which themes of shells put into the prompt as it is.
pub(super) fn classify_name(content: &[u8]) -> Option<Reason> {
    let name = content.trim_ascii();
    is_expanded(name).then(|| setting(&String::from_utf8_lossy(name)))
}

/// Classifies a list of patches: names with options of patch(1) and comments, see quilt(1). Quilt puts names into programs of awk.
pub(super) fn classify_patches(content: &[u8]) -> Option<Reason> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    };
    let words = text.lines().map(without_comment).flat_map(str::split_ascii_whitespace);
    let mut odd = words.filter(|word| !is_name_of_patch(word) && !is_option_of_patch(word));
    odd.next().map(setting)
}

/// Returns a line without its comment, which begins at a number sign behind a blank.
fn without_comment(line: &str) -> &str {
    let begins = |at: usize| line[..at].chars().next_back().is_none_or(|last| matches!(last, ' ' | '\t'));
    let comment = line.match_indices('#').find(|(at, _)| begins(*at));
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Returns whether a word is a path within the directory of patches, and nothing to awk or a shell.
fn is_name_of_patch(word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "._+-~@:,=%#^/".contains(letter);
    word.chars().all(is_part)
        && !word.starts_with(['-', '/', '~'])
        && !word.split('/').any(|name| name == "..")
}

/// Returns whether a word says how a patch is applied: how much of its paths is left out, and whether it is reversed.
fn is_option_of_patch(word: &str) -> bool {
    let strip = word.strip_prefix("-p");
    word == "-R"
        || strip.is_some_and(|level| level == "ab" || level.bytes().all(|byte| byte.is_ascii_digit()))
}

fn setting(key: &str) -> Reason {
    Reason::Setting { key: key.to_owned() }
}
