//! Any bytes as the record and the note of a persistent sandbox: listing them ends without a panic and hides none of the others, and a
//! record that was read is written and read again as the same.
//!
//! The first byte is the length of the note, which follows; the rest is the record.
#![no_main]

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use sandbox::host::identity::Identity;
use sandbox::state::sandboxes::{Phase, SandboxRecord, Sandboxes};
use tempfile::TempDir;

/// The directory of the sandbox whose files are made up, and of one whose record nobody can read.
const IDS: [&str; 2] = ["00000000000000aa", "00000000000000bb"];

thread_local! {
    static STATE: OnceCell<TempDir> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first() else { return };
    let (note, record) = rest.split_at(rest.len().min(usize::from(*length)));
    if let Ok(record) = serde_json::from_slice::<SandboxRecord>(record) {
        let text = serde_json::to_vec(&record).expect("what was read can be written");
        assert_eq!(record, serde_json::from_slice(&text).expect("what was written can be read"));
    }
    STATE.with(|state| list(state.get_or_init(made).path(), note, record));
});

fn made() -> TempDir {
    let state = tempfile::tempdir().expect("a directory");
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o700)).expect("it is ours");
    for id in IDS {
        fs::create_dir_all(state.path().join("sandboxes").join(id)).expect("a directory");
    }
    let other = state.path().join("sandboxes").join(IDS[1]);
    fs::write(other.join("note"), b"\0").expect("a file");
    fs::write(other.join("record.json"), b"{").expect("a file");
    state
}

fn list(state: &Path, note: &[u8], record: &[u8]) {
    let directory = state.join("sandboxes").join(IDS[0]);
    fs::write(directory.join("note"), note).expect("a file");
    fs::write(directory.join("record.json"), record).expect("a file");
    let sandboxes = Sandboxes::open(state, Identity::own()).expect("the directory is there");
    let all = sandboxes.list().expect("the directory can be listed");
    assert!(all.iter().any(|found| found.as_ref().is_err_and(|error| error.to_string().contains(IDS[1]))));
    for sandbox in all.into_iter().flatten() {
        // Nobody holds its lock.
        assert_eq!(sandbox.phase, Phase::Stopped);
        let _ = sandbox.end().expect("a note that makes no sense is none");
    }
}
