//! `query`: answers whether the policy allows something, before it is tried.

use std::ffi::OsStr;

use policy::commands::Shell;
use policy::rules::verdict::{Decision, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::within;
use super::files::with_notes;
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;
use crate::failure::Failure;

/// The port of a host, unless the call says otherwise.
const PORT: usize = 443;

pub(super) const ROW: Row = Row {
    name: "query",
    title: "Ask what is allowed",
    description: "Answers whether the policy of the sandbox allows something, and by which rule, without trying it: to read, write or list a path, to connect to \
                  a host, to see a variable, or to run a command, about which a person may be asked. What the policy allows may fail still, because a file is not there or a host does not answer.",
    queue: Queue::Quick,
    effect: Effect::Reads,
    input: schema::<QueryInput>,
    output: schema::<QueryOutput>,
    wanted: None,
    run: |session, _, arguments| {
        with_content(arguments, |input: QueryInput| {
            if input.port.is_some() && input.ask != Ask::Connect {
                return Err(Failure::InvalidArguments(
                    "wrong arguments: `port` is for `connect` alone; nothing else has one".to_owned(),
                ));
            }
            let port = within("port", input.port, PORT, 1..=65535)?;
            let files = session.files(input.sandbox.as_deref())?;
            let (query, path) = (files.tools.query(), OsStr::new(&input.target));
            let of = |verdict: Verdict| (verdict.decision, verdict.rule);
            let (decision, rule) = match input.ask {
                Ask::Read => of(query.can_read(path)),
                Ask::Write => of(query.can_write(path)),
                Ask::List => of(query.can_list(path)),
                Ask::Connect => of(query.can_connect(&input.target, u16::try_from(port).unwrap_or_default())),
                Ask::See => of(query.sees_env(&input.target)),
                Ask::Run => {
                    let verdict = query.commands().decide(&input.target, Shell::Posix);
                    (verdict.decision, format!("`{}`: {}", verdict.command, verdict.reason))
                }
            };
            let notice = files.notice;
            let content = with_notes(format!("{decision}: {rule}"), notice.clone());
            Ok((QueryOutput { decision: decision.into(), rule, notice }, content))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueryInput {
    /// What is to be done with the target: `read`, `write` or `list` a path, `connect` to a host, `see` a variable, or `run` a command
    ask: Ask,
    /// A path in the sandbox, from its root or relative to its working directory; a host, by name or address; the name of a variable; or a command, as text for `sh -c`
    target: String,
    /// The port of the host, for `connect`: 443 without this
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u64>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Read,
    Write,
    List,
    Connect,
    See,
    Run,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct QueryOutput {
    /// `allow`, `ask` (a person decides) or `deny`, which asking again does not change
    decision: DecisionOutput,
    /// The rule that has decided, in words
    rule: String,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}

/// What may happen.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum DecisionOutput {
    Allow,
    Ask,
    Deny,
}

impl From<Decision> for DecisionOutput {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Allow,
            Decision::Ask => Self::Ask,
            Decision::Deny => Self::Deny,
        }
    }
}
