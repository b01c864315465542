//! Directories that were read in an earlier walk: what is found is the same as if all of them were read again.

use std::os::unix::net::UnixListener;

use super::*;

/// What somebody does there.
type Change = fn(&Boundary);

/// A boundary on a tmpfs, whose times the kernel of this machine sets.
fn boundary() -> Boundary {
    let top = tempfile::tempdir_in("/dev/shm").unwrap();
    let host = top.path().join("workspace");
    fs::create_dir(&host).unwrap();
    Boundary { _top: top, host }
}

/// Walks until this many directories are old enough to be remembered.
fn learn(boundary: &Boundary, directories: usize) -> Known {
    loop {
        let mut known = Known::default();
        walk_with_files(&boundary.root().enter().unwrap(), 3, Deadline::NEVER, &known).unwrap();
        known.settle();
        if known.directories() == directories {
            return known;
        }
    }
}

#[test]
fn whatever_changes_is_found() {
    let changes: [(&str, Change); 9] = [
        ("nothing", |_| ()),
        ("a repository", |at| {
            at.repository("a/b");
        }),
        ("a bare repository", |at| {
            at.bare("a/b/new");
        }),
        ("a repository beyond the bound", |at| {
            at.repository("a/b/c/d/e/f");
        }),
        ("a link", |at| {
            at.link("/etc", "a/b/link");
        }),
        ("a socket", |at| drop(UnixListener::bind(at.host.join("a/b/socket")).unwrap())),
        ("what was moved", |at| {
            at.repository("a/b/c");
            fs::rename(at.host.join("a/b"), at.host.join("moved")).unwrap();
        }),
        ("what was exchanged", |at| {
            fs::remove_dir(at.host.join("empty")).unwrap();
            at.repository("empty");
        }),
        ("what is closed", |at| {
            at.repository("a/b/c").mode("a/b", 0o000);
        }),
    ];
    for (what, change) in changes {
        let boundary = boundary();
        boundary.write("a/b/c/d/e/file", "").write("a/file", "").directory("empty").link("file", "a/b/old");
        // The root, which may be a repository, is always read; `d` is beyond the bound.
        let known = learn(&boundary, 4);
        change(&boundary);
        for known in [&known, &Known::default()] {
            let root = boundary.root();
            let again = walk_everywhere(&root.enter().unwrap(), 3, Deadline::NEVER, known).unwrap();
            let anew =
                walk_everywhere(&root.enter().unwrap(), 3, Deadline::NEVER, &Known::default()).unwrap();
            assert_eq!(again, anew, "{what}");
            let again = walk_until(&root.enter().unwrap(), 3, Deadline::NEVER, known).unwrap();
            assert_eq!(again, boundary.walk(3), "{what}");
        }
        if what == "what is closed" {
            boundary.mode("a/b", 0o755);
        }
    }
}

/// A change within one tick of the clock may leave no other time.
#[test]
fn what_has_just_changed_is_not_remembered() {
    let boundary = boundary();
    boundary.directory("old");
    learn(&boundary, 1);
    boundary.directory("new");
    let mut known = Known::default();
    let root = boundary.root();
    let entered = root.enter().unwrap();
    let stat = || fs::symlink_metadata(boundary.host.join("new")).unwrap();
    let made = clock_gettime(ClockId::Realtime);
    walk_with_files(&entered, 3, Deadline::NEVER, &known).unwrap();
    known.settle();
    let took = clock_gettime(ClockId::Realtime).tv_sec - made.tv_sec;
    assert!(known.directories() == 1 || took > 0, "{:?}", stat());
}

#[test]
fn what_makes_a_repository_is_read_each_time() {
    let boundary = boundary();
    boundary.repository("project").directory("project/src").directory("beside");
    learn(&boundary, 2);
}
