//! `shell`: runs a command to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use sandbox::shell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CommandInput, Extras, Wanted, output_bytes, request, script, timeout};
use super::outcome::OutcomeOutput;
use super::row::{Effect, Row, parsed, schema, typed};
use crate::admission::Queue;
use crate::failure::Failure;

/// How long a command may run, unless the call says otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(super) const ROW: Row = Row {
    name: "shell",
    title: "Run a command",
    description: "Runs a command in the sandbox and waits for its end. `command` is text for `sh -c`, or an array of a program and its arguments. Commands \
                  share the files of the sandbox, and nothing else: each starts anew in its working directory. What the sandbox does not allow fails with an \
                  ordinary error; where it is certain that the policy is the reason, `note` says so, and that retrying does not help. For what runs long or \
                  serves others, use `shell_start`.",
    queue: Queue::Command,
    effect: Effect::Anything,
    input: schema::<ShellInput>,
    output: schema::<ShellOutput>,
    wanted: Some(|arguments| parsed::<ShellInput>(arguments)?.wanted()),
    run: |session, cancel, arguments| {
        typed(arguments, |input: ShellInput| {
            let Wanted { script, sandbox, extras } = input.wanted()?;
            let found = session.sandbox(sandbox.as_deref())?;
            let request = request(session, &found.sandbox, script, extras)?;
            let outcome = shell::run(&found.sandbox, request, cancel)?;
            if outcome.end == shell::ShellEnd::Cancelled {
                return Err(Failure::Cancelled);
            }
            let (outcome, text) = OutcomeOutput::of(outcome, &[found.notice.as_deref().unwrap_or_default()]);
            let output = ShellOutput { outcome, notice: found.notice };
            Ok((output, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellInput {
    /// Text for `sh -c`, or an array of a program and its arguments, which no shell sees
    command: CommandInput,
    /// Where it starts: a path in the sandbox, from its root or relative to its working directory
    cwd: Option<String>,
    /// Variables for this command
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What it reads from standard input; without it, there is none
    stdin: Option<String>,
    /// After how many seconds it is ended, with all that it has started, from 1 to 86400: 120 without this. A shorter limit of the policy stays
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: Option<u64>,
    /// How many bytes of each stream are returned at most, from the beginning: 50000 without this, and never more than 1000000
    #[schemars(range(max = 1_000_000))]
    max_output_bytes: Option<u64>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

impl ShellInput {
    fn wanted(self) -> Result<Wanted, Failure> {
        let extras = Extras {
            cwd: self.cwd,
            env: self.env,
            stdin: self.stdin,
            timeout: timeout(self.timeout_seconds)?.or(Some(TIMEOUT)),
            output_bytes: output_bytes(self.max_output_bytes, 0)?,
        };
        Ok(Wanted { script: script(self.command)?, sandbox: self.sandbox, extras })
    }
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct ShellOutput {
    #[serde(flatten)]
    outcome: OutcomeOutput,
    /// What has happened to the sandbox that the command should know
    notice: Option<String>,
}
