//! Names of sandboxes: what engines accept as part of the name of a container.

/// Returns whether a sandbox may have this name: `[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}`. No path component of this form leads elsewhere, since the
/// first letter is no dot, and none says anything to a terminal.
pub fn is_sandbox_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let begins_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63 && text.bytes().all(inner) && begins_well
}
