//! Who commits, as a configuration of git says: in the order in which git reads it.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::syntax::read;

/// What a configuration says of who commits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IdentityEntry {
    /// `user.name`
    Name(String),
    /// `user.email`
    Email(String),
    /// Another configuration is read at this point, see git-config(1), "Includes".
    Include {
        /// Under this condition, such as `gitdir:~/work/`.
        condition: Option<String>,
        path: PathBuf,
    },
}

/// Returns what a configuration says of who commits. One that cannot be read says nothing.
pub fn identity(content: &[u8]) -> Vec<IdentityEntry> {
    let entries = read(content).unwrap_or_default().into_iter();
    let said = entries.filter_map(|entry| {
        let value = entry.value.clone()?;
        let text = || value.clone().into_string().ok().filter(|text| !text.is_empty());
        match (entry.section.as_str(), entry.subsection.as_deref().map(OsStr::to_str), entry.key.as_str()) {
            ("user", None, "name") => text().map(IdentityEntry::Name),
            ("user", None, "email") => text().map(IdentityEntry::Email),
            ("include", None, "path") => Some(IdentityEntry::Include { condition: None, path: value.into() }),
            ("includeif", Some(Some(condition)), "path") => {
                Some(IdentityEntry::Include { condition: Some(condition.to_owned()), path: value.into() })
            }
            _ => None,
        }
    });
    said.collect()
}
