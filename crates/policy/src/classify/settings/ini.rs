//! Settings in INI, which every reader reads in its own way.

use super::{MOST, SettingsReader};
use crate::classify::value::{is_plain, is_unclear};
use crate::protect::table::harmless::Keys;

impl SettingsReader {
    /// Reads lines of `key = value`, below `[sections]`. What is indented further than the line above goes on with its value for some
    /// readers, and so does what is indented at all below a line that is not. Readers disagree about white space that is not of ASCII, and
    /// about which control characters end a line: a text with one of them has no single meaning, and is refused.
    pub(super) fn ini(&mut self, text: &str) -> Option<()> {
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
