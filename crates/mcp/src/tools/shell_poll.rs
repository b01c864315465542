//! `shell_poll`: returns what a job has written since it was asked last.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{output_bytes, within};
use super::row::{Effect, Row, schema, typed};
use super::text::{EndOutput, millis, shown};
use crate::admission::Queue;

/// The longest that a call waits for something new, in seconds.
const MOST_WAIT: u64 = 60;

/// How many bytes are returned at least: one character.
const LEAST_OUTPUT_BYTES: u64 = 4;

pub(super) const ROW: Row = Row {
    name: "shell_poll",
    title: "Read from a background job",
    description: "Returns what a job has written since the last call, and how it has ended if it has. With `wait_seconds` it waits until there is \
                  something new. Output that nobody fetches is kept up to 1 MiB for each stream; then the oldest is dropped, and `truncated` says so. \
                  A job is forgotten when its end and all of its output were returned.",
    queue: Queue::Command,
    effect: Effect::Takes,
    input: schema::<PollInput>,
    output: schema::<PollOutput>,
    wanted: None,
    run: |session, cancel, arguments| {
        typed(arguments, |input: PollInput| {
            let wait = within("wait_seconds", input.wait_seconds, 0, 0..=MOST_WAIT)?;
            let most = output_bytes(input.max_output_bytes, LEAST_OUTPUT_BYTES)?;
            let report = session.jobs.poll(input.job, most, Duration::from_secs(wait as u64), cancel)?;
            let end = report.end.as_ref().map(EndOutput::from);
            let state = match &end {
                None => "[it runs]".to_owned(),
                Some(end) if end.line().is_empty() => "[it has ended, with exit code 0]".to_owned(),
                Some(end) => format!("[it has ended] {}", end.line()),
            };
            let more = if report.has_more { "[there is more: call again]" } else { "" };
            let text = shown(
                &report.stdout,
                &report.stderr,
                &[more, &state, report.note.as_deref().unwrap_or_default()],
            );
            let output = PollOutput {
                job: report.id,
                running: end.is_none(),
                end,
                truncated: report.stdout.is_truncated || report.stderr.is_truncated,
                stdout: report.stdout.text,
                stdout_base64: report.stdout.base64,
                stderr: report.stderr.text,
                stderr_base64: report.stderr.base64,
                has_more: report.has_more,
                duration_ms: millis(report.duration),
                note: report.note,
            };
            Ok((output, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PollInput {
    /// The number of the job, as `shell_start` has returned it
    job: u64,
    /// How many seconds to wait for something new, at most 60; without it, none
    #[schemars(range(max = 60))]
    wait_seconds: Option<u64>,
    /// How many bytes of each stream are returned at most: 50000 without this, and from 4 to 1000000
    #[schemars(range(min = 4, max = 1_000_000))]
    max_output_bytes: Option<u64>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct PollOutput {
    job: u64,
    /// Whether it still runs
    running: bool,
    /// How it has ended; null while it runs
    end: Option<EndOutput>,
    /// What is new on standard output. What is no UTF-8 is U+FFFD here, and `stdout_base64` has the exact bytes
    stdout: String,
    /// The exact bytes in base64; null where `stdout` is exact
    stdout_base64: Option<String>,
    /// What is new on standard error, as `stdout`
    stderr: String,
    /// The exact bytes in base64; null where `stderr` is exact
    stderr_base64: Option<String>,
    /// Whether output was dropped since the last call, because nobody had fetched it
    truncated: bool,
    /// Whether there is more to fetch at once
    has_more: bool,
    /// How long it has run, in milliseconds
    duration_ms: u64,
    /// That the policy has made it fail, what it allows, and that retrying does not help; null where that is not certain
    note: Option<String>,
}
