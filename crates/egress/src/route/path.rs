//! Paths that every server reads alike.

/// Returns whether every server finds the same parts in this path: no steps up, no parts without a name, no slashes in disguise.
pub(super) fn is_plain(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let disguised = ["%25", "%2e", "%2f", "%5c", "%00", "\\"].iter().any(|text| lower.contains(text));
    let mut parts = path.split('/').skip(1).peekable();
    let mut plain = !disguised && path.is_ascii();
    while let Some(part) = parts.next() {
        // The last one may be empty: that is a slash at the end.
        plain &= !part.starts_with('.') && (!part.is_empty() || parts.peek().is_none());
    }
    plain
}
