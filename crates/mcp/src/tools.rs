//! The tools: one file each, and one row each in [`ALL`].

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use sandbox::shell::Cancel;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admission::Lane;
use crate::failure::Failure;
use crate::session::Session;

mod arguments;
mod sandbox_create;
mod sandbox_inspect;
mod sandbox_list;
mod sandbox_remove;
mod sandbox_stop;
mod shell;
mod shell_kill;
mod shell_list;
mod shell_poll;
mod shell_start;
mod text;

/// Every tool, in the order in which clients list them.
pub(crate) const ALL: &[Row] = &[
    shell::ROW,
    shell_start::ROW,
    shell_poll::ROW,
    shell_kill::ROW,
    shell_list::ROW,
    sandbox_create::ROW,
    sandbox_list::ROW,
    sandbox_inspect::ROW,
    sandbox_stop::ROW,
    sandbox_remove::ROW,
];

/// One tool.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(crate) lane: Lane,
    effect: Effect,
    input: fn() -> JsonObject,
    output: fn() -> JsonObject,
    pub(crate) run: fn(&Session, &Cancel, JsonObject) -> Result<Answer, Failure>,
}

/// What a tool does to what is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Effect {
    /// Nothing.
    Reads,
    /// It adds something.
    Adds,
    /// It ends or removes something; the second time there is nothing left to do.
    Ends,
    /// Whatever the policy lets a command do, to what the network leads to as well.
    Anything,
}

/// What a tool has to say.
pub(crate) struct Answer {
    /// As its output schema says.
    pub(crate) structured: Value,
    /// The same as text, for clients that know no structure.
    pub(crate) text: String,
}

impl Row {
    /// Returns how clients see it.
    pub(crate) fn definition(&self) -> Tool {
        let (read_only, destructive, idempotent, open) = match self.effect {
            Effect::Reads => (true, false, true, false),
            Effect::Adds => (false, false, false, false),
            Effect::Ends => (false, true, true, false),
            Effect::Anything => (false, true, false, true),
        };
        Tool {
            name: self.name.into(),
            title: Some(self.title.to_owned()),
            description: Some(self.description.into()),
            input_schema: Arc::new((self.input)()),
            output_schema: Some(Arc::new((self.output)())),
            annotations: Some(ToolAnnotations {
                title: Some(self.title.to_owned()),
                read_only_hint: Some(read_only),
                destructive_hint: Some(destructive),
                idempotent_hint: Some(idempotent),
                open_world_hint: Some(open),
            }),
            icons: None,
            meta: None,
        }
    }
}

/// Returns the definitions of all tools, as clients see them.
pub fn definitions() -> Vec<Tool> {
    ALL.iter().map(Row::definition).collect()
}

/// Returns the JSON Schema of a type. Each schema is whole by itself: some clients follow no references.
fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Reads the arguments of a call, and writes its answer.
fn typed<I: DeserializeOwned, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(I) -> Result<(O, String), Failure>,
) -> Result<Answer, Failure> {
    let input = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Failure::Asked(format!("wrong arguments: {error}; the input schema of the tool says what it takes"))
    })?;
    let (output, text) = run(input)?;
    let structured = serde_json::to_value(output)
        .map_err(|error| Failure::Host { what: "writing the answer", reason: error.to_string() })?;
    Ok(Answer { structured, text })
}

#[cfg(test)]
mod tests {
    use super::*;

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
