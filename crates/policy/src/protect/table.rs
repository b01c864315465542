//! The one table of what programs outside a sandbox obey: each path, who obeys it, and what is done about it.
//!
//! To protect one more path is to add it to a row, or a row for it: the built-in list, the classification of new files and the table of
//! docs/protect.md come from here.
//!
//! Rows are packed by hand (`rustfmt::skip`): one cell a line would make the table twice as long, and no table.

use std::ffi::OsStr;
use std::path::Path;

use self::content::ContentRule;
use self::row::{FileRules, NewFiles};
pub use self::row::{ListedPath, NamePattern, ProtectRow, Treatment};
use crate::text::fold;

mod agents;
mod ansible;
mod beam;
mod beside_git;
mod builds;
pub mod content;
mod editors;
mod git;
pub(crate) mod harmless;
mod home;
mod known;
mod linters;
mod python;
pub mod row;
mod services;
mod shells;
mod version_control;
mod writable;

/// What is in a directory beside what a row's list knows: text, pictures and what programs keep there runs nothing, unless it is a
/// script, which Droid runs whatever its name is. Everything else does, for all that is known: a lock file of packages says where programs
/// come from.
const IN_ANY_DIRECTORY: FileRules = &[
    ("**/.gitignore", ContentRule::Text),
    ("**/.gitkeep", ContentRule::Text),
    ("**/license", ContentRule::Text),
    // Auggie takes agents and commands from these, too.
    ("agents/*.txt", ContentRule::Prompt(harmless::PROMPT)),
    ("commands/*.txt", ContentRule::Prompt(harmless::PROMPT)),
    ("*.csv", ContentRule::Text),
    ("*.gif", ContentRule::Text),
    ("*.jpeg", ContentRule::Text),
    ("*.jpg", ContentRule::Text),
    ("*.log", ContentRule::Text),
    ("*.orig", ContentRule::Text),
    ("*.pdf", ContentRule::Text),
    ("*.png", ContentRule::Text),
    ("*.svg", ContentRule::Text),
    ("*.txt", ContentRule::Text),
    ("*.webp", ContentRule::Text),
    ("*", ContentRule::Run),
];

/// Rows that belong together.
#[derive(Debug)]
pub struct RowGroup {
    /// What they have in common.
    pub title: &'static str,
    pub rows: &'static [ProtectRow],
}

/// The table.
pub const GROUPS: &[RowGroup] = &[
    RowGroup { title: "Git, and what runs at a commit", rows: git::ROWS },
    RowGroup { title: "Beside git", rows: beside_git::ROWS },
    RowGroup { title: "Other version control, and patches", rows: version_control::ROWS },
    RowGroup { title: "Linters, formatters and scanners", rows: linters::ROWS },
    RowGroup { title: "Shells and what they start", rows: shells::ROWS },
    RowGroup { title: "Modules of Python", rows: python::ROWS },
    RowGroup { title: "Modules of Jython", rows: python::JYTHON_ROWS },
    RowGroup { title: "Modules of Erlang", rows: beam::ROWS },
    RowGroup { title: "Private modules of Python", rows: python::PRIVATE_ROWS },
    RowGroup { title: "Modules of builds of Python", rows: python::BUILD_ROWS },
    RowGroup { title: "Modules of tools and kernels in Python", rows: python::CERTAIN_ROWS },
    RowGroup { title: "Editors", rows: editors::ROWS },
    RowGroup { title: "Agents", rows: agents::ROWS },
    RowGroup { title: "Tools for building and versions", rows: builds::ROWS },
    RowGroup { title: "Ansible", rows: ansible::ROWS },
    RowGroup { title: "Clients of services, and containers", rows: services::ROWS },
    RowGroup { title: "Terminals, desktops and clients of a home directory", rows: home::ROWS },
    RowGroup { title: "Writable: these run when you run them", rows: writable::ROWS },
];

/// Tells the built-in list of this build from that of another one: the 64-bit FNV-1a of the table's paths, and of which are on the list.
pub const VERSION: u64 = version(GROUPS);

const fn version(groups: &[RowGroup]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut group = 0;
    while group < groups.len() {
        let rows = groups[group].rows;
        let mut row = 0;
        while row < rows.len() {
            // A byte that no path has ends each, and says whether the path is of the built-in list.
            let end = matches!(rows[row].treatment, Treatment::Writable) as u8;
            let mut path = 0;
            while path < rows[row].paths.len() {
                let bytes = rows[row].paths[path].as_bytes();
                let mut at = 0;
                while at <= bytes.len() {
                    let byte = if at < bytes.len() { bytes[at] } else { end };
                    hash = (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3);
                    at += 1;
                }
                path += 1;
            }
            row += 1;
        }
        group += 1;
    }
    hash
}

/// Lists every row.
pub fn rows() -> impl Iterator<Item = &'static ProtectRow> + Clone {
    GROUPS.iter().flat_map(|group| group.rows)
}

/// Lists every path.
pub fn listed() -> impl Iterator<Item = ListedPath> + Clone {
    rows().flat_map(|row| row.paths.iter().map(move |path| ListedPath { path, row }))
}

/// Returns what is protected unless `[protect] allow` names it.
///
/// All of it applies to the root of every writable boundary and to the root of every repository within.
/// Shell start-up files are among them there too, because people link their home to a repository of dotfiles.
pub fn built_in() -> impl Iterator<Item = &'static str> + Clone {
    rows().filter(|row| row.new_files().is_some()).flat_map(|row| row.paths).copied()
}

/// Returns a predicate of whether a path is built in, which is fast where it is asked of one after another in the table's order.
pub fn built_in_in_order() -> impl FnMut(&str) -> bool {
    let mut rest = built_in();
    move |path| {
        let mut ahead = rest.clone();
        let is_ahead = ahead.any(|row| row == path);
        if is_ahead {
            rest = ahead;
        }
        is_ahead || built_in().any(|row| row == path)
    }
}

/// Returns whether a protected path begins with this name, or is it.
pub(super) fn is_first_name(name: &OsStr) -> bool {
    let name = fold::name(name.as_encoded_bytes());
    built_in().map(str::as_bytes).any(|path| {
        path.split_at_checked(name.len()).is_some_and(|(first, rest)| {
            matches!(rest.first(), None | Some(b'/')) && first.eq_ignore_ascii_case(name.as_bytes())
        })
    })
}

/// Returns whether a path is protected only where it is a file.
pub fn is_only_a_file(path: &str) -> bool {
    let is_one = |row: &ProtectRow| matches!(row.treatment, Treatment::ReadOnlyFile(_));
    rows().any(|row| is_one(row) && row.paths.iter().any(|listed| listed.eq_ignore_ascii_case(path)))
}

/// Returns whether a path stays writable and is only classified.
pub fn is_only_classified(path: &Path) -> bool {
    let folded = fold::path(path);
    let components: Vec<&str> = folded.split('/').collect();
    let is_it = |listed: &ListedPath| {
        listed.row.new_files().is_some() && listed.inside(&components).is_some_and(<[&str]>::is_empty)
    };
    listed().find(is_it).is_some_and(|listed| listed.row.stays_writable())
}

/// Returns whether a path is protected without being asked for.
pub fn is_built_in(path: &str) -> bool {
    built_in().any(|listed| listed.eq_ignore_ascii_case(path))
}

/// Returns what `[protect] allow` calls a path, seen from the root of its work tree.
pub fn name_in_allow(relative: &Path) -> Option<&'static str> {
    let folded = fold::path(relative);
    let components: Vec<&str> = folded.split('/').collect();
    let is_it =
        |listed: &ListedPath| listed.row.new_files().is_some() && listed.inside(&components).is_some();
    listed().find(is_it).map(|listed| listed.path)
}

/// Returns the row that a path is in, and how its content is classified. Components are in lower case: on some file systems
/// that is the same.
pub(crate) fn content_rule(components: &[&str]) -> Option<(&'static ProtectRow, &'static ContentRule)> {
    listed().find_map(|listed| {
        let NewFiles(files) = listed.row.new_files()?;
        let inside = listed.inside(components)?;
        let in_any = if files.is_empty() || inside.is_empty() { &[] } else { IN_ANY_DIRECTORY };
        let (_, content) = files.iter().chain(in_any).find(|(name, _)| is_file(name, inside))?;
        Some((listed.row, content))
    })
}

/// Returns whether a name with a leading dot, at the root of a work tree or in its `.config`, is that of a row, leads to one, or is
/// known to be obeyed by nothing.
pub fn is_known(relative: &Path) -> bool {
    let folded = fold::path(relative);
    let components: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    let has_it = |listed: ListedPath| listed.inside(&components).is_some() || listed.is_below(&components);
    listed().any(has_it) || known::is_known(&components)
}

/// Returns whether nothing in a directory is obeyed, whatever it is.
pub(crate) fn is_inert(components: &[&str]) -> bool {
    let anything: Vec<&str> = components.iter().copied().chain(["*"]).collect();
    listed().any(|listed| {
        let files = listed.row.new_files().zip(listed.inside(&anything));
        files.is_some_and(|(NewFiles(files), inside)| {
            let first = files.iter().find(|(name, _)| is_file(name, inside));
            first.is_some_and(|(name, content)| {
                name.ends_with("/*") && matches!(content, ContentRule::Harmless)
            })
        })
    })
}

/// Returns whether a link here would lead a program to a protected path that lies elsewhere: it is one, or a hidden
/// directory on the way to one. Others are ordinary: `tools` is a link in many projects.
pub(crate) fn leads_to_protected(components: &[&str]) -> bool {
    let is_hidden = components.first().is_some_and(|name| name.starts_with('.'));
    listed().filter(|listed| listed.row.new_files().is_some()).any(|listed| {
        let is_it = listed.inside(components).is_some_and(<[&str]>::is_empty);
        is_it || is_hidden && listed.is_below(components)
    })
}

/// Returns whether a path of the list is this one, or a directory above it.
pub fn covers(listed: &str, relative: &Path) -> bool {
    match NamePattern::of(listed) {
        None if is_only_a_file(listed) => relative == Path::new(listed),
        None => relative.starts_with(listed),
        Some(pattern) => pattern.covers(relative),
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
