//! What editors of `JetBrains` obey: files of XML, with components that say by their name whose settings they hold.

use std::path::Path;

use super::reason::Reason;
use crate::protect::SKIPPED;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::IDEA;

/// How deep a repository may lie that a project names: so deep they are looked for, see `[protect] depth`.
const DEEPEST: usize = 3;

/// What separates attributes in XML.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// What stands for the directory of a project, or of a module.
const MACROS: [&str; 2] = ["$PROJECT_DIR$", "$MODULE_DIR$"];

/// Attributes that name something in the project, which an IDE shows, indexes or reads as a text.
const PATHS: [&str; 4] = ["directory", "filepath", "fileurl", "url"];

/// How many attributes an element may have. IDEs write a few.
const MOST_ATTRIBUTES: usize = 100;

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

/// Classifies a file of a project: each of its components must be one that only describes the project, and lead to nothing that
/// is not classified.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Text });
    let Ok(text) = std::str::from_utf8(content) else { return unreadable };
    if text.trim().is_empty() {
        return None;
    }
    let mut document = Document::default();
    match document.read(text) {
        Some(()) => document.odd.map(|key| Reason::Setting { key }),
        None => unreadable,
    }
}

/// A file of a project while it is read: components in a `project` or a `module`, or one alone.
#[derive(Default)]
struct Document<'a> {
    /// The elements that are open.
    open: Vec<&'a str>,
    /// The component that was read last, and what may be in it.
    component: Option<(&'a str, &'static [&'static str])>,
    /// The first thing that may run something.
    odd: Option<String>,
}

impl<'a> Document<'a> {
    /// Reads all elements. `None` where there is anything that such a file does not need and that might hide one: a document
    /// type, a comment, another encoding, a namespace, text, a component in another one, an end that is missing or too many.
    fn read(&mut self, text: &'a str) -> Option<()> {
        let mut rest = without_declaration(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        let mut is_complete = false;
        while let Some(after) = rest.trim_start_matches(SPACE).strip_prefix('<') {
            if is_complete {
                return None;
            }
            if let Some(end) = after.strip_prefix('/') {
                let (closed, after) = tag(end)?;
                let is_last = self.open.pop()? == closed.name && closed.attributes.is_empty();
                rest = after.strip_prefix('>').filter(|_| is_last)?;
            } else {
                let (element, after) = tag(after)?;
                self.element(&element)?;
                rest = if let Some(after) = after.strip_prefix('/') {
                    after.strip_prefix('>')?
                } else {
                    self.open.push(element.name);
                    after.strip_prefix('>')?
                };
            }
            is_complete = self.open.is_empty();
        }
        let is_whole = rest.trim_start_matches(SPACE).is_empty() && is_complete;
        (is_whole && self.component.is_some()).then_some(())
    }

    /// Looks at an element where it begins.
    fn element(&mut self, tag: &Tag<'a>) -> Option<()> {
        let is_root = |name: &str| matches!(name, "project" | "module");
        let odd = match (tag.name, self.open.as_slice()) {
            ("component", [] | ["project" | "module"]) => {
                let name = tag.get("name")?;
                let listed = IDEA.iter().find(|(listed, _)| *listed == name);
                self.component = Some((name, listed.map_or(&[], |(_, elements)| elements)));
                if listed.is_none() { Some(name) } else { odd_attribute(tag) }
            }
            ("component", _) => return None,
            (name, []) if is_root(name) => {
                let odd = tag.attributes.iter().find(|(key, _)| !matches!(*key, "type" | "version"));
                odd.map(|(key, _)| *key).or_else(|| odd_attribute(tag))
            }
            (name, open) => {
                let is_in_component = open.contains(&"component");
                let (component, elements) = self.component.filter(|_| is_in_component)?;
                if elements.contains(&name) {
                    odd(tag, component).or_else(|| odd_attribute(tag))
                } else {
                    Some(name)
                }
            }
        };
        self.odd = self.odd.take().or_else(|| odd.map(str::to_owned));
        Some(())
    }
}

/// Returns what of an element in a component may run something, or leads to what is not searched.
fn odd<'a>(tag: &Tag<'a>, component: &str) -> Option<&'a str> {
    match (tag.name, component) {
        // Of a formatter, its interpreter is one of the IDE's own. Its program is not.
        ("option", "Black") => tag.get("name").filter(|name| *name != "sdkName"),
        // Only repositories of git are searched for.
        ("mapping", _) => tag
            .get("directory")
            .filter(|directory| !is_searched(directory))
            .or_else(|| tag.get("vcs").filter(|vcs| !matches!(*vcs, "" | "Git"))),
        ("module", _) => {
            let paths = [tag.get("filepath"), tag.get("fileurl")];
            paths.into_iter().flatten().find(|path| !is_classified(path))
        }
        _ => None,
    }
}

/// Returns an attribute whose value may name a program, a file elsewhere or an address.
fn odd_attribute<'a>(tag: &Tag<'a>) -> Option<&'a str> {
    let is_plain = |value: &str| {
        let is_part = |letter: char| letter.is_alphanumeric() || " ._+-()[]#,@=*?".contains(letter);
        value.chars().all(is_part) && !value.contains("..")
    };
    let is_odd = |(name, value): &&(&str, &str)| {
        !(is_plain(value) || PATHS.contains(name) && components_in_project(value).is_some())
    };
    tag.attributes.iter().find(is_odd).map(|(name, _)| *name)
}

/// Returns whether a repository of a project lies where repositories are looked for.
fn is_searched(directory: &str) -> bool {
    directory.is_empty()
        || components_in_project(directory).is_some_and(|names| {
            let is_skipped = |name: &&str| SKIPPED.iter().any(|skipped| skipped.eq_ignore_ascii_case(name));
            names.len() <= DEEPEST && !names.iter().any(is_skipped)
        })
}

/// Returns whether a module of a project is a file that is classified itself: in `.idea`, or at the top.
fn is_classified(file: &str) -> bool {
    let names = components_in_project(file);
    let is_module = Path::new(file).extension().is_some_and(|extension| extension == "iml");
    is_module && names.is_some_and(|names| matches!(names.as_slice(), [".idea", ..] | [_]))
}

/// Returns the names on the way from a project to something in it; `None` if it may lie elsewhere.
fn components_in_project(path: &str) -> Option<Vec<&str>> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let rest = MACROS.iter().find_map(|directory| path.strip_prefix(directory))?;
    let is_plain =
        rest.is_empty() || rest.starts_with('/') && !rest.contains(['$', '&', '\\', ':', '~', '%']);
    let names: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    (is_plain && !names.contains(&"..")).then_some(names)
}

/// Returns what follows the declaration of a version of XML, if there is one, and it is that of a plain text.
fn without_declaration(text: &str) -> Option<&str> {
    let Some(after) = text.strip_prefix("<?") else { return Some(text) };
    let (declaration, after) = tag(after)?;
    let encoding = declaration.get("encoding").unwrap_or("utf-8");
    let is_plain = declaration.get("version") == Some("1.0") && encoding.eq_ignore_ascii_case("utf-8");
    after.strip_prefix("?>").filter(|_| declaration.name == "xml" && is_plain)
}

/// Returns a name and the attributes after it, and what follows them.
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
        let is_too_much = tag.attributes.len() == MOST_ATTRIBUTES;
        if is_too_much || value.contains('<') || tag.get(key).is_some() {
            return None;
        }
        tag.attributes.push((key, value));
        rest = after;
    }
}

fn name_after_space<'a>(with_space: &str, without: &'a str) -> Option<(&'a str, &'a str)> {
    (with_space.len() > without.len()).then(|| name(without))?
}

/// Returns a name at the start of a text, and what follows it. One with a namespace is none.
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
            "<component name=\"Encoding\"></component>",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project version='4'>\n  <component name = 'Encoding' >\n    <file url=\"file://$PROJECT_DIR$/a b\" charset='UTF-8' />\n  </component >\n  <component name='ProjectRootManager' project-jdk-name='Python 3.12 (a)' />\n</project>\n",
            "<module type='WEB_MODULE' version='4'><component name='NewModuleRootManager' inherit-compiler-output='true'><content url='file://$MODULE_DIR$'><sourceFolder url='file://$MODULE_DIR$/src' isTestSource='false' /></content></component></module>",
        ] {
            assert_eq!(classify(content.as_bytes()), None, "{content}");
        }
    }

    #[test]
    fn what_leads_to_what_is_not_classified_is_found() {
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
            assert_eq!(classify(mapping(harmless).as_bytes()), None, "{harmless}");
            assert_eq!(classify(mapping(odd).as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
        }
        for (harmless, odd) in [
            ("$PROJECT_DIR$/.idea/x.iml", "$PROJECT_DIR$/node_modules/x.iml"),
            ("$PROJECT_DIR$/x.iml", "$PROJECT_DIR$/x.xml"),
            ("file://$PROJECT_DIR$/.idea/modules/x.main.iml", "file://$PROJECT_DIR$/.idea/../a/x.iml"),
        ] {
            let module =
                |path: &str| component("ProjectModuleManager", &format!("<module filepath='{path}'/>"));
            assert_eq!(classify(module(harmless).as_bytes()), None, "{harmless}");
            assert_eq!(classify(module(odd).as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
        }
        for (content, odd) in [
            (component("Black", "<option name='pathToExecutable' value='x'/>"), "pathToExecutable"),
            (
                component("InspectionProjectProfileManager", "<inspection_tool class='Eslint'/>"),
                "inspection_tool",
            ),
        ] {
            assert_eq!(classify(content.as_bytes()), Some(Reason::Setting { key: odd.to_owned() }));
        }
    }

    #[test]
    fn a_value_that_leads_elsewhere_is_found() {
        let is_found = |content: &str, odd: &str| {
            assert_eq!(
                classify(content.as_bytes()),
                Some(Reason::Setting { key: odd.to_owned() }),
                "{content}"
            );
        };
        let file =
            |url: &str| format!("<component name='Encoding'><file url='{url}' charset='UTF-8'/></component>");
        for url in [
            "file:///etc/passwd",
            "https://evil.example",
            "~/.ssh",
            "$USER_HOME$/x",
            "file://$PROJECT_DIR$/../x",
            "../x",
            "a&#47;b",
            "file://$PROJECT_DIR$/$APPLICATION_HOME_DIR$",
            "$PROJECT_DIR$x",
        ] {
            is_found(&file(url), "url");
        }
        // Only what names a file may have a path.
        is_found("<component name='Encoding'><file charset='$PROJECT_DIR$/evil'/></component>", "charset");
        is_found(
            "<component name='ProjectRootManager'><output url='file://$PROJECT_DIR$/.git'/></component>",
            "output",
        );
        is_found(
            "<module external.linked.project.path='x'><component name='Encoding'/></module>",
            "external.linked.project.path",
        );
        for name in ["Git.Settings", "PropertiesComponent", "RunManager", "TaskManager"] {
            is_found(&format!("<project version='4'><component name='{name}'/></project>"), name);
        }
    }

    #[test]
    fn a_component_does_not_hide_what_stands_around_it() {
        let option = "<option name='PATH_TO_GIT' value='evil'/>";
        for (content, is_readable) in [
            (
                format!("<component name='Git.Settings'><component name='Encoding'/>{option}</component>"),
                true,
            ),
            (
                format!(
                    "<component name='Encoding'><component name='Git.Settings'>{option}</component></component>"
                ),
                false,
            ),
            (
                format!(
                    "<component name='Encoding'><file><component name='Git.Settings'>{option}</component></file></component>"
                ),
                false,
            ),
            (format!("<component name='Encoding'/>{option}"), false),
            (format!("<component name='Encoding'></component></component>{option}"), false),
        ] {
            let reason = classify(format!("<project version='4'>{content}</project>").as_bytes());
            let unreadable = Some(Reason::Unreadable { format: FileFormat::Text });
            assert!(reason == unreadable || is_readable && reason.is_some(), "{content}: {reason:?}");
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
            "<project version='4'><component name='Encoding'/><component\r\n\tname='Runs'/></project>",
        ] {
            assert_eq!(classify(content.as_bytes()), runs, "{content}");
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
            "<component name='Encoding'>",
            "<component name='Encoding'/></component>",
            "<component name='Encoding'></project>",
            "<component name='Encoding'/><component name='Encoding'/>",
            "<component name='Encoding'>text</component>",
            "<component name='Encoding'><![CDATA[<]]></component>",
            "<component name='Encoding'/>text",
            "<project><option/><component name='Encoding'/></project>",
            "<!DOCTYPE x [<!ENTITY y 'z'>]><component name='Encoding'/>",
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
                classify(content.as_bytes()),
                Some(Reason::Unreadable { format: FileFormat::Text }),
                "{content}"
            );
        }
    }
}
