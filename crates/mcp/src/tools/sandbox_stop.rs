//! `sandbox_stop`: ends everything in a sandbox.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::within;
use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;

/// How many seconds everything inside may take to end, unless the call says otherwise.
const GRACE: usize = 10;

/// The most that a call may say.
const MOST_GRACE: u64 = 60;

pub(super) const ROW: Row = Row {
    name: "sandbox_stop",
    title: "Stop a sandbox",
    description: "Ends everything in a sandbox of this session. Files in the shared directories stay, all others are gone. After that it can only be removed; \
                  the default one is made again by the next command.",
    queue: Queue::End,
    effect: Effect::Ends,
    input: schema::<StopInput>,
    output: schema::<StopOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |input: StopInput| {
            let grace = within("grace_seconds", input.grace_seconds, GRACE, 0..=MOST_GRACE)?;
            let default = session.default_name();
            let name = input.sandbox.as_deref().unwrap_or(&default);
            let sandbox = session.held(name).ok_or_else(|| session.unknown(name))?;
            let was_alive = sandbox.lives()?;
            if was_alive {
                if let Some(warning) = sandbox.stop(Duration::from_secs(grace as u64))?.warning() {
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
    #[schemars(range(max = 60))]
    grace_seconds: Option<u64>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct StopOutput {
    sandbox: String,
    /// Whether there was something to end
    was_alive: bool,
}
