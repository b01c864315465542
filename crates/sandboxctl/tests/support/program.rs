//! Programs that a test writes and somebody executes at once.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that everybody may execute, and makes the directories that lead to it.
///
/// By another process: what this one has open for writing, a child of another test may hold open until it executes its own
/// program, and until then nobody can execute it (ETXTBSY).
pub(crate) fn write(path: &Path, script: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", r#"mkdir -p "${0%/*}" && cat >"$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell is everywhere");
    let stdin = writer.stdin.take();
    stdin.expect("it is piped").write_all(script.as_bytes()).expect("it is read to its end");
    assert!(writer.wait().expect("nobody else waits for it").success(), "{} was not written", path.display());
}
