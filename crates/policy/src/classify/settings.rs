//! What editors, agents and tools obey: settings in the formats that they are written in.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::reason::Reason;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::{Keys, PROMPT};

/// Classifies a file of settings: the first key that is not harmless, or that it cannot be read.
pub(super) fn classify(content: &[u8], format: FileFormat, keys: &'static Keys) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format });
    let Ok(text) = std::str::from_utf8(content) else { return unreadable };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = SettingsReader { keys, path: Vec::new(), found: None };
    let read = match format {
        FileFormat::Json => reader.json(text),
        FileFormat::Toml => reader.toml(text),
        FileFormat::Yaml => reader.yaml(text),
        FileFormat::Ini => reader.ini(text),
        FileFormat::Git | FileFormat::Text | FileFormat::Index => None,
    };
    match (read, reader.found) {
        (None, _) => unreadable,
        (Some(()), found) => found.map(|key| Reason::Setting { key }),
    }
}

/// Classifies a file of opencode, which puts variables and files into the text before it reads it as JSON: what they
/// hold may end a string and add a setting.
pub(super) fn classify_opencode(content: &[u8], keys: &'static Keys) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let mark = ["{env:", "{file:"].into_iter().find(|mark| text.contains(mark));
    mark.map_or_else(
        || classify(content, FileFormat::Json, keys),
        |mark| Some(Reason::Setting { key: mark.to_owned() }),
    )
}

/// Classifies lines of which the first word says what they do: only these words are harmless.
pub(super) fn classify_words(content: &[u8], harmless: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split(|ends: char| ends.is_whitespace() || ends == '=').next().unwrap_or_default())
        .find(|word| !harmless.iter().any(|harmless| harmless.eq_ignore_ascii_case(word)))
        .map(|word| Reason::Setting { key: word.to_owned() })
}

/// Classifies a list of programs and their versions: anything else than plain words, but for one of these beginnings, may be a
/// path. Ruby has sets of gems after an `@`.
pub(super) fn classify_versions(content: &[u8], beginnings: &[&str]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content).replace("\r\n", "\n");
    let setting = |key: &str| Some(Reason::Setting { key: key.to_owned() });
    if text.contains(is_unclear) {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    }
    // mise runs what a template says before it leaves out comments.
    if let Some(mark) = ["{{", "{%", "{#"].into_iter().find(|mark| text.contains(mark)) {
        return setting(mark);
    }
    let is_version = |word: &str| {
        let plain = |word: &str| word.is_empty() || word.split('@').all(is_plain);
        plain(word) || beginnings.iter().any(|known| word.strip_prefix(known).is_some_and(plain))
    };
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    for line in lines {
        // For some readers, what follows a version is no comment, and a line with a slash is a path.
        let (words, comment) = line.split_once(" #").unwrap_or((line, ""));
        let odd = words.split_whitespace().find(|word| !is_version(word));
        if let Some(odd) = odd.or(comment.contains('/').then_some(comment)) {
            return setting(odd.trim());
        }
    }
    None
}

/// Classifies a list of versions of Python, one a line. uv takes a line that it does not know as a version for a path, if something in
/// the directory is called so, also one with a comment or a second version: only what is surely a version passes.
pub(super) fn classify_python_versions(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let odd = || {
        let lines = text.lines().map(|line| line.trim_matches([' ', '\t']));
        let odd = lines.filter(|line| !line.starts_with('#')).find(|line| !is_python_version(line))?;
        Some(Reason::Setting { key: odd.to_owned() })
    };
    classify_versions(content, &[]).or_else(odd)
}

/// Returns whether every reader takes a line for a version of Python, or for nothing: `3.12`, `3.12.1`, `3.13.0rc1`, `pypy@3.10`. What
/// is no number of eight bits, and what has a hyphen, is a version to some alone.
fn is_python_version(line: &str) -> bool {
    let version = ["cpython", "graalpy", "pypy", "python"]
        .into_iter()
        .find_map(|name| line.strip_prefix(name))
        .map_or(line, |rest| rest.strip_prefix('@').unwrap_or(rest));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok();
    let candidate = ["a", "b", "rc"].into_iter().find_map(|mark| version.split_once(mark));
    let (release, candidate) = candidate.map_or((version, None), |(release, number)| (release, Some(number)));
    let parts: Vec<&str> = release.split('.').collect();
    let may_be_candidate = matches!(*parts, [_, _] | [_, _, "0"]);
    line.is_empty()
        || parts.len() <= 3
            && parts.iter().all(|part| is_number(part))
            && candidate.is_none_or(|number| may_be_candidate && is_number(number))
}

/// Classifies a configuration of ripgrep: one argument a line, of which two run a program.
pub(super) fn classify_ripgrep(content: &[u8]) -> Option<Reason> {
    String::from_utf8_lossy(content)
        .lines()
        .map(|line| line.trim().split('=').next().unwrap_or_default())
        .find(|flag| matches!(*flag, "--pre" | "--hostname-bin"))
        .map(|flag| Reason::Setting { key: flag.to_owned() })
}

/// Classifies a prompt: each key of its header must be harmless, and nothing may run while it is read.
pub(super) fn classify_prompt(content: &[u8]) -> Option<Reason> {
    let text = String::from_utf8_lossy(content);
    let setting = |key: &str| Some(Reason::Setting { key: key.to_owned() });
    if let Some(mark) = ["!`", "```!", "// turbo"].into_iter().find(|mark| text.contains(mark)) {
        return setting(mark);
    }
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(after) = text.strip_prefix("---") {
        let Some(header) = header(after) else {
            return Some(Reason::Unreadable { format: FileFormat::Yaml });
        };
        if let Some(reason) = classify(header.as_bytes(), FileFormat::Yaml, PROMPT) {
            return Some(reason);
        }
        if has_table_of_tools(header) {
            return setting("tools");
        }
    }
    ["hooks:", "allowed-tools:", "mcpServers:"]
        .into_iter()
        .find(|mark| text.contains(mark))
        .and_then(|mark| setting(mark.trim_end_matches(':')))
}

/// Returns whether a header may say of each tool whether it may be used. To opencode that is a permission; a list of names only leaves
/// others out. YAML has many ways to write a mapping, an alias among them: only what is surely none passes.
fn has_table_of_tools(header: &str) -> bool {
    let may_be_one = |text: &str| {
        let text = text.trim_matches(' ');
        text.starts_with(['&', '*', '?', ':'])
            || text.ends_with(':')
            || ["{", ": ", "\":", "':"].into_iter().any(|mark| text.contains(mark))
    };
    let mut is_of_tools = false;
    header.split(['\n', '\r']).any(|line| {
        let value = line.strip_prefix("tools:");
        // A line that is empty, a comment or further to the right ends nothing.
        if !line.is_empty() && !line.starts_with([' ', '-', '#']) {
            is_of_tools = value.is_some();
        }
        is_of_tools && may_be_one(value.unwrap_or(line))
    })
}

/// Returns the header of a prompt, after its first `---`. Where it does not end, everything may be one. `None` where readers
/// disagree: some take what follows on that line for a language and run it, and some end the header at a line that only
/// begins with `---`.
fn header(after: &str) -> Option<&str> {
    let is_alone = |line: &str| line.split('\n').next().unwrap_or_default().trim_end().is_empty();
    let (header, rest) = after.split_once("\n---").unwrap_or((after, ""));
    (is_alone(header) && is_alone(rest)).then_some(header)
}

/// Reads settings of any format, and remembers the first that is not harmless: also one that a later one of the
/// same name hides from a parser that keeps only the last.
struct SettingsReader {
    keys: &'static Keys,
    path: Vec<String>,
    found: Option<String>,
}

impl SettingsReader {
    /// Enters the value of a key.
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
        let wanted = covering.and_then(|pattern| pattern.split_once('='));
        let is_wanted =
            wanted.is_none_or(|(_, only)| if only.is_empty() { is_plain(value) } else { value == only });
        if expands(value) || !is_wanted {
            self.note();
        }
    }

    fn note(&mut self) {
        if self.found.is_none() {
            self.found = Some(self.path.join("."));
        }
    }

    /// Reads JSON, with the comments and trailing commas that editors allow.
    fn json(&mut self, text: &str) -> Option<()> {
        let text = plain_json(text)?;
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

    /// Returns the keys at the top of a document that is one plain mapping. What is indented belongs to the key above;
    /// every other way to write one is refused, and so are the line ends that only some readers know.
    fn yaml(&mut self, text: &str) -> Option<()> {
        if text.contains(['\t', '\u{feff}']) || text.contains(|letter| letter != '\r' && is_unclear(letter)) {
            return None;
        }
        let mut is_below_a_key = false;
        for line in text.split(['\n', '\r']) {
            // White space of other kinds is text to a reader of YAML.
            let trimmed = line.trim_matches(' ');
            let is_document = line.trim_end_matches(' ') == "---" && !is_below_a_key;
            if trimmed.is_empty() || trimmed.starts_with('#') || is_document {
                continue;
            }
            if has_tag(line) {
                return None;
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

    /// Reads lines of `key = value`, below `[sections]`. Readers disagree about white space that is not of ASCII, and
    /// about which control characters end a line: a text with one of them has no single meaning, and is refused.
    fn ini(&mut self, text: &str) -> Option<()> {
        let text = text.replace("\r\n", "\n");
        if text.contains(is_unclear) {
            return None;
        }
        let mut section = None;
        for line in text.split('\n').map(|line| line.trim_matches([' ', '\t'])) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let is_odd = |letter: char| letter == '\u{feff}' || !letter.is_ascii() && letter.is_whitespace();
            if line.contains(is_odd) {
                return None;
            }
            self.path.clear();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let name = name.trim_ascii();
                section = Some(name);
                // Readers that know no sections take what follows for settings of their own. Its name must not make
                // them pass as part of a harmless setting.
                self.path.push(name.to_owned());
                if self.is_covered() {
                    self.note();
                }
                continue;
            }
            let (key, value) = line.split_once('=').or_else(|| line.split_once(':')).unwrap_or((line, ""));
            self.path.extend(section.map(str::to_owned));
            self.enter(key.trim_ascii());
            self.value(value.trim_ascii());
        }
        Some(())
    }

    /// Returns whether a harmless key holds all that is in the one that this is in.
    fn is_covered(&self) -> bool {
        let Keys::Only(harmless) = self.keys else { return false };
        harmless.iter().any(|pattern| covers(pattern, &self.path) == Covers::Wholly)
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
    let (pattern, is_exact) =
        pattern.split_once('=').map_or((pattern, false), |(pattern, _)| (pattern, true));
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

/// Returns whether one part of a pattern is this key.
fn is_key(part: &str, key: &str) -> bool {
    match part {
        "*" => is_plain(key),
        // A language of Visual Studio Code, or several.
        "[*]" => key.starts_with('[') && key.ends_with(']'),
        _ => match (part.strip_suffix('*'), part.strip_prefix('*')) {
            (Some(beginning), _) => key.starts_with(beginning),
            (None, Some(end)) => key.ends_with(end),
            (None, None) => part == key,
        },
    }
}

/// Returns a word that is no path, no address and no command.
fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    !word.is_empty() && word.bytes().all(is_plain) && !word.starts_with("..")
}

/// Returns whether a value of YAML may have a type in front, for which some readers call a function.
fn has_tag(line: &str) -> bool {
    let is_tag = |word: &str| {
        let name = word.strip_prefix('!').map(|name| name.strip_prefix('!').unwrap_or(name));
        name.is_some_and(|name| {
            name.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '<')
        })
    };
    line.split([' ', '[', '{', ',']).any(is_tag)
}

/// Returns whether a program might run a command, or hand over a variable, to make something else of a value.
fn expands(value: &str) -> bool {
    let begins = |rest: &str| rest.starts_with(|next: char| next == '_' || next.is_ascii_alphabetic());
    let mut after_dollars = value.split('$').skip(1);
    ["${", "$(", "!{", "{env:", "{file:", "{{"].into_iter().any(|mark| value.contains(mark))
        || after_dollars.any(begins)
        // `%NAME%`
        || value.split('%').skip(1).any(begins) && value.matches('%').count() > 1
}

impl<'de> DeserializeSeed<'de> for &mut SettingsReader {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut SettingsReader {
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

/// Returns whether some readers end a line at a character, or leave it out, and others do not. A carriage return is one where no
/// newline follows it.
fn is_unclear(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}') || letter.is_control() && !matches!(letter, '\n' | '\t')
}

/// Strips the comments and trailing commas that editors allow from JSON; `None` if readers differ about where they end.
fn plain_json(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let (length, is_comment) = match first {
            '"' => (string_length(rest), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => (rest[2..].find("*/").map(|end| end + 4)?, true),
            other => (other.len_utf8(), false),
        };
        let (taken, after) = rest.split_at(length);
        if first != '"' && taken.contains(is_unclear) {
            return None;
        }
        if matches!(first, ']' | '}') {
            let content = plain.trim_end().len();
            if plain[..content].ends_with(',') {
                plain.truncate(content - 1);
            }
        }
        if !is_comment {
            plain.push_str(taken);
        }
        rest = after;
    }
    Some(plain)
}

/// Returns how long the string is that `text` begins with, its quotes included.
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
