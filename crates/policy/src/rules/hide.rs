//! Hidden paths: patterns of what of a shared directory is not shown inside, see gitignore(5).

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How many parts a pattern has at most.
const MAX_PARTS: usize = 32;

/// A pattern of paths beneath a shared directory.
///
/// One without a slash, but for one at the end, stands for that name in every directory; another one begins at the shared
/// directory. `*` and `?` stand for what is no slash, `**` for any number of directories. With a slash at the end it
/// stands for directories alone. A directory is hidden with all that is in it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HidePattern {
    text: String,
    parts: Vec<Part>,
    is_for_directories: bool,
}

/// A part of a pattern, between two slashes.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Part {
    /// `**`: any number of directories.
    Any,
    Name(String),
    /// A name with wildcards.
    Like(Vec<char>),
}

/// Why a pattern hides nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HideError {
    #[error("an empty pattern; expected one such as `.env` or `secrets/`")]
    Empty,
    #[error(
        "`{given}` begins with `!`, by which a pattern would show again what another hides; nothing takes a pattern back"
    )]
    Negative { given: String },
    /// It has a character that means something to git, and nothing here.
    #[error(
        "`{given}` has `{character}`; a pattern has `*`, `?` and `**` for wildcards, and `?` stands for any one character"
    )]
    Unsupported { given: String, character: char },
    /// It leads out of the directory, or stands still.
    #[error(
        "`{given}` has `.` or `..`; write it as seen from the shared directory, such as `/config/secrets`"
    )]
    Dots { given: String },
    #[error(
        "`{given}` begins with `~`; write it as seen from the shared directory, such as `.env` or `/config/secrets`"
    )]
    Home { given: String },
    #[error("{given:?} has a control character, which no pattern needs")]
    Control { given: String },
    #[error("`{given}` has more than {MAX_PARTS} parts")]
    TooLong { given: String },
}

impl HidePattern {
    /// Returns whether it hides this path, as seen from the shared directory.
    fn matches(&self, path: &[&OsStr], is_directory: bool) -> bool {
        (is_directory || !self.is_for_directories)
            && wild(&self.parts, path, |part| *part == Part::Any, |part, name| part.is(name))
    }

    /// Returns how far a path has come in the pattern: a bit for each part that may come next.
    fn progress(&self, path: &[&OsStr]) -> u64 {
        path.iter().fold(self.skipping(1), |reached, name| self.after(reached, name))
    }

    /// Returns whether it matches a path or one of the directories above, each of which is looked at once: an agent says how many there are.
    fn matches_on_the_way(&self, path: &Path) -> bool {
        let end = 1 << self.parts.len();
        let mut reached = self.skipping(1);
        path.iter().any(|name| {
            reached = self.after(reached, name);
            reached & end != 0
        })
    }

    /// Returns the progress after one more name.
    fn after(&self, reached: u64, name: &OsStr) -> u64 {
        let next = self.parts.iter().enumerate().filter(|(at, _)| reached >> at & 1 == 1);
        self.skipping(next.fold(0, |all, (at, part)| match part {
            Part::Any => all | 1 << at,
            part if part.is(name) => all | 1 << (at + 1),
            Part::Name(_) | Part::Like(_) => all,
        }))
    }

    /// Adds to a progress the parts that are reached by leaving out those that may stand for nothing.
    fn skipping(&self, reached: u64) -> u64 {
        let any = self.parts.iter().enumerate().filter(|(_, part)| **part == Part::Any);
        any.fold(reached, |reached, (at, _)| reached | (reached >> at & 1) << (at + 1))
    }

    /// Returns whether it may match beneath one path where it does not beneath the other.
    fn differs(&self, one: &[&OsStr], other: &[&OsStr]) -> bool {
        let unfinished = (1 << self.parts.len()) - 1;
        self.progress(one) & !self.progress(other) & unfinished != 0
    }
}

impl Part {
    fn is(&self, name: &OsStr) -> bool {
        match self {
            Self::Any => true,
            Self::Name(text) => name == OsStr::new(text),
            Self::Like(pattern) => {
                let name: Vec<char> = name.to_string_lossy().chars().collect();
                wild(pattern, &name, |one| *one == '*', |one, other| *one == '?' || one == other)
            }
        }
    }
}

/// Matches items with a pattern of which some parts stand for any number of items. What such a part stands for is tried from nothing on, and
/// only for the last of them: that takes no longer than both lengths multiplied.
fn wild<P, T>(pattern: &[P], items: &[T], is_any: impl Fn(&P) -> bool, is: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut item) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while item < items.len() {
        match pattern.get(at) {
            Some(part) if is_any(part) => {
                last_any = Some((at, item));
                at += 1;
            }
            Some(part) if is(part, &items[item]) => (at, item) = (at + 1, item + 1),
            _ => {
                let Some((any, taken)) = last_any else { return false };
                last_any = Some((any, taken + 1));
                (at, item) = (any + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(is_any)
}

impl FromStr for HidePattern {
    type Err = HideError;

    fn from_str(text: &str) -> Result<Self, HideError> {
        let given = || text.to_owned();
        if text.chars().any(char::is_control) {
            return Err(HideError::Control { given: given() });
        }
        if text.starts_with('!') {
            return Err(HideError::Negative { given: given() });
        }
        if text.starts_with('~') {
            return Err(HideError::Home { given: given() });
        }
        if let Some(character) = text.chars().find(|character| ['[', ']', '\\'].contains(character)) {
            return Err(HideError::Unsupported { given: given(), character });
        }
        let (path, is_for_directories) = text.strip_suffix('/').map_or((text, false), |path| (path, true));
        let mut parts = if path.contains('/') { Vec::new() } else { vec![Part::Any] };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            parts.push(match name {
                "." | ".." => return Err(HideError::Dots { given: given() }),
                "**" => Part::Any,
                name if name.contains(['*', '?']) => Part::Like(name.chars().collect()),
                name => Part::Name(name.to_owned()),
            });
        }
        if path.chars().all(|character| character == '/') {
            return Err(HideError::Empty);
        }
        // What is in a directory, and not the directory itself.
        if parts.last() == Some(&Part::Any) {
            parts.push(Part::Like(vec!['*']));
        }
        if parts.len() > MAX_PARTS {
            return Err(HideError::TooLong { given: given() });
        }
        Ok(Self { text: given(), parts, is_for_directories })
    }
}

impl fmt::Display for HidePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where what is hidden may have been quarantined: at the root of what a run shared, which may be any directory of this one, or in place, with that
/// name at the end.
const QUARANTINES: [&str; 2] = ["*.sandboxctl-quarantine", "*.sandboxctl-quarantine-*"];

/// Several patterns of one shared directory, and if there is any, those of quarantines.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HidePatterns {
    given: Vec<HidePattern>,
    quarantines: Vec<HidePattern>,
}

impl HidePatterns {
    /// Reads those of a plan, which were validated.
    pub fn of(texts: &[String]) -> Self {
        texts.iter().filter_map(|text| text.parse().ok()).collect()
    }

    /// Returns those of a directory beside which another one hides something, which may have been quarantined here.
    #[must_use]
    pub fn with_quarantines(mut self) -> Self {
        self.quarantines = QUARANTINES.iter().filter_map(|text| text.parse().ok()).collect();
        self
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Returns whether there are some that somebody has given.
    pub fn has_given(&self) -> bool {
        !self.given.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &HidePattern> {
        self.given.iter().chain(&self.quarantines)
    }

    /// Returns whether one hides this path, as seen from the shared directory. What is in a hidden directory is not asked for.
    pub fn hide(&self, path: &Path, is_directory: bool) -> bool {
        let names: Vec<&OsStr> = path.iter().collect();
        self.all().any(|pattern| pattern.matches(&names, is_directory))
    }

    /// Returns whether one hides what a symlink leads to. Nothing that is quarantined is found by a symlink, and an agent can make one of that name.
    pub fn hide_by_link(&self, path: &Path) -> bool {
        let names: Vec<&OsStr> = path.iter().collect();
        self.given.iter().any(|pattern| pattern.matches(&names, true))
    }

    /// Returns the pattern that hides this path, or a directory that it lies in. Whether the path itself is a directory is not
    /// known.
    pub fn hiding(&self, path: &Path) -> Option<&HidePattern> {
        self.all().find(|pattern| pattern.matches_on_the_way(path))
    }
}

impl HidePatterns {
    /// Returns the pattern that may hide something beneath a symlink by the path of that, and does not by the path of the directory that
    /// the link leads to: patterns follow none.
    pub fn hiding_beneath_link(&self, link: &Path, directory: &Path) -> Option<&HidePattern> {
        let [link, directory] = [link, directory].map(|path| path.iter().collect::<Vec<_>>());
        self.given.iter().find(|pattern| pattern.differs(&link, &directory))
    }
}

impl FromIterator<HidePattern> for HidePatterns {
    fn from_iter<I: IntoIterator<Item = HidePattern>>(patterns: I) -> Self {
        let all = Self { given: patterns.into_iter().collect(), quarantines: Vec::new() };
        if all.is_empty() { all } else { all.with_quarantines() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> HidePatterns {
        texts.iter().map(|text| text.parse::<HidePattern>().unwrap()).collect()
    }

    fn hides(pattern: &str, path: &str) -> bool {
        let (path, is_directory) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        patterns(&[pattern]).hide(Path::new(path), is_directory)
    }

    #[test]
    fn quarantines_are_hidden_where_anything_is() {
        let is_hidden = |all: &HidePatterns, path: &str| all.hiding(Path::new(path)).is_some();
        for path in ["", ".git/", "a/", "a/.git/modules/x/"] {
            let path = format!("{path}.sandboxctl-quarantine/17-0/dot-env");
            assert!(is_hidden(&patterns(&["/secrets"]), &path), "{path}");
            assert!(!is_hidden(&patterns(&[]), &path), "{path}");
            assert!(is_hidden(&patterns(&[]).with_quarantines(), &path), "{path}");
        }
        let path = Path::new("a/x.sandboxctl-quarantine");
        assert!(patterns(&["/secrets"]).hide(path, false) && !patterns(&["/secrets"]).hide_by_link(path));
        assert!(patterns(&["*-quarantine"]).hide_by_link(path));
        for name in
            ["dot-env.sandboxctl-quarantine", "dot-env.sandboxctl-quarantine-2", ".sandboxctl-quarantine-1"]
        {
            assert!(is_hidden(&patterns(&["/secrets"]), &format!("a/{name}")), "{name}");
        }
    }

    #[test]
    fn a_pattern_matches_as_that_of_git_does() {
        for (pattern, matched, others) in [
            (".env", &[".env", "a/.env", "a/b/.env", ".env/"][..], &[".env.local", "env", ".env/x"][..]),
            (".env.*", &[".env.local", "a/.env.x.y", ".env."], &[".env", ".envx"]),
            ("secrets/", &["secrets/", "a/secrets/"], &["secrets", "a/secrets", "secrets/x"]),
            ("/config", &["config", "config/"], &["a/config", "configs"]),
            (
                "config/secrets.yml",
                &["config/secrets.yml"],
                &["a/config/secrets.yml", "config/x/secrets.yml"],
            ),
            ("config/*.key", &["config/a.key", "config/.key"], &["config/a/b.key", "b.key"]),
            ("**/keys/*.pem", &["keys/a.pem", "a/b/keys/c.pem"], &["keys/a/b.pem", "a.pem"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["b", "a/bx", "x/a/b"]),
            ("a/**", &["a/x", "a/x/y"], &["a", "a/", "b/x"]),
            ("id_?", &["id_a", "x/id_\u{e9}"], &["id_", "id_ab"]),
            ("*a*b*c", &["abc", "xaybzc", "aabbc"], &["ab", "acb", "abcx"]),
        ] {
            for path in matched {
                assert!(hides(pattern, path), "{pattern} {path}");
            }
            for path in others {
                assert!(!hides(pattern, path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn a_link_is_in_the_way_of_what_its_path_matters_to() {
        for (pattern, link, directory, is_in_the_way) in [
            ("config/prod.key", "config", "conf", true),
            ("config/prod.key", "other", "conf", false),
            ("config/prod.key", "a/config", "conf", false),
            ("config/secrets/", "config", "a/config", true),
            ("config/*/prod.key", "config/b", "x", true),
            ("config/*/prod.key", "config/b", "config/x", false),
            ("cfg/**", "cfg", "a", true),
            ("a/**/key", "a/loop", "a", false),
            ("a/**/key", "b", "a", false),
            ("a/**/key", "a/b", "c", true),
            ("**/keys/*.pem", "keys", "k", true),
            ("**/keys/*.pem", "x/keys", "y/keys", false),
            (".env", "config", "conf", false),
            ("secrets/", "config", "conf", false),
            ("/config", "config", "conf", false),
        ] {
            let found = patterns(&[pattern]);
            let found = found.hiding_beneath_link(Path::new(link), Path::new(directory));
            assert_eq!(found.is_some(), is_in_the_way, "{pattern} {link} {directory}");
        }
        // As long as one may be.
        let longest = "a/".repeat(MAX_PARTS - 1) + "**";
        assert!(longest.parse::<HidePattern>().is_err(), "the control: it gets a part more");
        let longest = patterns(&[&("a/".repeat(MAX_PARTS - 2) + "**")]);
        assert!(longest.hiding_beneath_link(Path::new("a"), Path::new("b")).is_some());
    }

    #[test]
    fn what_is_in_a_hidden_directory_is_hidden_by_its_pattern() {
        let all = patterns(&["secrets/", "/a/*.key"]);
        let hiding = |path: &str| all.hiding(Path::new(path)).map(ToString::to_string);
        assert_eq!(hiding("x/secrets/y/z"), Some("secrets/".to_owned()));
        assert_eq!(hiding("a/b.key"), Some("/a/*.key".to_owned()));
        assert_eq!(hiding("a/b.txt"), None);
        assert_eq!(hiding(""), None);
    }

    #[test]
    fn what_is_on_the_way_to_a_path_matches_as_a_path_of_its_own() {
        let all = ["secrets/", "/a/*.key", "**/b/c", "a/**/b", "a/**", "*a*", "**/a/**/a/b/", ".env"];
        let (mut paths, names) = (vec![String::new()], ["a", "b", "c", "secrets", "x.key"]);
        for _ in 0..4 {
            let longer = paths.iter().flat_map(|path| names.map(|name| format!("{path}/{name}")));
            paths = longer.map(|path| path.trim_start_matches('/').to_owned()).collect();
            for (pattern, path) in
                all.iter().flat_map(|pattern| paths.iter().map(move |path| (pattern, path)))
            {
                let path = Path::new(path);
                let one_by_one = path.ancestors().any(|above| patterns(&[pattern]).hide(above, true));
                assert_eq!(
                    patterns(&[pattern]).hiding(path).is_some(),
                    one_by_one,
                    "{pattern} {}",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn a_deep_path_takes_no_longer_than_it_is() {
        let all = patterns(&[".env", "**/a/**/b/**/c", "*.key"]);
        let began = std::time::Instant::now();
        for _ in 0..100 {
            assert!(all.hiding(Path::new(&"d/".repeat(100_000))).is_none());
        }
        // Prefix by prefix it would be hours; this is less than a second.
        assert!(began.elapsed().as_secs() < 60);
    }

    #[test]
    fn what_would_hide_nothing_is_refused() {
        for text in ["", "/", "//", "!.env", "a/../b", "./.env", "..", "~/.env", "id_[ab]", "a\\b", "a\nb"] {
            assert!(text.parse::<HidePattern>().is_err(), "{text:?}");
        }
        assert!(["a"; 40].join("/").parse::<HidePattern>().is_err());
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = patterns(&[&"*a".repeat(100)]);
        assert!(!pattern.hide(Path::new(&"a".repeat(99)), false));
        assert!(!pattern.hide(Path::new(&"ab".repeat(120)), false));
        let deep = "a/".repeat(1999) + "a";
        assert!(!patterns(&["**/a/**/a/**/b"]).hide(Path::new(&deep), false));
    }
}
