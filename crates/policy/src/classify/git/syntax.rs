//! The syntax of a configuration of git, see git-config(1): what git accepts is accepted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::classify::reason::MAX_CONTENT;

/// One setting: section and key in lower case, as git compares them; the rest in bytes, as git takes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ConfigEntry {
    pub(super) section: String,
    pub(super) subsection: Option<OsString>,
    pub(super) key: String,
    /// `None` for a key without `=`, which means true.
    pub(super) value: Option<OsString>,
}

/// Why something is not read as a configuration of git.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ConfigError {
    Malformed,
    /// Git reads it, but with the name of its section before each key it is far longer than the file.
    LongNames,
}

/// How long the names of sections may be together, each before every key in it.
const MOST_OF_NAMES: usize = 4 * MAX_CONTENT;

impl ConfigEntry {
    /// Returns whether it is a setting of this section and key, whatever the subsection.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    /// Returns its value, with that of a key without `=`.
    pub(super) fn value(&self) -> &OsStr {
        self.value.as_deref().unwrap_or(OsStr::new("true"))
    }

    /// Returns its name, for people.
    pub(super) fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{}.{}", self.section, subsection.to_string_lossy(), self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }
}

/// Reads a configuration as git's `config.c` does. Git builds one name of the section, subsection and key, and takes it apart at
/// the first and the last dot: `[a.b "c"]` is `[a "b.c"]`.
///
/// Three things that git accepts nobody writes, and they are refused: NUL, a key before any section, and a backslash at the end.
pub(super) fn read(content: &[u8]) -> Result<Vec<ConfigEntry>, ConfigError> {
    // In C, NUL ends a text that goes on for others.
    if content.contains(&0) {
        return Err(ConfigError::Malformed);
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut reader = ConfigReader { rest: content, is_at_end: false };
    let mut entries = Vec::new();
    let mut section: Option<Vec<u8>> = None;
    let mut left = MOST_OF_NAMES;
    loop {
        match reader.next() {
            b'\n' if reader.is_at_end => return Ok(entries),
            byte if is_space(byte) => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => section = Some(reader.section()?),
            first if first.is_ascii_alphabetic() => {
                let (key, value) = reader.setting(first)?;
                let section = section.as_deref().ok_or(ConfigError::Malformed)?;
                left = left.checked_sub(section.len()).ok_or(ConfigError::LongNames)?;
                entries.push(entry(section, key, value));
            }
            _ => return Err(ConfigError::Malformed),
        }
    }
}

fn entry(section: &[u8], key: String, value: Option<OsString>) -> ConfigEntry {
    let (section, subsection) = match section.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&section[..dot], Some(OsStr::from_bytes(&section[dot + 1..]).to_owned())),
        None => (section, None),
    };
    // The reader takes letters, digits and `-` alone for the name of a section.
    ConfigEntry { section: String::from_utf8_lossy(section).into_owned(), subsection, key, value }
}

/// Returns what git takes for space, wherever it is.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The bytes that are not read yet.
struct ConfigReader<'a> {
    rest: &'a [u8],
    /// Whether a newline was given that is not there.
    is_at_end: bool,
}

impl ConfigReader<'_> {
    /// Returns the next byte: a newline at the end, and for a carriage return with a newline.
    fn next(&mut self) -> u8 {
        if let [b'\r', b'\n', ..] = self.rest {
            self.rest = &self.rest[1..];
        }
        let Some((first, rest)) = self.rest.split_first() else {
            self.is_at_end = true;
            return b'\n';
        };
        self.rest = rest;
        *first
    }

    fn skip_line(&mut self) {
        while self.next() != b'\n' {}
    }

    /// Returns a section's name, and with a dot its subsection, after the opening bracket.
    fn section(&mut self) -> Result<Vec<u8>, ConfigError> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                b']' if name.is_empty() => return Err(ConfigError::Malformed),
                b']' => return Ok(name),
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    return Ok(name);
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return Err(ConfigError::Malformed),
            }
        }
    }

    /// Returns a quoted subsection and the closing bracket, after this space before them.
    fn subsection(&mut self, mut space: u8, name: &mut Vec<u8>) -> Result<(), ConfigError> {
        while is_space(space) {
            if space == b'\n' {
                return Err(ConfigError::Malformed);
            }
            space = self.next();
        }
        if space != b'"' {
            return Err(ConfigError::Malformed);
        }
        name.push(b'.');
        loop {
            let byte = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                byte => byte,
            };
            if byte == b'\n' {
                return Err(ConfigError::Malformed);
            }
            name.push(byte);
        }
        if self.next() == b']' { Ok(()) } else { Err(ConfigError::Malformed) }
    }

    /// Returns a key, after its first letter, and its value.
    fn setting(&mut self, first: u8) -> Result<(String, Option<OsString>), ConfigError> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        let mut ended = false;
        loop {
            match self.next() {
                b'\n' => return Ok((key, None)),
                b'=' => return Ok((key, Some(self.value()?))),
                b' ' | b'\t' => ended = true,
                byte if !ended && (byte.is_ascii_alphanumeric() || byte == b'-') => {
                    key.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return Err(ConfigError::Malformed),
            }
        }
    }

    /// Returns a value: quotes join, a backslash at the end of a line continues it, and space at either end goes.
    fn value(&mut self) -> Result<OsString, ConfigError> {
        let mut value = Vec::new();
        // What is kept when trailing space goes: what stands before a quote or a backslash does not.
        let mut kept = 0;
        let mut quoted = false;
        loop {
            match self.next() {
                b'\n' if quoted => return Err(ConfigError::Malformed),
                b'\n' => break,
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                space if is_space(space) && !quoted => {
                    if !value.is_empty() {
                        value.push(space);
                    }
                    continue;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.next() {
                    b'\n' if !self.is_at_end => {}
                    b'n' => value.push(b'\n'),
                    b't' => value.push(b'\t'),
                    b'b' => value.push(b'\x08'),
                    byte @ (b'"' | b'\\') => value.push(byte),
                    _ => return Err(ConfigError::Malformed),
                },
                byte => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(OsString::from_vec(value))
    }
}
