//! Arguments that several tools take, and what of them is checked before anything is started.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
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
const OUTPUT_BYTES: usize = 50_000;

/// The most that a call may ask for.
const MOST_OUTPUT_BYTES: u64 = 1_000_000;

/// The longest that a call may let a command run, in seconds: a day.
const MOST_TIMEOUT: u64 = 86_400;

/// What a tool takes that takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoInput {}

/// Returns a number that was given, or what there is without one.
pub(super) fn within(
    name: &str,
    given: Option<u64>,
    without: usize,
    range: RangeInclusive<u64>,
) -> Result<usize, Failure> {
    let Some(given) = given else { return Ok(without) };
    if range.contains(&given) {
        return Ok(usize::try_from(given).unwrap_or(usize::MAX));
    }
    let (least, most) = range.into_inner();
    Err(Failure::InvalidArguments(format!(
        "wrong arguments: `{name}` is {given}, and has to be from {least} to {most}"
    )))
}

/// Returns how many bytes of each stream are returned, of which there have to be so many at least.
pub(super) fn output_bytes(given: Option<u64>, least: u64) -> Result<usize, Failure> {
    within("max_output_bytes", given, OUTPUT_BYTES, least..=MOST_OUTPUT_BYTES)
}

/// Returns how long a command may run, if the call says so.
pub(super) fn timeout(given: Option<u64>) -> Result<Option<Duration>, Failure> {
    let seconds =
        given.map(|given| within("timeout_seconds", Some(given), 0, 1..=MOST_TIMEOUT)).transpose()?;
    Ok(seconds.map(|seconds| Duration::from_secs(seconds as u64)))
}

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
pub(crate) struct Extras {
    pub(crate) cwd: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Option<String>,
    pub(crate) timeout: Option<Duration>,
    /// The most that is kept of each stream.
    pub(crate) output_bytes: usize,
}

/// What a call wants to run, checked as far as it can be before there is a sandbox.
pub(crate) struct Wanted {
    pub(crate) script: Script,
    /// The name of the sandbox; without it, the default one.
    pub(crate) sandbox: Option<String>,
    pub(crate) extras: Extras,
}

/// Reads what is to run.
pub(super) fn script(command: CommandInput) -> Result<Script, Failure> {
    let script = match command {
        CommandInput::Script(text) => Script::Shell(text),
        CommandInput::Argv(argv) => Script::Argv(argv),
    };
    let words: &[String] = match &script {
        Script::Shell(text) => std::slice::from_ref(text),
        Script::Argv(argv) => argv,
    };
    if words.first().is_none_or(String::is_empty) {
        return Err(Failure::InvalidArguments(
            "`command` is empty: it is text for `sh -c`, or a program with its arguments".to_owned(),
        ));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Failure::InvalidArguments(
            "`command` has a NUL character, which no argument has; pass such data by `stdin`".to_owned(),
        ));
    }
    Ok(script)
}

/// Makes the request for a command, checked.
pub(super) fn request(
    session: &Session,
    sandbox: &Sandbox,
    script: Script,
    extras: Extras,
) -> Result<ShellRequest, Failure> {
    let plan = &sandbox.record.plan;
    check_variables(plan, &extras.env)?;
    let cwd = extras.cwd.map(|cwd| start(plan, &cwd)).transpose()?;
    // A limit of the policy stays one.
    let timeout = extras.timeout.into_iter().chain(plan.limits.timeout).min();
    Ok(ShellRequest {
        script,
        cwd,
        env: extras.env.into_iter().collect(),
        stdin: extras.stdin.unwrap_or_default().into_bytes(),
        timeout,
        output_bytes: extras.output_bytes as u64,
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
        } else if plan.credentials().any(|secret| secret.env_var == *name) {
            "is a secret of the sandbox: every command has it already, and it cannot be set"
        } else if plan.routes.iter().flat_map(|route| &route.variables).any(|variable| variable.name == *name)
        {
            "says where the egress proxy adds a credential: every command has it already, and it cannot be set"
        } else {
            continue;
        };
        return Err(Failure::InvalidArguments(format!("`env`: {name:?} {wrong}")));
    }
    Ok(())
}
