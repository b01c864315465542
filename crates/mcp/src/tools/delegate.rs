//! `delegate`: has a worker do a part of the work, in a sandbox of its own.

use std::time::Duration;

use policy::text::escape;
use sandbox::shell::{self, Script, ShellRequest};
use sandbox::tools::{ATTACHMENTS, hand_over};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{output_bytes, timeout};
use super::outcome::OutcomeOutput;
use super::row::{Effect, Row, schema, typed};
use crate::admission::Queue;
use crate::failure::Failure;

/// How long a worker may work, unless the call says otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The name of the tool, which is listed where there are workers.
pub(crate) const NAME: &str = "delegate";

pub(super) const ROW: Row = Row {
    name: NAME,
    title: "Delegate to a worker",
    description: "Has a worker do a part of the work, and waits for its end. Each call makes a sandbox of its own, by the worker's own policy, and removes it \
                  afterwards: it shares directories with this one where its policy says so, and nothing else. The worker reads `task` from standard input, \
                  and has copies of `attachments` in `/tmp/attachments`. `sandbox://policy` lists the workers, and what each is for.",
    queue: Queue::Command,
    effect: Effect::Anything,
    input: schema::<DelegateInput>,
    output: schema::<DelegateOutput>,
    wanted: None,
    run: |session, cancel, arguments| {
        typed(arguments, |input: DelegateInput| {
            let timeout = timeout(input.timeout_seconds)?.unwrap_or(TIMEOUT);
            let output_bytes = output_bytes(input.max_output_bytes, 0)?;
            let worker = session.worker(&input.worker)?;
            let (attachments, notice) = if input.attachments.is_empty() {
                // What cannot be for the sandbox cannot be for its worker.
                (Vec::new(), session.sandbox(input.sandbox.as_deref())?.notice)
            } else {
                let files = session.files(input.sandbox.as_deref())?;
                (files.tools.attach(&input.attachments, &worker.attachments)?, files.notice)
            };
            let hired = session.hire(worker)?;
            hand_over(&hired.sandbox, &attachments)?;
            let plan = &hired.sandbox.record.plan;
            let argv = plan.agent.argv.iter().map(|word| word.to_string_lossy().into_owned());
            let request = ShellRequest {
                script: Script::Argv(argv.collect()),
                cwd: None,
                env: Vec::new(),
                stdin: input.task.into_bytes(),
                // A limit of its policy stays one.
                timeout: plan.limits.timeout.into_iter().chain([timeout]).min(),
                output_bytes: output_bytes as u64,
                secrets: (session.program.secrets)(plan)?,
            };
            let outcome = shell::run(&hired.sandbox, request, cancel)?;
            if outcome.end == shell::ShellEnd::Cancelled {
                return Err(Failure::Cancelled);
            }
            let quarantined = hired.dismiss()?;
            let moved = quarantined.iter().map(|path| {
                format!(
                    "[quarantined, because programs outside of the sandbox would execute or obey it: {path}]"
                )
            });
            let moved = moved.collect::<Vec<_>>().join("\n");
            let (outcome, text) =
                OutcomeOutput::of(outcome, &[&moved, notice.as_deref().unwrap_or_default()]);
            let attachments = attachments.iter().map(|file| escape::path(&file.guest())).collect();
            let output = DelegateOutput { worker: input.worker, outcome, attachments, quarantined, notice };
            Ok((output, text))
        })
    },
};

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DelegateInput {
    /// Which worker
    worker: String,
    /// What it is to do: it reads this from standard input
    task: String,
    /// Files of which it gets copies, by their paths in the sandbox of this session
    #[serde(default)]
    attachments: Vec<String>,
    /// After how many seconds it is ended, from 1 to 86400: 600 without this. A shorter limit of its policy stays
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: Option<u64>,
    /// How many bytes of each stream are returned at most, from the beginning: 50000 without this, and never more than 1000000
    #[schemars(range(max = 1_000_000))]
    max_output_bytes: Option<u64>,
    /// The sandbox of this session that has the attachments, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(JsonSchema, Serialize)]
struct DelegateOutput {
    /// Which worker it was
    worker: String,
    #[serde(flatten)]
    outcome: OutcomeOutput,
    /// Where the worker had the attachments, in their order
    attachments: Vec<String>,
    /// Paths of what it has made in shared directories that programs outside would execute or obey, and that was quarantined
    quarantined: Vec<String>,
    /// What has happened to the sandbox of this session that has the attachments
    notice: Option<String>,
}

const _: () = assert!(matches!(ATTACHMENTS.as_bytes(), b"/tmp/attachments"), "the description says so");
