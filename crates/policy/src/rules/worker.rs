//! What a worker, to which a model delegates a part of its work, may have and is handed.

use serde::{Deserialize, Serialize};

use super::limits::Bytes;

/// What a worker may have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Inherit {
    /// Nothing that the sandbox does not have.
    #[default]
    Subset,
    /// Whatever its own file says.
    None,
}

/// Which files a worker is handed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AttachmentRules {
    pub max: u32,
    /// The size of the largest.
    pub max_bytes: Bytes,
    /// The only suffixes, such as `.md`; without one, every file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suffixes: Vec<String>,
}
