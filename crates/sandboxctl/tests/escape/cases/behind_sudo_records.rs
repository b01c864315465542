//! Records of persistent sandboxes: files of the user behind sudo, from which root makes nothing that it has not made before.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use confine::protocol::{ControlSocket, FileEvent, FileRequest, Purpose};
use serde_json::{Value, json};

use super::behind_sudo::behind_sudo;
use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;

/// A place of an ordinary user, where root is called by sudo.
pub(super) struct Sudo(pub(super) Place);

impl Sudo {
    pub(super) fn new(test: &str) -> Option<Self> {
        let is_possible = rustix::process::geteuid().is_root() && callers(test).contains(&Caller::Normal);
        is_possible.then(|| Self(Place::new(Caller::Normal)))
    }

    pub(super) fn call(&self, words: &[&str]) -> Output {
        self.call_with(Stdio::null(), words)
    }

    pub(super) fn call_with(&self, stdin: Stdio, words: &[&str]) -> Output {
        let program = self.0.path("sandboxctl");
        let words = [&[program.to_str().unwrap()], words].concat();
        let mut command = self.0.command(&words.iter().map(OsString::from).collect::<Vec<_>>());
        behind_sudo(&self.0, &mut command).stdin(stdin).output().unwrap()
    }

    pub(super) fn works(&self, words: &[&str]) -> String {
        let output = self.call(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes a directory with a secret of root's in one of this mode.
    fn secret_in(&self, mode: u32) -> PathBuf {
        let closed = self.0.path("closed");
        fs::create_dir_all(closed.join("inner")).unwrap();
        fs::write(closed.join("inner/secret"), "root's own").unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        closed
    }

    /// The record of the sandbox.
    pub(super) fn record(&self) -> PathBuf {
        let all = self.0.home().join(".local/state/sandboxctl/sandboxes");
        let all = fs::read_dir(all).unwrap().flatten().map(|one| one.path().join("record.json"));
        all.into_iter().find(|record| record.exists()).unwrap()
    }
}

/// Changes a record as whoever owns it can.
fn forge(record: &Path, change: impl FnOnce(&mut Value)) {
    let mut content: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    change(&mut content["plan"]);
    fs::write(record, content.to_string()).unwrap();
}

#[test]
fn root_makes_no_sandbox_again_from_what_the_user_has_written() {
    let Some(sudo) = Sudo::new("forged records under sudo") else { return };
    let closed = sudo.secret_in(0o700);
    sudo.works(&["create", "--name", "base"]);
    sudo.works(&["stop", "base"]);

    // The control: what root has made it makes again.
    sudo.works(&["start", "base"]);
    assert_eq!(sudo.works(&["exec", "base", "--", "echo", "runs"]), "runs\n");
    sudo.works(&["stop", "base"]);

    let record = sudo.record();
    let honest = fs::read(&record).unwrap();
    let inner = fs::metadata(closed.join("inner")).unwrap();
    let share = |plan: &mut Value| {
        let mut shared = plan["boundaries"][0].clone();
        shared["name"] = json!("x");
        shared["host"] = json!(closed.join("inner"));
        shared["guest"] = json!("/x");
        shared["file_id"] = json!({ "device": inner.dev(), "inode": inner.ino() });
        plan["boundaries"].as_array_mut().unwrap().push(shared);
    };
    let more = |plan: &mut Value| plan["limits"]["pids"] = json!(null);
    for change in [&share as &dyn Fn(&mut Value), &more] {
        forge(&record, change);
        let start = sudo.call(&["--format", "json", "start", "base"]);
        let said: Value = serde_json::from_slice(&start.stdout).unwrap_or_default();
        assert_eq!(said["error"]["code"], "policy.denied", "{start:?}");
        let seen = sudo.call(&["exec", "base", "--", "cat", "/x/secret"]);
        assert!(!seen.status.success() && seen.stdout.is_empty(), "{seen:?}");
        fs::write(&record, &honest).unwrap();
    }

    // A record of another sandbox, which root has never made.
    let id = "00000000000000e1";
    let other = record.parent().unwrap().with_file_name(id);
    fs::create_dir(&other).unwrap();
    for file in fs::read_dir(record.parent().unwrap()).unwrap().flatten() {
        let _ = fs::copy(file.path(), other.join(file.file_name()));
    }
    let mut content: Value = serde_json::from_slice(&honest).unwrap();
    content["id"] = json!(id);
    content["name"] = json!("other");
    content["plan"]["name"] = json!("other");
    fs::write(other.join("record.json"), content.to_string()).unwrap();
    let start = sudo.call(&["--format", "json", "start", "other"]);
    assert!(!start.status.success(), "{start:?}");
    let _ = fs::remove_dir_all(&other);
    sudo.works(&["rm", "base"]);
}

/// The control of all cases here: what a user has by sudo works.
#[test]
fn files_are_copied_both_ways() {
    let Some(sudo) = Sudo::new("copies under sudo") else { return };
    let file = sudo.0.write("workspace/given", "content");
    sudo.works(&["create", "--name", "base"]);
    sudo.works(&["cp", file.to_str().unwrap(), "base:/tmp/taken"]);
    assert_eq!(sudo.works(&["exec", "base", "--", "cat", "/tmp/taken"]), "content");
    let back = sudo.0.workspace().join("back");
    sudo.works(&["cp", "base:/tmp/taken", back.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&back).unwrap(), "content");
    assert_eq!(fs::metadata(&back).unwrap().uid(), fs::metadata(&file).unwrap().uid());
    sudo.works(&["rm", "--force", "base"]);
}

#[test]
fn root_starts_again_what_it_has_made_for_each_user() {
    let Some(sudo) = Sudo::new("sandboxes of several users under sudo") else { return };
    let Some(other) = Sudo::new("sandboxes of several users under sudo") else { return };
    sudo.works(&["create", "--name", "base"]);
    other.works(&["create", "--name", "base"]);
    for one in [sudo, other] {
        one.works(&["stop", "base"]);
        one.works(&["start", "base"]);
        one.works(&["rm", "--force", "base"]);
    }
}

#[test]
fn what_was_closed_since_is_not_shared_again() {
    let Some(sudo) = Sudo::new("directories that were closed, under sudo") else { return };
    let closed = sudo.secret_in(0o711);
    let shared = format!("{}:/x:ro", closed.join("inner").display());
    sudo.works(&["create", "--name", "base", "--volume", &shared]);
    sudo.works(&["stop", "base"]);
    // The control: it is shared while there is a way to it.
    sudo.works(&["start", "base"]);
    assert_eq!(sudo.works(&["exec", "base", "--", "cat", "/x/secret"]), "root's own");
    sudo.works(&["stop", "base"]);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let start = sudo.call(&["start", "base"]);
    assert!(!start.status.success(), "{start:?}");
    assert!(String::from_utf8_lossy(&start.stderr).contains("ermission denied"), "{start:?}");
    sudo.works(&["rm", "base"]);
}

/// Listens at a path as PID 1 of a sandbox does, as `owner`, and opens the same directory for whoever asks for any.
pub(super) fn open_for_everybody(control: &Path, owner: u32, opened: &Path) {
    let listener = UnixListener::bind(control).unwrap();
    std::os::unix::fs::chown(control, Some(owner), None).unwrap();
    let opened = File::open(opened).unwrap();
    std::thread::spawn(move || {
        // Whoever waits for the end goes on waiting.
        let mut waiting = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut purpose = [0];
            stream.read_exact(&mut purpose).unwrap();
            match Purpose::of(purpose[0]) {
                Some(Purpose::Files) => {
                    let mut control = ControlSocket::from(OwnedFd::from(stream));
                    if let Ok(Some(FileRequest::Open { directories })) = control.receive() {
                        for _ in directories {
                            control.send(&FileEvent::Opened { errno: None }, &[opened.as_fd()]).unwrap();
                        }
                    }
                }
                _ => waiting.push(stream),
            }
        }
    });
}

/// The user behind sudo says in the record that the agent is root, and at the control socket that `/workspace` is a directory of theirs: what
/// only root may read or write there is neither.
#[test]
fn no_record_makes_root_of_the_agent() {
    let Some(sudo) = Sudo::new("forged agents under sudo") else { return };
    let shared = sudo.0.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("anybody"), "anybody's").unwrap();
    fs::write(shared.join("secret"), "root's own").unwrap();
    fs::set_permissions(shared.join("secret"), Permissions::from_mode(0o600)).unwrap();
    sudo.works(&["create", "--name", "base"]);

    let record = sudo.record();
    let honest = fs::read(&record).unwrap();
    let (control, kept) = (record.with_file_name("control"), record.with_file_name("kept"));
    fs::rename(&control, &kept).unwrap();
    open_for_everybody(&control, NORMAL, &shared);
    for (uid, gid) in [(NORMAL, NORMAL), (0, 0), (NORMAL, 0), (0, NORMAL)] {
        let mut content: Value = serde_json::from_slice(&honest).unwrap();
        // The control: the record as it was.
        if (uid, gid) == (NORMAL, NORMAL) {
            assert_eq!(content["agent"], json!({ "uid": uid, "gid": gid }));
        }
        content["agent"] = json!({ "uid": uid, "gid": gid });
        fs::write(&record, content.to_string()).unwrap();
        // The control: whoever listens there is believed.
        assert_eq!(sudo.works(&["fs", "read", "base", "/workspace/anybody"]), "anybody's", "{uid}:{gid}");
        let read = sudo.call(&["fs", "read", "base", "/workspace/secret"]);
        assert!(!read.status.success() && read.stdout.is_empty(), "{uid}:{gid}: {read:?}");
        let found = sudo.call(&["fs", "search", "base", "own", "/workspace"]);
        assert!(!String::from_utf8_lossy(&found.stdout).contains("root's"), "{uid}:{gid}: {found:?}");
        let written = sudo.call(&["fs", "write", "base", "/workspace/new"]);
        assert!(!written.status.success() && !shared.join("new").exists(), "{uid}:{gid}: {written:?}");
    }
    fs::remove_file(&control).unwrap();
    fs::rename(&kept, &control).unwrap();
    fs::write(&record, &honest).unwrap();
    sudo.works(&["rm", "--force", "base"]);
}

/// What root makes for a command, such as the pipes in the place of the caller's, belongs to nobody whom a record names.
#[test]
fn no_record_says_whose_streams_are() {
    let Some(sudo) = Sudo::new("forged owners of streams under sudo") else { return };
    sudo.works(&["create", "--name", "base"]);
    let owner = || sudo.works(&["exec", "base", "--", "stat", "-Lc", "%u:%g", "/dev/stdout"]);
    let honest = owner();
    let record = sudo.record();
    let mut content: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    content["agent"] = json!({ "uid": 0, "gid": 0 });
    fs::write(&record, content.to_string()).unwrap();
    assert_eq!(owner(), honest);
    sudo.works(&["rm", "--force", "base"]);
}
