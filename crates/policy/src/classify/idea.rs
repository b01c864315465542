//! What editors of `JetBrains` obey: files of XML, with components that say by their name whose settings they hold.

use std::path::Path;

use super::reason::Reason;
use super::settings;
use crate::protect::SKIPPED;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::{GIT_IN_IDEA, IDEA, PROPERTIES};

/// How deep a repository may lie that a project names: so deep they are looked for, see `[protect] depth`.
const DEEPEST: usize = 3;

/// What separates attributes in XML.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// An element's beginning, or the declaration at the start of a file.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    text: Text<'a>,
}

/// What follows a tag, up to the next one.
#[derive(Clone, Copy)]
enum Text<'a> {
    /// As it stands.
    Literal(&'a str),
    /// With references to characters.
    Escaped(&'a str),
}

impl<'a> Tag<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }
}

/// Classifies a file of a project: each of its components must be one that only describes the project, and lead to nothing that
/// is not classified.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let text = std::str::from_utf8(content).ok();
    if text.is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Text });
    let Some(tags) = text.and_then(tags) else { return unreadable };
    let mut component = None;
    for tag in &tags {
        if tag.name == "component" {
            let Some(name) = tag.get("name") else { return unreadable };
            component = Some(name);
        }
        if let Some(odd) = odd(tag, component) {
            return Some(Reason::Setting { key: odd });
        }
    }
    if component.is_none() { unreadable } else { None }
}

/// Returns what of an element in a component may run something.
fn odd(tag: &Tag<'_>, component: Option<&str>) -> Option<String> {
    let odd = match (tag.name, component) {
        ("component", Some("PropertiesComponent")) => return odd_property(tag.text),
        // All that the parent knows stands in its text.
        (name, Some("PropertiesComponent")) => Some(name),
        ("component", Some(name)) => (!IDEA.contains(&name)).then_some(name),
        ("option", Some("Git.Settings")) => tag.get("name").filter(|name| !GIT_IN_IDEA.contains(name)),
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
            paths
                .into_iter()
                .flatten()
                .find(|path| !is_classified(path.strip_prefix("file://").unwrap_or(path)))
        }
        _ => None,
    };
    odd.map(str::to_owned)
}

/// Returns the first of what an IDE and its plugins remember of a project, as JSON, that may name a program.
fn odd_property(text: Text<'_>) -> Option<String> {
    let json = match text {
        Text::Literal(json) => json.to_owned(),
        Text::Escaped(text) => text.replace("&quot;", "\""),
    };
    let is_plain = matches!(text, Text::Literal(_)) || !json.contains('&');
    match settings::classify(json.as_bytes(), FileFormat::Json, PROPERTIES) {
        Some(Reason::Setting { key }) => Some(key),
        None if is_plain => None,
        _ => Some("PropertiesComponent".to_owned()),
    }
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
    let rest = path.strip_prefix("$PROJECT_DIR$")?;
    let is_plain = rest.is_empty() || rest.starts_with('/') && !rest.contains(['$', '&', '\\']);
    let names: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    (is_plain && !names.contains(&"..")).then_some(names)
}

/// Lists every element. `None` where there is anything that such a file does not need and that might hide one:
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
        let (mut element, after) = tag(after)?;
        rest = after.strip_prefix('/').unwrap_or(after).strip_prefix('>')?;
        if let Some(literal) = rest.strip_prefix("<![CDATA[") {
            let (text, after) = literal.split_once("]]>")?;
            // Nothing else follows, or it would belong to the same text.
            rest = after.trim_start_matches(SPACE).starts_with("</").then_some(after)?;
            element.text = Text::Literal(text);
        } else {
            element.text = Text::Escaped(rest.split('<').next().unwrap_or_default());
        }
        tags.push(element);
    }
    Some(tags)
}

/// Returns a name and the attributes after it, and what follows them.
fn tag(text: &str) -> Option<(Tag<'_>, &str)> {
    let (name, mut rest) = name(text)?;
    let mut tag = Tag { name, attributes: Vec::new(), text: Text::Literal("") };
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
            "<component name=\"Encoding\">",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project version='4'>\n  <component name = 'Encoding' >\n    <file url=\"file://$PROJECT_DIR$/a&gt;b\" charset='>' />\n  </component >\n</project>\n",
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
    fn what_an_ide_remembers_of_a_project_passes() {
        let properties = |text: &str| format!("<component name='PropertiesComponent'>{text}</component>");
        let json = r#"{"keyToString": {"RunOnceActivity.ShowReadmeOnStart": "true", "git-widget-placeholder": "main",
            "last_opened_file_path": "/home/a/b", "main.executor": "Run", "node.js.selected.package.eslint": "(autodetect)",
            "nodejs_package_manager_path": "npm"}}"#;
        let written = [format!("<![CDATA[{json}]]>"), json.replace('"', "&quot;"), String::new()];
        for text in &written {
            let rest = "<component name='ProjectId' id='x'/><component name='RunManager' selected='x'/>";
            let git = "<component name='Git.Settings'><option name='RECENT_GIT_ROOT_PATH' value='$PROJECT_DIR$'/></component>";
            let content = format!("<project version='4'>{}{rest}{git}</project>", properties(text));
            assert_eq!(classify(content.as_bytes()), None, "{content}");
        }
        for (from, to) in [
            ("\"npm\"", "\"./evil\""),
            ("(autodetect)", "./evil"),
            ("git-widget-placeholder", "nodejs_interpreter_path"),
            ("keyToString", "keyToStringList"),
        ] {
            for text in [
                format!("<![CDATA[{}]]>", json.replace(from, to)),
                json.replace(from, to).replace('"', "&quot;"),
            ] {
                assert!(classify(properties(&text).as_bytes()).is_some(), "{text}");
            }
        }
        let evil = "{&quot;keyToString&quot;: {&quot;nodejs_interpreter_path&quot;: &quot;evil&quot;}}";
        for text in [
            format!("<x/>{evil}"),
            format!("<![CDATA[{{}}]]>{evil}"),
            format!("<![CDATA[]]><![CDATA[{evil}]]>"),
            format!(" <![CDATA[{evil}]]>"),
            evil.replace("nodejs", "&#110;odejs"),
            "<property name='nodejs_interpreter_path' value='evil'/>".to_owned(),
        ] {
            assert!(classify(properties(&text).as_bytes()).is_some(), "{text}");
        }
        let git = "<component name='Git.Settings'><option name='PATH_TO_GIT' value='./evil'/></component>";
        assert_eq!(classify(git.as_bytes()), Some(Reason::Setting { key: "PATH_TO_GIT".to_owned() }));
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
