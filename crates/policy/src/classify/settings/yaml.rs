//! Settings in the part of YAML that all readers read alike.

use super::{Covers, SettingsReader};
use crate::classify::value::{is_plain, is_unclear};
use crate::classify::yaml::{Position, has_tag_or_anchor, unquoted, without_comment};
use crate::protect::table::harmless::{Keys, ValueType};

impl SettingsReader {
    /// Reads a document that is one plain mapping, of whose keys only those at the top are distinguished. What is indented belongs to the key
    /// above; every other way to write one is refused, and so are the line ends that only some readers know.
    pub(super) fn yaml(&mut self, text: &str) -> Option<()> {
        let text = &text.replace("\r\n", "\n");
        if text.contains(['\t', '\u{feff}']) || text.contains(is_unclear) {
            return None;
        }
        // What Python would run may not be hidden in text over lines.
        if self.is_python_too() && ["\"\"\"", "'''"].into_iter().any(|mark| text.contains(mark)) {
            return None;
        }
        let mut value = None;
        let mut is_over = false;
        let mut position = Position::default();
        for line in text.split('\n') {
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
}

/// What a key of YAML has beside or below it.
enum YamlValue {
    Inline,
    /// A list, and how far its first item is indented.
    List {
        indent: Option<usize>,
    },
}
