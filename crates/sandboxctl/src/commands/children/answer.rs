//! Answers to an agent, one JSON object on a line, and what is reported on the host instead.
//!
//! An answer has no path of the host and nothing of its configuration.

use std::io;

use policy::text::json_object::Mistake;
use serde_json::{Map, Value, json};

use super::super::run_process::Ended;
use crate::error::{Code, CommandError};

/// An answer to a request.
#[derive(Debug)]
pub(super) struct Answer(Map<String, Value>);

/// Why there is no child.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The line is no request.
    Invalid(Vec<Mistake>),
    /// It asks for what the sandbox does not have itself.
    Wider(Vec<Mistake>),
    /// As many are alive as `[children] max` allows.
    TooMany,
    /// Something failed on the host.
    NotStarted,
}

/// What is reported on the host when a child has ended.
#[derive(Debug, Default)]
pub(super) struct ChildEnd {
    pub(super) exit_code: Option<u8>,
    pub(super) warnings: Vec<String>,
}

/// What an agent gets of a result.
const RESULT: [&str; 8] =
    ["code", "signal", "timed_out", "ended_by", "duration_ms", "cpu_ms", "max_rss", "oom_killed"];

/// Errors whose message has nothing that the agent has not sent itself.
const SHOWN: [Code; 3] = [Code::CommandTimedOut, Code::CommandNotFound, Code::CommandNotExecutable];

impl Answer {
    /// Refuses a request.
    pub(super) fn refused(id: Option<&str>, refusal: &Refusal) -> Self {
        let error = match refusal {
            Refusal::Invalid(mistakes) => {
                listed(Code::ChildInvalid, "this is no request for a child", mistakes)
            }
            Refusal::Wider(mistakes) => {
                listed(Code::ChildRefused, "a child has no more than its sandbox", mistakes)
                    .hint("this is policy: asking for the same again will not help")
            }
            Refusal::TooMany => CommandError::message(
                Code::ChildLimit,
                "as many children are alive, or have an unread answer, as `[children] max` allows; wait until one has ended, and read its answer",
            ),
            Refusal::NotStarted => not_started(),
        };
        let mut object = Map::from_iter([("id".to_owned(), json!(id))]);
        object.insert("error".to_owned(), error.to_json()["error"].take());
        Self(object)
    }

    /// Answers with what has become of a child.
    pub(super) fn of(id: Option<&str>, name: &str, ended: io::Result<Ended>) -> (Self, ChildEnd) {
        let mut object = Map::from_iter([("id".to_owned(), json!(id)), ("child".to_owned(), json!(name))]);
        let mut end = ChildEnd::default();
        let run = ended.map_err(|error| end.warnings.push(error.to_string())).ok().and_then(|ended| {
            let run = serde_json::from_slice::<Value>(&ended.stdout.bytes).ok();
            end.exit_code = ended.status.code().and_then(|code| u8::try_from(code).ok());
            if run.is_none() {
                let stderr = String::from_utf8_lossy(&ended.stderr.bytes);
                let last = stderr.lines().last().unwrap_or_default();
                end.warnings.push(format!("it ended without a result: {}; {last}", ended.status));
            }
            run
        });
        let mut run = run.unwrap_or_default();
        end.warnings.extend(texts(&run["warnings"]));
        if run["result"].is_object() {
            let result = RESULT.map(|key| (key.to_owned(), run["result"][key].clone()));
            object.insert("result".to_owned(), Value::Object(Map::from_iter(result)));
            for stream in ["stdout", "stderr"] {
                object.insert(stream.to_owned(), run[stream].take());
            }
        }
        let error = match (&run["error"], run["result"].is_object()) {
            (Value::Null, true) => None,
            (error, has_result) => {
                let is_shown = SHOWN.iter().any(|code| error["code"] == code.as_str());
                if !is_shown {
                    end.warnings.extend(error["message"].as_str().map(str::to_owned));
                }
                let shown = match (is_shown, has_result) {
                    (true, _) => json!({ "code": error["code"], "message": error["message"] }),
                    (false, true) => {
                        json!({ "code": error["code"], "message": "the child was ended by the host" })
                    }
                    (false, false) => not_started().to_json()["error"].take(),
                };
                Some(shown)
            }
        };
        object.extend(error.map(|error| ("error".to_owned(), error)));
        (Self(object), end)
    }

    /// Writes it as JSON, without the end of its line.
    pub(super) fn write_to(&self, sink: &mut impl io::Write) -> io::Result<()> {
        Ok(serde_json::to_writer(sink, &self.0)?)
    }
}

fn not_started() -> CommandError {
    CommandError::message(
        Code::StartFailed,
        "the child could not be started; the reason is reported on the host, and not here",
    )
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned))
}

/// How many mistakes are listed: an agent can make more of them than anybody reads.
const MAX_LISTED: usize = 20;

/// Makes one error of everything that is wrong.
fn listed(code: Code, what: &str, mistakes: &[Mistake]) -> CommandError {
    let count = mistakes.len();
    let mistakes = &mistakes[..count.min(MAX_LISTED)];
    let all: Vec<_> = mistakes.iter().map(|mistake| mistake.message.as_str()).collect();
    let problems: Vec<_> = mistakes
        .iter()
        .map(
            |Mistake { column, message, hint }| json!({ "column": column, "message": message, "hint": hint }),
        )
        .collect();
    CommandError::message(code, format_args!("{what}: {}", all.join("; ")))
        .details(json!({ "problems": problems, "count": count }))
}
