//! `shell_start`: starts a command that runs beside others.

use std::collections::BTreeMap;
use std::time::Duration;

use sandbox::Command;
use sandbox::shell::Script;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CommandInput, Extras, request};
use super::row::{Effect, Row, schema, typed};
use super::text::EndOutput;
use crate::admission::Lane;
use crate::failure::Failure;

pub(super) const ROW: Row = Row {
    name: "shell_start",
    title: "Start a background job",
    description: "Starts a command in the sandbox and returns at once, with the number of its job. `shell_poll` returns what it writes and how it ends, \
                  `shell_kill` ends it. It ends with this session. With `detach` it is no job: it goes on as long as the sandbox does, what it writes is \
                  gone unless the command itself sends it to a file, and it can be neither polled nor killed by number.",
    lane: Lane::Quick,
    effect: Effect::Anything,
    input: schema::<StartInput>,
    output: schema::<StartOutput>,
    run: |session, _, arguments| {
        typed(arguments, |input: StartInput| {
            let found = session.sandbox(input.sandbox.as_deref())?;
            let extras = Extras {
                cwd: input.cwd,
                env: input.env,
                stdin: input.stdin,
                timeout: input.timeout_seconds.map(|seconds| Duration::from_secs(seconds.max(1).into())),
                output_bytes: None,
            };
            let is_detached = input.detach.unwrap_or(false);
            if is_detached && extras.stdin.is_some() {
                return Err(Failure::Asked(
                    "`stdin` with `detach`: such a command has no input; let it read a file".to_owned(),
                ));
            }
            let request = request(session, &found.sandbox, input.command, extras)?;
            let sandbox = found.sandbox.name().to_owned();
            if is_detached {
                let argv = match request.script {
                    Script::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), text],
                    Script::Argv(argv) => argv,
                };
                let mut argv = argv.into_iter();
                let mut command = Command::new(argv.next().unwrap_or_default()).args(argv);
                if let Some(cwd) = request.cwd {
                    command = command.workdir(cwd);
                }
                for (name, value) in request.env {
                    command = command.env(name, value);
                }
                for (name, value) in request.secrets {
                    command = command.secret(name, value);
                }
                if let Some(timeout) = request.timeout {
                    command = command.timeout(timeout);
                }
                return match found.sandbox.detach(command)? {
                    None => {
                        Ok((StartOutput { job: None, sandbox }, "started; it goes on by itself".to_owned()))
                    }
                    Some(end) => {
                        let end = EndOutput::from(&sandbox::shell::ShellEnd::Ended(end));
                        Err(Failure::Asked(end.reason.unwrap_or_else(|| "it has ended already".to_owned())))
                    }
                };
            }
            let job = session.jobs.start(&found.sandbox, request)?;
            Ok((StartOutput { job: Some(job), sandbox }, format!("started job {job}")))
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
    /// After how many seconds it is ended, with all that it has started; without it, the limit of the policy, if there is one
    timeout_seconds: Option<u32>,
    /// Let it go on when this session ends
    detach: Option<bool>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct StartOutput {
    /// The number of the job; null with `detach`
    job: Option<u64>,
    /// The sandbox that it runs in
    sandbox: String,
}
