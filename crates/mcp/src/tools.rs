//! The tools: one file each, and one row each in [`ALL`].

use rmcp::model::Tool;

mod arguments;
pub(crate) mod delegate;
mod edit;
mod files;
mod list;
mod outcome;
mod query;
mod read;
mod row;
mod sandbox_create;
mod sandbox_inspect;
mod sandbox_list;
mod sandbox_remove;
mod sandbox_stop;
mod search;
mod shell;
mod shell_kill;
mod shell_list;
mod shell_poll;
mod shell_start;
mod text;
mod write;

pub(crate) use self::arguments::Wanted;
pub(crate) use self::row::{Answer, Row};

/// Every tool, in the order in which clients list them.
pub(crate) const ALL: &[Row] = &[
    shell::ROW,
    shell_start::ROW,
    shell_poll::ROW,
    shell_kill::ROW,
    shell_list::ROW,
    read::ROW,
    write::ROW,
    edit::ROW,
    list::ROW,
    search::ROW,
    query::ROW,
    delegate::ROW,
    sandbox_create::ROW,
    sandbox_list::ROW,
    sandbox_inspect::ROW,
    sandbox_stop::ROW,
    sandbox_remove::ROW,
];

/// Returns the definitions of all tools, as clients see them.
pub fn definitions() -> Vec<Tool> {
    ALL.iter().map(Row::definition).collect()
}

/// Makes what a call wants to run that says nothing but the command.
#[cfg(test)]
pub(crate) fn wanted(script: sandbox::shell::Script) -> Wanted {
    let extras = arguments::Extras {
        cwd: None,
        env: std::collections::BTreeMap::new(),
        stdin: None,
        timeout: None,
        output_bytes: 0,
    };
    Wanted { script, sandbox: None, extras }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::row::typed;
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn every_tool_has_schemas_of_objects_without_references_and_a_name_of_its_own() {
        let mut names: Vec<_> = ALL.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for tool in definitions() {
            for schema in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                assert!(!serde_json::to_string(schema).unwrap().contains("$ref"), "{}", tool.name);
            }
            assert!(tool.description.is_some_and(|text| text.len() > 20), "{}", tool.name);
        }
    }

    #[test]
    fn wrong_types_and_unknown_arguments_are_said_in_words() {
        let refused = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!() };
            let read: Result<Answer, Failure> =
                typed(arguments, |_: shell::ShellInput| Ok(((), String::new())));
            read.err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        assert!(refused(serde_json::json!({ "command": 5 })).starts_with("wrong arguments: "));
        assert!(refused(serde_json::json!({})).contains("command"));
        assert!(
            refused(serde_json::json!({ "command": "true", "timeout_second": 5 })).contains("timeout_second")
        );
        assert_eq!(refused(serde_json::json!({ "command": ["true"] })), "");
    }
}
