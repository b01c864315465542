//! What editors of `JetBrains` obey: files of XML, with components that say by their name whose settings they hold.

use super::harmless::IDEA;
use super::{Format, Reason};

/// What separates attributes in XML.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// An element's beginning, or the declaration at the start of a file.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }
}

/// Judges a file of a project: each of its components must be one that only describes the project.
pub(super) fn judge(content: &[u8]) -> Option<Reason> {
    let text = std::str::from_utf8(content).ok();
    if text.is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    match text.and_then(components) {
        Some(names) if !names.is_empty() => {
            let odd = names.into_iter().find(|name| !IDEA.contains(name))?;
            Some(Reason::Setting { key: odd.to_owned() })
        }
        _ => Some(Reason::Unreadable { format: Format::Text }),
    }
}

/// The names of all components. `None` where there is anything that such a file does not need and that might hide one:
/// a document type, a comment, another encoding, a namespace.
fn components(text: &str) -> Option<Vec<&str>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(after) = rest.strip_prefix("<?") {
        let (declaration, after) = tag(after)?;
        let encoding = declaration.get("encoding").unwrap_or("utf-8");
        let is_plain = declaration.get("version") == Some("1.0") && encoding.eq_ignore_ascii_case("utf-8");
        rest = after.strip_prefix("?>").filter(|_| declaration.name == "xml" && is_plain)?;
    }
    let mut names = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(end) = after.strip_prefix('/') {
            let (closed, after) = tag(end)?;
            rest = after.strip_prefix('>').filter(|_| closed.attributes.is_empty())?;
            continue;
        }
        let (element, after) = tag(after)?;
        rest = after.strip_prefix('/').unwrap_or(after).strip_prefix('>')?;
        if element.name == "component" {
            names.push(element.get("name")?);
        }
    }
    Some(names)
}

/// A name and the attributes after it, and what follows them.
fn tag(text: &str) -> Option<(Tag<'_>, &str)> {
    let (name, mut rest) = name(text)?;
    let mut tag = Tag { name, attributes: Vec::new() };
    loop {
        let after = rest.trim_start_matches(SPACE);
        if after.starts_with(['/', '>', '?']) {
            return Some((tag, after));
        }
        // Space must stand between attributes.
        let (key, after) = name_after_space(rest, after)?;
        let after = after.trim_start_matches(SPACE).strip_prefix('=')?.trim_start_matches(SPACE);
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        if value.contains('<') || tag.get(key).is_some() {
            return None;
        }
        tag.attributes.push((key, value));
        rest = after;
    }
}

fn name_after_space<'a>(with_space: &str, without: &'a str) -> Option<(&'a str, &'a str)> {
    (with_space.len() > without.len()).then(|| name(without))?
}

/// A name at the start of a text, and what follows it. One with a namespace is none.
fn name(text: &str) -> Option<(&str, &str)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let length = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    (length > 0).then(|| text.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_only_describe_pass() {
        for content in [
            "",
            "<component name=\"Encoding\">",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project version='4'>\n  <component name = 'Encoding' >\n    <file url=\"file://$PROJECT_DIR$/a&gt;b\" charset='>' />\n  </component >\n</project>\n",
        ] {
            assert_eq!(judge(content.as_bytes()), None, "{content}");
        }
    }

    #[test]
    fn the_name_of_a_component_is_its_attribute_of_that_name() {
        let runs = Some(Reason::Setting { key: "Runs".to_owned() });
        for content in [
            "<component filename=\"Encoding\" name=\"Runs\"/>",
            "<component xname=\"Encoding\" name=\"Runs\"/>",
            "<component x='name=\"Encoding\"' name=\"Runs\"/>",
            "<component x='>' name = 'Runs'/>",
            "<project a='>'><component name='Encoding'/><component\r\n\tname='Runs'/></project>",
        ] {
            assert_eq!(judge(content.as_bytes()), runs, "{content}");
        }
    }

    #[test]
    fn what_might_hide_a_component_is_unreadable() {
        for content in [
            "<project/>",
            "<component/>",
            "<component xname='Encoding'/>",
            "<component name='Encoding' name='Runs'/>",
            "<component name='Encoding'xname='Runs'/>",
            "<component name=Encoding/>",
            "<component name='Encoding'",
            "<component name='Encoding' x='<component name=\"Runs\"/>'/>",
            "<x:component name='Runs'/><component name='Encoding'/>",
            "<component x:name='Runs' name='Encoding'/>",
            "<!-- --><component name='Encoding'/>",
            "<?x?><component name='Encoding'/>",
            "<component name='Encoding'/><?x?>",
            "<?xml version='1.0' encoding = 'UTF-7'?><component name='Encoding'/>",
            "<?xml version='1.1'?><component name='Encoding'/>",
        ] {
            assert_eq!(
                judge(content.as_bytes()),
                Some(Reason::Unreadable { format: Format::Text }),
                "{content}"
            );
        }
    }
}
