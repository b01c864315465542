//! What an agent shows on a terminal: wherever it is cut, the same is left out, and of what is left nothing more is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox::host::terminal::{Answers, ScreenFilter};

fuzz_target!(|shown: &[u8]| {
    for answers in [Answers::Read, Answers::Unread] {
        let mut left = ScreenFilter::default().show(shown, answers);
        let mut filter = ScreenFilter::default();
        let pieces: Vec<u8> = shown.iter().flat_map(|byte| filter.show(&[*byte], answers)).collect();
        assert_eq!(left, pieces);
        // What has no end is withheld.
        left.push(b'.');
        assert_eq!(ScreenFilter::default().show(&left, answers), left);
        assert!(answers == Answers::Read || !left.contains(&0x05), "the answerback");
    }
});
