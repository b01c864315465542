//! What is wrong with a value, and where it stands.

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::rules::verdict::Origin;

/// Whose file a configuration file is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// A profile of an agent, which is built in.
    Profile,
    /// The user's own file, which holds for everything they start.
    User,
    /// The `sandbox.toml` of a project.
    Project,
}

/// Where a value stands. In the order of precedence: later wins.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Location {
    /// Nowhere: it is built in.
    #[default]
    Default,
    File {
        scope: Scope,
        /// The file, as the person knows it.
        file: Arc<str>,
        /// The line, from 1.
        line: u32,
        /// The column, from 1, in characters.
        column: u32,
    },
    /// In a `SANDBOXCTL_*` variable.
    Environment(Arc<str>),
    Flag(Arc<str>),
}

impl Location {
    /// Returns whether it is in the file of a project.
    pub fn is_projects(&self) -> bool {
        matches!(self, Self::File { scope: Scope::Project, .. })
    }

    /// Returns whether one person wrote both at once: in one file, or on one command line.
    pub fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { file, .. }, Self::File { file: other, .. }) => file == other,
            (Self::Flag(_), Self::Flag(_)) => true,
            _ => false,
        }
    }

    /// Returns the same place without its column, as verdicts show it.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Default => Origin::Default,
            Self::File { scope: Scope::Profile, file, .. } => Origin::Profile(file.to_string()),
            Self::File { scope: Scope::User, file, line, .. } => Origin::User(format!("{file}:{line}")),
            Self::File { scope: Scope::Project, file, line, .. } => Origin::Project(format!("{file}:{line}")),
            Self::Environment(name) => Origin::Environment(name.to_string()),
            Self::Flag(name) => Origin::Flag(name.to_string()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { scope: Scope::Profile, file, .. } => f.write_str(file),
            Self::File { file, line, column, .. } => write!(f, "{file}:{line}:{column}"),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub location: Location,
}

impl<T> Located<T> {
    /// Makes a value that is at `place`.
    pub fn new(value: T, location: Location) -> Self {
        Self { value, location }
    }
}

/// What kind of mistake a problem is. The texts are stable: programs may compare them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The text is not TOML.
    Syntax,
    UnknownKey,
    MissingKey,
    WrongType,
    /// The value has the right type and makes no sense there.
    InvalidValue,
    /// Two values that cannot both hold.
    Conflict,
    /// The key is understood, and what it asks for is not built yet.
    NotSupportedYet,
    /// A rule forbids it, whatever is built.
    Refused,
    /// A fact of this host stands against it.
    Host,
}

/// One mistake, with all that a person needs to fix it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    pub location: Location,
    /// The key it concerns, such as `limits.memory`; empty where it concerns a whole file.
    pub key: String,
    pub code: ProblemCode,
    pub message: String,
    pub expected: Option<String>,
    pub hint: Option<String>,
}

impl Problem {
    /// Makes a problem without expectation and hint.
    pub fn new(
        location: &Location,
        key: impl Into<String>,
        code: ProblemCode,
        message: impl Into<String>,
    ) -> Self {
        Self {
            location: location.clone(),
            key: key.into(),
            code,
            message: message.into(),
            expected: None,
            hint: None,
        }
    }

    /// Adds what would be allowed.
    #[must_use]
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `sandbox.toml:12:3: limits.memroy: unknown key; did you mean "memory"?`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.location != Location::Default {
            write!(f, "{}: ", self.location)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Sorts problems by the text they concern: file by file, from top to bottom.
pub fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| a.location.cmp(&b.location));
}

/// Programs get the parts and the whole: `place`, `file`, `line`, `column`, `key`, `code`, `message`,
/// `expected`, `hint` and `text`.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (file, line, column) = match &self.location {
            Location::File { file, line, column, .. } => (Some(&**file), Some(line), Some(column)),
            _ => (None, None, None),
        };
        let mut out = serializer.serialize_struct("Problem", 10)?;
        out.serialize_field("place", &self.location.to_string())?;
        out.serialize_field("file", &file)?;
        out.serialize_field("line", &line)?;
        out.serialize_field("column", &column)?;
        out.serialize_field("key", &self.key)?;
        out.serialize_field("code", &self.code)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("expected", &self.expected)?;
        out.serialize_field("hint", &self.hint)?;
        out.serialize_field("text", &self.to_string())?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(line: u32, column: u32) -> Location {
        Location::File { scope: Scope::Project, file: "sandbox.toml".into(), line, column }
    }

    #[test]
    fn shows_place_key_message_expectation_and_hint() {
        let problem = Problem::new(&location(12, 3), "limits.memroy", ProblemCode::UnknownKey, "unknown key")
            .expecting("something else")
            .hinting("did you mean \"memory\"?");
        assert_eq!(
            problem.to_string(),
            "sandbox.toml:12:3: limits.memroy: unknown key; expected something else; did you mean \"memory\"?"
        );
    }

    #[test]
    fn sorts_by_line_as_a_number() {
        let mut problems = [(10, 1), (9, 4), (9, 2)]
            .map(|(l, c)| Problem::new(&location(l, c), "", ProblemCode::Syntax, "x"));
        sort(&mut problems);
        assert_eq!(problems.map(|p| p.location), [location(9, 2), location(9, 4), location(10, 1)]);
    }

    #[test]
    fn gives_programs_the_parts() {
        let json =
            serde_json::to_value(Problem::new(&location(1, 2), "a", ProblemCode::WrongType, "m")).unwrap();
        assert_eq!(json["line"], 1);
        assert_eq!(json["code"], "wrong_type");
        assert_eq!(json["text"], "sandbox.toml:1:2: a: m");
    }
}
