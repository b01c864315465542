//! `sandbox_stop`: ends everything in a sandbox.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{Effect, Row, schema, typed};
use crate::admission::Lane;

/// How long everything inside may take to end, unless the call says otherwise, and at most.
const GRACE: u32 = 10;

pub(super) const ROW: Row = Row {
    name: "sandbox_stop",
    title: "Stop a sandbox",
    description: "Ends everything in a sandbox of this session. Files in the shared directories stay, all others are gone. After that it can only be removed; \
                  the default one is made again by the next command.",
    lane: Lane::Command,
    effect: Effect::Ends,
    input: schema::<StopInput>,
    output: schema::<StopOutput>,
    run: |session, _, arguments| {
        typed(arguments, |input: StopInput| {
            let name = input.sandbox.as_deref().unwrap_or(session.default_name());
            let sandbox = session.held(name).ok_or_else(|| session.unknown(name))?;
            let was_alive = sandbox.lives()?;
            if was_alive {
                let grace = Duration::from_secs(input.grace_seconds.unwrap_or(GRACE).min(60).into());
                if let Some(warning) = sandbox.stop(grace)?.warning() {
                    (session.program.log)(&warning);
                }
            }
            let text =
                if was_alive { format!("stopped {name}") } else { format!("{name} had ended already") };
            Ok((StopOutput { sandbox: name.to_owned(), was_alive }, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopInput {
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
    /// How many seconds everything inside has to end by itself, before it is killed: 10 without this, and at most 60
    grace_seconds: Option<u32>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct StopOutput {
    sandbox: String,
    /// Whether there was something to end
    was_alive: bool,
}
