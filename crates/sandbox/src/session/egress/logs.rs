//! The logs of egress proxies: two files for each name of a sandbox, written in turn.

use std::path::Path;

use crate::host::identity::Identity;
use crate::state::directory::{StateDir, StateError};

/// The directory of the logs, within the state directory.
pub(super) const LOGS: &str = "egress";

/// Returns what the egress proxies of sandboxes of this name have recorded, the oldest first.
pub fn log(state: &Path, caller: Identity, name: &str) -> Result<Vec<u8>, StateError> {
    // Names are those of files here, and no way to others.
    if name.contains('/') {
        return Ok(Vec::new());
    }
    let logs = StateDir::open(state, caller)?.within(LOGS)?;
    let [first, second] = log_names(name).map(|file| logs.read(&file).map(Option::unwrap_or_default));
    let mut files = [first?, second?];
    // They are written in turn, so the one that begins earlier is the older one.
    files.sort_by_key(|lines| began(lines));
    Ok(files.concat())
}

/// Returns when the first of these lines was written, in milliseconds since the epoch.
pub(super) fn began(lines: &[u8]) -> Option<u64> {
    let first = lines.split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice::<serde_json::Value>(first).ok()?.get("time")?.as_u64()
}

/// Returns the names of the two files of a log, which are written in turn.
pub(super) fn log_names(name: &str) -> [String; 2] {
    [format!("{name}.0.jsonl"), format!("{name}.1.jsonl")]
}
