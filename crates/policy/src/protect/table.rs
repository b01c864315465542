//! The one table of what programs outside a sandbox obey: each path, who obeys it, and what is done about it.
//!
//! To protect one more path is to add one row: the built-in list, the judgement of new files and the table of
//! docs/protect.md come from here.

use std::path::Path;

use crate::judge::Content;

mod agents;
mod builds;
mod editors;
mod git;
mod shells;
mod writable;

/// A path in a boundary's root, or in that of a repository within, that a program obeys.
#[derive(Debug)]
pub struct Row {
    /// The path, or a [`Pattern`] of names.
    pub path: &'static str,
    /// The program that obeys it.
    pub program: &'static str,
    /// What the program does with it.
    pub effect: &'static str,
    /// Where that is documented.
    pub source: &'static str,
    /// What is done about it.
    pub treatment: Treatment,
}

/// What is done about a path.
#[derive(Debug)]
pub enum Treatment {
    /// It is read-only where it exists, and judged by its content where it is new.
    ReadOnly(Judged),
    /// It stays writable, because agents edit it all day, and runs when somebody runs it. It is listed so that
    /// people know.
    Writable,
}

/// How what is new at a path is judged: each file as the first of these that it matches says, and what matches
/// none passes.
#[derive(Clone, Copy, Debug)]
pub struct Judged(Files);

/// Files at or in a path, and what their content may be. A name is one file in it; `*` is everything, `*.ext`
/// every file that ends so, `name/*` everything in a directory, `**/name` what ends in these names, and an empty text the
/// path itself.
type Files = &'static [(&'static str, Content)];

/// Rows that belong together.
#[derive(Debug)]
pub struct Group {
    /// What they have in common.
    pub title: &'static str,
    /// The rows.
    pub rows: &'static [Row],
}

/// The table.
pub const GROUPS: &[Group] = &[
    Group { title: "Git, and what runs at a commit", rows: git::ROWS },
    Group { title: "Shells and what they start", rows: shells::ROWS },
    Group { title: "Editors", rows: editors::ROWS },
    Group { title: "Agents", rows: agents::ROWS },
    Group { title: "Tools for building and versions", rows: builds::ROWS },
    Group { title: "Writable: these run when you run them", rows: writable::ROWS },
];

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|group| group.rows)
}

/// What is protected unless `[protect] allow` names it.
///
/// All of it applies to the root of every writable boundary and to the root of every repository within.
/// Shell start-up files are among them there too, because people link their home to a repository of dotfiles.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    rows().filter(|row| matches!(row.treatment, Treatment::ReadOnly(_))).map(|row| row.path)
}

/// Whether a path is protected without being asked for.
pub fn is_built_in(path: &str) -> bool {
    built_in().any(|listed| listed.eq_ignore_ascii_case(path))
}

/// The row that a path is in, and how its content is judged. Components are in lower case: on some file systems
/// that is the same.
pub(crate) fn judged(components: &[&str]) -> Option<(&'static Row, &'static Content)> {
    rows().find_map(|row| {
        let Treatment::ReadOnly(Judged(files)) = row.treatment else { return None };
        let inside = row.inside(components)?;
        let (_, content) = files.iter().find(|(name, _)| is_file(name, inside))?;
        Some((row, content))
    })
}

/// Whether a link here would lead a program to a protected path that lies elsewhere: it is one, or a hidden
/// directory on the way to one. Others are everybody's: `tools` is a link in many projects.
pub(crate) fn leads_to_protected(components: &[&str]) -> bool {
    let is_hidden = components.first().is_some_and(|name| name.starts_with('.'));
    rows().filter(|row| matches!(row.treatment, Treatment::ReadOnly(_))).any(|row| {
        let is_it = row.inside(components).is_some_and(<[&str]>::is_empty);
        is_it || is_hidden && row.is_below(components)
    })
}

impl Row {
    /// What follows this path in another, if that lies in it.
    fn inside<'a, 'b>(&self, components: &'b [&'a str]) -> Option<&'b [&'a str]> {
        if let Some(pattern) = Pattern::of(self.path) {
            let (first, rest) = components.split_first()?;
            return pattern.fits(first.as_bytes()).then_some(rest);
        }
        let depth = self.path.split('/').count();
        let (own, rest) = components.split_at_checked(depth)?;
        let is_own = self.path.split('/').zip(own).all(|(mine, name)| mine.eq_ignore_ascii_case(name));
        is_own.then_some(rest)
    }

    /// Whether this path lies in a directory.
    fn is_below(&self, directory: &[&str]) -> bool {
        let depth = self.path.split('/').count();
        directory.len() < depth
            && self.path.split('/').zip(directory).all(|(mine, name)| mine.eq_ignore_ascii_case(name))
    }
}

/// Whether a path of the list is this one, or a directory above it.
pub fn covers(listed: &str, relative: &Path) -> bool {
    match Pattern::of(listed) {
        None => relative.starts_with(listed),
        Some(pattern) => relative.iter().next().is_some_and(|name| pattern.fits(name.as_encoded_bytes())),
    }
}

/// The names that a path of the list stands for, if these are several: `*.suffix`, or `name.*.suffix`.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    beginning: &'a str,
    end: &'a str,
}

impl<'a> Pattern<'a> {
    /// The pattern that a path of the list is, if it is one.
    pub fn of(path: &'a str) -> Option<Self> {
        let (beginning, end) = path.split_once('*')?;
        let is_whole = beginning.is_empty() || beginning.ends_with('.');
        (is_whole && end.starts_with('.') && !path.contains('/')).then_some(Self { beginning, end })
    }

    /// Whether a name is one of them. Upper and lower case are the same.
    pub fn fits(&self, name: &[u8]) -> bool {
        let is = |part: Option<&[u8]>, wanted: &str| {
            part.is_some_and(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
        };
        let end = name.len().saturating_sub(self.end.len());
        end > self.beginning.len()
            && is(name.get(..self.beginning.len()), self.beginning)
            && is(name.get(end..), self.end)
    }
}

/// Whether what follows a row's path is the file of this name in it.
fn is_file(name: &str, inside: &[&str]) -> bool {
    let last = inside.last();
    if let Some(end) = name.strip_prefix("**/") {
        let end: Vec<&str> = end.split('/').collect();
        return inside.ends_with(&end);
    }
    match name.strip_suffix("/*") {
        Some(directory) => inside.len() > 1 && inside.first() == Some(&directory),
        None if name == "*" => true,
        None => match name.strip_prefix("*.") {
            Some(extension) => last.is_some_and(|last| {
                Path::new(last).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
            }),
            None if name.is_empty() => inside.is_empty(),
            None => name.split('/').eq(inside.iter().copied()),
        },
    }
}

/// A row of something that is read-only where it exists.
const fn read_only(
    path: &'static str,
    program: &'static str,
    effect: &'static str,
    source: &'static str,
    files: Files,
) -> Row {
    Row { path, program, effect, source, treatment: Treatment::ReadOnly(Judged(files)) }
}
