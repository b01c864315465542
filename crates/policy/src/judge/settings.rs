//! What editors, agents and tools obey: settings in the formats that they are written in.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::harmless::{IDEA, Keys, PROMPT};
use super::{Format, Reason};

/// Judges a file of settings: the first key that is not harmless, or that it cannot be read.
pub(super) fn judge(content: &[u8], format: Format, keys: &'static Keys) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format });
    let Ok(text) = std::str::from_utf8(content) else { return unreadable };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { keys, path: Vec::new(), found: None };
    let read = match format {
        Format::Json => reader.json(text),
        Format::Toml => reader.toml(text),
        Format::Yaml => reader.yaml(text),
        Format::Ini => {
            reader.ini(text);
            Some(())
        }
        Format::Git | Format::Text => None,
    };
    match (read, reader.found) {
        (None, _) => unreadable,
        (Some(()), found) => found.map(|key| Reason::Setting { key }),
    }
}

/// Judges lines of which the first word says what they do: only these words are harmless.
pub(super) fn judge_words(content: &[u8], harmless: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split(|ends: char| ends.is_whitespace() || ends == '=').next().unwrap_or_default())
        .find(|word| !harmless.iter().any(|harmless| harmless.eq_ignore_ascii_case(word)))
        .map(|word| Reason::Setting { key: word.to_owned() })
}

/// Judges a list of programs and their versions: anything else than plain words may be a path.
pub(super) fn judge_versions(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
        .find(|word| !is_plain(word))
        .map(|word| Reason::Setting { key: word.to_owned() })
}

/// Judges a configuration of ripgrep: one argument a line, of which two run a program.
pub(super) fn judge_ripgrep(content: &[u8]) -> Option<Reason> {
    String::from_utf8_lossy(content)
        .lines()
        .map(|line| line.trim().split('=').next().unwrap_or_default())
        .find(|flag| matches!(*flag, "--pre" | "--hostname-bin"))
        .map(|flag| Reason::Setting { key: flag.to_owned() })
}

/// Judges a prompt: each key of its header must be harmless, and nothing may run while it is read.
pub(super) fn judge_prompt(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let setting = |key: &str| Some(Reason::Setting { key: key.to_owned() });
    if text.contains("!`") {
        return setting("!`");
    }
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(header) = text.strip_prefix("---") {
        // Where it does not end, everything may be one.
        let header = header.split_once("\n---").map_or(header, |(header, _)| header);
        if let Some(reason) = judge(header.as_bytes(), Format::Yaml, PROMPT) {
            return Some(reason);
        }
    }
    ["hooks:", "allowed-tools:", "mcpServers:"]
        .into_iter()
        .find(|mark| text.contains(mark))
        .and_then(|mark| setting(mark.trim_end_matches(':')))
}

/// Judges a file of a `JetBrains` editor: each of its components must be one that only describes the project.
pub(super) fn judge_idea(content: &[u8]) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format: Format::Text });
    let Ok(text) = std::str::from_utf8(content) else { return unreadable };
    if text.trim().is_empty() {
        return None;
    }
    // Entities of a document type could write a name in another way, and so could another encoding.
    let declares = text.split("encoding=").nth(1).map(|rest| rest.get(1..6).unwrap_or_default());
    let is_utf_8 = declares.is_none_or(|name| name.eq_ignore_ascii_case("utf-8"));
    let mut tags = text.split("<component").skip(1).peekable();
    if text.contains("<!") || !is_utf_8 || tags.peek().is_none() {
        return unreadable;
    }
    for tag in tags {
        let attributes = tag.split('>').next().unwrap_or_default();
        let value = attributes.split_once("name=").map(|(_, value)| value);
        let name = value.and_then(|value| {
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            value[1..].split_once(quote).map(|(name, _)| name)
        });
        match name {
            None => return unreadable,
            Some(name) if !IDEA.contains(&name) => return Some(Reason::Setting { key: name.to_owned() }),
            Some(_) => {}
        }
    }
    None
}

/// Reads settings of any format, and remembers the first that is not harmless: also one that a later one of the
/// same name hides from a parser that keeps only the last.
struct Reader {
    keys: &'static Keys,
    path: Vec<String>,
    found: Option<String>,
}

impl Reader {
    /// Goes into the value of a key.
    fn enter(&mut self, key: &str) {
        self.path.push(key.to_owned());
        let passes = match self.keys {
            Keys::Only(harmless) => harmless.iter().any(|pattern| covers(pattern, &self.path) != Covers::No),
            Keys::AllBut(dangerous) => !dangerous.iter().any(|name| name.eq_ignore_ascii_case(key)),
        };
        if !passes {
            self.note();
        }
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    /// Looks at the value of the key that this is in.
    fn value(&mut self, value: &str) {
        let Keys::Only(harmless) = self.keys else { return };
        let covering = harmless.iter().find(|pattern| covers(pattern, &self.path) == Covers::Wholly);
        let wants_plain = covering.is_some_and(|pattern| pattern.ends_with('='));
        if expands(value) || wants_plain && !is_plain(value) {
            self.note();
        }
    }

    fn note(&mut self) {
        if self.found.is_none() {
            self.found = Some(self.path.join("."));
        }
    }

    /// JSON, with the comments and trailing commas that editors allow.
    fn json(&mut self, text: &str) -> Option<()> {
        let text = plain_json(text);
        if text.trim().is_empty() {
            return Some(());
        }
        let mut json = serde_json::Deserializer::from_str(&text);
        (&mut *self).deserialize(&mut json).and_then(|()| json.end()).ok()
    }

    fn toml(&mut self, text: &str) -> Option<()> {
        self.table(DeTable::parse(text).ok()?.get_ref());
        Some(())
    }

    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.enter(key.get_ref());
            self.toml_value(value.get_ref());
            self.leave();
        }
    }

    fn toml_value(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(values) => values.iter().for_each(|value| self.toml_value(value.get_ref())),
            DeValue::String(text) => self.value(text),
            _ => {}
        }
    }

    /// The keys at the top of a document that is one plain mapping. What is indented belongs to the key above;
    /// every other way to write one is refused, and so are the line ends that only some readers know.
    fn yaml(&mut self, text: &str) -> Option<()> {
        if text.contains(['\t', '\u{85}', '\u{2028}', '\u{2029}']) {
            return None;
        }
        let mut is_below_a_key = false;
        for line in text.split(['\n', '\r']) {
            let is_document = line.trim_end() == "---" && !is_below_a_key;
            if line.trim().is_empty() || line.trim_start().starts_with('#') || is_document {
                continue;
            }
            // A list may stand as far to the left as its key.
            if line.starts_with(' ') || line.starts_with("- ") {
                is_below_a_key.then_some(())?;
                self.value(line);
                continue;
            }
            let (key, value) = line.split_once(':')?;
            if !is_plain(key) || !(value.is_empty() || value.starts_with(' ')) {
                return None;
            }
            self.path.clear();
            self.enter(key);
            self.value(value.trim());
            is_below_a_key = true;
        }
        self.path.clear();
        Some(())
    }

    /// Lines of `key = value`, below `[sections]`.
    fn ini(&mut self, text: &str) {
        let mut section = None;
        for line in text.split(['\n', '\r']).map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = Some(name.trim());
                continue;
            }
            let (key, value) = line.split_once('=').or_else(|| line.split_once(':')).unwrap_or((line, ""));
            self.path.clear();
            self.path.extend(section.map(str::to_owned));
            self.enter(key.trim());
            self.value(value.trim());
        }
    }
}

/// How a pattern of harmless keys covers a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Covers {
    /// The key, and all that is in it.
    Wholly,
    /// Something in it.
    Partly,
    No,
}

fn covers(pattern: &str, path: &[String]) -> Covers {
    let (pattern, is_exact) = match pattern.strip_suffix('=') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('/');
    for key in path {
        match parts.next() {
            Some(part) if is_key(part, key) => {}
            None if !is_exact => return Covers::Wholly,
            _ => return Covers::No,
        }
    }
    if parts.next().is_some() { Covers::Partly } else { Covers::Wholly }
}

/// Whether one part of a pattern is this key.
fn is_key(part: &str, key: &str) -> bool {
    match part {
        "*" => is_plain(key),
        // A language of Visual Studio Code, or several.
        "[*]" => key.starts_with('[') && key.ends_with(']'),
        _ => match part.strip_suffix('*') {
            Some(beginning) => key.starts_with(beginning),
            None => part == key,
        },
    }
}

/// A word that is no path, no address and no command.
fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    !word.is_empty() && word.bytes().all(is_plain) && !word.starts_with("..")
}

/// Whether a program might run a command, or hand over a variable, to make something else of a value.
fn expands(value: &str) -> bool {
    ["${", "$(", "!{"].into_iter().any(|mark| value.contains(mark))
}

impl<'de> DeserializeSeed<'de> for &mut Reader {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.enter(&key);
            map.next_value_seed(&mut *self)?;
            self.leave();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.value(text);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
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
                // Each of these ends a line for some of the readers. What begins there must not be missed.
                rest = rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).map_or("", |end| &rest[end..]);
                rest = rest.trim_start_matches(['\u{2028}', '\u{2029}']);
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
