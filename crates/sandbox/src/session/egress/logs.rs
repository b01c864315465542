//! The logs of egress proxies: two files for each name of a sandbox, written in turn, and kept for a while after the last line.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::host::identity::Identity;
use crate::state::directory::{StateDir, StateError};

/// The directory of the logs, within the state directory.
pub(super) const LOGS: &str = "egress";

/// What the name of a socket ends with, which lies beside them. Before it stand the name of the sandbox and the
/// id of its run, see [`sandbox_of`].
pub(super) const SUFFIX: &str = ".socket";

/// The lock of whoever opens logs or removes old ones.
pub(super) const LOCK: &str = "lock";

/// How long a log is kept that nobody writes any more.
const KEPT: Duration = Duration::from_secs(30 * DAY);

const DAY: u64 = 24 * 60 * 60;

/// The file that was touched when old logs were looked for last: there may be many, and a start waits for it.
const SWEPT: &str = "swept";

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

/// Returns the sandbox whose socket has this name; `None` where it is none. The name of a sandbox may have dots, the id of a run has none.
pub(super) fn sandbox_of(socket: &str) -> Option<&str> {
    let (sandbox, _run) = socket.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    Some(sandbox)
}

/// Removes logs that nobody has written for long, and whose sandbox is gone; once a day. Only who holds the lock may do so.
pub(super) fn sweep(logs: &StateDir) -> Result<(), StateError> {
    let age = |name: &str| -> Result<Option<Duration>, StateError> {
        let file = logs.open_existing(name)?;
        let written = file.and_then(|file| file.metadata().and_then(|metadata| metadata.modified()).ok());
        // What was written in a time to come is new.
        Ok(written.map(|written| SystemTime::now().duration_since(written).unwrap_or_default()))
    };
    if age(SWEPT)?.is_some_and(|age| age < Duration::from_secs(DAY)) {
        return Ok(());
    }
    let names = logs.names()?;
    let lives = |sandbox: &str| {
        let mut sockets = names.iter();
        sockets.any(|socket| sandbox_of(socket) == Some(sandbox))
    };
    for sandbox in names.iter().filter_map(|name| name.strip_suffix(".0.jsonl")) {
        let files = log_names(sandbox);
        let ages = [age(&files[0])?, age(&files[1])?];
        let is_old = ages.into_iter().flatten().min().is_some_and(|age| age > KEPT);
        if is_old && !lives(sandbox) {
            logs.remove(&files[0])?;
            logs.remove(&files[1])?;
        }
    }
    logs.write(SWEPT, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_sandbox_with_dots_is_read_as_a_whole() {
        for (socket, sandbox) in [
            ("work.0123456789abcdef.socket", Some("work")),
            ("v1.2.0123456789abcdef.socket", Some("v1.2")),
            ("v1.socket.0123456789abcdef.socket", Some("v1.socket")),
            ("v1.0.jsonl", None),
            ("lock", None),
        ] {
            assert_eq!(sandbox_of(socket), sandbox, "{socket}");
        }
        assert!(!log_names("a").iter().any(|name| log_names("a.0").contains(name)));
    }
}
