//! The logs of egress proxies: two files for each name of a sandbox, written in turn, and kept for a while after the last line, as long as
//! all of them are not too much.

use std::collections::HashSet;
use std::fs::Metadata;
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

/// What all logs of sandboxes that are gone take together, in bytes: agents with children make as many as they like.
const MOST: u64 = 256 << 20;

/// What each of them counts as at least, so that small ones do not become very many.
const LEAST_SIZE: u64 = 256 << 10;

/// After how many new logs those that are too much are looked for.
const STARTS: usize = 16;

/// The file that says when old logs were looked for last, and how many stayed: there may be many, and a start waits for it.
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

/// Removes logs of sandboxes that are gone: what nobody has written for long, and the oldest where all of them take too much. Only who
/// holds the lock may do so.
pub(super) fn sweep(logs: &StateDir) -> Result<(), StateError> {
    let names = logs.names()?;
    let sandboxes: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".0.jsonl")).collect();
    let left = logs.read(SWEPT)?.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
    let is_today = metadata(logs, SWEPT)?.is_some_and(|file| age(&file) < Duration::from_secs(DAY));
    if is_today && sandboxes.len().abs_diff(left) < STARTS {
        return Ok(());
    }
    let living: HashSet<&str> = names.iter().filter_map(|name| sandbox_of(name)).collect();
    let mut ended = Vec::new();
    for sandbox in sandboxes.iter().filter(|sandbox| !living.contains(*sandbox)) {
        let files = log_names(sandbox);
        let found = [metadata(logs, &files[0])?, metadata(logs, &files[1])?];
        let found = || found.iter().flatten();
        let size = found().map(Metadata::len).sum::<u64>().max(LEAST_SIZE);
        ended.push((found().map(age).min().unwrap_or_default(), size, files));
    }
    ended.sort_unstable();
    let (mut sum, mut left) = (0, sandboxes.len());
    for (age, size, files) in ended {
        sum += size;
        if age > KEPT || sum > MOST {
            logs.remove(&files[0])?;
            logs.remove(&files[1])?;
            left -= 1;
        }
    }
    logs.write(SWEPT, left.to_string().as_bytes())
}

fn metadata(logs: &StateDir, name: &str) -> Result<Option<Metadata>, StateError> {
    Ok(logs.open_existing(name)?.and_then(|file| file.metadata().ok()))
}

/// Returns how long nobody has written to a file. What was written in a time to come is new.
fn age(file: &Metadata) -> Duration {
    file.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_logs_are_bounded_in_number_too() {
        let top = tempfile::tempdir().unwrap();
        let logs = StateDir::open(&top.path().join("egress"), Identity::own()).unwrap();
        for number in 0..1040 {
            logs.open_or_make(&log_names(&format!("log{number}"))[0]).unwrap();
        }
        logs.open_or_make("log0.run.socket").unwrap();
        let count = || logs.names().unwrap().iter().filter_map(|name| name.strip_suffix(".0.jsonl")).count();
        sweep(&logs).unwrap();
        assert_eq!(count(), 1025, "all that fit, and the one that is written");
        assert!(logs.open_existing("log0.0.jsonl").unwrap().is_some());
        for number in 0..16 {
            assert_eq!(count(), 1025 + number);
            logs.open_or_make(&log_names(&format!("more{number}"))[0]).unwrap();
            sweep(&logs).unwrap();
        }
        assert_eq!(count(), 1025);
    }

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
