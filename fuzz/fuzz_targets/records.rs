//! Any bytes as the record of a run: reading ends without a panic, and what was read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox::state::record::Record;

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = serde_json::from_slice::<Record>(bytes) else { return };
    let text = serde_json::to_vec(&record).expect("what was read can be written");
    assert_eq!(record, serde_json::from_slice(&text).expect("what was written can be read"));
});
