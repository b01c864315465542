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
    /// The same where it is a file: where it is a directory, it is its program's data, which must stay writable.
    ReadOnlyFile(Judged),
    /// It stays writable, because agents edit it all day, and runs when somebody runs it. It is listed so that
    /// people know.
    Writable,
}

/// How what is new at a path is judged: each file as the first of these that it matches says. In a directory, what matches none
/// counts as run: the next release of a program may come to load what no list knows yet.
#[derive(Clone, Copy, Debug)]
pub struct Judged(Files);

/// Files at or in a path, and what their content may be. A name is one file in it; `*` is everything, `*.ext`
/// every file that ends so, `name/*` everything in a directory, `name/*.ext` what ends so of it, `**/name` what ends in these
/// names, and an empty text the path itself.
type Files = &'static [(&'static str, Content)];

/// What is in a directory beside what a row's list knows: text, pictures and what programs keep there runs nothing. Everything
/// else does, for all that is known.
const IN_ANY_DIRECTORY: Files = &[
    ("**/.gitignore", Content::Harmless),
    ("**/.gitkeep", Content::Harmless),
    ("**/license", Content::Harmless),
    ("*.csv", Content::Harmless),
    ("*.gif", Content::Harmless),
    ("*.jpeg", Content::Harmless),
    ("*.jpg", Content::Harmless),
    ("*.lock", Content::Harmless),
    ("*.log", Content::Harmless),
    ("*.orig", Content::Harmless),
    ("*.pdf", Content::Harmless),
    ("*.png", Content::Harmless),
    ("*.svg", Content::Harmless),
    ("*.txt", Content::Harmless),
    ("*.webp", Content::Harmless),
    ("*", Content::Run),
];

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

/// Lists every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|group| group.rows)
}

/// Returns what is protected unless `[protect] allow` names it.
///
/// All of it applies to the root of every writable boundary and to the root of every repository within.
/// Shell start-up files are among them there too, because people link their home to a repository of dotfiles.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    rows().filter(|row| row.judged().is_some()).map(|row| row.path)
}

/// Returns whether a path is protected only where it is a file.
pub fn is_only_a_file(path: &str) -> bool {
    let is_one = |row: &Row| matches!(row.treatment, Treatment::ReadOnlyFile(_));
    rows().any(|row| is_one(row) && row.path.eq_ignore_ascii_case(path))
}

/// Returns whether a path is protected without being asked for.
pub fn is_built_in(path: &str) -> bool {
    built_in().any(|listed| listed.eq_ignore_ascii_case(path))
}

/// Returns the row that a path is in, and how its content is judged. Components are in lower case: on some file systems
/// that is the same.
pub(crate) fn judged(components: &[&str]) -> Option<(&'static Row, &'static Content)> {
    rows().find_map(|row| {
        let Judged(files) = row.judged()?;
        let inside = row.inside(components)?;
        let in_any = if files.is_empty() || inside.is_empty() { &[] } else { IN_ANY_DIRECTORY };
        let (_, content) = files.iter().chain(in_any).find(|(name, _)| is_file(name, inside))?;
        Some((row, content))
    })
}

/// Returns whether nothing in a directory is obeyed, whatever it is.
pub(crate) fn is_inert(components: &[&str]) -> bool {
    let anything: Vec<&str> = components.iter().copied().chain(["*"]).collect();
    rows().any(|row| {
        let files = row.judged().zip(row.inside(&anything));
        files.is_some_and(|(Judged(files), inside)| {
            let first = files.iter().find(|(name, _)| is_file(name, inside));
            first.is_some_and(|(name, content)| name.ends_with("/*") && matches!(content, Content::Harmless))
        })
    })
}

/// Returns whether a link here would lead a program to a protected path that lies elsewhere: it is one, or a hidden
/// directory on the way to one. Others are everybody's: `tools` is a link in many projects.
pub(crate) fn leads_to_protected(components: &[&str]) -> bool {
    let is_hidden = components.first().is_some_and(|name| name.starts_with('.'));
    rows().filter(|row| row.judged().is_some()).any(|row| {
        let is_it = row.inside(components).is_some_and(<[&str]>::is_empty);
        is_it || is_hidden && row.is_below(components)
    })
}

impl Row {
    /// Returns how what is new at this path is judged, if it is.
    fn judged(&self) -> Option<Judged> {
        match self.treatment {
            Treatment::ReadOnly(judged) | Treatment::ReadOnlyFile(judged) => Some(judged),
            Treatment::Writable => None,
        }
    }

    /// Returns what follows this path in another, if that lies in it.
    fn inside<'a, 'b>(&self, components: &'b [&'a str]) -> Option<&'b [&'a str]> {
        let depth = self.path.split('/').count();
        let (own, rest) = components.split_at_checked(depth)?;
        let is = |mine: &str, name: &str| match Pattern::of(mine) {
            Some(pattern) => pattern.fits(name.as_bytes()),
            None => mine.eq_ignore_ascii_case(name),
        };
        self.path.split('/').zip(own).all(|(mine, name)| is(mine, name)).then_some(rest)
    }

    /// Returns whether this path lies in a directory.
    fn is_below(&self, directory: &[&str]) -> bool {
        let depth = self.path.split('/').count();
        directory.len() < depth
            && self.path.split('/').zip(directory).all(|(mine, name)| mine.eq_ignore_ascii_case(name))
    }
}

/// Returns whether a path of the list is this one, or a directory above it.
pub fn covers(listed: &str, relative: &Path) -> bool {
    match Pattern::of(listed) {
        None if is_only_a_file(listed) => relative == Path::new(listed),
        None => relative.starts_with(listed),
        Some(pattern) => pattern.covers(relative),
    }
}

/// The names that a path of the list stands for, if these are several: its last name is `*.suffix`, `name.*` or
/// `name.*.suffix`.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    /// Where they lie.
    pub directory: &'a Path,
    beginning: &'a str,
    end: &'a str,
}

impl<'a> Pattern<'a> {
    /// Returns the pattern that a path of the list is, if it is one.
    pub fn of(path: &'a str) -> Option<Self> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (beginning, end) = name.split_once('*')?;
        let begins = beginning.is_empty() || beginning.ends_with('.');
        let ends = end.starts_with('.') || end.is_empty() && !beginning.is_empty();
        (begins && ends).then_some(Self { directory: Path::new(directory), beginning, end })
    }

    /// Returns whether its names may end in anything.
    pub fn is_open(&self) -> bool {
        self.end.is_empty()
    }

    /// Returns whether a name is one of them. Upper and lower case are the same.
    pub fn fits(&self, name: &[u8]) -> bool {
        let is = |part: Option<&[u8]>, wanted: &str| {
            part.is_some_and(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
        };
        let end = name.len().saturating_sub(self.end.len());
        end > self.beginning.len()
            && is(name.get(..self.beginning.len()), self.beginning)
            && is(name.get(end..), self.end)
    }

    /// Returns whether a path is one of them, or lies in one.
    pub fn covers(&self, relative: &Path) -> bool {
        let mut names = relative.iter();
        let is_there = self
            .directory
            .iter()
            .all(|mine| names.next().is_some_and(|name| mine.eq_ignore_ascii_case(name)));
        is_there && names.next().is_some_and(|name| self.fits(name.as_encoded_bytes()))
    }
}

/// Returns whether what follows a row's path is the file of this name in it.
fn is_file(name: &str, inside: &[&str]) -> bool {
    if name.is_empty() {
        return inside.is_empty();
    }
    if let Some(end) = name.strip_prefix("**/") {
        let end: Vec<&str> = end.split('/').collect();
        return inside.ends_with(&end);
    }
    let Some((directory, ends)) = name.split_once('*') else {
        return name.split('/').eq(inside.iter().copied());
    };
    let directory: Vec<&str> = directory.split_terminator('/').collect();
    let is_in_it = inside.starts_with(&directory) && (directory.is_empty() || inside.len() > directory.len());
    // A name that is only the extension has none.
    let ends = |last: &&str| ends.is_empty() || last.len() > ends.len() && last.ends_with(ends);
    is_in_it && (name == "*" || inside.last().is_some_and(ends))
}

/// Makes a row of something that is read-only where it exists.
const fn read_only(
    path: &'static str,
    program: &'static str,
    effect: &'static str,
    source: &'static str,
    files: Files,
) -> Row {
    Row { path, program, effect, source, treatment: Treatment::ReadOnly(Judged(files)) }
}
