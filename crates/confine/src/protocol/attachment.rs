//! Whether what a client has started ends with it.

use serde::{Deserialize, Serialize};

/// What becomes of a command, or of a sandbox, when its client is gone.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Attachment {
    /// It ends, with all that it has started.
    Attached,
    /// It goes on.
    #[default]
    Detached,
}
