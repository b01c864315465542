//! What editors and agents obey: settings that run a program when a directory is opened.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::{Format, Reason};

/// Which keys run a program, at any depth and without regard to case.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Keys {
    /// The whole key.
    exact: &'static [&'static str],
    /// The end of a key.
    ends: &'static [&'static str],
    /// A key that only counts with this value.
    with_value: &'static [(&'static str, &'static str)],
}

/// Tasks of Visual Studio Code: those that run when the folder is opened.
pub(super) const VSCODE_TASKS: Keys = Keys { exact: &[], ends: &[], with_value: &[("runon", "folderopen")] };

/// Settings of Visual Studio Code: where programs are, what terminals start and with which environment, and
/// what runs without a question (CVE-2025-53773).
pub(super) const VSCODE: Keys = Keys {
    exact: &["env", "git.path", "go.alternatetools", "go.toolsenvvars", "path", "task.allowautomatictasks"],
    ends: &[
        "args",
        "autoapprove",
        "command",
        "executable",
        "interpreter",
        "path",
        "paths",
        "shell.linux",
        "shell.osx",
        "shell.windows",
        "tsdk",
        ".env.linux",
        ".env.osx",
        ".env.windows",
    ],
    with_value: &[],
};

/// Lists of MCP servers and hooks: whatever has a command.
pub(super) const SERVERS: Keys =
    Keys { exact: &["hooks"], ends: &["command", "helper"], with_value: &[("runon", "folderopen")] };

/// Settings of agents: hooks, servers, helpers, environment, and what they may do without asking.
pub(super) const AGENT: Keys = Keys {
    exact: &[
        "allow",
        "approval_policy",
        "awsauthrefresh",
        "awscredentialexport",
        "defaultmode",
        "enableallprojectmcpservers",
        "enabledmcpjsonservers",
        "env",
        "hooks",
        "mcp_servers",
        "mcpservers",
        "notify",
        "sandbox_mode",
        "statusline",
        "trust",
    ],
    ends: &["command", "helper"],
    with_value: &[],
};

impl Keys {
    fn run(&self, key: &str, value: Option<&str>) -> bool {
        let key = key.to_ascii_lowercase();
        self.exact.contains(&key.as_str())
            || self.ends.iter().any(|end| key.ends_with(end))
            || self.with_value.iter().any(|(name, text)| {
                *name == key && value.is_some_and(|value| value.eq_ignore_ascii_case(text))
            })
    }
}

/// Judges JSON, with the comments and trailing commas that editors allow.
pub(super) fn judge_json(content: &[u8], keys: &Keys) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format: Format::Json });
    let Ok(text) = std::str::from_utf8(content) else {
        return unreadable;
    };
    let text = plain_json(text.strip_prefix('\u{feff}').unwrap_or(text));
    if text.trim().is_empty() {
        return None;
    }
    let mut found = Settings(Vec::new());
    let mut json = serde_json::Deserializer::from_str(&text);
    match found.deserialize(&mut json).and_then(|_| json.end()) {
        Ok(()) => found
            .0
            .into_iter()
            .find(|(key, value)| keys.run(key, value.as_deref()))
            .map(|(key, _)| Reason::Setting { key }),
        Err(_) => unreadable,
    }
}

/// Judges TOML.
pub(super) fn judge_toml(content: &[u8], keys: &Keys) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format: Format::Toml });
    let Ok(text) = std::str::from_utf8(content) else {
        return unreadable;
    };
    match DeTable::parse(text) {
        Ok(table) => find_in_table(table.get_ref(), keys).map(|key| Reason::Setting { key }),
        Err(_) => unreadable,
    }
}

/// Judges a configuration of ripgrep: one argument a line, of which two run a program.
pub(super) fn judge_ripgrep(content: &[u8]) -> Option<Reason> {
    String::from_utf8_lossy(content)
        .lines()
        .map(|line| line.trim().split('=').next().unwrap_or_default())
        .find(|flag| matches!(*flag, "--pre" | "--hostname-bin"))
        .map(|flag| Reason::Setting { key: flag.to_owned() })
}

/// Judges a prompt with a header: what it brings along, or runs while it is read.
pub(super) fn judge_prompt(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    ["hooks:", "allowed-tools:", "mcpServers:", "!`"]
        .into_iter()
        .find(|mark| text.contains(mark))
        .map(|mark| Reason::Setting { key: mark.trim_end_matches(':').to_owned() })
}

/// Judges a file of a `JetBrains` editor: what runs when the project is opened, or a file is saved.
pub(super) fn judge_idea(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    ["ProjectStartup", "ProjectTasksOptions", "TaskOptions"]
        .into_iter()
        .find(|component| text.contains(component))
        .map(|component| Reason::Setting { key: component.to_owned() })
}

fn find_in_table(table: &DeTable<'_>, keys: &Keys) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let key = key.get_ref();
        if keys.run(key, value.get_ref().as_str()) {
            return Some(key.to_string());
        }
        find_in_value(value.get_ref(), keys)
    })
}

fn find_in_value(value: &DeValue<'_>, keys: &Keys) -> Option<String> {
    match value {
        DeValue::Table(table) => find_in_table(table, keys),
        DeValue::Array(values) => values.iter().find_map(|value| find_in_value(value.get_ref(), keys)),
        _ => None,
    }
}

/// Every key of a document with its value, if that is text: also of keys that a later one of the same name
/// hides from a parser that keeps only the last.
struct Settings(Vec<(String, Option<String>)>);

impl<'de> DeserializeSeed<'de> for &mut Settings {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Settings {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(&mut *self)?;
            self.0.push((key, value));
        }
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Option<String>, A::Error> {
        while sequence.next_element_seed(&mut *self)?.is_some() {}
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<String>, E> {
        Ok(Some(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<String>, E> {
        Ok(None)
    }
}

/// JSON without the comments and trailing commas that editors allow.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |end| &rest[end + 4..]);
                continue;
            }
            ']' | '}' => {
                let content = plain.trim_end().len();
                if plain[..content].ends_with(',') {
                    plain.truncate(content - 1);
                }
                1
            }
            other => other.len_utf8(),
        };
        plain.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    plain
}

/// How long the string is that `text` begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
