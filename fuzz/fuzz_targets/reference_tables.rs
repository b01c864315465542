//! Any bytes as a table of references of git: what is made without the obeyed ones is a table without them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::classify::reftable::{obeyed_references, without_obeyed_references};

fuzz_target!(|content: &[u8]| {
    let is_read = obeyed_references(content, |_| ()).is_ok();
    let made = without_obeyed_references(content, &[]);
    if let Ok(made) = &made {
        assert!(is_read);
        let mut left = 0;
        obeyed_references(made, |_| left += 1).expect("what was made is malformed");
        assert_eq!(left, 0);
    }
});
