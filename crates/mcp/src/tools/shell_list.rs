//! `shell_list`: lists the jobs of this session.

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::NoInput;
use super::row::{Effect, Row, schema, typed};
use super::text::{EndOutput, beginning, millis};
use crate::admission::Queue;

pub(super) const ROW: Row = Row {
    name: "shell_list",
    title: "List background jobs",
    description: "Lists the jobs of this session: those that run, and those that have ended and whose end was not returned yet.",
    queue: Queue::Quick,
    effect: Effect::Reads,
    input: schema::<NoInput>,
    output: schema::<ListOutput>,
    wanted: None,
    run: |session, _, arguments| {
        typed(arguments, |NoInput {}| {
            let jobs = session.jobs.list().into_iter().map(|job| JobOutput {
                job: job.id,
                command: beginning(&job.script),
                sandbox: job.sandbox,
                running: job.end.is_none(),
                end: job.end.as_ref().map(EndOutput::from),
                duration_ms: millis(job.duration),
            });
            let jobs: Vec<_> = jobs.collect();
            let lines: Vec<_> = jobs.iter().map(JobOutput::line).collect();
            let text = if lines.is_empty() { "no jobs".to_owned() } else { lines.join("\n") };
            Ok((ListOutput { jobs }, text))
        })
    },
};

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct ListOutput {
    /// The oldest first
    jobs: Vec<JobOutput>,
}

/// A job.
#[derive(JsonSchema, Serialize)]
struct JobOutput {
    job: u64,
    /// The beginning of what was asked for
    command: String,
    /// The sandbox that it runs in
    sandbox: String,
    /// Whether it still runs
    running: bool,
    /// How it has ended; null while it runs
    end: Option<EndOutput>,
    /// How long it has run, in milliseconds
    duration_ms: u64,
}

impl JobOutput {
    fn line(&self) -> String {
        let state = if self.running { "runs" } else { "has ended" };
        format!("{}: {state}: {}", self.job, self.command)
    }
}
