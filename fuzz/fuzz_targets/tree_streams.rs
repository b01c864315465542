//! Any bytes as a stream of tar, and any name of what is copied: whatever is unpacked, all outside of the destination stays as it was, no
//! draft is left, and no file has more in it than was said.
//!
//! The first byte says what is copied and where it lands, the second one is the length of its name, which follows; the rest is the stream.
#![no_main]

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use confine::tree::{Destination, DraftName, Kind, Source, Unpacking, destination};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// What the files outside contain.
const CANARY: &[u8] = b"untouched";

/// How large a file with holes may be here: writing them is slow, and no stream has to have them in it.
const MOST: u64 = 1 << 20;

thread_local! {
    static PLACE: OnceCell<TempDir> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    let [what, length, rest @ ..] = bytes else { return };
    let (base, stream) = rest.split_at(rest.len().min(usize::from(*length)));
    if has_great_holes(stream) {
        return;
    }
    PLACE.with(|place| copy(place.get_or_init(made).path(), *what, OsStr::from_bytes(base), stream));
});

/// Makes what lies beside the destination.
fn made() -> TempDir {
    let place = tempfile::tempdir().expect("a directory");
    fs::create_dir(place.path().join("outside")).expect("a directory");
    fs::write(place.path().join("outside/canary"), CANARY).expect("a file");
    fs::write(place.path().join("canary"), CANARY).expect("a file");
    place
}

fn copy(place: &Path, what: u8, base: &OsStr, stream: &[u8]) {
    let to = place.join("to");
    fs::create_dir(&to).expect("a directory");
    fs::create_dir(to.join("d")).expect("a directory");
    fs::write(to.join("f"), b"old").expect("a file");
    symlink("../outside", to.join("l")).expect("a link");
    symlink("../canary", to.join("c")).expect("a link");
    symlink(place.join("outside"), to.join("d/a")).expect("a link");

    let kind = [Kind::File, Kind::Directory, Kind::Link][usize::from(what % 3)];
    let source = Source { kind, base: base.to_owned(), is_contents: what & 0x10 != 0 };
    let landing = match (what >> 5) % 4 {
        0 => Ok(Destination::within(open(&to))),
        1 => destination(&to, &source, |path| Ok(open(path))),
        2 => destination(&to.join("new"), &source, |path| Ok(open(path))),
        _ => destination(&to.join("c"), &source, |path| Ok(open(path))),
    };
    let draft = DraftName::generate().expect("a random number");
    let unpacked = landing.and_then(|landing| {
        let mut unpacking = Unpacking::begin(landing, draft)?;
        unpacking.read(stream)?;
        Ok(unpacking)
    });
    let copied = if what & 0x08 == 0 {
        unpacked.and_then(|mut unpacking| unpacking.commit())
    } else {
        unpacked.map(|_| Default::default())
    };
    if let Ok(copied) = copied {
        // Files with holes are no longer than all of it.
        assert!(copied.entries <= stream.len() as u64 / 512);
        assert!(copied.bytes <= stream.len() as u64 + MOST * copied.entries);
    }

    let names = |path: &Path| {
        let entries = fs::read_dir(path).expect("it is there");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("it is there").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(place), ["canary", "outside", "to"]);
    assert_eq!(names(&place.join("outside")), ["canary"]);
    for canary in [place.join("canary"), place.join("outside/canary")] {
        assert_eq!(fs::read(canary).expect("it is there"), CANARY);
    }
    // Unless the stream has something of that name itself.
    if ![stream, base.as_bytes()].iter().any(|bytes| bytes.windows(7).any(|part| part == b"sandbox")) {
        look_for_drafts(&to);
    }
    fs::remove_dir_all(&to).expect("it can be removed");
}

/// Checks that nothing is left half made, and that nobody gets rights of somebody else's.
fn look_for_drafts(directory: &Path) {
    for entry in fs::read_dir(directory).expect("it is there") {
        let entry = entry.expect("it is there");
        assert!(!entry.file_name().as_bytes().starts_with(b".sandboxctl-cp-"), "a draft is left");
        let found = entry.metadata().expect("it is there");
        assert_eq!(found.permissions().mode() & 0o7000, 0, "bits that give rights of somebody else's");
        assert!(found.is_dir() || found.is_file() || found.is_symlink());
        if found.is_dir() {
            // An ordinary user could not look into each, and not remove it.
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700)).expect("it is ours");
            look_for_drafts(&entry.path());
        }
    }
}

fn open(path: &Path) -> OwnedFd {
    File::open(path).expect("the directory is there").into()
}

/// Returns whether a file with holes is larger than its stream may ask for here.
fn has_great_holes(stream: &[u8]) -> bool {
    let mut archive = tar::Archive::new(stream);
    let Ok(entries) = archive.entries() else { return false };
    entries
        .map_while(Result::ok)
        .any(|entry| entry.header().entry_type().is_gnu_sparse() && entry.size() > MOST)
}
