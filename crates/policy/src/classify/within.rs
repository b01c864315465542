//! Lists of paths that a program joins to the root of a work tree, and then removes or writes.

use std::path::{Component, Path};

use serde_json::Value;

use super::reason::Reason;
use crate::protect::table::content::FileFormat;

/// Classifies a list: no path in it may lead out of the work tree. In JSON each text is one, and else each line.
pub(super) fn classify(content: &[u8], format: FileFormat, program: &str) -> Option<Reason> {
    let names = |path: String| Reason::NamesPath { program: program.to_owned(), example: path };
    if content.trim_ascii().is_empty() {
        return None;
    }
    if format == FileFormat::Json {
        let Ok(list) = serde_json::from_slice::<Value>(content) else {
            return Some(Reason::Unreadable { format });
        };
        return outside(&list).map(|path| names(path.to_owned()));
    }
    let text = String::from_utf8_lossy(content);
    text.split(['\n', '\r']).find(|path| !is_within(path)).map(|path| names(path.to_owned()))
}

/// Returns a text in a value that leads out of the work tree.
fn outside(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members.values().find_map(outside),
        Value::Array(values) => values.iter().find_map(outside),
        Value::String(path) => (!is_within(path)).then_some(path),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns whether a path is relative and leads nowhere out of where it is joined to.
pub(super) fn is_within(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_repo_stay_in_the_work_tree() {
        for (format, ordinary) in [
            (FileFormat::Json, r#"{"linkfile": ["Android.bp", "build/x.mk"], "copyfile": []}"#),
            (FileFormat::Json, "{}"),
            (FileFormat::Json, ""),
            (FileFormat::Text, "build/make\nframeworks/base\n.\n..x/y\n"),
            (FileFormat::Text, ""),
        ] {
            assert_eq!(classify(ordinary.as_bytes(), format, "repo"), None, "{ordinary}");
        }
        for (format, odd) in [
            (FileFormat::Json, r#"{"linkfile": ["a", "../x"], "copyfile": []}"#),
            (FileFormat::Json, r#"{"copyfile": ["/home/me/x"]}"#),
            (FileFormat::Json, r#"{"copyfile": ["a/../../x"]}"#),
            (FileFormat::Json, r#"{"copyfile": {"../x": 1, "y": ["\u002e./x"]}}"#),
            (FileFormat::Json, "{"),
            (FileFormat::Text, "a\n../x\n"),
            (FileFormat::Text, "/home/me/x"),
            (FileFormat::Text, "a/../../x\r\n"),
        ] {
            assert!(classify(odd.as_bytes(), format, "repo").is_some(), "{odd}");
        }
    }
}
