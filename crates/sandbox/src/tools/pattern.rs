//! Patterns that are typed: globs and regular expressions, within bounds.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use policy::query::{Denial, PatternFault, PatternKind};
use policy::text::escape;

/// The longest pattern.
const MAX_PATTERN: usize = 4096;

/// How many braces a glob opens at most: they may lie within each other, and each takes a part of the stack.
const MAX_BRACES: usize = 32;

/// How much memory a compiled regular expression takes at most, and what it caches while it searches. What is searched without a look at the
/// clock takes the longer the larger it is.
const MAX_REGEX: usize = 1 << 20;

/// A glob over paths. One without a slash is about names, wherever they are, as in gitignore(5).
#[derive(Clone, Debug)]
pub(super) struct Glob {
    matcher: GlobSet,
    is_name: bool,
}

impl Glob {
    /// Compiles a glob.
    pub(super) fn new(pattern: &str) -> Result<Self, Denial> {
        let fault = |fault| Denial::Pattern { kind: PatternKind::Glob, pattern: shown(pattern), fault };
        let syntax =
            |error: globset::Error| fault(PatternFault::Syntax { message: error.kind().to_string() });
        if pattern.len() > MAX_PATTERN {
            return Err(fault(PatternFault::TooLong { limit: MAX_PATTERN }));
        }
        if pattern.matches('{').count() > MAX_BRACES {
            return Err(fault(PatternFault::Braces { limit: MAX_BRACES }));
        }
        // A leading slash, or `./`, says that it begins here, as all with a slash do.
        let is_name = !pattern.trim_end_matches('/').contains('/');
        let plain = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix('/')).unwrap_or(pattern);
        let glob = GlobBuilder::new(plain.trim_end_matches('/')).literal_separator(true).build();
        // A set of one: compiled alone, a glob that cannot be compiled is a panic.
        let matcher = GlobSetBuilder::new().add(glob.map_err(syntax)?).build().map_err(syntax)?;
        Ok(Self { matcher, is_name })
    }

    /// Returns whether it matches a path, as seen from where the walk begins.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let path = if self.is_name { path.file_name().map_or(path, Path::new) } else { path };
        self.matcher.is_match(path)
    }
}

/// What letters of a regular expression match.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Case {
    #[default]
    Exact,
    Ignored,
}

/// Compiles a regular expression that is matched line by line. Its time is linear in what is searched, with a factor that its size bounds.
pub(super) fn regex(pattern: &str, case: Case) -> Result<RegexMatcher, Denial> {
    let fault = |fault| Denial::Pattern { kind: PatternKind::Regex, pattern: shown(pattern), fault };
    if pattern.len() > MAX_PATTERN {
        return Err(fault(PatternFault::TooLong { limit: MAX_PATTERN }));
    }
    let mut builder = RegexMatcherBuilder::new();
    // A searcher has it look through many lines at once. Of one that ends with CR and LF, `$` is before both.
    builder.case_insensitive(case == Case::Ignored).multi_line(true).crlf(true);
    builder.size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX).nest_limit(64);
    builder.build(pattern).map_err(|error| {
        let message = error.to_string();
        let message = message.lines().last().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
        // The crate has no kind of error for this.
        if message.contains("exceeds size limit") {
            return fault(PatternFault::TooLarge { limit: MAX_REGEX });
        }
        fault(PatternFault::Syntax { message: escape::line(message).into_owned() })
    })
}

/// Returns a pattern as it is shown: the beginning of a long one.
fn shown(pattern: &str) -> String {
    const SHOWN: usize = 200;
    let pattern = escape::line(pattern);
    match pattern.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_is_about_names() {
        let is = |glob: &str, path: &str| Glob::new(glob).unwrap().matches(Path::new(path));
        assert!(is("*.rs", "a/b/c.rs") && is("*.rs", "c.rs"));
        assert!(is("src/*.rs", "src/c.rs") && !is("src/*.rs", "src/d/c.rs") && !is("src/*.rs", "a/src/c.rs"));
        assert!(is("**/*.rs", "c.rs") && is("src/**/*.rs", "src/d/e/c.rs"));
        assert!(is("/c.rs", "c.rs") && !is("/c.rs", "a/c.rs"));
    }

    #[test]
    fn braces_have_a_bound() {
        assert!(Glob::new("*.{rs,{toml,md}}").unwrap().matches(Path::new("a/b.md")));
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(Glob::new(&nested(MAX_BRACES)).unwrap().matches(Path::new("a")));
        for pattern in [nested(MAX_BRACES + 1), nested(300), nested(2000), "{[}]".repeat(300)] {
            let denial = Glob::new(&pattern).unwrap_err();
            assert!(matches!(denial, Denial::Pattern { fault: PatternFault::Braces { .. }, .. }), "{denial}");
        }
    }

    #[test]
    fn patterns_that_cannot_be_used_say_why() {
        let denial = Glob::new("[").unwrap_err();
        assert!(matches!(denial, Denial::Pattern { fault: PatternFault::Syntax { .. }, .. }), "{denial}");
        let long = regex(&"a".repeat(5000), Case::Exact).unwrap_err();
        assert!(long.to_string().ends_with("it is longer than 4096 bytes; write a shorter one"), "{long}");
        for large in ["(x{1000}){1000}", "(((((x{100}){100}){100}))))", "\\w{1000}"] {
            let denial = regex(large, Case::Exact).unwrap_err();
            assert!(matches!(denial, Denial::Pattern { .. }), "{denial}");
        }
        let denial = regex("\\w{1000}", Case::Exact).unwrap_err();
        assert!(denial.to_string().contains("compiled, it needs more than 1048576 bytes"), "{denial}");
        for common in [r"\b\w{1,20}\(\)", r"(?i)[a-z_]\w*\s*=\s*\d{1,3}", r"\p{L}{2,8}\s+\S{3,40}"] {
            regex(common, Case::Ignored).unwrap();
        }
        let denial = regex("(a", Case::Exact).unwrap_err();
        assert!(denial.to_string().contains("unclosed group"), "{denial}");
    }
}
