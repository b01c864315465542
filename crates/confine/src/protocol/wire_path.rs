//! Paths in messages, for serde's attributes: their bytes, which need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serializer};

/// Writes one.
pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(path.as_os_str().as_bytes())
}

/// Reads one.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    <&[u8]>::deserialize(deserializer).map(path)
}

/// Writes several. As a byte string, too, a list of bytes has its length first.
pub(super) fn serialize_all<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.as_os_str().as_bytes()))
}

/// Reads several.
pub(super) fn deserialize_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    Ok(Vec::<&[u8]>::deserialize(deserializer)?.into_iter().map(path).collect())
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
