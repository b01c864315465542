//! Names of projects, for what belongs to one and lies elsewhere.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Returns the name of the project in a directory: the directory's own name, and digits of where it lies. It has lower-case
/// letters, digits and single `-`, at most 45.
pub fn name(directory: &Path) -> String {
    let word = directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let known = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let word: String = word.chars().take(32).map(known).collect();
    let digest = Sha256::digest(directory.as_os_str().as_bytes());
    let digits = digest.iter().take(6).map(|byte| format!("{byte:02x}"));
    let parts = word.split('-').filter(|part| !part.is_empty()).map(str::to_owned).chain([digits.collect()]);
    parts.collect::<Vec<_>>().join("-")
}
