//! Arguments that several tools take, and what of them is checked before anything is started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use policy::plan::Plan;
use policy::rules::guest::StartDirectory;
use policy::rules::path::GuestPath;
use sandbox::Sandbox;
use sandbox::shell::{Script, ShellRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::Failure;
use crate::session::Session;

/// How many bytes of each stream are returned, unless the call says otherwise.
const OUTPUT_BYTES: u64 = 50_000;

/// The most that a call may ask for.
pub(super) const MOST_OUTPUT_BYTES: u64 = 1_000_000;

/// What is to run.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum CommandInput {
    /// Text for `sh -c`.
    Script(String),
    /// A program and its arguments, which no shell sees.
    Argv(Vec<String>),
}

/// What a command gets besides itself.
pub(super) struct Extras {
    pub(super) cwd: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) stdin: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) output_bytes: Option<u64>,
}

/// Makes the request for a command, checked.
pub(super) fn request(
    session: &Session,
    sandbox: &Sandbox,
    command: CommandInput,
    extras: Extras,
) -> Result<ShellRequest, Failure> {
    let plan = &sandbox.record.plan;
    let script = match command {
        CommandInput::Script(text) => Script::Shell(text),
        CommandInput::Argv(argv) => Script::Argv(argv),
    };
    let words: &[String] = match &script {
        Script::Shell(text) => std::slice::from_ref(text),
        Script::Argv(argv) => argv,
    };
    if words.first().is_none_or(String::is_empty) {
        return Err(Failure::Asked(
            "`command` is empty: it is text for `sh -c`, or a program with its arguments".to_owned(),
        ));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Failure::Asked(
            "`command` has a NUL character, which no argument has; pass such data by `stdin`".to_owned(),
        ));
    }
    check_variables(plan, &extras.env)?;
    let cwd = extras.cwd.map(|cwd| start(plan, &cwd)).transpose()?;
    // A limit of the policy stays one.
    let timeout = extras.timeout.into_iter().chain(plan.limits.timeout).min();
    let output_bytes = extras.output_bytes.unwrap_or(OUTPUT_BYTES).min(MOST_OUTPUT_BYTES);
    Ok(ShellRequest {
        script,
        cwd,
        env: extras.env.into_iter().collect(),
        stdin: extras.stdin.unwrap_or_default().into_bytes(),
        timeout,
        output_bytes,
        secrets: (session.program.secrets)(plan)?,
    })
}

/// Returns where a command starts.
fn start(plan: &Plan, cwd: &str) -> Result<PathBuf, Failure> {
    let first = GuestPath::new(&plan.agent.workdir)?;
    Ok(cwd.parse::<StartDirectory>().and_then(|start| start.from(&first))?.as_path().to_owned())
}

fn check_variables(plan: &Plan, env: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, value) in env {
        let wrong = if name.is_empty() || name.contains(['=', '\0']) {
            "is no name for a variable: one is not empty and has neither `=` nor NUL"
        } else if value.contains('\0') {
            "has a NUL character, which no value has"
        } else if plan.secrets.iter().any(|secret| secret.env_var == *name) {
            "is a secret of the sandbox: every command has it already, and it cannot be set"
        } else {
            continue;
        };
        return Err(Failure::Asked(format!("`env`: {name:?} {wrong}")));
    }
    Ok(())
}
