//! `sandbox_inspect`: shows one sandbox: how it is, what it allows and what was enforced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::row::{Effect, Row, schema, typed};
use super::sandbox_list::SandboxOutput;
use crate::admission::Queue;
use crate::resources::{policy_object, policy_text, report_object};

pub(super) const ROW: Row = Row {
    name: "sandbox_inspect",
    title: "Show a sandbox",
    description: "Shows a sandbox of this session: what may be read, written and reached in it, its limits, and which layers of isolation are enforced. \
                  Makes the default one where it is not there.",
    queue: Queue::Command,
    effect: Effect::Reads,
    input: schema::<InspectInput>,
    output: schema::<InspectOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |input: InspectInput| {
            let found = session.sandbox(input.sandbox.as_deref())?;
            let plan = &found.sandbox.record.plan;
            let sandbox = SandboxOutput::of(session, &found.sandbox)?;
            let text = format!("{}\n{}", sandbox.line(), policy_text(plan));
            let output =
                InspectOutput { sandbox, policy: policy_object(plan), report: report_object(&found.sandbox) };
            Ok((output, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InspectInput {
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct InspectOutput {
    sandbox: SandboxOutput,
    /// As the resource `sandbox://policy`
    #[schemars(with = "serde_json::Map<String, Value>")]
    policy: Value,
    /// As the resource `sandbox://report`
    #[schemars(with = "serde_json::Map<String, Value>")]
    report: Value,
}
