//! `shell_kill`: ends a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;

pub(super) const ROW: Row = Row {
    name: "shell_kill",
    title: "End a background job",
    description: "Kills a job with all that it has started. `shell_poll` returns the rest of its output.",
    queue: Queue::End,
    effect: Effect::Ends,
    input: schema::<KillInput>,
    output: schema::<KillOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |input: KillInput| {
            session.jobs.kill(input.job)?;
            Ok((KillOutput { job: input.job }, format!("job {} is being killed", input.job)))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KillInput {
    /// The number of the job, as `shell_start` has returned it
    job: u64,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct KillOutput {
    job: u64,
}
