//! What editors of `JetBrains` obey: files of XML, with components that say by their name whose settings they hold.

use std::path::Path;

use super::harmless::IDEA;
use super::{Format, Reason};
use crate::protect::SKIPPED;

/// How deep a repository may lie that a project names: so deep they are looked for, see `[protect] depth`.
const DEEPEST: usize = 3;

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

/// Judges a file of a project: each of its components must be one that only describes the project, and lead to nothing that
/// is not judged.
pub(super) fn judge(content: &[u8]) -> Option<Reason> {
    let text = std::str::from_utf8(content).ok();
    if text.is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    let unreadable = Some(Reason::Unreadable { format: Format::Text });
    let Some(tags) = text.and_then(tags) else { return unreadable };
    let mut component = None;
    for tag in &tags {
        if tag.name == "component" {
            let Some(name) = tag.get("name") else { return unreadable };
            component = Some(name);
        }
        if let Some(odd) = odd(tag, component) {
            return Some(Reason::Setting { key: odd.to_owned() });
        }
    }
    if component.is_none() { unreadable } else { None }
}

/// What of an element in a component may run something.
fn odd<'a>(tag: &Tag<'a>, component: Option<&'a str>) -> Option<&'a str> {
    match (tag.name, component) {
        ("component", Some(name)) => (!IDEA.contains(&name)).then_some(name),
        // Some hold a script, or start a linter of the project's.
        ("inspection_tool", _) => Some(tag.name),
        // Of a formatter, its interpreter is one of the IDE's own. Its program is not.
        ("option", Some("Black")) => tag.get("name").filter(|name| *name != "sdkName"),
        // Only repositories of git are searched for.
        ("mapping", _) => tag
            .get("directory")
            .filter(|directory| !is_searched(directory))
            .or_else(|| tag.get("vcs").filter(|vcs| !matches!(*vcs, "" | "Git"))),
        ("module", _) => {
            let paths = [tag.get("filepath"), tag.get("fileurl")];
            paths.into_iter().flatten().find(|path| !is_judged(path.strip_prefix("file://").unwrap_or(path)))
        }
        _ => None,
    }
}

/// Whether a repository of a project lies where repositories are looked for.
fn is_searched(directory: &str) -> bool {
    directory.is_empty()
        || components_in_project(directory).is_some_and(|names| {
            let is_skipped = |name: &&str| SKIPPED.iter().any(|skipped| skipped.eq_ignore_ascii_case(name));
            names.len() <= DEEPEST && !names.iter().any(is_skipped)
        })
}

/// Whether a module of a project is a file that is judged itself: in `.idea`, or at the top.
fn is_judged(file: &str) -> bool {
    let names = components_in_project(file);
    let is_module = Path::new(file).extension().is_some_and(|extension| extension == "iml");
    is_module && names.is_some_and(|names| matches!(names.as_slice(), [".idea", ..] | [_]))
}

/// The names on the way from a project to something in it; `None` if it may lie elsewhere.
fn components_in_project(path: &str) -> Option<Vec<&str>> {
    let rest = path.strip_prefix("$PROJECT_DIR$")?;
    let is_plain = rest.is_empty() || rest.starts_with('/') && !rest.contains(['$', '&', '\\']);
    let names: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    (is_plain && !names.contains(&"..")).then_some(names)
}

/// Every element. `None` where there is anything that such a file does not need and that might hide one:
/// a document type, a comment, another encoding, a namespace.
fn tags(text: &str) -> Option<Vec<Tag<'_>>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(after) = rest.strip_prefix("<?") {
        let (declaration, after) = tag(after)?;
        let encoding = declaration.get("encoding").unwrap_or("utf-8");
        let is_plain = declaration.get("version") == Some("1.0") && encoding.eq_ignore_ascii_case("utf-8");
        rest = after.strip_prefix("?>").filter(|_| declaration.name == "xml" && is_plain)?;
    }
    let mut tags = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(end) = after.strip_prefix('/') {
            let (closed, after) = tag(end)?;
            rest = after.strip_prefix('>').filter(|_| closed.attributes.is_empty())?;
            continue;
        }
        let (element, after) = tag(after)?;
        rest = after.strip_prefix('/').unwrap_or(after).strip_prefix('>')?;
        tags.push(element);
    }
    Some(tags)
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
    fn what_leads_to_what_is_not_judged_is_found() {
        let component = |name: &str, inner: &str| format!("<component name='{name}'>{inner}</component>");
        for (name, harmless, odd) in [
            ("VcsDirectoryMappings", "$PROJECT_DIR$", "$PROJECT_DIR$/node_modules/x"),
            ("VcsDirectoryMappings", "", "$PROJECT_DIR$/../x"),
            ("VcsDirectoryMappings", "$PROJECT_DIR$/a/b", "$PROJECT_DIR$/a/b/c/d"),
            ("VcsDirectoryMappings", "$PROJECT_DIR$/a", "$PROJECT_DIR$/a&#47;node_modules"),
            ("VcsDirectoryMappings", "$PROJECT_DIR$/a", "/tmp/x"),
        ] {
            let mapping =
                |directory: &str| component(name, &format!("<mapping directory='{directory}' vcs='Git'/>"));
            assert_eq!(judge(mapping(harmless).as_bytes()), None, "{harmless}");
            assert_eq!(judge(mapping(odd).as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
        }
        for (harmless, odd) in [
            ("$PROJECT_DIR$/.idea/x.iml", "$PROJECT_DIR$/node_modules/x.iml"),
            ("$PROJECT_DIR$/x.iml", "$PROJECT_DIR$/x.xml"),
            ("file://$PROJECT_DIR$/.idea/modules/x.main.iml", "file://$PROJECT_DIR$/.idea/../a/x.iml"),
        ] {
            let module =
                |path: &str| component("ProjectModuleManager", &format!("<module filepath='{path}'/>"));
            assert_eq!(judge(module(harmless).as_bytes()), None, "{harmless}");
            assert_eq!(judge(module(odd).as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
        }
        for (content, odd) in [
            (component("Black", "<option name='pathToExecutable' value='x'/>"), "pathToExecutable"),
            (
                component("InspectionProjectProfileManager", "<inspection_tool class='Eslint'/>"),
                "inspection_tool",
            ),
        ] {
            assert_eq!(judge(content.as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
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
