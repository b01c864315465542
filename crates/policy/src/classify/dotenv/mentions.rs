//! Names of listed variables in a line, wherever they stand.
//!
//! Readers look for a name where nobody has thought of it: behind `=` without a name (Node.js 22), in `${NAME:=value}`, in parts of a word that
//! quotes divide (`export LD_''PRELOAD=x`). So each name that something may set counts, if no assignment was found there.

use std::collections::BTreeMap;

use super::words::is_of_name;
use crate::variables::kind;

/// Letters that shells and other readers leave out of a name.
const DROPPED: [char; 4] = ['"', '\'', '`', '\\'];

/// Returns the first name in a line that is set more often than in the assignments that were found there. `found` has the names of these.
pub(super) fn beyond(line: &str, found: &[&str]) -> Option<String> {
    let mut known = BTreeMap::<&str, usize>::new();
    for name in found {
        *known.entry(name).or_default() += 1;
    }
    let bare = line.contains(DROPPED).then(|| line.replace(DROPPED, ""));
    [Some(line), bare.as_deref()].into_iter().flatten().find_map(|text| {
        let mut times = BTreeMap::<&str, usize>::new();
        for name in set(text).filter(|name| is_listed(name)) {
            *times.entry(name).or_default() += 1;
        }
        let is_beyond = |(name, times): &(&str, usize)| *times > known.get(name).copied().unwrap_or_default();
        times.into_iter().find(is_beyond).map(|(name, _)| name.to_owned())
    })
}

/// Lists the words of a line behind which something may set a variable of that name, before the next word.
fn set(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    let mut is_first = true;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_of_name)?;
            let word = &rest[start..];
            let (word, behind) = word.split_at(word.find(|letter| !is_of_name(letter)).unwrap_or(word.len()));
            let (between, _) = behind.split_at(behind.find(char::is_alphanumeric).unwrap_or(behind.len()));
            let before = &rest[..start];
            rest = behind;
            // What refers to a variable may set it, too.
            let is_set = if before.ends_with('$') || before.ends_with("${") {
                between.trim_start_matches(':').starts_with('=')
            } else {
                // A colon does so at the beginning alone, and stands in many values.
                between.contains('=') || is_first && between.contains(':')
            };
            is_first = false;
            if is_set {
                return Some(word);
            }
        }
    })
}

/// Returns whether a variable is listed by this name, as programs ask for it: few do so in lower case.
fn is_listed(name: &str) -> bool {
    let is_lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_asked_for = name.ends_with("_proxy") || name.starts_with("npm_config_");
    let is_name = !name.starts_with(|letter: char| letter.is_ascii_digit());
    is_name && (!is_lower || is_asked_for) && kind(&name.to_ascii_uppercase()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_something_sets_counts_once_more_than_it_was_found() {
        for (line, found, beyond_these) in [
            ("LD_PRELOAD=x", &[][..], Some("LD_PRELOAD")),
            ("LD_PRELOAD=x", &["LD_PRELOAD"], None),
            ("=LD_PRELOAD=x", &[], Some("LD_PRELOAD")),
            ("LD_PRELOAD= =LD_PRELOAD=x", &["LD_PRELOAD"], Some("LD_PRELOAD")),
            ("export LD_''PRE\\LOAD=x", &[], Some("LD_PRELOAD")),
            ("A=${LD_PRELOAD:=x}", &["A"], Some("LD_PRELOAD")),
            ("A=${LD_PRELOAD=x}", &["A"], Some("LD_PRELOAD")),
            ("A=$PATH:/x:${PATH}", &["A"], None),
            ("A=1 \"http_proxy\" = x", &["A"], Some("http_proxy")),
            ("|http_proxy| : x", &[], Some("http_proxy")),
            ("A={\"PATH\": 1}", &["A"], None),
            ("A=/x?path=/y&proxy=z", &["A"], None),
            ("A=PATH", &["A"], None),
        ] {
            assert_eq!(beyond(line, found).as_deref(), beyond_these, "{line}");
        }
    }
}
