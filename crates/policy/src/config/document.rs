//! Documents: TOML text as typed values with positions, and every problem in it at once.
//!
//! A document is read in two steps. [`Document::parse`] finds what is wrong with the text and with its keys,
//! by the table of keys; after that each value is read with the type its key has, and whatever does not
//! fit is noted and left out, so that one mistake never hides another.
//!
//! The `toml` crate parses the text and knows where each value stands. It is not asked to make our types with `serde`: that ends at
//! the first mistake, and names neither the key as the table has it nor a suggestion.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::config::key::{self, Key, ValueKind, join};
use crate::config::problem::{Located, Location, Problem, ProblemCode, Scope};
use crate::text::suggest::{did_you_mean, nearest};

/// A text with the problems found in it so far.
pub(crate) struct Document<'t> {
    root: DeTable<'t>,
    source: SourceText<'t>,
    problems: Vec<Problem>,
}

/// Which text it is, and where its lines begin.
struct SourceText<'t> {
    text: &'t str,
    lines: Vec<usize>,
    scope: Scope,
    file: Arc<str>,
    keys: &'static [Key],
}

/// A table of the document, with the path of its keys as the schema writes it and as the file does.
#[derive(Clone)]
pub(crate) struct Section<'d, 't> {
    keys: &'static [Key],
    pattern: &'static str,
    path: String,
    table: Option<&'d DeTable<'t>>,
}

/// A value of which the type does not matter yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Text(&'a str),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

/// Why a value was refused.
#[derive(Debug)]
pub(crate) enum Fault {
    Type,
    /// The type is right.
    Value {
        message: String,
        /// What would be allowed, where the message does not say it.
        expected: Option<String>,
        hint: Option<String>,
    },
}

impl Fault {
    pub(crate) fn value(message: impl std::fmt::Display) -> Self {
        Self::Value { message: message.to_string(), expected: None, hint: None }
    }

    /// Makes the problem of a value. `wrong_type` is the message where the type is another one than `kind` has.
    pub(crate) fn problem(
        self,
        location: &Location,
        key: impl Into<String>,
        wrong_type: impl Into<String>,
        kind: Option<ValueKind>,
    ) -> Problem {
        match self {
            Self::Type => Problem {
                expected: kind.map(ValueKind::expected),
                ..Problem::new(location, key, ProblemCode::WrongType, wrong_type)
            },
            Self::Value { message, expected, hint } => {
                Problem { expected, hint, ..Problem::new(location, key, ProblemCode::InvalidValue, message) }
            }
        }
    }
}

/// A text that is not TOML.
pub(crate) struct Broken {
    pub(crate) problems: Vec<Problem>,
    /// What can be understood without guessing, at the same lines and columns; it is TOML.
    pub(crate) rest: String,
}

impl<'t> Document<'t> {
    /// Reads a text and checks its keys, which are to be among `keys`.
    pub(crate) fn parse(
        text: &'t str,
        scope: Scope,
        file: &Arc<str>,
        keys: &'static [Key],
    ) -> Result<Self, Broken> {
        let starts = text.match_indices('\n').map(|(end, _)| end + 1);
        let source = SourceText {
            text,
            lines: std::iter::once(0).chain(starts).collect(),
            scope,
            file: Arc::clone(file),
            keys,
        };
        let Ok(root) = DeTable::parse(text) else { return Err(source.broken()) };
        let root = root.into_inner();
        let mut problems = Vec::new();
        source.check_keys("", "", &root, &mut problems);
        Ok(Self { root, source, problems })
    }

    /// Returns the tables to read from, and where to note what is wrong.
    pub(crate) fn reader<'d>(&'d mut self) -> (Section<'d, 't>, DocumentReader<'d, 't>) {
        (
            Section { keys: self.source.keys, pattern: "", path: String::new(), table: Some(&self.root) },
            DocumentReader { source: &self.source, problems: &mut self.problems },
        )
    }

    /// Returns everything that was wrong.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// Reads values, and notes those that do not fit.
pub(crate) struct DocumentReader<'d, 't> {
    source: &'d SourceText<'t>,
    problems: &'d mut Vec<Problem>,
}

impl<'d, 't> Section<'d, 't> {
    /// Returns the table called `name` within this one; empty when there is none.
    pub(crate) fn section(&self, name: &str) -> Self {
        let pattern = key::find(self.keys, self.pattern, name).map_or("", |key| key.path);
        let table = match self.table.and_then(|table| table.get(name)).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) => Some(table),
            _ => None,
        };
        Self { keys: self.keys, pattern, path: join(&self.path, name), table }
    }

    /// Returns whether the file has this table.
    pub(crate) fn exists(&self) -> bool {
        self.table.is_some()
    }

    /// Returns the names that the file chose in this table, each with the offset where it stands.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&'d str, usize)> + use<'d, 't> {
        self.table.into_iter().flatten().map(|(name, _)| (&**name.get_ref(), name.span().start))
    }

    /// Returns the path of the key `name` in this table, as the file writes it.
    pub(crate) fn key(&self, name: &str) -> String {
        join(&self.path, name)
    }

    fn value(&self, name: &str) -> Option<&'d Spanned<DeValue<'t>>> {
        self.table.and_then(|table| table.get(name))
    }
}

impl DocumentReader<'_, '_> {
    /// Reads the value of one key.
    pub(crate) fn scalar<T>(
        &mut self,
        section: &Section<'_, '_>,
        name: &str,
        parse: impl Fn(Scalar<'_>) -> Result<T, Fault>,
    ) -> Option<Located<T>> {
        let value = section.value(name)?;
        let location = self.source.location(value.span().start);
        let parsed = scalar(value.get_ref()).ok_or(Fault::Type).and_then(parse);
        let value = self.accept(section, name, &location, found(value.get_ref()), parsed)?;
        Some(Located::new(value, location))
    }

    /// Reads a list of text; entries that do not fit are noted and left out.
    pub(crate) fn list<T>(
        &mut self,
        section: &Section<'_, '_>,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Located<Vec<Located<T>>>> {
        let value = section.value(name)?;
        let location = self.source.location(value.span().start);
        let DeValue::Array(entries) = value.get_ref() else {
            self.accept::<()>(section, name, &location, found(value.get_ref()), Err(Fault::Type));
            return None;
        };
        let mut list = Vec::with_capacity(entries.len());
        for entry in entries {
            let location = self.source.location(entry.span().start);
            let found = found(entry.get_ref());
            let DeValue::String(text) = entry.get_ref() else {
                let problem = Problem::new(
                    &location,
                    section.key(name),
                    ProblemCode::WrongType,
                    format!("found {found} in the list"),
                );
                let expected = key::find(section.keys, section.pattern, name).map(|key| key.kind.entry());
                self.note(Problem { expected: expected.map(str::to_owned), ..problem });
                continue;
            };
            if let Some(entry) = self.accept(section, name, &location, found, parse(text)) {
                list.push(Located::new(entry, location));
            }
        }
        Some(Located::new(list, location))
    }

    /// Reads a name that the file chose.
    pub(crate) fn name<T>(
        &mut self,
        section: &Section<'_, '_>,
        name: &str,
        offset: usize,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let location = self.source.location(offset);
        self.accept(section, name, &location, "text", parse(name))
    }

    /// Returns where a table stands, if it is there.
    pub(crate) fn table(&self, section: &Section<'_, '_>, name: &str) -> Option<Location> {
        let (key, value) = section.table?.get_key_value(name)?;
        value.get_ref().is_table().then(|| self.source.location(key.span().start))
    }

    /// Notes every required key that is not in the table, which stands at `place`.
    pub(crate) fn require(&mut self, section: &Section<'_, '_>, location: &Location) {
        let says = |(name, word): (&str, &str)| {
            section.value(name).and_then(|value| value.get_ref().as_str()) == Some(word)
        };
        for key in section.keys.iter().filter(|key| key.required && !key.unless.is_some_and(says)) {
            let (table, name) = key::split(key.path);
            if table == section.pattern && section.value(name).is_none() {
                let message = format!("{name:?} is missing");
                let problem = Problem::new(location, section.path.as_str(), ProblemCode::MissingKey, message);
                let beside = key.example_beside.filter(|(other, _)| section.value(other).is_some());
                let example = beside.map_or(key.example, |(_, example)| example);
                self.note(problem.hinting(format!("add {name} = {example}")));
            }
        }
    }

    /// Returns where the text at `offset` stands.
    pub(crate) fn location(&self, offset: usize) -> Location {
        self.source.location(offset)
    }

    /// Returns how many problems were noted so far.
    pub(crate) fn noted(&self) -> usize {
        self.problems.len()
    }

    /// Notes a problem.
    pub(crate) fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn accept<T>(
        &mut self,
        section: &Section<'_, '_>,
        name: &str,
        location: &Location,
        found: &str,
        parsed: Result<T, Fault>,
    ) -> Option<T> {
        let kind = key::find(section.keys, section.pattern, name).map(|key| key.kind);
        let note = |fault: Fault| {
            self.note(fault.problem(location, section.key(name), format!("found {found}"), kind));
        };
        parsed.map_err(note).ok()
    }
}

impl SourceText<'_> {
    /// Notes every syntax error, and keeps what can be understood without guessing.
    ///
    /// When the lines with errors are blanked and the rest is sound, what it says is what the person meant, so
    /// its problems are worth reporting too. Not so when a table's header is among those lines: the keys
    /// beneath it would be taken for another table's.
    fn broken(&self) -> Broken {
        let (_, errors) = DeTable::parse_recoverable(self.text);
        let mut rest = self.text.to_owned();
        let mut sound = true;
        let mut problems = Vec::new();
        let mut lines = BTreeSet::new();
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            // The first error of a line is the mistake, the others follow from it.
            if lines.insert(self.line_of(at)) {
                problems.push(Problem::new(&self.location(at), "", ProblemCode::Syntax, error.message()));
            }
        }
        for line in lines {
            let range = self.range_of(line);
            sound &= !self.text[range.clone()].trim_start().starts_with('[');
            rest.replace_range(range.clone(), &" ".repeat(range.len()));
        }
        if !sound || DeTable::parse(&rest).is_err() {
            rest.clear();
        }
        Broken { problems, rest }
    }

    /// Notes every key that does not exist, and every table that is not one.
    fn check_keys(&self, pattern: &str, path: &str, table: &DeTable<'_>, problems: &mut Vec<Problem>) {
        for (name, value) in table {
            let Some(key) = key::find(self.keys, pattern, name.get_ref()) else {
                let path = join(path, name.get_ref());
                problems.push(self.unknown(name, pattern, &path));
                continue;
            };
            if let ValueKind::Table | ValueKind::Named(_) = key.kind {
                let path = join(path, name.get_ref());
                match value.get_ref() {
                    DeValue::Table(table) => self.check_keys(key.path, &path, table, problems),
                    other => {
                        problems.push(wrong_type(
                            &self.location(value.span().start),
                            &path,
                            key,
                            found(other),
                        ));
                    }
                }
            }
        }
    }

    fn unknown(&self, name: &Spanned<DeString<'_>>, pattern: &str, path: &str) -> Problem {
        let siblings = || key::children(self.keys, pattern);
        let hint = did_you_mean(name.get_ref(), siblings()).or_else(|| self.elsewhere(name.get_ref()));
        let hint = hint.unwrap_or_else(|| {
            let known: Vec<_> = siblings().collect();
            format!("known here: {}", known.join(", "))
        });
        let location = self.location(name.span().start);
        Problem::new(&location, path, ProblemCode::UnknownKey, "unknown key").hinting(hint)
    }

    /// Suggests a key of this name in another table: `memory` at the top is `limits.memory`.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let leaves = || self.keys.iter().filter(|key| !key.path.contains('*')).map(|key| key.path);
        let near = nearest(name, leaves().map(|path| key::split(path).1))?;
        let path = leaves().find(|path| key::split(path).1 == near)?;
        Some(format!("did you mean {path:?}?"))
    }

    fn location(&self, offset: usize) -> Location {
        let line = self.line_of(offset);
        let start = self.lines[line];
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        Location::File {
            scope: self.scope,
            file: Arc::clone(&self.file),
            line: number(line),
            column: number(column),
        }
    }

    /// Returns the index of the line that `offset` stands in.
    fn line_of(&self, offset: usize) -> usize {
        // The first line starts at 0, so at least one start is not beyond any offset.
        self.lines.partition_point(|start| *start <= offset) - 1
    }

    /// Returns the bytes of a line, without its end.
    fn range_of(&self, line: usize) -> Range<usize> {
        let start = self.lines[line];
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        start..end
    }
}

fn wrong_type(location: &Location, path: &str, key: &Key, found: &str) -> Problem {
    Problem::new(location, path, ProblemCode::WrongType, format!("found {found}"))
        .expecting(key.kind.expected())
}

fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Returns the scalar in a value; `None` for dates, lists, tables and numbers beyond 64 bits.
fn scalar<'a>(value: &'a DeValue<'_>) -> Option<Scalar<'a>> {
    match value {
        DeValue::String(text) => Some(Scalar::Text(text)),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(Scalar::Integer)
        }
        DeValue::Float(number) => number.as_str().parse().ok().map(Scalar::Float),
        DeValue::Boolean(value) => Some(Scalar::Bool(*value)),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
