//! Suggestions: which known word a mistyped one was meant to be.

use strsim::osa_distance;

/// Finds the known word nearest to `word`, if one is near enough to be worth saying.
///
/// Near enough is one slip for every three letters: a letter too many, missing, wrong, or swapped with its
/// neighbour. Case and the choice between `-` and `_` cost nothing.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are not slips of ours, and comparing them would cost time for nothing.
    const MAX_LENGTH: usize = 64;
    let word = folded(word);
    let length = |word: &str| word.chars().count();
    if word.is_empty() || length(&word) > MAX_LENGTH {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (osa_distance(&word, &folded(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (length(&word).max(length(candidate)) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns whether `word` is a known one with a single slip.
pub fn is_slip_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> bool {
    let word = folded(word);
    known.into_iter().any(|candidate| osa_distance(&word, &folded(candidate)) <= 1)
}

/// Writes `did you mean "x"?`, if a known word is near enough.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean {near:?}?"))
}

fn folded(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["memory", "cpus", "pids", "output_bytes"];

    #[test]
    fn finds_the_word_that_was_meant() {
        assert_eq!(nearest("memroy", KNOWN), Some("memory"));
        assert_eq!(nearest("cpu", KNOWN), Some("cpus"));
        assert_eq!(nearest("Output-Bytes", KNOWN), Some("output_bytes"));
        // A swap of neighbours is one slip.
        assert_eq!(nearest("pdi", ["pid"]), Some("pid"));
    }

    #[test]
    fn a_slip_is_one_letter() {
        assert!(is_slip_of("cpsu", KNOWN) && is_slip_of("pid", KNOWN) && is_slip_of("Output-Bytes", KNOWN));
        assert!(!is_slip_of("memroi", KNOWN) && !is_slip_of("p", KNOWN));
    }

    #[test]
    fn says_nothing_when_nothing_is_near() {
        assert_eq!(nearest("banana", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
        assert_eq!(nearest(&"memory".repeat(40), KNOWN), None);
    }
}
