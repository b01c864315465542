//! Names by which git finds another reference than they used to name: gitrevisions(7), `<refname>`, and `ref_rev_parse_rules` in git's own
//! `refs.c`.

/// What stands before and behind a short name in the names that git tries, in its order.
const RULES: [(&[u8], &[u8]); 6] = [
    (b"", b""),
    (b"refs/", b""),
    (b"refs/tags/", b""),
    (b"refs/heads/", b""),
    (b"refs/remotes/", b""),
    (b"refs/remotes/", b"/HEAD"),
];

/// The fewest digits that git takes for the beginning of an object ID, and the fewest that it prints unless it is told otherwise.
const FEWEST_DIGITS: usize = 4;
const PRINTED_DIGITS: usize = 7;

/// The longest object ID, in digits.
const MOST_DIGITS: usize = 64;

/// Lists the short names of a reference for which git first looks right among its data, such as `main`.
pub fn short_names(reference: &[u8]) -> impl Iterator<Item = &[u8]> {
    RULES.iter().skip(1).filter_map(|rule| short(reference, rule))
}

/// Lists the references that have a short name in common with this one, and that git takes only where this one is not there.
pub fn behind(reference: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (number, rule) in RULES.iter().enumerate() {
        let Some(short) = short(reference, rule) else { continue };
        found.extend(RULES[number + 1..].iter().map(|(before, end)| [before, short, end].concat()));
    }
    found
}

fn short<'r>(reference: &'r [u8], (before, end): &(&[u8], &[u8])) -> Option<&'r [u8]> {
    reference.strip_prefix(*before)?.strip_suffix(*end).filter(|short| !short.is_empty())
}

/// Returns what a reference may be taken for whatever else there is: `HEAD`, or any reference of its name, if it lies right in `refs`, where
/// git itself has only the stash.
pub fn mistaken_for(reference: &[u8]) -> Option<&[u8]> {
    let of_kind = reference.strip_prefix(b"refs/")?;
    match of_kind {
        b"stash" => None,
        b"tags/HEAD" | b"heads/HEAD" | b"remotes/HEAD" => Some(b"HEAD"),
        _ => (!of_kind.contains(&b'/')).then_some(of_kind),
    }
}

/// Returns the digits with which an object ID begins that a tag or a branch may be taken for, in small letters: its name, or those at the end of
/// what `git describe` prints. Fewer digits than git prints, without a letter among them, are a number of something else.
pub fn abbreviated(reference: &[u8]) -> Option<String> {
    let name =
        ["refs/tags/", "refs/heads/"].iter().find_map(|kind| reference.strip_prefix(kind.as_bytes()))?;
    let text = std::str::from_utf8(name).ok()?;
    let digits = text.rsplit_once("-g").map_or(text, |(_, digits)| digits);
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_one = (FEWEST_DIGITS..=MOST_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (digits.len() >= PRINTED_DIGITS || !is_number(digits));
    is_one.then(|| digits.to_ascii_lowercase())
}

/// Says what kind of reference it is, with its short name. Digits alone are those of an object ID.
pub(super) fn described(reference: &str) -> String {
    let kinds =
        [("refs/tags/", "tag "), ("refs/heads/", "branch "), ("refs/remotes/", "remote-tracking branch ")];
    let of_kind = kinds.iter().find_map(|(before, kind)| Some((*kind, reference.strip_prefix(before)?)));
    let is_object = reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (kind, name) = of_kind.unwrap_or((if is_object { "object " } else { "reference " }, reference));
    format!("{kind}`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_goes_before_those_that_git_tries_later() {
        for (first, later) in [
            ("refs/tags/origin/main", "refs/remotes/origin/main"),
            ("refs/heads/origin/main", "refs/remotes/origin/main"),
            ("refs/origin/main", "refs/remotes/origin/main"),
            ("refs/heads/origin", "refs/remotes/origin/HEAD"),
            ("refs/tags/main", "refs/heads/main"),
            ("PROJ-123", "refs/heads/PROJ-123"),
            ("refs/tags/x", "refs/heads/tags/x"),
        ] {
            let is_behind = |first: &str, later: &str| {
                behind(first.as_bytes()).iter().any(|name| name == later.as_bytes())
            };
            assert!(is_behind(first, later) && !is_behind(later, first), "{first} {later}");
        }
        for (one, other) in [
            ("refs/heads/feature", "refs/heads/main"),
            ("refs/heads/origin-fix", "refs/remotes/origin/HEAD"),
            ("refs/remotes/origin/new", "refs/heads/new"),
            ("refs/heads/main", "refs/remotes/origin/main"),
            ("refs/heads/main", "refs/heads/main"),
        ] {
            assert!(!behind(one.as_bytes()).iter().any(|name| name == other.as_bytes()), "{one} {other}");
        }
        let short: Vec<&[u8]> = short_names(b"refs/remotes/origin/HEAD").collect();
        assert_eq!(short, [&b"remotes/origin/HEAD"[..], b"origin/HEAD", b"origin"]);
    }

    #[test]
    fn a_reference_is_described_by_its_kind() {
        for (reference, text) in [
            ("refs/tags/v1", "tag `v1`"),
            ("refs/heads/main", "branch `main`"),
            ("refs/remotes/origin/main", "remote-tracking branch `origin/main`"),
            ("refs/x", "reference `refs/x`"),
            ("HEAD", "reference `HEAD`"),
            ("0123abc", "object `0123abc`"),
        ] {
            assert_eq!(described(reference), text);
        }
    }

    #[test]
    fn some_names_are_taken_for_something_else_whatever_there_is() {
        for (name, other) in
            [("refs/foo", Some("foo")), ("refs/tags/HEAD", Some("HEAD")), ("refs/heads/HEAD", Some("HEAD"))]
                .into_iter()
                .chain(
                    ["refs/stash", "refs/remotes/origin/HEAD", "refs/heads/x", "refs/notes/commits", "HEAD"]
                        .map(|name| (name, None)),
                )
        {
            assert_eq!(mistaken_for(name.as_bytes()), other.map(str::as_bytes), "{name}");
        }
        for (name, digits) in [
            ("refs/tags/0123abc", Some("0123abc")),
            ("refs/heads/DEAD", Some("dead")),
            ("refs/tags/v1-3-g0123abc", Some("0123abc")),
            ("refs/tags/20240101", Some("20240101")),
            ("refs/heads/1234", None),
            ("refs/heads/abc", None),
            ("refs/tags/v1", None),
            ("refs/heads/fix-gate", None),
            ("refs/remotes/origin/0123abc", None),
        ] {
            assert_eq!(abbreviated(name.as_bytes()).as_deref(), digits, "{name}");
        }
    }
}
