//! A line of a batch's output: what has become of a task.

use std::os::unix::process::ExitStatusExt;

use sandbox::batch::Ending;
use sandbox::host::capture::Captured;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::run_process::Ended;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;

/// What a line says.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    pub(super) id: Option<&'a str>,
    /// The line of the input, where that is no task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// Which attempt it was, from 1; none was made where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    /// Another attempt follows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) retried: bool,
    /// What `run --format json` prints: a result with all that belongs to it, or an error.
    #[serde(flatten)]
    pub(super) object: Map<String, Value>,
}

/// What an attempt has come to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ending: Ending,
    pub(super) object: Map<String, Value>,
    /// What was said on standard error.
    pub(super) stderr: Captured,
}

impl Outcome {
    /// Reads what a `run` has printed.
    pub(super) fn of(ended: Ended) -> Self {
        let Ended { status, stdout, stderr } = ended;
        let signal = status.signal().map(|signal| ExitCode::Signal(signal).number());
        let code = status.code().and_then(|code| u8::try_from(code).ok()).or(signal).unwrap_or(u8::MAX);
        let object = serde_json::from_slice(&stdout.bytes).ok();
        let object = object
            .filter(|object: &Map<_, _>| ["result", "error"].iter().any(|key| object.contains_key(*key)));
        if let Some(object) = object {
            return Self { ending: ending(&object, code), object, stderr };
        }
        let printed = String::from_utf8_lossy(&stderr.bytes);
        let message = format!("the `run` of this task ended without a result, {}", described(code, signal));
        let error = CommandError::message(Code::ToolFailed, message)
            .details(serde_json::json!({ "stderr": printed.trim_end() }));
        // Nobody knows how far it has come, so its command may have run.
        Self { ending: Ending::Ran(code), object: error_object(&error), stderr: Captured::default() }
    }

    /// Makes the outcome of what could not even begin.
    pub(super) fn failed(ending: Ending, error: &CommandError) -> Self {
        Self { ending, object: error_object(error), stderr: Captured::default() }
    }
}

fn described(code: u8, signal: Option<u8>) -> String {
    match signal {
        Some(code) => format!("killed by signal {}", code.saturating_sub(128)),
        None => format!("with exit code {code}"),
    }
}

/// Returns what an attempt is to the batch.
fn ending(object: &Map<String, Value>, code: u8) -> Ending {
    match object.get("result") {
        // There is no such command, or it cannot be executed; the sandbox was there.
        Some(result) if result.get("ended_by").is_some_and(|by| by == "tool") => Ending::Refused,
        Some(_) => Ending::Ran(code),
        None if [ExitCode::Usage.number(), ExitCode::Denied.number()].contains(&code) => Ending::Refused,
        None => Ending::NotStarted,
    }
}

/// Returns the object of an error alone.
pub(super) fn error_object(error: &CommandError) -> Map<String, Value> {
    match error.to_json() {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use serde_json::json;

    use super::*;

    fn outcome(status: i32, stdout: &str) -> Outcome {
        let captured =
            |text: &str| Captured { bytes: text.into(), total: text.len() as u64, truncated: false };
        let (stdout, stderr) = (captured(stdout), captured("said\n"));
        Outcome::of(Ended { status: ExitStatus::from_raw(status), stdout, stderr })
    }

    #[test]
    fn only_what_failed_before_the_command_ran_is_a_failed_start() {
        let ran = r#"{"result": {"code": 69, "ended_by": "command"}}"#;
        assert_eq!(outcome(69 << 8, ran).ending, Ending::Ran(69));
        let missing =
            r#"{"result": {"code": 127, "ended_by": "tool"}, "error": {"code": "command.not_found"}}"#;
        assert_eq!(outcome(127 << 8, missing).ending, Ending::Refused);
        assert_eq!(outcome(69 << 8, r#"{"error": {}}"#).ending, Ending::NotStarted);
        assert_eq!(outcome(125 << 8, r#"{"error": {}}"#).ending, Ending::NotStarted);
        assert_eq!(outcome(2 << 8, r#"{"error": {}}"#).ending, Ending::Refused);
        assert_eq!(outcome(77 << 8, r#"{"error": {}}"#).ending, Ending::Refused);
    }

    #[test]
    fn what_ends_without_a_result_may_have_run() {
        for stdout in ["", "{", "[]", "{}"] {
            let Outcome { ending, object, .. } = outcome(9, stdout);
            assert_eq!(ending, Ending::Ran(137));
            let expected = "the `run` of this task ended without a result, killed by signal 9";
            assert_eq!(object["error"]["message"], json!(expected));
            assert_eq!(object["error"]["details"], json!({ "stderr": "said" }));
        }
    }
}
