//! `shell_start`: starts a command that runs beside others.

use std::collections::BTreeMap;

use sandbox::shell::{self, ShellEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CommandInput, Extras, Wanted, output_bytes, request, script, timeout};
use super::row::{Effect, Row, parsed, schema, typed};
use super::text::EndOutput;
use crate::admission::Queue;
use crate::failure::Failure;
use crate::session::Found;

pub(super) const ROW: Row = Row {
    name: "shell_start",
    title: "Start a background job",
    description: "Starts a command in the sandbox and returns at once, with the number of its job. `shell_poll` returns what it writes and how it ends, \
                  `shell_kill` ends it. It ends with this session. With `detach` it is no job: it goes on as long as the sandbox does, what it writes is \
                  gone unless the command itself sends it to a file, and it can be neither polled nor killed by number.",
    queue: Queue::Quick,
    effect: Effect::Anything,
    input: schema::<StartInput>,
    output: schema::<StartOutput>,
    wanted: Some(|arguments| parsed::<StartInput>(arguments)?.wanted()),
    run: |session, _, arguments| {
        typed(arguments, |input: StartInput| {
            let is_detached = input.is_detached();
            let Wanted { script, sandbox, extras } = input.wanted()?;
            let Found { sandbox: found, notice } = session.sandbox(sandbox.as_deref())?;
            let request = request(session, &found, script, extras)?;
            let sandbox = found.name().to_owned();
            let said = |text: String| match &notice {
                Some(notice) => format!("{text}\n{notice}"),
                None => text,
            };
            if is_detached {
                return match shell::detach(&found, request)? {
                    None => {
                        let text = said("started; it goes on by itself".to_owned());
                        Ok((StartOutput { job: None, sandbox, notice }, text))
                    }
                    Some(end) => {
                        let end = EndOutput::from(&ShellEnd::Ended(end));
                        Err(Failure::InvalidArguments(
                            end.reason.unwrap_or_else(|| "it has ended already".to_owned()),
                        ))
                    }
                };
            }
            let job = session.jobs.start(&found, request)?;
            let text = said(format!("started job {job}"));
            Ok((StartOutput { job: Some(job), sandbox, notice }, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartInput {
    /// Text for `sh -c`, or an array of a program and its arguments, which no shell sees
    command: CommandInput,
    /// Where it starts: a path in the sandbox, from its root or relative to its working directory
    cwd: Option<String>,
    /// Variables for this command
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What it reads from standard input; without it, there is none
    stdin: Option<String>,
    /// After how many seconds it is ended, with all that it has started, from 1 to 86400; without it, the limit of the policy, if there is one
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: Option<u64>,
    /// Start it as no job: it goes on until it ends or its sandbox does, and can be neither polled nor killed
    detach: Option<bool>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

impl StartInput {
    fn is_detached(&self) -> bool {
        self.detach.unwrap_or(false)
    }

    fn wanted(self) -> Result<Wanted, Failure> {
        if self.is_detached() && self.stdin.is_some() {
            return Err(Failure::InvalidArguments(
                "`stdin` with `detach`: such a command has no input; let it read a file".to_owned(),
            ));
        }
        let extras = Extras {
            cwd: self.cwd,
            env: self.env,
            stdin: self.stdin,
            timeout: timeout(self.timeout_seconds)?,
            output_bytes: output_bytes(None, 0)?,
        };
        Ok(Wanted { script: script(self.command)?, sandbox: self.sandbox, extras })
    }
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct StartOutput {
    /// The number of the job; null with `detach`
    job: Option<u64>,
    /// The sandbox that it runs in
    sandbox: String,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}
