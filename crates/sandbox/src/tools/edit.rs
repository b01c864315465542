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
        let written = self.replace(&target, text.as_bytes())?;
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
    for (number, Edit { old, new }) in (1..).zip(edits) {
        let fault = |fault| Denial::NoEdit { path: path.to_owned(), edit: number, fault };
        if old.is_empty() {
            return Err(fault(EditFault::Empty));
        }
        if old == new {
            return Err(fault(EditFault::Same));
        }
        let mut places = places(&text, old);
        let Some(place) = places.next() else {
            let nearest = nearest(&text, old);
            return Err(Denial::NoMatch { path: path.to_owned(), edit: number, nearest });
        };
        let others: Vec<usize> = places.by_ref().take(LISTED - 1).collect();
        let count = 1 + others.len() + places.count();
        if count > 1 {
            let lines = std::iter::once(place).chain(others).map(|place| line(&text, place)).collect();
            return Err(Denial::SeveralMatches { path: path.to_owned(), edit: number, count, lines });
        }
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

/// Lists places that differ from a text in spaces alone, then in case alone, then those that begin as it does.
fn nearest(text: &str, old: &str) -> Vec<NearMatch> {
    let spaces = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old.lines().map(spaces).collect();
    // Empty lines around it are everywhere.
    let blank = wanted.iter().take_while(|line| line.is_empty()).count();
    let wanted = &wanted[blank..];
    let wanted = &wanted[..wanted.len() - wanted.iter().rev().take_while(|line| line.is_empty()).count()];
    let Some(first) = wanted.first() else { return Vec::new() };
    let there: Vec<&str> = text.lines().collect();
    let squeezed: Vec<String> = there.iter().copied().map(spaces).collect();
    let mut found: Vec<NearMatch> = Vec::new();
    let is_same = |one: &String, other: &String| one == other;
    let is_same_letters = |one: &String, other: &String| one.to_lowercase() == other.to_lowercase();
    let mut add = |places: &mut dyn Iterator<Item = usize>, difference| {
        for at in places {
            let is_new = found.iter().all(|near| near.line != at + 1);
            if is_new && found.len() < NEAREST {
                let text = escape::line(there[at]).chars().take(SHOWN).collect();
                found.push(NearMatch { line: at + 1, text, difference });
            }
        }
    };
    let fits = |at: usize, is: &dyn Fn(&String, &String) -> bool| {
        squeezed[at..].iter().zip(wanted).all(|(there, wanted)| is(there, wanted))
            && squeezed.len() - at >= wanted.len()
    };
    add(&mut (0..there.len()).filter(|at| fits(*at, &is_same)), Difference::Spaces);
    add(&mut (0..there.len()).filter(|at| fits(*at, &is_same_letters)), Difference::Case);
    add(&mut (0..there.len()).filter(|at| is_same(&squeezed[*at], first)), Difference::Rest);
    found
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
    }
}
