//! Any bytes as an object of git, as a pack, as its index and as a delta: what is read is no longer than asked for, and a base lies before what
//! differs from it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::classify::index::ObjectFormat;
use policy::classify::objects::pack::{Base, Stored, apply, find, stored};
use policy::classify::objects::{ObjectId, loose, tag, tree_entries, tree_of};

/// How long an object may be, in bytes.
const LONGEST: usize = 1 << 16;

/// Where the first number is in an index of version 1, and of version 2.
const FIRST_NUMBERS: [usize; 2] = [1028, 1032];

fuzz_target!(|content: &[u8]| {
    if let Ok((_, object)) = loose(content, LONGEST) {
        assert!(object.len() <= LONGEST);
        read(&object);
    }
    read(content);
    let at = |at: u64, length: usize| {
        let rest = content.get(usize::try_from(at).ok()?..)?;
        Some(rest[..length.min(rest.len())].to_vec())
    };
    for (format, length) in [(ObjectFormat::Sha1, 20), (ObjectFormat::Sha256, 32)] {
        for first in FIRST_NUMBERS {
            let id = content.get(first..first + length).and_then(ObjectId::from_bytes);
            let _ = id.map(|id| find(at, &id));
        }
        match stored(at, 12, format, LONGEST) {
            Ok(Stored::Whole(_, object)) => assert!(object.len() <= LONGEST),
            Ok(Stored::Delta { base, delta }) => {
                assert!(delta.len() <= LONGEST);
                assert!(!matches!(base, Base::At(_)), "a base in the header of the pack");
            }
            Err(_) => {}
        }
        // The same a little further behind, where there may be something before it.
        if let Ok(Stored::Delta { base: Base::At(base), .. }) = stored(at, 24, format, LONGEST) {
            assert!((12..24).contains(&base));
        }
    }
    let parts = content.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
    if let Some(Ok(made)) = parts.map(|(base, delta)| apply(base, delta, LONGEST)) {
        assert!(made.len() <= LONGEST);
    }
});

/// Reads the content of an object as each kind.
fn read(object: &[u8]) {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let mut entries = tree_entries(object, format);
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => assert!(!entry.name.is_empty() && !entry.name.contains(&b'/')),
                Err(_) => assert!(entries.next().is_none()),
            }
        }
        if let Some(tag) = tag(object, format) {
            assert!(!tag.name.contains(&b'\n'));
        }
        let _ = tree_of(object, format);
    }
}
