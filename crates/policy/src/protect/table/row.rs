//! A row of the table of protected paths, and one path of it.

use std::path::Path;

use super::content::ContentRule;
use crate::text::fold;

/// Paths in a boundary's root, or in that of a repository within, that a program obeys in the same way.
#[derive(Debug)]
pub struct ProtectRow {
    /// Each is a path, or a [`NamePattern`] of names.
    pub paths: &'static [&'static str],
    pub program: &'static str,
    pub effect: &'static str,
    pub source: &'static str,
    pub treatment: Treatment,
}

/// A path of the table, with the row that it stands in.
#[derive(Clone, Copy, Debug)]
pub struct ListedPath {
    pub path: &'static str,
    pub row: &'static ProtectRow,
}

/// What is done about a path.
#[derive(Debug)]
pub enum Treatment {
    /// It is read-only where it exists, and classified by its content where it is new.
    ReadOnly(NewFiles),
    /// The same where it is a file: where it is a directory, it is its program's data, which must stay writable.
    ReadOnlyFile(NewFiles),
    /// It stays writable, because its program writes it at every command, and is classified by its content whenever that has changed.
    Classified(NewFiles),
    /// It stays writable, because agents edit it all day, and runs when a person runs it. It is listed so that
    /// people know.
    Writable,
}

/// How what is new at a path is classified: each file as the first of these that it matches says. In a directory, what matches none
/// counts as run: the next release of a program may come to load what no list knows yet.
#[derive(Clone, Copy, Debug)]
pub struct NewFiles(pub(super) FileRules);

/// Files at or in a path, and what their content may be. A name is one file in it; `*` is everything, `*.ext`
/// every file that ends so, `name/*` everything in a directory, `name/*.ext` what ends so of it, `**/name` what ends in these
/// names, and an empty text the path itself.
pub(super) type FileRules = &'static [(&'static str, ContentRule)];

/// Whatever is there is run, if there is anything in it.
pub(super) const RUN: FileRules = &[("*", ContentRule::Run)];

/// The same even if it is empty. Of the source of a module of Python the bytecode may be taken from `__pycache__`, which need not be of that source (PEP 552).
pub(super) const EXISTS: FileRules = &[("*", ContentRule::Exists)];

impl ProtectRow {
    /// Returns how what is new at its paths is classified, if it is.
    pub(super) fn new_files(&self) -> Option<NewFiles> {
        match self.treatment {
            Treatment::ReadOnly(files) | Treatment::ReadOnlyFile(files) | Treatment::Classified(files) => {
                Some(files)
            }
            Treatment::Writable => None,
        }
    }

    /// Returns whether what is at its paths stays writable, and is only classified.
    pub(crate) fn stays_writable(&self) -> bool {
        matches!(self.treatment, Treatment::Classified(_))
    }
}

impl ListedPath {
    /// Returns what follows this path in another, if that lies in it.
    pub(super) fn inside<'a, 'b>(&self, components: &'b [&'a str]) -> Option<&'b [&'a str]> {
        if !self.may_begin_with(components.first()?) {
            return None;
        }
        let depth = self.path.split('/').count();
        let (own, rest) = components.split_at_checked(depth)?;
        let is = |mine: &str, name: &str| match NamePattern::of(mine) {
            Some(pattern) => pattern.fits(name.as_bytes()),
            None => mine.eq_ignore_ascii_case(name),
        };
        self.path.split('/').zip(own).all(|(mine, name)| is(mine, name)).then_some(rest)
    }

    /// Returns whether a path of this first name may be in this one: two bytes rule most rows out, without taking any apart.
    fn may_begin_with(&self, name: &str) -> bool {
        let literal = self.path.bytes().take_while(|byte| *byte != b'*').take(2);
        literal.zip(name.bytes()).all(|(mine, byte)| mine.eq_ignore_ascii_case(&byte))
    }

    /// Returns whether this path lies in a directory.
    pub(super) fn is_below(&self, directory: &[&str]) -> bool {
        let depth = self.path.split('/').count();
        directory.len() < depth
            && self.path.split('/').zip(directory).all(|(mine, name)| mine.eq_ignore_ascii_case(name))
    }
}

/// The names that a path of the list stands for, if these are several: its last name is `*.suffix`, `name.*` or
/// `name.*.suffix`. A hyphen may be in the place of the dot before `*`.
#[derive(Clone, Copy, Debug)]
pub struct NamePattern<'a> {
    pub directory: &'a Path,
    beginning: &'a str,
    end: &'a str,
}

impl<'a> NamePattern<'a> {
    /// Returns the pattern that a path of the list is, if it is one.
    pub fn of(path: &'a str) -> Option<Self> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (beginning, end) = name.split_once('*')?;
        let begins = beginning.is_empty() || beginning.ends_with(['.', '-']);
        let ends = end.starts_with('.') || end.is_empty() && !beginning.is_empty();
        (begins && ends).then_some(Self { directory: Path::new(directory), beginning, end })
    }

    /// Returns its last name, as it is written.
    pub fn name(&self) -> String {
        format!("{}*{}", self.beginning, self.end)
    }

    /// Returns whether its names may end in anything.
    pub fn is_open(&self) -> bool {
        self.end.is_empty()
    }

    /// Returns whether a name is one of them. Upper and lower case are the same.
    pub fn fits(&self, name: &[u8]) -> bool {
        if name.is_ascii() && self.beginning.is_ascii() && self.end.is_ascii() {
            return fits(self.beginning, self.end, name);
        }
        let [beginning, end, name] = [self.beginning.as_bytes(), self.end.as_bytes(), name].map(fold::name);
        fits(&beginning, &end, name.as_bytes())
    }

    /// Returns whether a path is one of them, or lies in one.
    pub fn covers(&self, relative: &Path) -> bool {
        let mut names = relative.iter();
        let is_there = self.directory.iter().all(|mine| {
            names.next().is_some_and(|name| fold::is_same(mine.as_encoded_bytes(), name.as_encoded_bytes()))
        });
        is_there && names.next().is_some_and(|name| self.fits(name.as_encoded_bytes()))
    }
}

fn fits(beginning: &str, end: &str, name: &[u8]) -> bool {
    let is = |part: Option<&[u8]>, wanted: &str| {
        part.is_some_and(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    let rest = name.len().saturating_sub(end.len());
    rest > beginning.len() && is(name.get(..beginning.len()), beginning) && is(name.get(rest..), end)
}

/// Makes a row of something that is read-only where it exists.
pub(super) const fn read_only(
    paths: &'static [&'static str],
    program: &'static str,
    effect: &'static str,
    source: &'static str,
    files: FileRules,
) -> ProtectRow {
    ProtectRow { paths, program, effect, source, treatment: Treatment::ReadOnly(NewFiles(files)) }
}

/// Makes a row of something that stays writable, because its program or an agent writes it, and is classified whenever it has changed.
pub(super) const fn classified(
    paths: &'static [&'static str],
    program: &'static str,
    effect: &'static str,
    source: &'static str,
    files: FileRules,
) -> ProtectRow {
    ProtectRow { paths, program, effect, source, treatment: Treatment::Classified(NewFiles(files)) }
}
