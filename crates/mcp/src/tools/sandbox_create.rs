//! `sandbox_create`: makes another sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;
use crate::session::Kept;

pub(super) const ROW: Row = Row {
    name: "sandbox_create",
    title: "Make a sandbox",
    description: "Makes another sandbox, by the same policy as the default one. It shares the shared directories with it, and nothing else. The other tools \
                  take its name. It is removed at the end of this session, unless `keep` is set. The default sandbox needs no call: the first command makes it.",
    queue: Queue::Command,
    effect: Effect::Adds,
    input: schema::<CreateInput>,
    output: schema::<CreateOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |input: CreateInput| {
            let kept = if input.keep.unwrap_or(false) { Kept::Stays } else { Kept::Removed };
            let sandbox = session.create(input.name, kept)?;
            let output = CreateOutput {
                name: sandbox.name().to_owned(),
                provider: sandbox.record.plan.provider.to_string(),
                kept: kept == Kept::Stays,
            };
            let text = format!("made sandbox {}", output.name);
            Ok((output, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateInput {
    /// Its name: ASCII letters and digits, `-`, `_` and `.`, at most 63, beginning with a letter or digit; without it, one is made
    name: Option<String>,
    /// Leave it running when this session ends, for the person who runs the server
    keep: Option<bool>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct CreateOutput {
    name: String,
    /// Who carries it out: native, docker, podman or local
    provider: String,
    /// Whether it stays when this session ends
    kept: bool,
}
