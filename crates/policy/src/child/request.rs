//! What an agent asks for when it wants a child: an object of JSON on one line. The bytes are a stranger's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::plan::BoundaryMode;
use crate::rules::env::Name;
use crate::rules::limits::{self, Bytes, MilliCpus};
use crate::rules::network::Pattern;
use crate::rules::path::GuestPath;
use crate::text::json_object::{self, Fields, Mistake};

/// The longest request, in bytes.
pub const MAX_REQUEST: usize = 256 << 10;

/// What a request may look like.
const EXAMPLE: &str = r#"{"command": ["make", "test"], "shared_dirs": {"workspace": "ro"}}"#;

/// What a request may say.
const KEYS: [&str; 11] = [
    "id", "command", "workdir", "env", "shared_dirs", "allow", "secrets", "timeout", "memory", "cpus", "pids",
];

/// A request for a child. What it does not ask for the child does not have.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ChildRequest {
    /// What its answer is called.
    pub id: Option<String>,
    /// The command and its arguments; never empty.
    pub command: Vec<String>,
    pub workdir: Option<GuestPath>,
    /// Variables besides those of the sandbox that asks.
    pub env: BTreeMap<Name, String>,
    /// Shared directories of the sandbox that asks, by name.
    pub shared_dirs: BTreeMap<String, BoundaryMode>,
    /// Hosts that it may reach.
    pub allow: Vec<Pattern>,
    /// Credentials of the sandbox that asks, by name.
    pub secrets: BTreeSet<String>,
    pub timeout: Option<Duration>,
    pub memory: Option<Bytes>,
    pub cpus: Option<MilliCpus>,
    pub pids: Option<u32>,
}

impl ChildRequest {
    /// Reads one line.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, and the id that it has all the same.
    pub fn parse(line: &[u8]) -> Result<Self, (Option<String>, Vec<Mistake>)> {
        let mut request = Self::default();
        let mut set = |key: &str, value: Value, fields: &mut Fields| request.set(key, value, fields);
        let mut fields =
            json_object::read(line, EXAMPLE, &mut set).map_err(|mistake| (None, vec![mistake]))?;
        if !fields.has("command") {
            fields.add(Mistake::new("`command` is missing").hint(format!("such as `{EXAMPLE}`")));
        }
        let mistakes = fields.into_mistakes();
        if mistakes.is_empty() { Ok(request) } else { Err((request.id, mistakes)) }
    }

    fn set(&mut self, key: &str, value: Value, fields: &mut Fields) {
        match key {
            "id" => self.id = fields.text(key, value),
            "command" => self.command = fields.argument_list(key, value).unwrap_or_default(),
            "workdir" => self.workdir = parsed(fields, key, value, |text| GuestPath::new(Path::new(text))),
            "env" => {
                for (name, value) in fields.variables(key, value) {
                    match name.parse::<Name>() {
                        Ok(name) => drop(self.env.insert(name, value)),
                        Err(error) => fields.wrong(format!("`{key}`: {error}")),
                    }
                }
            }
            "shared_dirs" => self.shared_dirs = shared_dirs(key, value, fields),
            "allow" => {
                let texts = fields.texts(key, value);
                self.allow =
                    texts.iter().filter_map(|text| parsed_text(fields, key, text, str::parse)).collect();
            }
            "secrets" => self.secrets = fields.texts(key, value).into_iter().collect(),
            "timeout" => self.timeout = parsed(fields, key, value, limits::duration),
            "memory" => {
                self.memory = parsed(fields, key, value, |text| text.parse::<Bytes>()?.as_memory());
            }
            "cpus" => {
                let text = if value.is_number() { Value::String(value.to_string()) } else { value };
                self.cpus = parsed(fields, key, text, str::parse);
            }
            "pids" => self.pids = fields.number(key, &value, 1, limits::MAX_PIDS.into()),
            unknown => fields.unknown(unknown, "a request", &KEYS),
        }
    }
}

fn parsed<T, E: std::fmt::Display>(
    fields: &mut Fields,
    key: &str,
    value: Value,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    let text = fields.text(key, value)?;
    parsed_text(fields, key, &text, parse)
}

fn parsed_text<T, E: std::fmt::Display>(
    fields: &mut Fields,
    key: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    parse(text).map_err(|error| fields.wrong(format!("`{key}`: {error}"))).ok()
}

fn shared_dirs(key: &str, value: Value, fields: &mut Fields) -> BTreeMap<String, BoundaryMode> {
    let Value::Object(members) = value else {
        fields.type_of(key, "an object of modes", &value);
        return BTreeMap::new();
    };
    let mut dirs = BTreeMap::new();
    for (name, mode) in members {
        match mode.as_str() {
            Some("ro") => drop(dirs.insert(name, BoundaryMode::ReadOnly)),
            Some("rw") => drop(dirs.insert(name, BoundaryMode::ReadWrite)),
            Some(other) => fields.wrong(format!("`{key}.{name}` is \"ro\" or \"rw\", and not {other:?}")),
            None => fields.type_of(&format!("{key}.{name}"), "\"ro\" or \"rw\"", &mode),
        }
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_everything_that_a_request_may_say() {
        let line = r#"{"id": "a", "command": ["make", "-k"], "workdir": "/workspace/x", "env": {"A": "1"},
            "shared_dirs": {"workspace": "ro", "output": "rw"}, "allow": ["example.org:443"], "secrets": ["model"],
            "timeout": "5m", "memory": "64m", "cpus": 0.5, "pids": 20}"#;
        let request = ChildRequest::parse(line.as_bytes()).unwrap();
        assert_eq!(request.command, ["make", "-k"]);
        assert_eq!(request.shared_dirs["workspace"], BoundaryMode::ReadOnly);
        assert_eq!(request.allow.len(), 1);
        assert_eq!(request.cpus, Some(MilliCpus(500)));
        assert_eq!(request.memory, Some(Bytes(64 << 20)));
        assert_eq!(request.timeout, Some(Duration::from_secs(300)));
        let keys = KEYS.iter().filter(|key| line.contains(&format!("\"{key}\"")));
        assert_eq!(keys.count(), KEYS.len(), "every key is in this test");
    }

    #[test]
    fn finds_everything_that_is_wrong_at_once() {
        let line = r#"{"id": "a", "comand": [], "workdir": "x/..", "env": {"SANDBOX_X": "1"}, "shared_dirs": {"a": "wr"},
            "allow": ["*"], "timeout": "soon", "memory": "1k", "cpus": "many", "pids": 0}"#;
        let (id, mistakes) = ChildRequest::parse(line.as_bytes()).unwrap_err();
        assert_eq!(id.as_deref(), Some("a"));
        assert_eq!(mistakes.len(), 10, "{mistakes:#?}");
        let (_, mistakes) = ChildRequest::parse(b"[]").unwrap_err();
        assert_eq!(mistakes[0].message, "not a JSON object");
        assert!(ChildRequest::parse(b"{\"command\": [\"a\\u0000b\"]}").is_err());
    }
}
