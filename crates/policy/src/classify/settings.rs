//! What editors, agents and tools obey: settings in the formats that they are written in.

use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::git;
use super::reason::{MAX_CONTENT, Reason};
use super::value::{is_plain, is_unclear};
use super::yaml::{Position, has_tag_or_anchor, unquoted, without_comment};
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::{Keys, ValueType};

/// How long keys and values may be together that do not pass. With a long key above each of many values they would be far longer than the
/// file.
const MOST: usize = 4 * MAX_CONTENT;

/// How long a key is at most that passes.
const LONGEST_KEY: usize = 1024;

/// Names by which a program in JavaScript reaches the object behind all others.
const PROTOTYPES: [&str; 3] = ["__proto__", "constructor", "prototype"];

/// Classifies a file of settings: the first key that is not harmless, or that it cannot be read.
pub(super) fn classify(content: &[u8], format: FileFormat, keys: &'static Keys) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format });
    let Some(found) = read(content, format, keys) else { return unreadable };
    match found.into_iter().next() {
        // A value without a key is no setting.
        Some((key, _)) if key.is_empty() => unreadable,
        first => first.map(|(key, _)| Reason::Setting { key }),
    }
}

/// Lists the settings that are not harmless, each with its key; none, where the file cannot be read.
pub(super) fn parts(content: &[u8], format: FileFormat, keys: &'static Keys) -> Vec<(String, Vec<u8>)> {
    let found = read(content, format, keys).unwrap_or_default();
    found.into_iter().map(|(key, value)| (key.clone(), format!("{key}={value}").into_bytes())).collect()
}

/// Reads the settings that are not harmless, in their order; `None` if the file cannot be read.
fn read(content: &[u8], format: FileFormat, keys: &'static Keys) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(content).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = SettingsReader {
        keys,
        path: Vec::new(),
        typed: Vec::new(),
        lists: Vec::new(),
        refused: None,
        found: Vec::new(),
        length: 0,
    };
    match format {
        FileFormat::Json => reader.json(text),
        FileFormat::Toml => reader.toml(text),
        FileFormat::Yaml => reader.yaml(text),
        FileFormat::Ini => reader.ini(text),
        FileFormat::Git => reader.git(text),
        FileFormat::Text | FileFormat::Index => None,
    }?;
    (reader.length <= MOST).then_some(reader.found)
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

/// Reads settings of any format, and remembers those that are not harmless: also one that a later one of the
/// same name hides from a parser that keeps only the last.
struct SettingsReader {
    keys: &'static Keys,
    path: Vec<String>,
    /// Of each key in it, which of the lists of typed keys it, or one above it, is in.
    typed: Vec<Option<usize>>,
    /// How long the path is to each list that this is in.
    lists: Vec<usize>,
    /// How long the path is to the key that does not pass, of those that this is in.
    refused: Option<usize>,
    /// With their values, where these count.
    found: Vec<(String, String)>,
    /// How long all of these are.
    length: usize,
}

impl SettingsReader {
    /// Enters a key below others, instead of those that this is in.
    fn enter_below(&mut self, above: Vec<String>, key: &str) {
        self.path = Vec::new();
        self.typed = Vec::new();
        for name in above {
            self.push(name);
        }
        self.refused = None;
        self.enter(key);
    }

    /// Adds a key to the path, with the list of typed keys that it, or one above it, is in.
    fn push(&mut self, key: String) {
        let lists = if let Keys::AllBut(_, typed) = self.keys { typed } else { &[][..] };
        let own = lists.iter().position(|(_, keys)| keys.iter().any(|name| names(&key, name)));
        let above = self.typed.last().copied().flatten();
        self.typed.push(above.into_iter().chain(own).min());
        self.path.push(key);
    }

    /// Enters the value of a key.
    fn enter(&mut self, key: &str) {
        let passes = match self.keys {
            // Their values are no objects.
            Keys::AllBut(dangerous, _) => {
                self.type_of_all_but().is_none() && !dangerous.iter().any(|name| names(key, name))
            }
            Keys::Only(_) => true,
        };
        // Of what is merged into an object of JavaScript, these reach all others. Names of files are not split at dots.
        let is_name_of_file = self.covering().any(|covers| !matches!(covers, Covers::Partly));
        let reaches_all = if is_name_of_file {
            PROTOTYPES[..2].contains(&key)
        } else {
            key.split('.').any(|part| PROTOTYPES.contains(&part))
        };
        let passes = passes && key.len() <= LONGEST_KEY && !reaches_all;
        self.push(key.to_owned());
        let is_free = matches!(self.keys, Keys::AllBut(..));
        let passes = passes && (is_free || self.covering().any(|covers| covers.allows(key)));
        if !passes {
            self.note(&format_args!(""));
            self.refused.get_or_insert(self.path.len());
        }
    }

    fn leave(&mut self) {
        self.refused = self.refused.filter(|length| *length < self.path.len());
        self.path.pop();
        self.typed.pop();
    }

    /// Looks at the value of the key that this is in. Where there should be more keys, none passes.
    fn value(&mut self, value: &str) {
        self.value_as(value, value);
    }

    /// Looks at a value that is written in this way.
    fn value_as(&mut self, value: &str, written: &str) {
        let fits = match self.keys {
            Keys::AllBut(..) => self.type_of_all_but().is_none_or(|value_type| value_type.fits(value)),
            Keys::Only(_) => {
                self.covering().any(|covers| covers.value_type().is_some_and(|it| it.fits(value)))
            }
        };
        if self.refused.is_some() || !fits {
            self.note(&written);
        }
    }

    /// Looks at a value that is no text: any key may have it that passes.
    fn other_value(&mut self, value: &dyn fmt::Display) {
        if self.refused.is_some() {
            self.note(&format_args!("{value}"));
        }
    }

    /// Begins a table. What is the same in a list of tables, and in one of them, may mean something else.
    fn open_table(&mut self) {
        self.other_value(&'{');
    }

    fn close_table(&mut self) {
        self.close('}');
    }

    /// Begins a list. A program may run a list as it is, and have a shell run the text that is its only item.
    fn open_list(&mut self) {
        // A program in Rust takes a list for the values of an object, without their keys.
        let has_keys = matches!(self.keys, Keys::AllBut(..)) && self.lists.last() == Some(&self.path.len());
        if has_keys && self.refused.is_none() {
            self.note(&format_args!("["));
        }
        self.other_value(&'[');
        self.lists.push(self.path.len());
    }

    fn close_list(&mut self) {
        self.lists.pop();
        self.close(']');
    }

    /// Notes where a list or a table ends within a key that does not pass.
    fn close(&mut self, bracket: char) {
        if self.refused.is_none() {
            return;
        }
        self.length += 1;
        if let Some((_, whole)) = self.found.last_mut().filter(|_| self.length <= MOST) {
            whole.push(bracket);
        }
    }

    /// Returns of which type the value must be that this is in, where all keys but some pass.
    fn type_of_all_but(&self) -> Option<ValueType> {
        let Keys::AllBut(_, typed) = self.keys else { return None };
        let (value_type, _) = typed.get(self.typed.last().copied().flatten()?)?;
        Some(*value_type)
    }

    /// Returns how each of the harmless keys covers the one that this is in.
    fn covering(&self) -> impl Iterator<Item = Covers> {
        let harmless = if let Keys::Only(harmless) = self.keys { harmless } else { &[][..] };
        harmless.iter().flat_map(|(value_type, keys)| {
            keys.iter().filter_map(|pattern| covers(pattern, *value_type, &self.path))
        })
    }

    /// Notes a setting that does not pass, its text in quotes and every other value without. All within a key that does not is one with it: its
    /// order counts. A value that does not pass is one with the lists that it is in, but not with what else they hold.
    fn note(&mut self, value: &dyn fmt::Debug) {
        let value = format!("{value:?}");
        self.length += self.path.iter().map(String::len).sum::<usize>() + value.len();
        self.length += self.lists.len() * 4;
        if self.length > MOST {
            return;
        }
        match self.found.last_mut().filter(|_| self.refused.is_some()) {
            Some((_, whole)) => {
                let _ = write!(whole, "\n{:?}={value}", self.path);
            }
            None => self.found.push((self.path.join("."), format!("{:?}{value}", self.lists))),
        }
    }

    /// Reads JSON, with the comments and trailing commas that editors allow.
    fn json(&mut self, text: &str) -> Option<()> {
        let text = plain_json(text, Comments::Allowed)?;
        if text.trim().is_empty() {
            return Some(());
        }
        let mut json = serde_json::Deserializer::from_str(&text);
        (&mut *self).deserialize(&mut json).and_then(|()| json.end()).ok()
    }

    /// Reads what git reads as a configuration, for a program that asks git.
    fn git(&mut self, text: &str) -> Option<()> {
        for (names, value) in git::settings(text.as_bytes())? {
            let (key, above) = names.split_last()?;
            self.enter_below(above.to_vec(), key);
            self.value(&value);
        }
        Some(())
    }

    fn toml(&mut self, text: &str) -> Option<()> {
        let text = &text.replace("\r\n", "\n");
        if text.contains(is_unclear) {
            return None;
        }
        self.table(DeTable::parse(text).ok()?.get_ref());
        Some(())
    }

    fn table(&mut self, table: &DeTable<'_>) {
        self.open_table();
        for (key, value) in table {
            self.enter(key.get_ref());
            self.toml_value(value.get_ref());
            self.leave();
        }
        self.close_table();
    }

    fn toml_value(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(values) => {
                self.open_list();
                values.iter().for_each(|value| self.toml_value(value.get_ref()));
                self.close_list();
            }
            DeValue::String(text) => self.value(text),
            DeValue::Boolean(value) => self.other_value(value),
            DeValue::Integer(value) => self.other_value(value),
            DeValue::Float(value) => self.other_value(value),
            DeValue::Datetime(value) => self.other_value(value),
        }
    }

    /// Reads a document that is one plain mapping, of whose keys only those at the top are distinguished. What is indented belongs to the key
    /// above; every other way to write one is refused, and so are the line ends that only some readers know.
    fn yaml(&mut self, text: &str) -> Option<()> {
        if text.contains(['\t', '\u{feff}']) || text.contains(|letter| letter != '\r' && is_unclear(letter)) {
            return None;
        }
        // What Python would run may not be hidden in text over lines.
        if self.is_python_too() && ["\"\"\"", "'''"].into_iter().any(|mark| text.contains(mark)) {
            return None;
        }
        let mut value = None;
        let mut is_over = false;
        let mut position = Position::default();
        for line in text.split(['\n', '\r']) {
            // White space of other kinds is text to a reader of YAML.
            let trimmed = line.trim_matches(' ');
            let is_document = line.trim_end_matches(' ') == "---" && value.is_none() && !is_over;
            if is_document {
                continue;
            }
            if trimmed.is_empty() || trimmed.starts_with('#') && position.is_comment(line) {
                position.read(line);
                continue;
            }
            // What follows the end of the document is another one.
            if is_over {
                return None;
            }
            if line == "..." {
                is_over = true;
                continue;
            }
            if has_tag_or_anchor(line, &position) {
                return None;
            }
            // A list may stand as far to the left as its key.
            if line.starts_with(' ') || line.starts_with("- ") || trimmed.starts_with('#') {
                self.yaml_line(line, value.as_mut()?);
                position.read(line);
                continue;
            }
            // To some readers, what looks like a key goes on with the value above.
            let (key, inline) = line.split_once(':').filter(|_| position.is_closed())?;
            if !is_plain(key) || !(inline.is_empty() || inline.starts_with(' ')) {
                return None;
            }
            position.read(line);
            self.enter_below(Vec::new(), key);
            let written = inline.trim_matches(' ');
            let inline = without_comment(inline);
            let list = inline.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
            match list.filter(|_| self.refused.is_none() && !self.is_yaml_text()) {
                Some(list) => list.split(',').for_each(|item| {
                    self.yaml_item(item.trim_matches([' ', '"', '\'']), item);
                }),
                None => self.value_as(unquoted(inline), written),
            }
            value =
                Some(if inline.is_empty() { YamlValue::List { indent: None } } else { YamlValue::Inline });
        }
        position.is_closed().then_some(())
    }

    /// Returns whether its program may also read the file as Python.
    fn is_python_too(&self) -> bool {
        matches!(self.keys, Keys::Only(harmless) if harmless.iter().any(|(it, _)| matches!(it, ValueType::Words)))
    }

    /// Looks at a line below a key: an item of its list. In text it is more of that, and everywhere else it continues a value in a way that
    /// this does not follow.
    fn yaml_line(&mut self, line: &str, value: &mut YamlValue) {
        let item = line.trim_start_matches(' ');
        let indent = line.len() - item.len();
        let is_in_list = match value {
            YamlValue::List { indent: first } => *first.get_or_insert(indent) == indent,
            YamlValue::Inline => false,
        };
        match item.strip_prefix("- ") {
            _ if self.refused.is_some() => self.note(&line),
            _ if self.is_yaml_text() => self.value(line),
            Some(item) if is_in_list => self.yaml_item(unquoted(without_comment(item)), item),
            _ => self.note(&line),
        }
    }

    /// Looks at an item of a list that is written in this way.
    fn yaml_item(&mut self, item: &str, written: &str) {
        self.open_list();
        self.value_as(item, written);
        self.close_list();
    }

    /// Returns whether the value of the key that this is in may be any text.
    fn is_yaml_text(&self) -> bool {
        self.covering().any(|covers| matches!(covers, Covers::Wholly(value_type) if value_type.is_of_lines()))
    }

    /// Reads lines of `key = value`, below `[sections]`. What is indented further than the line above goes on with its value for some
    /// readers, and so does what is indented at all below a line that is not. Readers disagree about white space that is not of ASCII, and
    /// about which control characters end a line: a text with one of them has no single meaning, and is refused.
    fn ini(&mut self, text: &str) -> Option<()> {
        let text = text.replace("\r\n", "\n");
        if text.contains(is_unclear) {
            return None;
        }
        // Where only some keys are suspicious, they are wherever a line begins with one.
        let is_free = matches!(self.keys, Keys::AllBut(..));
        let mut section = "";
        // How far the line above is indented, if it has a key.
        let mut above = None;
        for line in text.split('\n') {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            let is_indented = indent > 0;
            let line = line.trim_matches([' ', '\t']);
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let is_odd = |letter: char| letter == '\u{feff}' || !letter.is_ascii() && letter.is_whitespace();
            let goes_on = is_indented && above.is_some_and(|above| above != indent);
            if line.contains(is_odd) || goes_on && !is_free || self.length > MOST {
                return None;
            }
            if let Some(rest) = line.strip_prefix('[').filter(|_| !is_indented || !is_free) {
                section = rest.strip_suffix(']')?;
                above = above.filter(|_| is_indented);
                // To some readers, what follows the first bracket is a setting.
                let is_clear = match self.keys {
                    Keys::Only(_) => names_of_section(section).iter().all(|name| is_plain(name)),
                    Keys::AllBut(..) => {
                        section.split_once(']').is_none_or(|(_, after)| !after.contains(['=', ':']))
                    }
                };
                if !is_clear {
                    return None;
                }
                continue;
            }
            // To some readers only one of these ends a key, to others whichever comes first.
            let mut ways: Vec<_> = ['=', ':'].into_iter().filter_map(|end| line.split_once(end)).collect();
            let has_value = !ways.is_empty();
            if !has_value {
                ways.push((line, ""));
            }
            if is_free {
                ways.sort_by_key(|(key, _)| key.len());
                let key = ways[0].0.trim_ascii();
                // It may be written in quotes, or in letters that only its reader takes for others. What is indented goes on with a
                // value only where the line above is indented less.
                if !is_plain(key) && (has_value || !is_indented) {
                    self.path = names_of_section(section);
                    self.refused = None;
                    self.note(&line);
                }
            } else {
                ways.truncate(1);
            }
            for (key, value) in ways {
                self.enter_below(names_of_section(section), key.trim_ascii());
                self.value(value.trim_ascii());
            }
            above = Some(indent);
        }
        Some(())
    }
}

/// How a pattern of harmless keys covers a key.
#[derive(Clone, Copy, Debug)]
enum Covers {
    /// It is this one.
    Wholly(ValueType),
    /// It holds it, as all that is in it.
    Within(ValueType),
    /// There is something in this one that it covers.
    Partly,
}

impl Covers {
    fn value_type(self) -> Option<ValueType> {
        match self {
            Self::Wholly(value_type) | Self::Within(value_type) => Some(value_type),
            Self::Partly => None,
        }
    }

    /// Returns whether a key that is covered so may be called this.
    fn allows(self, key: &str) -> bool {
        !matches!(self, Self::Within(value_type) if !value_type.fits(key))
    }
}

fn covers(pattern: &str, value_type: ValueType, path: &[String]) -> Option<Covers> {
    let (pattern, is_open) = pattern.strip_suffix("/**").map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('/');
    for key in path {
        match parts.next() {
            Some(part) if is_key(part, key) => {}
            None if is_open => return Some(Covers::Within(value_type)),
            _ => return None,
        }
    }
    Some(if parts.next().is_some() { Covers::Partly } else { Covers::Wholly(value_type) })
}

/// Returns whether a key names a setting for a program that does not regard case, or takes the parts between dots for keys within each
/// other.
fn names(key: &str, setting: &str) -> bool {
    let is_it = |key: &str| key.chars().map(folded).eq(setting.chars().map(folded));
    key.len() <= LONGEST_KEY && (is_it(key) || key.split('.').any(is_it))
}

/// Returns a letter as programs in Go compare it, for which two more than the capital ones stand for a letter of ASCII, see `EqualFold` of
/// its package `strings`.
fn folded(letter: char) -> char {
    match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    }
}

/// Returns whether one part of a pattern is this key.
fn is_key(part: &str, key: &str) -> bool {
    match part {
        "*" => is_plain(key),
        // A language of Visual Studio Code, or several.
        "[*]" => key.starts_with('[') && key.ends_with(']') && !key.contains('.'),
        _ => part.strip_suffix('*').map_or(part == key, |beginning| key.starts_with(beginning)),
    }
}

/// Returns the names of a section, as git and DVC write one with two: `remote "name"`, also in quotes.
fn names_of_section(section: &str) -> Vec<String> {
    let names = section.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(section);
    let two = names.strip_suffix('"').and_then(|names| names.split_once(" \""));
    match two {
        Some((first, second)) => vec![first.to_owned(), second.to_owned()],
        None if section.is_empty() => Vec::new(),
        None => vec![section.to_owned()],
    }
}

/// What a key of YAML has beside or below it.
enum YamlValue {
    Inline,
    /// A list, and how far its first item is indented.
    List {
        indent: Option<usize>,
    },
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
        self.open_table();
        while let Some(key) = map.next_key::<String>()? {
            self.enter(&key);
            map.next_value_seed(&mut *self)?;
            self.leave();
        }
        self.close_table();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.open_list();
        while sequence.next_element_seed(&mut *self)?.is_some() {}
        self.close_list();
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.value(text);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // With a point, as what it is: no integer.
        self.other_value(&format_args!("{value:?}"));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.other_value(&"null");
        Ok(())
    }
}

/// Whether a reader takes comments in JSON for such.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Comments {
    Allowed,
    Refused,
}

/// Strips the comments and trailing commas that editors allow from JSON; `None` if readers differ about where they end.
pub(super) fn plain_json(text: &str, comments: Comments) -> Option<String> {
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
        let is_refused = is_comment && comments == Comments::Refused;
        if is_refused || first != '"' && taken.contains(is_unclear) {
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
