//! A module of Dagger (`dagger.json`), of which mise takes the version of Dagger by searching the text.

use super::reason::Reason;
use super::settings;
use super::value::is_plain;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::tools::DAGGER;

const KEY: &str = "engineVersion";

/// Classifies a file: by its settings, and by every version in its text, be it in a comment or within another setting.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let odd = odd(content).next().map(|_| Reason::Setting { key: KEY.to_owned() });
    odd.or_else(|| settings::classify(content, FileFormat::Json, DAGGER))
}

/// Lists what is not harmless, each with its key.
pub(super) fn parts(content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut parts = settings::parts(content, FileFormat::Json, DAGGER);
    parts.extend(odd(content).map(|value| (KEY.to_owned(), value)));
    parts
}

/// Returns what follows each name of the key, up to the end of its value, that is not a plain word after a colon.
fn odd(content: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let text = String::from_utf8_lossy(content).into_owned();
    let values: Vec<String> = text
        .split(KEY)
        .skip(1)
        .filter(|after| version(after).is_none_or(|version| !is_plain(version)))
        .map(|after| after.splitn(4, '"').take(3).collect::<Vec<_>>().join("\""))
        .collect();
    values.into_iter().map(String::into_bytes)
}

/// Returns the value after the name of a key.
fn version(after: &str) -> Option<&str> {
    let value = after.strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(version, _)| version)
}
