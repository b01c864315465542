//! Which versions of programs a directory asks for.

use super::reason::Reason;
use super::value::{is_plain, is_unclear};
use crate::protect::table::content::FileFormat;

/// Classifies a list of programs and their versions: anything else than plain words, but for one of these beginnings, may be a
/// path. Ruby has sets of gems after an `@`.
pub(super) fn classify(content: &[u8], beginnings: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content).replace("\r\n", "\n");
    let setting = |key: &str| Some(Reason::Setting { key: key.to_owned() });
    if text.contains(is_unclear) {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    }
    // mise runs what a template says before it leaves out comments.
    if let Some(mark) = ["{{", "{%", "{#"].into_iter().find(|mark| text.contains(mark)) {
        return setting(mark);
    }
    let is_version = |word: &str| {
        let plain = |word: &str| word.is_empty() || word.split('@').all(is_plain);
        plain(word) || beginnings.iter().any(|known| word.strip_prefix(known).is_some_and(plain))
    };
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    for line in lines {
        // For some readers, what follows a version is no comment, and a line with a slash is a path.
        let (words, comment) = line.split_once(" #").unwrap_or((line, ""));
        let odd = words.split_whitespace().find(|word| !is_version(word));
        if let Some(odd) = odd.or(comment.contains('/').then_some(comment)) {
            return setting(odd.trim());
        }
    }
    None
}

/// Classifies a list of versions of Python, one a line. uv takes a line that it does not know as a version for a path, if something in
/// the directory is called so, also one with a comment or a second version: only what is surely a version passes.
pub(super) fn classify_python(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let odd = || {
        let lines = text.lines().map(|line| line.trim_matches([' ', '\t']));
        let odd = lines.filter(|line| !line.starts_with('#')).find(|line| !is_python_version(line))?;
        Some(Reason::Setting { key: odd.to_owned() })
    };
    classify(content, &[]).or_else(odd)
}

/// Returns whether every reader takes a line for a version of Python, or for nothing: `3.12`, `3.12.1`, `3.13.0rc1`, `pypy@3.10`. What
/// is no number of eight bits, and what has a hyphen, is a version to some alone.
fn is_python_version(line: &str) -> bool {
    let version = ["cpython", "graalpy", "pypy", "python"]
        .into_iter()
        .find_map(|name| line.strip_prefix(name))
        .map_or(line, |rest| rest.strip_prefix('@').unwrap_or(rest));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok();
    let candidate = ["a", "b", "rc"].into_iter().find_map(|mark| version.split_once(mark));
    let (release, candidate) = candidate.map_or((version, None), |(release, number)| (release, Some(number)));
    let parts: Vec<&str> = release.split('.').collect();
    let may_be_candidate = matches!(*parts, [_, _] | [_, _, "0"]);
    line.is_empty()
        || parts.len() <= 3
            && parts.iter().all(|part| is_number(part))
            && candidate.is_none_or(|number| may_be_candidate && is_number(number))
}
