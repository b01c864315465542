//! Paths of URLs in a form that every server reads alike, and patterns of them: of routes, and of rules about requests.

/// What some servers take for a slash, a step up, the end of the path, or the begin of parameters, also where they decode it and use the path once more.
const DISGUISED: [&str; 12] = ["%00", "%23", "%25", "%2e", "%2f", "%3b", "%3f", "%5c", "#", ";", "\\", "?"];

/// Returns a path in the form that is compared, decoded; `None` where servers could find other parts in it: steps up, parts without a
/// name, slashes in disguise, parameters.
pub fn normal(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    if !path.starts_with('/') || !path.is_ascii() || DISGUISED.iter().any(|text| lower.contains(text)) {
        return None;
    }
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit =
                    || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit()? * 16 + digit()?
            }
            byte => byte,
        });
    }
    // Some servers take an overlong form of UTF-8 for the letter that it stands for.
    let decoded = String::from_utf8(decoded).ok()?;
    let mut parts = decoded.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        // The last one may be empty: that is a slash at the end.
        let is_step =
            part.trim_end_matches(['.', ' ']).is_empty() && (!part.is_empty() || parts.peek().is_some());
        if is_step || part.contains(char::is_control) {
            return None;
        }
    }
    Some(decoded)
}

/// Returns a path in its normal form as servers on Windows find files: no name ends in a dot or a space, and what follows `:$` is a part of the same file.
pub(super) fn on_windows(path: &str) -> String {
    let name = |part: &str| {
        let name = part.split_once(":$").map_or(part, |(name, _)| name.trim_end_matches(':'));
        name.trim_end_matches(['.', ' ']).to_owned()
    };
    path.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// Returns whether a path in its normal form is one of these: the same, or with `*` at the end of the pattern any that goes on there.
/// `/*` is every path.
pub fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("/") => true,
        Some(above) => path.strip_prefix(above).is_some_and(|below| !below.is_empty()),
        None => path == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_form_or_none() {
        for (path, form) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/", "/a/"),
            ("/%61/b%20c", "/a/b c"),
            ("/caf%C3%A9", "/café"),
            ("/.well-known/x..y", "/.well-known/x..y"),
            ("/a:b", "/a:b"),
        ] {
            assert_eq!(normal(path).as_deref(), Some(form), "{path}");
        }
        for path in [
            "", "a", "*", "//", "/a//b", "/./a", "/a/..", "/../a", "/a/.../b", "/a/%2e%2e/b", "/a%2Fb",
            "/a%5cb", "/a\\b", "/a;b", "/a/..;/b", "/a%3bb", "/a%252e", "/a%00", "/a%0ab", "/a%7f", "/a%",
            "/a%4", "/a%zz", "/a/..%20/b", "/a/%20/b", "/%c0%ae%c0%ae/a", "/%ff", "/é", "/a?b", "/a%3fb",
            "/a%3F", "/a%23", "/a#b",
        ] {
            assert_eq!(normal(path), None, "{path}");
        }
    }

    #[test]
    fn names_on_windows_have_no_dot_or_space_at_their_end() {
        for (path, name) in [
            ("/a/b", "/a/b"),
            ("/a./b .", "/a/b"),
            ("/a::$DATA", "/a"),
            ("/a:$I30:$INDEX_ALLOCATION/b", "/a/b"),
            ("/v1/model:run", "/v1/model:run"),
            ("/.a/", "/.a/"),
        ] {
            assert_eq!(on_windows(path), name, "{path}");
        }
    }

    #[test]
    fn a_pattern_is_a_path_or_all_below_it() {
        for (pattern, path, matched) in [
            ("/v1/models", "/v1/models", true),
            ("/v1/models", "/v1/models/a", false),
            ("/v1/models", "/v1/modelsx", false),
            ("/v1/models/*", "/v1/models/a", true),
            ("/v1/models/*", "/v1/models/a/b", true),
            ("/v1/models/*", "/v1/models/", false),
            ("/v1/models/*", "/v1/models", false),
            ("/v1*", "/v1beta/models", true),
            ("/", "/", true),
            ("/", "/v1", false),
            ("/*", "/", true),
            ("/*", "/v1", true),
        ] {
            assert_eq!(matches(pattern, path), matched, "{pattern} {path}");
        }
    }
}
