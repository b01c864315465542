//! Suggestions: which known word a mistyped one was meant to be.

/// Finds the known word nearest to `word`, if one is near enough to be worth saying.
///
/// Near enough is one slip for every three letters: a letter too many, missing, wrong, or swapped with its
/// neighbour. Case and the choice between `-` and `_` cost nothing.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are not slips of ours, and comparing them would cost time for nothing.
    const LONGEST: usize = 64;
    let word = folded(word);
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (distance(&word, &folded(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (word.len().max(candidate.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Writes `did you mean "x"?`, if a known word is near enough.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean {near:?}?"))
}

fn folded(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Computes the Damerau-Levenshtein distance, in the variant where no part is edited twice.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut cost = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
    }

    #[test]
    fn says_nothing_when_nothing_is_near() {
        assert_eq!(nearest("banana", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
        assert_eq!(nearest(&"memory".repeat(40), KNOWN), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_slip() {
        let chars = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("memroy"), &chars("memory")), 1);
        assert_eq!(distance(&chars("kitten"), &chars("sitting")), 3);
        assert_eq!(distance(&[], &chars("ab")), 2);
    }
}
