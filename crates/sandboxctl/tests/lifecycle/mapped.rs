//! Stores through shared mappings: what they change is found, though the time of change of the file stays the same.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;

use crate::elsewhere::{MemoryMount, inside};
use crate::machine::{Feature, callers, is_there};
use crate::place::Place;
use crate::ready;

/// Replaces the beginning of a file by a text, through a mapping, and what is left by a byte.
const STORE: &str = r"
import mmap, os, sys
path, text, fill = sys.argv[1:]
file = os.open(path, os.O_RDWR)
size = os.fstat(file).st_size
bytes = text.encode()
assert len(bytes) <= size
with mmap.mmap(file, size) as mapping:
    mapping[0]
    mapping[:] = bytes + fill.encode() * (size - len(bytes))
";

/// Gives the only entry of an index another path of the same length, and the index the hash of its new content.
const FORGE: &str = r#"
import hashlib, mmap, os, sys
path, old, new, how = sys.argv[1:]
assert len(old) == len(new)
content = open(path, "rb").read()[:-20]
assert content.count(old.encode()) >= 1
# Readers may ignore what they do not know: the trees that are cached have the old name.
content = content.replace(old.encode(), new.encode(), 1).replace(b"TREE", b"XTRE", 1)
content += hashlib.sha1(content).digest()
if how == "mapping":
    file = os.open(path, os.O_RDWR)
    with mmap.mmap(file, len(content)) as mapping:
        mapping[0]
        mapping[:] = content
else:
    open(path, "r+b").write(content)
"#;

fn run(place: &Place, shared: &Path, argv: &[&str]) -> (Output, String) {
    let output = inside(place, shared, &[], argv).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn outside(place: &Place, shared: &Path, argv: &[&str]) {
    let output = place.outside(argv).current_dir(shared).output().unwrap();
    assert!(output.status.success(), "{argv:?}: {output:?}");
}

/// When a file was changed for the last time.
fn changed(path: &Path) -> (i64, i64) {
    let metadata = path.metadata().unwrap();
    (metadata.ctime(), metadata.ctime_nsec())
}

#[test]
fn variables_that_are_stored_in_a_file_are_found_and_taken_back() {
    if !is_there(Feature::Root, "a file system in memory") {
        return;
    }
    for caller in callers("stores into a file of variables") {
        let place = Place::new(caller);
        let memory = MemoryMount::at(&place, "size=16m");
        let shared = memory.path();
        let text = "# of this project, for development on your own machine only\nA=1\n";
        outside(&place, shared, &["sh", "-c", &format!("printf '{text}' >.env")]);
        let path = shared.join(".env");
        let before = changed(&path);
        // The control: what is harmless stays, however it was written.
        let (output, said) = run(&place, shared, &["python3", "-c", STORE, ".env", "B=2\n", "#"]);
        assert!(output.status.success() && fs::read_to_string(&path).unwrap().starts_with("B=2\n"), "{said}");
        assert_eq!(changed(&path), before, "a store leaves no time");
        let (output, said) =
            run(&place, shared, &["python3", "-c", STORE, ".env", "NODE_OPTIONS=--require ./e.js\n", "#"]);
        assert!(output.status.success(), "by {caller:?}: {said}");
        assert!(said.contains("NODE_OPTIONS") && said.contains("put back"), "by {caller:?}: {said}");
        assert!(fs::read_to_string(&path).unwrap().starts_with("B=2\n"), "by {caller:?}: {said}");
        assert!(shared.join(".sandboxctl-quarantine").exists(), "by {caller:?}: {said}");
    }
}

/// A path, and one of the same length that git runs.
const OLD: &str = "src/application_main.py.";
const NEW: &str = ".git/hooks/post-checkout";

#[test]
fn an_index_that_is_changed_by_a_store_is_found() {
    if !is_there(Feature::Root, "a file system in memory") {
        return;
    }
    for caller in callers("stores into an index of git") {
        for (how, is_sandboxed) in [("mapping", false), ("write", true), ("mapping", true)] {
            let place = Place::new(caller);
            let memory = MemoryMount::at(&place, "size=16m");
            let shared = memory.path();
            let prepare =
                format!("git init -q . && mkdir src && echo evil >{OLD} && git add src && git status -s");
            outside(&place, shared, &["sh", "-c", &prepare]);
            let before = changed(&shared.join(".git/index"));
            let attack = ["python3", "-c", FORGE, ".git/index", OLD, NEW, how];
            let said = if is_sandboxed {
                let (output, said) = run(&place, shared, &attack);
                assert!(output.status.success(), "by {caller:?}: {said}");
                said
            } else {
                outside(&place, shared, &attack);
                assert_eq!(changed(&shared.join(".git/index")), before, "a store leaves no time");
                String::new()
            };
            let _ = place.outside(&["git", "checkout", "--", "."]).current_dir(shared).output().unwrap();
            let was_made = shared.join(NEW).exists();
            assert_eq!(was_made, !is_sandboxed, "{how} by {caller:?}: {said}");
            assert_eq!(said.contains(".git/index"), is_sandboxed, "{how} by {caller:?}: {said}");
        }
    }
}

#[test]
fn a_configuration_that_nobody_searched_is_named_where_a_store_may_have_changed_it() {
    if !is_there(Feature::Root, "a file system in memory") {
        return;
    }
    for caller in callers("stores into a configuration that is not searched") {
        let place = Place::new(caller);
        let memory = MemoryMount::at(&place, "size=16m");
        let shared = memory.path();
        let config = "node_modules/dep/.git/config";
        let prepare = format!(
            "git init -q node_modules/dep && printf '#%0200d\\n' 1 >>{config} && git -C node_modules/dep status"
        );
        outside(&place, shared, &["sh", "-c", &prepare]);
        // The control: one that runs nothing is not named.
        let (_, said) = run(&place, shared, &["true"]);
        assert!(!said.contains("node_modules"), "by {caller:?}: {said}");
        let evil = "[core]\n\tfsmonitor = touch owned\n";
        let (output, said) = run(&place, shared, &["python3", "-c", STORE, config, evil, "#"]);
        assert!(output.status.success(), "by {caller:?}: {said}");
        assert!(said.contains(config) && said.contains("core.fsmonitor"), "by {caller:?}: {said}");
    }
}

/// Waits until it can write a file that was protected, writes what is harmless, has that seen, and stores the rest.
const SECOND_STORE: &str = r#"
import mmap, os, sys, time
path, harmless, evil = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
file = os.open(path, os.O_RDWR)
size = 500
pad = lambda text: text.encode() + b"\n" * (size - len(text.encode()))
os.pwrite(file, pad(harmless), 0)
mapping = mmap.mmap(file, size)
mapping[:] = pad(harmless)
# Until a store changes no time, and whoever looks has looked.
while True:
    before = os.fstat(file).st_ctime_ns
    time.sleep(0.2)
    mapping[:] = pad(harmless)
    if os.fstat(file).st_ctime_ns == before:
        break
mapping[:] = pad(evil)
time.sleep(1000)
"#;

#[test]
fn a_store_into_a_file_that_the_host_has_replaced_ends_the_sandbox() {
    const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n";
    for caller in callers("stores into a file that was replaced") {
        let place = Place::new(caller);
        assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
        place.write("workspace/.git/config", CONFIG);
        let evil = "[core]\n\tfsmonitor = touch owned\n";
        let argv = ["python3", "-c", SECOND_STORE, ".git/config", CONFIG, evil];
        let mut client = ready::start(&mut place.inside(&["--timeout", "60s"], &argv));
        let draft = place.write("workspace/.git/config.lock", CONFIG);
        fs::rename(draft, place.workspace().join(".git/config")).unwrap();
        client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let output = client.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
        assert!(said.contains("core.fsmonitor") && said.contains("put back"), "by {caller:?}: {said}");
    }
}
