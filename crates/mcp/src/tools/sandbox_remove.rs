//! `sandbox_remove`: ends a sandbox and removes what is left of it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;

/// How long everything inside may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

pub(super) const ROW: Row = Row {
    name: "sandbox_remove",
    title: "Remove a sandbox",
    description: "Ends a sandbox of this session and removes it. Files in the shared directories stay, all others are gone. New files there that a program \
                  of the host would execute are quarantined, and the answer names them.",
    queue: Queue::End,
    effect: Effect::Ends,
    input: schema::<RemoveInput>,
    output: schema::<RemoveOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |input: RemoveInput| {
            let quarantined = session.remove(&input.sandbox, GRACE)?;
            let moved = quarantined
                .iter()
                .map(|path| format!("\nquarantined, because a program of the host would execute it: {path}"));
            let text = format!("removed {}{}", input.sandbox, moved.collect::<String>());
            Ok((RemoveOutput { sandbox: input.sandbox, quarantined }, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveInput {
    /// A sandbox of this session, by name
    sandbox: String,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct RemoveOutput {
    sandbox: String,
    /// What was quarantined, as paths in the sandbox
    quarantined: Vec<String>,
}
