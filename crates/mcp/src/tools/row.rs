//! What a tool is: how clients see it, and what it does.

use std::sync::Arc;

use rmcp::model::{Content, JsonObject, Tool, ToolAnnotations};
use sandbox::shell::Cancel;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::Wanted;
use crate::admission::Queue;
use crate::failure::Failure;
use crate::session::Session;

/// One tool.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(crate) queue: Queue,
    pub(super) effect: Effect,
    pub(super) input: fn() -> JsonObject,
    pub(super) output: fn() -> JsonObject,
    /// Reads which command a call wants to run, for tools that run commands: the rules decide about it before anything else is done.
    pub(crate) wanted: Option<fn(JsonObject) -> Result<Wanted, Failure>>,
    pub(crate) run: fn(&Session, &Cancel, JsonObject) -> Result<Answer, Failure>,
}

/// What a tool does to what is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// Nothing, but what was returned once is not returned again.
    Takes,
    Adds,
    /// It puts something into the place of something else; the second time that changes nothing.
    Replaces,
    /// It changes something, each time anew.
    Edits,
    /// It ends or removes something; the second time there is nothing left to do.
    Ends,
    /// Whatever the policy lets a command do, to what the network leads to as well.
    Anything,
}

/// What a tool has to say.
pub(crate) struct Answer {
    /// As its output schema says.
    pub(crate) structured: Value,
    /// The same for clients that know no structure, as text first, and what text cannot hold.
    pub(crate) content: Vec<Content>,
}

impl Row {
    /// Returns how clients see it.
    pub(crate) fn definition(&self) -> Tool {
        let (read_only, destructive, idempotent, open) = match self.effect {
            Effect::Reads => (true, false, true, false),
            Effect::Takes => (true, false, false, false),
            Effect::Adds => (false, false, false, false),
            Effect::Replaces | Effect::Ends => (false, true, true, false),
            Effect::Edits => (false, true, false, false),
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

/// Returns the JSON Schema of a type. Each schema is whole by itself: some clients follow no references.
pub(super) fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    // Formats of integers are schemars' own, and validators warn of what they do not know.
    let settings =
        settings.with_transform(RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format"))));
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Reads the arguments of a call, and writes its answer.
pub(super) fn typed<I: DeserializeOwned, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(I) -> Result<(O, String), Failure>,
) -> Result<Answer, Failure> {
    with_content(arguments, |input| run(input).map(|(output, text)| (output, vec![Content::text(text)])))
}

/// Does the same for an answer that is more than one text.
pub(super) fn with_content<I: DeserializeOwned, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(I) -> Result<(O, Vec<Content>), Failure>,
) -> Result<Answer, Failure> {
    let (output, content) = run(parsed(arguments)?)?;
    let structured = serde_json::to_value(output)
        .map_err(|error| Failure::Host { what: "writing the answer", reason: error.to_string() })?;
    Ok(Answer { structured, content })
}

/// Reads the arguments of a call.
pub(super) fn parsed<I: DeserializeOwned>(arguments: JsonObject) -> Result<I, Failure> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Failure::InvalidArguments(format!(
            "wrong arguments: {error}; the input schema of the tool says what it takes"
        ))
    })
}
