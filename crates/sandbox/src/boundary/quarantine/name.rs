//! Names that the quarantine gives: of its directory, and of what is quarantined in place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use policy::protect::QUARANTINE;

/// Returns whether something has the name of what was quarantined within its own directory.
pub(crate) fn is_quarantined_in_place(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let suffix = QUARANTINE.as_bytes();
    let at = name.windows(suffix.len()).rposition(|window| window == suffix);
    at.is_some_and(|at| match &name[at + suffix.len()..] {
        [] => true,
        [b'-', number @ ..] => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
        _ => false,
    })
}

/// Returns whether a path in a boundary is one where things were moved to, or one that was put out of their way.
pub(crate) fn is_quarantine(path: &Path) -> bool {
    let Some(rest) = path.as_os_str().as_bytes().strip_prefix(QUARANTINE.as_bytes()) else { return false };
    let numbered = || rest.starts_with(b"-") && rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-'));
    rest.is_empty() || numbered()
}
