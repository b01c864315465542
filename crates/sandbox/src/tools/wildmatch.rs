//! Patterns of `.gitignore`, see gitignore(5): matched as they are written, so that a pattern costs no memory, and its time is the product
//! of its length and that of a path at most.

/// Returns whether a pattern with a slash matches a path, both without slashes at their ends.
pub(super) fn matches_path(pattern: &[u8], path: &[u8]) -> bool {
    let (mut pattern, mut path) = (Some(pattern), Some(path));
    // What comes after the last `**`, and the part of the path that it was tried with.
    let mut again = None;
    loop {
        match (first(pattern), first(path)) {
            // What is in a directory, and not the directory.
            (Some((b"**", None)), there) => return there.is_some(),
            (Some((b"**", rest)), _) => {
                again = Some((rest, path));
                pattern = rest;
                continue;
            }
            (Some((component, rest)), Some((name, below))) if matches_name(component, name) => {
                (pattern, path) = (rest, below);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        // The last `**` takes one component more.
        let Some((after, from)) = again else { return false };
        let Some((_, below)) = first(from) else { return false };
        again = Some((after, below));
        (pattern, path) = (after, below);
    }
}

/// Splits a path at its first slash.
fn first(path: Option<&[u8]>) -> Option<(&[u8], Option<&[u8]>)> {
    let path = path?;
    Some(match path.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
        None => (path, None),
    })
}

/// Returns whether a pattern matches a name.
pub(super) fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut rest, mut left) = (pattern, name);
    // What comes after the last `*`, and the part of the name that it was tried with.
    let mut again = None;
    loop {
        match (rest, left) {
            ([], []) => return true,
            ([b'*', after @ ..], _) => {
                again = Some((after, left));
                rest = after;
                continue;
            }
            (_, [byte, below @ ..]) => {
                if let Some(after) = matches_byte(rest, *byte) {
                    (rest, left) = (after, below);
                    continue;
                }
            }
            _ => {}
        }
        // The last `*` takes one byte more.
        let Some((after, [_, below @ ..])) = again else { return false };
        again = Some((after, below));
        (rest, left) = (after, below);
    }
}

/// Returns what is left of a pattern whose beginning matches a byte.
fn matches_byte(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'\\', escaped, rest @ ..] => (*escaped == byte).then_some(rest),
        [b'[', class @ ..] => {
            let (is_in, rest) = class_has(class, byte)?;
            is_in.then_some(rest)
        }
        [b'\\'] | [] => None,
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// Returns whether a byte is in a class whose `[` was read, and what comes after the class; nothing where it has no end.
fn class_has(class: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (is_negated, mut rest) = match class {
        [b'!' | b'^', rest @ ..] => (true, rest),
        _ => (false, class),
    };
    let mut is_in = false;
    let mut is_first = true;
    loop {
        if let [b']', after @ ..] = rest {
            if !is_first {
                return Some((is_in != is_negated, after));
            }
        }
        is_first = false;
        if let [b'[', b':', named @ ..] = rest {
            if let Some(end) = named.windows(2).position(|two| two == b":]") {
                is_in |= is_of(&named[..end], byte)?;
                rest = &named[end + 2..];
                continue;
            }
        }
        let (from, after) = member(rest)?;
        match after {
            [b'-', upper @ ..] if !upper.starts_with(b"]") => {
                let (to, after) = member(upper)?;
                is_in |= (from..=to).contains(&byte);
                rest = after;
            }
            _ => {
                is_in |= from == byte;
                rest = after;
            }
        }
    }
}

/// Returns the first member of a class.
fn member(class: &[u8]) -> Option<(u8, &[u8])> {
    match class {
        [b'\\', escaped, rest @ ..] => Some((*escaped, rest)),
        [byte, rest @ ..] => Some((*byte, rest)),
        [] => None,
    }
}

/// Returns whether a byte is in a class of POSIX, by its name; nothing where there is none of this name.
fn is_of(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_as_git_does() {
        let is = |pattern: &str, name: &str| matches_name(pattern.as_bytes(), name.as_bytes());
        assert!(is("*.o", "a.o") && is("*", "") && is("a*b*c", "axbxbc") && !is("a*b*c", "axbxb"));
        assert!(is("a?c", "abc") && !is("a?c", "ac") && is("a\\*c", "a*c") && !is("a\\*c", "abc"));
        assert!(is("{a,b}", "{a,b}") && !is("{a,b}", "a"), "git has no braces");
        assert!(is("[a-c]x", "bx") && !is("[a-c]x", "dx") && is("[!a-c]x", "dx") && is("[^a]", "b"));
        assert!(is("[]a]", "]") && is("[a-]", "-") && is("[\\]]", "]") && is("[[:digit:]x]", "7"));
        assert!(!is("[a", "a") && !is("[[:none:]]", "a") && !is("a\\", "a") && !is("a", "ab"));
    }

    #[test]
    fn paths_are_matched_as_git_does() {
        let is = |pattern: &str, path: &str| matches_path(pattern.as_bytes(), path.as_bytes());
        assert!(is("a/b", "a/b") && !is("a/b", "x/a/b") && !is("a/*", "a/b/c") && !is("a/b", "a"));
        assert!(is("**/b", "b") && is("**/b", "a/x/b") && is("a/**/b", "a/b") && is("a/**/b", "a/x/y/b"));
        assert!(is("a/**", "a/b/c") && !is("a/**", "a") && is("**/a/**/b/*", "x/a/y/a/b/b/c"));
        assert!(is("a**/b", "axx/b") && !is("a**/b", "a/x/b"), "between others it is a `*`");
    }

    #[test]
    fn a_pattern_of_many_stars_ends() {
        let began = std::time::Instant::now();
        let (pattern, name) = ("*a".repeat(500) + "b", "a".repeat(4000));
        assert!(!matches_name(pattern.as_bytes(), name.as_bytes()));
        let (pattern, path) = ("**/a/".repeat(200) + "b", "a/".repeat(2000) + "a");
        assert!(!matches_path(pattern.as_bytes(), path.as_bytes()));
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
