//! Edits of a text as a model gives them: all of them are applied, or none, and what is refused says where.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::query::Denial;
use sandbox::tools::{Edit, apply};

fuzz_target!(|input: (String, Vec<(String, String)>)| {
    let (text, edits) = input;
    let edits: Vec<Edit> = edits.into_iter().map(|(old, new)| Edit { old, new }).collect();
    match apply(&text, &edits, "x") {
        Ok((changed, lines)) => {
            assert_eq!(lines.len(), edits.len());
            if let [Edit { old, new }] = edits.as_slice() {
                assert_eq!(text.matches(old.as_str()).count(), 1);
                assert_eq!(text.replacen(old.as_str(), new, 1), changed);
            }
        }
        Err(Denial::NoMatch { edit, nearest, .. }) => {
            assert!(edit >= 1 && edit <= edits.len());
            assert!(nearest.iter().all(|near| near.line >= 1));
        }
        Err(Denial::SeveralMatches { count, lines, .. }) => assert!(count > 1 && lines.len() == count.min(8)),
        Err(Denial::NoEdit { edit, .. }) => assert!(edit >= 1 && edit <= edits.len()),
        Err(other) => panic!("{other}"),
    }
});
