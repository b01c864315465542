//! Any bytes as an index of git: it is read without a panic, and no more is kept than was asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::judge::index::hidden;

fuzz_target!(|content: &[u8]| {
    if let Ok(paths) = hidden(content, 3) {
        assert!(paths.len() <= 3);
    }
});
