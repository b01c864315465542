//! What editors, agents and tools obey: settings in the formats that they are written in.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::git;
use super::reason::{MAX_CONTENT, Reason};
use super::value::is_plain;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::{Keys, ValueType};

mod ini;
mod json;
mod properties;
mod toml;
mod yaml;

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
    let text = match format {
        // These are in Latin-1, in which no file is malformed.
        FileFormat::Properties => Cow::Owned(content.iter().copied().map(char::from).collect()),
        _ => Cow::Borrowed(std::str::from_utf8(content).ok()?),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
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
        FileFormat::Properties => {
            reader.properties(text);
            Some(())
        }
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

    /// Reads what git reads as a configuration, for a program that asks git.
    fn git(&mut self, text: &str) -> Option<()> {
        for (names, value) in git::settings(text.as_bytes())? {
            let (key, above) = names.split_last()?;
            self.enter_below(above.to_vec(), key);
            self.value(&value);
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
pub(super) fn folded(letter: char) -> char {
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
