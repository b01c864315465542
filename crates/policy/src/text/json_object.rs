//! Objects of JSON that people and programs write, one on a line: everything that is wrong with one is found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::suggest::{did_you_mean, nearest};
use crate::rules::limits;

/// What is wrong with a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// Where in the line, from 1, where that is known.
    pub column: Option<usize>,
    pub message: String,
    pub hint: Option<String>,
}

impl Mistake {
    /// Makes one of the whole line.
    pub fn new(message: impl Into<String>) -> Self {
        Self { column: None, message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Reads an object, and gives each of its members to `set`. A member that is there twice is a mistake, and so is a line that is no object: such as
/// `example`.
///
/// # Errors
///
/// What keeps the line from being an object.
pub fn read(
    line: &[u8],
    example: &str,
    set: &mut dyn FnMut(&str, Value, &mut Fields),
) -> Result<Fields, Mistake> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let mistake = Mistake::new("not UTF-8, as JSON must be");
        Mistake { column: Some(error.valid_up_to() + 1), ..mistake }
    })?;
    if !text.trim_start().starts_with('{') {
        return Err(Mistake::new("not a JSON object").hint(format!("such as `{example}`")));
    }
    let Members(members) = serde_json::from_str(text).map_err(|error| {
        // It is one line, whose number in the file only the caller knows.
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let mistake = Mistake::new(format!("not JSON: {}", message.strip_suffix(&place).unwrap_or(&message)));
        Mistake { column: Some(error.column()), ..mistake }.hint("each is one object on one line")
    })?;
    let mut fields = Fields::default();
    for (key, value) in members {
        if fields.seen.insert(key.clone()) {
            set(&key, value, &mut fields);
        } else {
            fields.wrong(format!("`{key}` is there twice"));
        }
    }
    Ok(fields)
}

/// Reads values of members, and collects what is wrong with them.
#[derive(Debug, Default)]
pub struct Fields {
    seen: BTreeSet<String>,
    mistakes: Vec<Mistake>,
}

impl Fields {
    /// Notes a mistake.
    pub fn wrong(&mut self, message: impl Into<String>) {
        self.add(Mistake::new(message));
    }

    /// Notes a mistake.
    pub fn add(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    /// Notes a key that no such object has.
    pub fn unknown(&mut self, key: &str, what: &str, known: &[&str]) {
        let all = format!("{what} has {}", known.join(", "));
        let hint =
            nearest(key, known.iter().copied()).and(did_you_mean(key, known.iter().copied())).unwrap_or(all);
        self.add(Mistake::new(format!("unknown key `{key}`")).hint(hint));
    }

    /// Returns whether a member is there.
    pub fn has(&self, key: &str) -> bool {
        self.seen.contains(key)
    }

    /// Returns all mistakes.
    pub fn into_mistakes(self) -> Vec<Mistake> {
        self.mistakes
    }

    /// Notes that a value has another type than it should.
    pub fn type_of(&mut self, key: &str, wanted: &str, found: &Value) {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.wrong(format!("`{key}` must be {wanted}, and is {found}"));
    }

    /// Reads a string that says something.
    pub fn text(&mut self, key: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) if text.is_empty() => self.wrong(format!("`{key}` is empty")),
            Value::String(text) => return Some(text),
            other => self.type_of(key, "a string", &other),
        }
        None
    }

    /// Reads a string that becomes an argument of a program.
    pub fn argument(&mut self, key: &str, value: Value) -> Option<String> {
        let text = self.text(key, value)?;
        self.without_nul(key, text)
    }

    fn without_nul(&mut self, key: &str, text: String) -> Option<String> {
        if text.contains('\0') {
            self.wrong(format!("`{key}` has a NUL character, which no program can be given"));
            return None;
        }
        Some(text)
    }

    /// Reads an array of strings that become arguments of a program.
    pub fn argument_list(&mut self, key: &str, value: Value) -> Option<Vec<String>> {
        let items = match value {
            Value::Array(items) if items.is_empty() => {
                self.wrong(format!("`{key}` is empty; leave it out"));
                return None;
            }
            Value::Array(items) => items,
            other => {
                self.type_of(key, "an array of strings", &other);
                return None;
            }
        };
        let mut arguments = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::String(text) => arguments.extend(self.without_nul(key, text)),
                other => self.type_of(&format!("{key}[{}]", arguments.len()), "a string", &other),
            }
        }
        Some(arguments)
    }

    /// Reads a duration, and returns it as it was written.
    pub fn timeout(&mut self, key: &str, value: Value) -> Option<String> {
        let text = self.argument(key, value)?;
        match limits::duration(&text) {
            Ok(_) => Some(text),
            Err(error) => {
                self.wrong(format!("`{key}`: {error}"));
                None
            }
        }
    }

    /// Reads an object of variables.
    pub fn variables(&mut self, table: &str, value: Value) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let key = format!("{table}.{name}");
                    if name.is_empty() || name.contains(['=', '\0']) {
                        self.wrong(format!("`{key}`: no variable has such a name"));
                    } else if let Value::String(text) = value {
                        variables.extend(self.without_nul(&key, text).map(|text| (name, text)));
                    } else {
                        self.type_of(&key, "a string", &value);
                    }
                }
            }
            other => self.type_of(table, "an object of strings", &other),
        }
        variables
    }

    /// Reads an array of strings, which may be empty.
    pub fn texts(&mut self, key: &str, value: Value) -> Vec<String> {
        let Value::Array(items) = value else {
            self.type_of(key, "an array of strings", &value);
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            texts.extend(self.text(&format!("{key}[{}]", texts.len()), item));
        }
        texts
    }

    /// Reads a whole number within a range.
    pub fn number<N: TryFrom<u64>>(&mut self, key: &str, value: &Value, least: u64, most: u64) -> Option<N> {
        let number = value.as_u64().filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        if number.is_none() {
            self.wrong(format!("`{key}` must be a whole number from {least} to {most}, and is {value}"));
        }
        number
    }

    /// Reads an array of exit codes.
    pub fn exit_codes(&mut self, key: &str, value: Value) -> BTreeSet<u8> {
        match value {
            Value::Array(items) => {
                items.iter().filter_map(|item| self.number(key, item, 1, u8::MAX.into())).collect()
            }
            other => {
                self.type_of(key, "an array of exit codes", &other);
                BTreeSet::new()
            }
        }
    }
}

/// The members of an object, each as often as it is there.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap;

        impl<'de> Visitor<'de> for OfMap {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(OfMap)
    }
}
