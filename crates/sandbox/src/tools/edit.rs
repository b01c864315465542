//! `edit`: texts of a file are replaced by others, all of them or none.

use std::ffi::OsStr;

use policy::query::{Denial, Difference, EditFault, NearMatch};
use policy::rules::path::PathAccess;
use policy::text::escape;
use serde::{Deserialize, Serialize};

use super::file_tools::{FileTools, ToolError};
use super::place::Missing;
use super::read;

/// How many places are listed that an edit nearly matches.
const NEAREST: usize = 3;

/// How many places are listed that an edit matches.
const LISTED: usize = 8;

/// How many characters of a line are shown.
const SHOWN: usize = 120;

/// How many bytes the edits of one call look through, all in all: each looks through the text that the ones before have made.
const MAX_WORK: usize = 4 << 30;

/// The largest text in which near matches are looked for.
const NEAR_BYTES: usize = 1 << 20;

/// How many bytes of lines are compared for them, and what a line costs beside its bytes.
const COMPARED_BYTES: usize = 16 << 20;
const COMPARED_LINE: usize = 32;

/// One text that is replaced by another.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// What is there, exactly, and once.
    pub old: String,
    /// What is there afterwards.
    pub new: String,
}

/// What was changed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Edited {
    pub path: String,
    pub bytes: usize,
    /// The number of the line at which each edit begins, in the text as that edit finds it.
    pub lines: Vec<usize>,
}

impl FileTools {
    /// Replaces texts of a file, in order: each is looked for in what the ones before have made.
    ///
    /// # Errors
    ///
    /// A text is not there, or more than once, and then nothing was changed; or what [`FileTools::read`] and [`FileTools::write`] fail for.
    pub fn edit(&self, path: impl AsRef<OsStr>, edits: &[Edit]) -> Result<Edited, ToolError> {
        let _acting = self.begin()?;
        let access = PathAccess::Write;
        let asked = self.resolve(path.as_ref(), access)?;
        let target = self.target(&asked, Missing::Refused)?;
        let shown = escape::path(target.resolved.guest.as_path());
        let Some(existing) = &target.existing else {
            return Err(Denial::NotFound { access: access.into(), path: shown }.into());
        };
        let bytes = self.content(existing, &target.resolved, access)?;
        let text = read::text(&bytes, &target.resolved)?;
        let (text, lines) = apply(text, edits, &shown)?;
        self.check_bytes(&target.resolved, access, text.len() as u64)?;
        let written = self.replace(target, text.as_bytes(), Some(&bytes))?;
        Ok(Edited { path: written.path, bytes: written.bytes, lines })
    }
}

/// Applies edits to a text. Returns what it becomes, and at which lines they begin. `path` is what an error calls the file.
///
/// # Errors
///
/// A text is not there, or more than once.
pub fn apply(text: &str, edits: &[Edit], path: &str) -> Result<(String, Vec<usize>), Denial> {
    let mut text = text.to_owned();
    let mut lines = Vec::new();
    let mut work = 0_usize;
    for (number, Edit { old, new }) in (1..).zip(edits) {
        let fault = |fault| Denial::NoEdit { path: path.to_owned(), edit: number, fault };
        if old.is_empty() {
            return Err(fault(EditFault::Empty));
        }
        if old == new {
            return Err(fault(EditFault::Same));
        }
        work = work.saturating_add(text.len());
        if work > MAX_WORK {
            return Err(fault(EditFault::TooMany));
        }
        // Not all of them: each place is looked for again from the one before on, through as much text as there is.
        let places: Vec<usize> = places(&text, old).take(LISTED + 1).collect();
        let [place] = places[..] else {
            let path = path.to_owned();
            return Err(if places.is_empty() {
                Denial::NoMatch { path, edit: number, nearest: nearest(&text, old) }
            } else {
                let lines = places.iter().take(LISTED).map(|place| line(&text, *place)).collect();
                Denial::SeveralMatches { path, edit: number, count: places.len(), lines }
            });
        };
        lines.push(line(&text, place));
        text.replace_range(place..place + old.len(), new);
    }
    Ok((text, lines))
}

/// Lists where a text is: also where two of these places overlap, since either could be meant.
fn places<'t>(text: &'t str, old: &'t str) -> impl Iterator<Item = usize> + use<'t> {
    let first = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let place = from + text[from..].find(old)?;
        from = place + first;
        Some(place)
    })
}

/// Returns the number of the line of a place, from 1 on.
fn line(text: &str, place: usize) -> usize {
    1 + text[..place].matches('\n').count()
}

/// Lists places that differ from a text in the ends of their lines alone, then in spaces, then in case, then those that begin as it does.
/// In a large text, or after many comparisons, none are looked for.
fn nearest(text: &str, old: &str) -> Vec<NearMatch> {
    let mut found: Vec<NearMatch> = Vec::new();
    if text.len() > NEAR_BYTES || old.len() > NEAR_BYTES {
        return found;
    }
    let is_blank = |line: &&str| line.trim().is_empty();
    // Empty lines around it are everywhere.
    let mut wanted: Vec<&str> = old.lines().skip_while(is_blank).collect();
    wanted.truncate(wanted.len() - wanted.iter().rev().take_while(|line| is_blank(line)).count());
    let Some(first) = wanted.first() else { return found };
    let there: Vec<&str> = text.lines().collect();
    let has_other_ends = text.contains("\r\n") != old.contains("\r\n");
    let passes: [(Difference, Same, &[&str]); 4] = [
        (Difference::LineEnds, |one, other| one == other, if has_other_ends { &wanted } else { &[] }),
        (Difference::Spaces, is_same_but_for_spaces, &wanted),
        (Difference::Case, is_same_but_for_case, &wanted),
        (Difference::Rest, is_same_but_for_spaces, std::slice::from_ref(first)),
    ];
    let mut left = COMPARED_BYTES;
    for (difference, is_same, wanted) in passes {
        let places = if wanted.is_empty() { 0 } else { (there.len() + 1).saturating_sub(wanted.len()) };
        for at in 0..places {
            if found.len() == NEAREST || left == 0 {
                return found;
            }
            let mut lines = there[at..].iter().zip(wanted);
            let fits = lines.all(|(there, wanted)| {
                left = left.saturating_sub(there.len() + wanted.len() + COMPARED_LINE);
                is_same(there, wanted)
            });
            if fits && found.iter().all(|near| near.line != at + 1) {
                found.push(NearMatch { line: at + 1, text: beginning(there[at]), difference });
            }
        }
    }
    found
}

/// Whether two lines are the same, in a sense.
type Same = fn(&str, &str) -> bool;

fn is_same_but_for_spaces(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

fn is_same_but_for_case(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.split_whitespace(), other.split_whitespace());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if lowercase(one).eq(lowercase(other)) => {}
            _ => return false,
        }
    }
}

fn lowercase(word: &str) -> impl Iterator<Item = char> {
    word.chars().flat_map(char::to_lowercase)
}

/// Returns the beginning of a line, as it is shown.
fn beginning(line: &str) -> String {
    let end = line.char_indices().nth(SHOWN).map_or(line.len(), |(end, _)| end);
    escape::line(&line[..end]).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned() }
    }

    #[test]
    fn edits_are_applied_in_order_and_all_of_them_or_none() {
        let (text, lines) = apply("a\nb\nc\n", &[edit("b", "d\ne"), edit("e\nc", "f")], "x").unwrap();
        assert_eq!((text.as_str(), lines), ("a\nd\nf\n", vec![2, 3]));
        let denial = apply("a\nb\n", &[edit("a", "x"), edit("a", "y")], "x").unwrap_err();
        assert!(matches!(denial, Denial::NoMatch { edit: 2, .. }), "{denial}");
    }

    #[test]
    fn what_matches_twice_is_ambiguous_even_where_it_overlaps() {
        let denial = apply("aaa\n", &[edit("aa", "b")], "x").unwrap_err();
        assert!(matches!(denial, Denial::SeveralMatches { count: 2, .. }), "{denial}");
        let began = std::time::Instant::now();
        let many = "a".repeat(2 << 20);
        let denial = apply(&many, &[edit(&many[..1 << 20], "b")], "x").unwrap_err();
        assert!(denial.to_string().contains("edit 1 matches at least 9 times, at lines 1, 1, "), "{denial}");
        let denial = apply(&many, &[edit("aa", "b")], "x").unwrap_err();
        assert!(denial.to_string().contains("matches at least 9 times, at lines 1, 1, "), "{denial}");
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
        let denial = apply("ä\nä\n", &[edit("ä", "b")], "x").unwrap_err();
        assert!(matches!(&denial, Denial::SeveralMatches { lines, .. } if *lines == [1, 2]), "{denial}");
    }

    #[test]
    fn what_nearly_matches_is_named() {
        let text = "fn main() {\n\tlet x = 1;\n}\nLET Y = 2;\nfoo(\n  1)\n";
        let near = |old: &str| {
            nearest(text, old).into_iter().map(|near| (near.line, near.difference)).collect::<Vec<_>>()
        };
        assert_eq!(near("    let x = 1;\n}"), [(2, Difference::Spaces)]);
        assert_eq!(near("let y = 2;"), [(4, Difference::Case)]);
        assert_eq!(near("foo(\n  2)"), [(5, Difference::Rest)]);
        assert_eq!(near("nowhere"), []);
        assert_eq!(near("\n \n"), []);
        let near = nearest("a\r\nb\r\nA\r\nB\r\n", "a\nb\n");
        let near: Vec<_> = near.iter().map(|near| (near.line, near.difference)).collect();
        assert_eq!(near, [(1, Difference::LineEnds), (3, Difference::Case)]);
    }

    #[test]
    fn near_matches_and_many_edits_of_a_large_text_are_bounded() {
        let began = std::time::Instant::now();
        assert_eq!(nearest(&"x\n".repeat(1 << 20), "y"), [], "it is too large");
        let old = "x\n".repeat(1 << 18) + "y";
        nearest(&"x\n".repeat(1 << 19), &old);
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
        let mut text = "x".repeat(64 << 20);
        text.push('0');
        let edits: Vec<Edit> =
            (0..100).map(|number| edit(&format!("{number}"), &format!("{}", number + 1))).collect();
        let denial = apply(&text, &edits, "x").unwrap_err();
        assert!(matches!(denial, Denial::NoEdit { fault: EditFault::TooMany, .. }), "{denial}");
    }
}
