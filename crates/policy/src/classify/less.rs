//! Style sheets in Less, which a compiler makes CSS of: what loads JavaScript, or another sheet that does.

use super::reason::Reason;

const MARKS: [&str; 3] = ["@plugin", "@import", "`"];

/// Classifies a style sheet. Less knows no other ways to write these names.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content).to_ascii_lowercase();
    let mark = MARKS.into_iter().find(|mark| text.contains(mark));
    mark.map(|mark| Reason::Setting { key: mark.to_owned() })
}
