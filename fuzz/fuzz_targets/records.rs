//! Any bytes as the record of a run: reading ends without a panic, and what was read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox::state::record::Record;

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = Record::from_bytes(bytes) else { return };
    let text = record.to_bytes().expect("what was read can be written");
    assert_eq!(record, Record::from_bytes(&text).expect("what was written can be read"));
});
