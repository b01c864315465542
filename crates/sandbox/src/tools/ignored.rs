//! What `.gitignore` files say of the paths of a walk: read beneath its descriptors, as far as they are regular files.

use std::ffi::OsStr;
use std::io::Read as _;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::query::FileKind;

use super::place::Opened;
use super::progress::{Progress, Stopped};
use super::wildmatch::{matches_name, matches_path};

/// The longest line that is obeyed, in bytes.
const MAX_LINE: usize = 1024;

/// How many rules are asked between two looks at the clock.
const GLANCE: usize = 64;

/// The rules of a directory, and those of the ones around it.
pub(super) struct Ignored {
    directory: PathBuf,
    /// The file, of which each rule is a part.
    text: Vec<u8>,
    rules: Vec<Rule>,
    around: Option<Arc<Ignored>>,
}

/// A line of a `.gitignore`.
struct Rule {
    pattern: Range<u32>,
    effect: Effect,
    about: About,
    subject: Subject,
}

/// What a rule does with what it matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Effect {
    Ignores,
    Includes,
}

/// What a rule is compared with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum About {
    /// The last component of a path.
    Name,
    /// The path from the directory of the rule on.
    Path,
}

/// What a rule may match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Subject {
    Anything,
    Directories,
}

impl Ignored {
    /// Adds the rules of a directory, at this path, to those around it. One without rules has those.
    pub(super) fn within(
        around: Option<Arc<Self>>,
        directory: impl AsFd,
        path: &Path,
        progress: &Progress,
    ) -> Option<Arc<Self>> {
        let text = read(directory, progress);
        let rules = rules(&text, progress);
        if rules.is_empty() {
            return around;
        }
        Some(Arc::new(Self { directory: path.to_owned(), text, rules, around }))
    }

    /// Returns whether a path is ignored: the innermost rule about it decides, and of those in one file the last.
    pub(super) fn ignores(&self, path: &Path, kind: FileKind, progress: &Progress) -> bool {
        let mut at = Some(self);
        while let Some(one) = at {
            match one.decides(path, kind, progress) {
                Some(effect) => return effect == Effect::Ignores,
                None => at = one.around.as_deref(),
            }
        }
        false
    }

    fn decides(&self, path: &Path, kind: FileKind, progress: &Progress) -> Option<Effect> {
        let relative = path.strip_prefix(&self.directory).ok()?.as_os_str().as_bytes();
        let name = path.file_name()?.as_bytes();
        for (count, rule) in self.rules.iter().rev().enumerate() {
            // An agent may have written many, each of which takes its time.
            if count % GLANCE == GLANCE - 1 && !progress.goes_on() {
                return Some(Effect::Ignores);
            }
            if rule.subject == Subject::Directories && kind != FileKind::Directory {
                continue;
            }
            let pattern = &self.text[rule.pattern.start as usize..rule.pattern.end as usize];
            let is_match = match rule.about {
                About::Name => matches_name(pattern, name),
                About::Path => matches_path(pattern, relative),
            };
            if is_match {
                return Some(rule.effect);
            }
        }
        None
    }
}

/// Reads the `.gitignore` of a directory, as far as the call reads any more of them.
fn read(directory: impl AsFd, progress: &Progress) -> Vec<u8> {
    let mut text = Vec::new();
    let opened = match Opened::at(directory, OsStr::new(".gitignore")) {
        Ok(opened) if opened.kind() == FileKind::File && opened.stat.st_size > 0 => opened,
        Ok(_) => return text,
        Err(errno) => {
            progress.failed(errno);
            return text;
        }
    };
    let limit = progress.rules_left();
    let Ok(file) = opened.reader() else {
        progress.note(Stopped::Rules);
        return text;
    };
    // One byte more shows whether there are more.
    if file.take(limit as u64 + 1).read_to_end(&mut text).is_err() {
        progress.note(Stopped::Rules);
    }
    if text.len() > limit {
        progress.note(Stopped::Rules);
        let whole = text[..limit].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text.truncate(whole);
        progress.count_rules(limit);
    } else {
        progress.count_rules(text.len());
    }
    text
}

/// Lists the rules of a `.gitignore`. Notes lines that are too long.
fn rules(text: &[u8], progress: &Progress) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut begin = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for line in text[begin..].split(|byte| *byte == b'\n') {
        if line.len() > MAX_LINE {
            progress.note(Stopped::Rules);
        } else {
            rules.extend(rule(line, begin));
        }
        begin += line.len() + 1;
    }
    rules
}

/// Returns the rule of a line, which begins here in its file; nothing where it has none.
fn rule(line: &[u8], begin: usize) -> Option<Rule> {
    let mut rest = without_spaces(line.strip_suffix(b"\r").unwrap_or(line));
    let whole = rest.len();
    if rest.starts_with(b"#") {
        return None;
    }
    let effect = match rest.strip_prefix(b"!") {
        Some(pattern) => {
            rest = pattern;
            Effect::Includes
        }
        None => Effect::Ignores,
    };
    let mut end = begin + whole;
    let subject = match rest.strip_suffix(b"/") {
        Some(pattern) => {
            rest = pattern;
            end -= 1;
            Subject::Directories
        }
        None => Subject::Anything,
    };
    let about = if rest.contains(&b'/') { About::Path } else { About::Name };
    rest = rest.strip_prefix(b"/").unwrap_or(rest);
    if rest.is_empty() {
        return None;
    }
    let (start, end) = (u32::try_from(end - rest.len()).ok()?, u32::try_from(end).ok()?);
    Some(Rule { pattern: start..end, effect, about, subject })
}

/// Returns a line without the spaces at its end, unless a backslash keeps them.
fn without_spaces(line: &[u8]) -> &[u8] {
    let kept = line.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    let backslashes = line[..kept].iter().rev().take_while(|byte| **byte == b'\\').count();
    if backslashes % 2 == 1 && kept < line.len() { &line[..=kept] } else { &line[..kept] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::progress::Bounds;

    /// Returns what a `.gitignore` at `/w` ignores of these paths, and what was not read of it.
    fn ignored<'p>(text: &[u8], paths: &[&'p str]) -> (Vec<&'p str>, Option<Stopped>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".gitignore"), text).unwrap();
        let progress = Progress::new(Bounds::default(), None);
        let opened = std::fs::File::open(directory.path()).unwrap();
        let ignored = Ignored::within(None, &opened, Path::new("/w"), &progress);
        let is_ignored = |path: &&&str| {
            let kind = if path.ends_with('/') { FileKind::Directory } else { FileKind::File };
            ignored.as_ref().is_some_and(|ignored| ignored.ignores(Path::new(path), kind, &progress))
        };
        (paths.iter().filter(is_ignored).copied().collect(), progress.stopped())
    }

    #[test]
    fn lines_mean_what_git_says_they_mean() {
        let text =
            "\u{feff}# a comment\r\n*.o\r\n!kept.o\n/top\nbuild/\na/b\n\\#x\ntrailing   \nspace\\ \n{x,y}\n";
        let paths = [
            "/w/a.o", "/w/kept.o", "/w/top", "/w/d/top", "/w/build", "/w/build/", "/w/d/build/", "/w/a/b",
            "/w/d/a/b", "/w/#x", "/w/trailing", "/w/space ", "/w/x", "/w/{x,y}",
        ];
        let (found, stopped) = ignored(text.as_bytes(), &paths);
        assert_eq!(
            found,
            [
                "/w/a.o", "/w/top", "/w/build/", "/w/d/build/", "/w/a/b", "/w/#x", "/w/trailing",
                "/w/space ", "/w/{x,y}"
            ]
        );
        assert_eq!(stopped, None);
    }

    #[test]
    fn nested_braces_and_long_lines_end_nothing() {
        let braces = format!("{}a{}\n[\nb\n", "{".repeat(400), "}".repeat(400));
        assert_eq!(ignored(braces.as_bytes(), &["/w/a", "/w/b"]), (vec!["/w/b"], None));
        let long = format!("{}\nb\n", "{".repeat(16000));
        assert_eq!(ignored(long.as_bytes(), &["/w/a", "/w/b"]), (vec!["/w/b"], Some(Stopped::Rules)));
    }

    #[test]
    fn what_is_beyond_the_bound_is_not_read_and_said() {
        let many = "b\n".repeat(600_000) + "a\n";
        assert_eq!(ignored(many.as_bytes(), &["/w/a", "/w/b"]), (vec!["/w/b"], Some(Stopped::Rules)));
        let progress = Progress::new(Bounds { time: std::time::Duration::ZERO, ..Bounds::default() }, None);
        let rules = Ignored {
            directory: PathBuf::from("/w"),
            text: b"x".to_vec(),
            rules: (0..100).filter_map(|_| rule(b"x", 0)).collect(),
            around: None,
        };
        rules.ignores(Path::new("/w/a"), FileKind::File, &progress);
        assert_eq!(progress.stopped(), Some(Stopped::Time));
    }
}
