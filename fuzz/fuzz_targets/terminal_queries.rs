//! What an agent shows on a terminal: wherever it is cut, the same is left out, and of what is left nothing more is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox::host::terminal::Queries;

fuzz_target!(|shown: &[u8]| {
    let left = Queries::default().leave_out(shown);
    let mut queries = Queries::default();
    let pieces: Vec<u8> = shown.iter().flat_map(|byte| queries.leave_out(&[*byte])).collect();
    assert_eq!(left, pieces);
    assert_eq!(Queries::default().leave_out(&left), left);
    assert!(!left.contains(&0x05), "the answerback");
});
