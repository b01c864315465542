//! Names of listed variables that something in a text may set, wherever they stand.
//!
//! Readers look for a name where nobody has thought of it: behind `=` without a name (Node.js 22), in `${NAME:=value}`, in parts of a word that
//! quotes divide (`export LD_''PRELOAD=x`).

use super::grammar::Searched;
use super::words::is_of_name;
use crate::variables::kind;

/// Letters that shells and other readers leave out of a name.
const DROPPED: [char; 4] = ['"', '\'', '`', '\\'];

/// Returns the first listed name that a text may set.
pub(super) fn first_in(searched: Searched<'_>) -> Option<String> {
    // A colon ends a name at the beginning of a line alone, and stands in many values.
    let (text, signs) = match searched {
        Searched::Line(text) => (text, &['=', ':'][..]),
        Searched::Value(text) => (text, &['='][..]),
    };
    if !text.contains(signs) {
        return None;
    }
    let joined = text.contains("\\\n").then(|| text.replace("\\\n", ""));
    let joined = joined.as_deref().unwrap_or(text);
    let bare = joined.contains(DROPPED).then(|| joined.replace(DROPPED, ""));
    [Some(text), Some(joined), bare.as_deref()].into_iter().flatten().find_map(|text| set(text, signs))
}

/// Returns the first listed name in a text behind which something may set a variable, before the next word; these signs do so behind the first one.
fn set(text: &str, mut signs: &[char]) -> Option<String> {
    let mut rest = text;
    loop {
        let start = rest.find(is_of_name)?;
        // npm takes hyphens for underscores.
        let is_of_word = |letter: char| is_of_name(letter) || letter == '-';
        let word = &rest[start..];
        let (word, behind) = word.split_at(word.find(|letter| !is_of_word(letter)).unwrap_or(word.len()));
        let (between, _) = behind.split_at(behind.find(char::is_alphanumeric).unwrap_or(behind.len()));
        let before = &rest[..start];
        rest = behind;
        // What refers to a variable may set it, too. zsh knows some in lower case.
        let is_reference = before.ends_with('$') || before.ends_with("${");
        let is_set = if is_reference {
            between.trim_start_matches(':').starts_with('=')
        } else {
            between.contains(signs)
        };
        signs = &['='];
        let found = is_set.then(|| listed(word, is_reference)).flatten();
        if found.is_some() {
            return found;
        }
    }
}

/// Returns the name by which a variable is listed in a word, or in its last part, as programs ask for it: few do so in lower case.
fn listed(word: &str, is_reference: bool) -> Option<String> {
    let is_listed = |name: &str| {
        let is_lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_asked_for =
            name.ends_with("_proxy") || name.starts_with("npm_config_") || name.starts_with("yarn_");
        let is_name = !name.starts_with(|letter: char| letter.is_ascii_digit());
        is_name && (!is_lower || is_asked_for || is_reference) && kind(&name.to_ascii_uppercase()).is_some()
    };
    let whole = word.replace('-', "_");
    let last = word.rsplit('-').next().unwrap_or_default();
    [whole.as_str(), last].into_iter().find(|name| is_listed(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_is_found_where_something_may_set_it() {
        for (text, found) in [
            ("LD_PRELOAD=x", Some("LD_PRELOAD")),
            ("=LD_PRELOAD=x", Some("LD_PRELOAD")),
            ("export LD_''PRE\\LOAD=x", Some("LD_PRELOAD")),
            ("A=1 # \\\nLD_\\\nPRELOAD=x", Some("LD_PRELOAD")),
            ("A=${LD_PRELOAD:=x}", Some("LD_PRELOAD")),
            ("A=${LD_PRELOAD=x}", Some("LD_PRELOAD")),
            (": ${path::=x}", Some("path")),
            ("A=$PATH:/x:${PATH}", None),
            ("A=1 \"http_proxy\" = x", Some("http_proxy")),
            ("|http_proxy| : x", Some("http_proxy")),
            ("npm_config_script-shell=./x", Some("npm_config_script_shell")),
            ("yarn_script-shell ./x", None),
            ("yarn_script-shell=./x", Some("yarn_script_shell")),
            ("a-LD_PRELOAD=./x", Some("LD_PRELOAD")),
            ("A={\"PATH\": 1}", None),
            ("A=/x?path=/y&proxy=z", None),
            ("A=PATH", None),
        ] {
            assert_eq!(first_in(Searched::Line(text)).as_deref(), found, "{text}");
        }
    }
}
