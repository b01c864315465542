//! Any bytes as an index of git: it is read without a panic, and no more is kept than was asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::classify::index::{ObjectFormat, cached, merged, read, staged};

fuzz_target!(|content: &[u8]| {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        // As its own shared index, which a split index names.
        if let Ok(paths) = read(content, format, 3, |_| Some(content.to_vec())) {
            assert!(paths.hidden.len() <= 3);
        }
        let _ = cached(content, format, |_| ());
        let _ = staged(content, format, |_, _| true, |_| Some(content.to_vec()));
    }
    let _ = merged(content);
});
