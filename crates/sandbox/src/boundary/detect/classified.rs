//! What was found against a file.

use std::path::PathBuf;

use policy::classify::Reason;
use serde::{Deserialize, Serialize};

/// One file, and why a program would obey it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Classified {
    #[serde(with = "policy::text::json_bytes::path")]
    pub(crate) path: PathBuf,
    pub(crate) reason: Reason,
    /// The SHA-256 of what a program would obey: the same reason may stand for something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) essence: Option<String>,
}

impl Classified {
    pub(crate) fn of(path: PathBuf, reason: Reason) -> Self {
        Self { path, reason, essence: None }
    }
}
