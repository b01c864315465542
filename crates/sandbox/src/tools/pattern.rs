//! Patterns that are typed: globs and regular expressions, within bounds.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use policy::query::{Denial, PatternFault, PatternKind};
use policy::text::escape;

/// The longest pattern.
const MAX_PATTERN: usize = 4096;

/// How much memory a compiled regular expression takes at most, and what it caches while it searches.
const MAX_REGEX: usize = 8 << 20;

/// A glob over paths. One without a slash is about names, wherever they are, as in gitignore(5).
#[derive(Clone, Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    is_name: bool,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Result<Self, Denial> {
        let fault = |fault| Denial::Pattern { kind: PatternKind::Glob, pattern: shown(pattern), fault };
        if pattern.len() > MAX_PATTERN {
            return Err(fault(PatternFault::TooLarge { limit: MAX_PATTERN }));
        }
        // A leading slash, or `./`, says that it begins here, as all with a slash do.
        let is_name = !pattern.trim_end_matches('/').contains('/');
        let plain = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix('/')).unwrap_or(pattern);
        let glob = GlobBuilder::new(plain.trim_end_matches('/')).literal_separator(true).build();
        let glob = glob.map_err(|error| fault(PatternFault::Syntax { message: error.kind().to_string() }))?;
        Ok(Self { matcher: glob.compile_matcher(), is_name })
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
    /// Upper and lower case are the same.
    Ignored,
}

/// Compiles a regular expression that is matched line by line. Its time is linear in what is searched, whatever it says.
pub(super) fn regex(pattern: &str, case: Case) -> Result<RegexMatcher, Denial> {
    let fault = |fault| Denial::Pattern { kind: PatternKind::Regex, pattern: shown(pattern), fault };
    if pattern.len() > MAX_PATTERN {
        return Err(fault(PatternFault::TooLarge { limit: MAX_PATTERN }));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(case == Case::Ignored).line_terminator(Some(b'\n'));
    builder.size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX).nest_limit(64);
    builder.build(pattern).map_err(|error| {
        let message = error.to_string();
        let message = message.lines().last().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
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
    fn patterns_that_cannot_be_used_say_why() {
        let denial = Glob::new("[").unwrap_err();
        assert!(matches!(denial, Denial::Pattern { fault: PatternFault::Syntax { .. }, .. }), "{denial}");
        for long in ["a".repeat(5000), "(x{1000}){1000}".to_owned(), "(((((x{100}){100}){100}))))".to_owned()]
        {
            let denial = regex(&long, Case::Exact).unwrap_err();
            assert!(matches!(denial, Denial::Pattern { .. }), "{denial}");
        }
        let denial = regex("(a", Case::Exact).unwrap_err();
        assert!(denial.to_string().contains("unclosed group"), "{denial}");
    }
}
