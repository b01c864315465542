//! A task of a batch, as a line of JSON describes it. Everything that is wrong with a line is found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use policy::config::key::ValueKind;
use policy::config::schema::KEYS as CONFIG_KEYS;
use policy::rules::limits;
use policy::text::suggest::{did_you_mean, nearest};
use sandbox::batch::Retries;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// A task.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct BatchTask {
    pub(super) id: String,
    /// The command and its arguments; none where the configuration says what runs.
    pub(super) command: Vec<String>,
    pub(super) config: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) volumes: Vec<String>,
    pub(super) group: Option<String>,
    pub(super) retries: Retries,
}

/// What a task may say.
const KEYS: [&str; 10] =
    ["id", "command", "config", "provider", "timeout", "env", "volumes", "group", "retries", "retry_on"];

/// The most retries of a task.
const MAX_RETRIES: u64 = 100;

/// The longest id of a task, in bytes.
const MAX_ID: usize = 256;

/// What is wrong with a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Mistake {
    /// Where in the line, from 1, where that is known.
    pub(super) column: Option<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Mistake {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { column: None, message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A task, or what is wrong with its line and the id that it has all the same.
pub(super) type Parsed = Result<BatchTask, (Option<String>, Vec<Mistake>)>;

impl BatchTask {
    /// Reads one line.
    pub(super) fn parse(line: &[u8]) -> Parsed {
        let wrong = |mistake| Err((None, vec![mistake]));
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(error) => {
                let mistake = Mistake::new("not UTF-8, as JSON must be");
                return wrong(Mistake { column: Some(error.valid_up_to() + 1), ..mistake });
            }
        };
        if !text.trim_start().starts_with('{') {
            return wrong(
                Mistake::new("not a JSON object")
                    .hint("such as `{\"id\": \"a\", \"command\": [\"make\", \"test\"]}`"),
            );
        }
        let Members(members) = match serde_json::from_str(text) {
            Ok(members) => members,
            Err(error) => {
                // It is one line, whose number in the file only the caller knows.
                let said = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                let mistake =
                    Mistake::new(format!("not JSON: {}", said.strip_suffix(&place).unwrap_or(&said)));
                let hint = "each task is one object on one line";
                return wrong(Mistake { column: Some(error.column()), ..mistake }.hint(hint));
            }
        };
        let mut fields = Fields::default();
        let mut task = Self::default();
        let mut seen = BTreeSet::new();
        for (key, value) in members {
            if seen.insert(key.clone()) {
                task.set(&key, value, &mut fields);
            } else {
                fields.wrong(format!("`{key}` is there twice"));
            }
        }
        if !seen.contains("id") {
            fields.mistakes.push(
                Mistake::new("`id` is missing")
                    .hint("it names the task in the output, and is different for each"),
            );
        }
        if !task.retries.exit_codes.is_empty() && task.retries.most == 0 {
            fields.mistakes.push(
                Mistake::new("`retry_on` has no effect without `retries`")
                    .hint("`\"retries\": 1` allows one"),
            );
        }
        if fields.mistakes.is_empty() {
            Ok(task)
        } else {
            Err(((!task.id.is_empty()).then_some(task.id), fields.mistakes))
        }
    }

    fn set(&mut self, key: &str, value: Value, fields: &mut Fields) {
        match key {
            "id" => {
                self.id = fields.text(key, value).unwrap_or_default();
                if self.id.len() > MAX_ID {
                    fields.wrong(format!("`id` is longer than {MAX_ID} bytes"));
                }
            }
            "command" => self.command = fields.argument_list(key, value).unwrap_or_default(),
            "config" => self.config = fields.argument(key, value),
            "provider" => self.provider = fields.provider(value),
            "timeout" => self.timeout = fields.timeout(value),
            "env" => self.env = fields.variables(value),
            "volumes" => self.volumes = fields.argument_list(key, value).unwrap_or_default(),
            "group" => self.group = fields.text(key, value),
            "retries" => {
                self.retries.most = fields.number(key, &value, 0, MAX_RETRIES).unwrap_or_default();
            }
            "retry_on" => self.retries.exit_codes = fields.exit_codes(value),
            unknown => {
                let known = format!("a task has {}", KEYS.join(", "));
                let hint = nearest(unknown, KEYS).and(did_you_mean(unknown, KEYS)).unwrap_or(known);
                fields.mistakes.push(Mistake::new(format!("unknown key `{unknown}`")).hint(hint));
            }
        }
    }
}

/// Reads values of a task, and collects what is wrong with them.
#[derive(Default)]
struct Fields {
    mistakes: Vec<Mistake>,
}

impl Fields {
    fn wrong(&mut self, message: String) {
        self.mistakes.push(Mistake::new(message));
    }

    fn type_of(&mut self, key: &str, wanted: &str, found: &Value) {
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
    fn text(&mut self, key: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) if text.is_empty() => self.wrong(format!("`{key}` is empty")),
            Value::String(text) => return Some(text),
            other => self.type_of(key, "a string", &other),
        }
        None
    }

    /// Reads a string that becomes an argument of a program.
    fn argument(&mut self, key: &str, value: Value) -> Option<String> {
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

    fn argument_list(&mut self, key: &str, value: Value) -> Option<Vec<String>> {
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

    fn provider(&mut self, value: Value) -> Option<String> {
        let text = self.text("provider", value)?;
        let providers = providers();
        if providers.contains(&text.as_str()) {
            return Some(text);
        }
        let known = format!("there are {}", providers.join(", "));
        let hint = did_you_mean(&text, providers.iter().copied()).unwrap_or(known);
        self.mistakes.push(Mistake::new(format!("there is no provider `{text}`")).hint(hint));
        None
    }

    fn timeout(&mut self, value: Value) -> Option<String> {
        let text = self.argument("timeout", value)?;
        match limits::duration(&text) {
            Ok(_) => Some(text),
            Err(error) => {
                self.wrong(format!("`timeout`: {error}"));
                None
            }
        }
    }

    fn variables(&mut self, value: Value) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let key = format!("env.{name}");
                    if name.is_empty() || name.contains(['=', '\0']) {
                        self.wrong(format!("`{key}`: no variable has such a name"));
                    } else if let Value::String(text) = value {
                        variables.extend(self.without_nul(&key, text).map(|text| (name, text)));
                    } else {
                        self.type_of(&key, "a string", &value);
                    }
                }
            }
            other => self.type_of("env", "an object of strings", &other),
        }
        variables
    }

    fn number<N: TryFrom<u64>>(&mut self, key: &str, value: &Value, least: u64, most: u64) -> Option<N> {
        let number = value.as_u64().filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        if number.is_none() {
            self.wrong(format!("`{key}` must be a whole number from {least} to {most}, and is {value}"));
        }
        number
    }

    fn exit_codes(&mut self, value: Value) -> BTreeSet<u8> {
        match value {
            Value::Array(items) => {
                items.iter().filter_map(|item| self.number("retry_on", item, 1, u8::MAX.into())).collect()
            }
            other => {
                self.type_of("retry_on", "an array of exit codes", &other);
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

/// Returns what `provider` may be: what the key of that name may be.
fn providers() -> &'static [&'static str] {
    let words = CONFIG_KEYS.iter().find_map(|key| match key.kind {
        ValueKind::Choice(words) if key.path == "provider" => Some(words),
        _ => None,
    });
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(line: &str) -> Vec<String> {
        let (_, mistakes) = BatchTask::parse(line.as_bytes()).unwrap_err();
        mistakes.into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn reads_everything_that_a_task_may_say() {
        let line = r#"{"id": "a", "command": ["sh", "-c", "exit 3"], "config": "c.toml", "provider": "native",
            "timeout": "30s", "env": {"A": "b=c"}, "volumes": ["./a:/workspace"], "group": "g",
            "retries": 2, "retry_on": [3]}"#;
        let task = BatchTask::parse(line.as_bytes()).unwrap();
        let text = |text: &str| text.to_owned();
        let expected = BatchTask {
            id: text("a"),
            command: vec![text("sh"), text("-c"), text("exit 3")],
            config: Some(text("c.toml")),
            provider: Some(text("native")),
            timeout: Some(text("30s")),
            env: BTreeMap::from([(text("A"), text("b=c"))]),
            volumes: vec![text("./a:/workspace")],
            group: Some(text("g")),
            retries: Retries { most: 2, exit_codes: BTreeSet::from([3]) },
        };
        assert_eq!(task, expected);
    }

    #[test]
    fn finds_everything_that_is_wrong_with_a_line_at_once() {
        let line = r#"{"comand": ["x"], "provider": "natve", "timeout": "soon", "env": {"A=": "", "B": 1}, "retries": -1}"#;
        let (id, found) = BatchTask::parse(line.as_bytes()).unwrap_err();
        assert_eq!(id, None);
        assert_eq!(found.len(), 7, "{found:#?}");
        assert_eq!(found[0].message, "unknown key `comand`");
        assert_eq!(found[0].hint.as_deref(), Some("did you mean \"command\"?"));
        assert_eq!(found[1].hint.as_deref(), Some("did you mean \"native\"?"));
    }

    #[test]
    fn a_member_that_is_there_twice_is_not_chosen_from() {
        assert_eq!(mistakes(r#"{"id": "a", "id": "b"}"#), ["`id` is there twice"]);
    }

    #[test]
    fn says_where_a_line_stops_being_json() {
        let (_, found) = BatchTask::parse(br#"{"id": "a", }"#).unwrap_err();
        assert_eq!(found[0].column, Some(13));
        assert_eq!(found[0].message, "not JSON: trailing comma");
        let (_, found) = BatchTask::parse(b"{\"id\": \"\xff\"}").unwrap_err();
        assert_eq!(found[0], Mistake { column: Some(9), ..Mistake::new("not UTF-8, as JSON must be") });
        for line in ["[1]", "3", "\"a\"", "x"] {
            assert_eq!(mistakes(line), ["not a JSON object"]);
        }
        assert_eq!(mistakes(r#"{"id": "a"} {"id": "b"}"#), ["not JSON: trailing characters"]);
    }

    #[test]
    fn what_can_have_no_effect_is_refused() {
        assert_eq!(
            mistakes(r#"{"id": "a", "retry_on": [1]}"#),
            ["`retry_on` has no effect without `retries`"]
        );
        assert_eq!(
            mistakes(r#"{"id": "", "command": []}"#),
            ["`id` is empty", "`command` is empty; leave it out"]
        );
        assert_eq!(
            mistakes(r#"{"id": "a", "retries": 1, "retry_on": [0]}"#),
            ["`retry_on` must be a whole number from 1 to 255, and is 0"]
        );
    }

    #[test]
    fn a_wrong_line_keeps_its_id() {
        let (id, _) = BatchTask::parse(br#"{"id": "a", "x": 1}"#).unwrap_err();
        assert_eq!(id.as_deref(), Some("a"));
    }
}
