//! What has become of a command that was waited for, as tools answer it.

use sandbox::shell::ShellOutcome;
use schemars::JsonSchema;
use serde::Serialize;

use super::text::{EndOutput, millis, shown};

/// How a command has ended, and what it wrote.
#[derive(JsonSchema, Serialize)]
pub(super) struct OutcomeOutput {
    #[serde(flatten)]
    end: EndOutput,
    /// What it wrote to standard output. What is no UTF-8 is U+FFFD here, and `stdout_base64` has the exact bytes
    stdout: String,
    /// The exact bytes in base64; null where `stdout` is exact
    stdout_base64: Option<String>,
    /// How many bytes it wrote to standard output in all
    stdout_bytes: u64,
    /// What it wrote to standard error, as `stdout`
    stderr: String,
    /// The exact bytes in base64; null where `stderr` is exact
    stderr_base64: Option<String>,
    /// How many bytes it wrote to standard error in all
    stderr_bytes: u64,
    /// Whether it wrote more than is returned
    truncated: bool,
    /// How long it ran, in milliseconds
    duration_ms: u64,
    /// Whether the limit of memory was reached meanwhile and a process was killed; null where nothing counts that
    oom_killed: Option<bool>,
    /// That the policy has made it fail, what it allows, and that retrying does not help; null where that is not certain
    note: Option<String>,
}

impl OutcomeOutput {
    /// Makes it, and the same in words, with what else there is to say.
    pub(super) fn of(outcome: ShellOutcome, more: &[&str]) -> (Self, String) {
        let end = EndOutput::from(&outcome.end);
        let note = outcome.note.as_deref().unwrap_or_default();
        let memory = if outcome.oom_killed == Some(true) {
            "[the limit of memory was reached, and a process was killed]"
        } else {
            ""
        };
        let line = end.line();
        let rest = [&[line.as_str(), memory, note], more].concat();
        let text = shown(&outcome.stdout, &outcome.stderr, &rest);
        let output = Self {
            end,
            truncated: outcome.stdout.is_truncated || outcome.stderr.is_truncated,
            stdout_bytes: outcome.stdout.total,
            stderr_bytes: outcome.stderr.total,
            stdout: outcome.stdout.text,
            stdout_base64: outcome.stdout.base64,
            stderr: outcome.stderr.text,
            stderr_base64: outcome.stderr.base64,
            duration_ms: millis(outcome.duration),
            oom_killed: outcome.oom_killed,
            note: outcome.note,
        };
        (output, text)
    }
}
