//! `exec` in a sandbox that stays: the command gets what the sandbox was made with, whatever is configured by now.

use std::collections::BTreeSet;
use std::ffi::OsString;

use confine::protocol::ExecClient;
use policy::config::overrides::Overrides;
use policy::plan::{Plan, Variable};
use policy::rules::guest::StartDirectory;
use policy::rules::limits;
use policy::rules::path::GuestPath;
use sandbox::session::attendance::Parent;
use sandbox::session::outcome::Notice;
use sandbox::session::staying::exec::{StayingExec, exec as exec_in};
use sandbox::session::streams::Stdio;
use sandbox::state::sandboxes::StayingSandbox;
use serde_json::json;

use super::super::run::{self, Sources};
use crate::cli::{ExecArgs, Format};
use crate::context::Context;
use crate::directories;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::files;
use crate::output;
use crate::ui::Ui;

pub(crate) fn exec(
    ui: &Ui,
    mut context: Context,
    parent: Option<&Parent>,
    sandbox: &StayingSandbox,
    args: ExecArgs,
) -> Result<ExitCode, CommandError> {
    let client = if args.detach { ExecClient::Detached } else { ExecClient::Attached };
    let plan = &plan(&context, sandbox, args)?;
    let writable = plan.boundaries.iter().map(|boundary| boundary.host.clone());
    let writable = writable.chain(directories::around(&context)).collect();
    let programs = context.programs(writable);
    let mut sources =
        Some(Sources { env: std::mem::take(&mut context.env), programs, caller: context.caller });
    let mut warnings = Vec::new();
    let outcome = exec_in(StayingExec {
        sandbox,
        plan,
        caller: context.caller,
        secrets: &mut || {
            sources.take().map_or_else(|| Ok(Vec::new()), |sources| sources.read(ui, plan, parent))
        },
        streams: match (client, ui.format()) {
            (ExecClient::Detached, _) => Stdio::Null,
            (ExecClient::Attached, Format::Text) => Stdio::Inherit,
            (ExecClient::Attached, Format::Json) => Stdio::Capture,
        },
        client,
        parent,
        notice: &mut |notice| {
            if let Notice::Warning(warning) = notice {
                warnings.push(warning);
            }
        },
    })?;
    let Some(outcome) = outcome else {
        if ui.is_json() {
            ui.json(&json!({ "sandbox": { "name": sandbox.name() }, "detached": true }))?;
        }
        return Ok(ExitCode::Success);
    };
    warnings.extend(run::reached_limit(&outcome.end, &plan.limits));
    for warning in &warnings {
        ui.warning(warning);
    }
    let (code, failure) = run::exit_of(&outcome.end, plan.provider);
    match (ui.format(), &failure) {
        (Format::Json, _) => {
            ui.json(&output::run(plan, None, &outcome, code, failure.as_ref(), &warnings))?;
        }
        (Format::Text, Some(failure)) => ui.failure(failure),
        (Format::Text, None) => {}
    }
    Ok(code)
}

/// Makes the plan of a command: that of the sandbox, with what was typed.
fn plan(context: &Context, sandbox: &StayingSandbox, args: ExecArgs) -> Result<Plan, CommandError> {
    if args.source.config.is_some() || args.source.trust.is_some() {
        let message = "--config, --trust: a sandbox that stays keeps what it was made from";
        return Err(CommandError::message(Code::UsageInvalid, message)
            .hint("leave it out, or make another sandbox: `sandboxctl create`"));
    }
    let mut plan = sandbox.record.plan.clone();
    if !args.argv.is_empty() {
        plan.agent.argv = args.argv;
    }
    if let Some(typed) = args.workdir {
        let first = GuestPath::new(&plan.agent.workdir)
            .map_err(|error| CommandError::message(Code::ToolFailed, error))?;
        let start = typed.parse::<StartDirectory>().and_then(|start| start.from(&first));
        let start = start
            .map_err(|error| CommandError::message(Code::UsageInvalid, format_args!("--workdir: {error}")))?;
        start.as_path().clone_into(&mut plan.agent.workdir);
    }
    if let Some(text) = args.timeout {
        let timeout = limits::duration(&text)
            .map_err(|error| CommandError::message(Code::UsageInvalid, format_args!("--timeout: {error}")))?;
        plan.limits.timeout = Some(timeout);
    }
    add_variables(context, &mut plan, args.env)?;
    Ok(plan)
}

/// Adds the variables that were typed. One that is a secret of the sandbox cannot be set: there would be two.
fn add_variables(context: &Context, plan: &mut Plan, typed: Vec<OsString>) -> Result<(), CommandError> {
    let flags = Overrides { env: typed, ..Overrides::default() };
    let (config, problems) = flags.read(&files::base(context, &context.cwd));
    if !problems.is_empty() {
        return Err(CommandError::problems(problems));
    }
    let set =
        config.env.set.iter().map(|(name, value)| (name.as_str().to_owned(), Some(value.value.clone())));
    let passed = config.env.also_pass.keys().map(|name| {
        let value = context.env.get(std::ffi::OsStr::new(name.as_str())).cloned();
        (name.as_str().to_owned(), value)
    });
    let secrets: BTreeSet<&str> = plan.secrets.iter().map(|secret| secret.env_var.as_str()).collect();
    for (name, value) in set.chain(passed) {
        if secrets.contains(name.as_str()) {
            let message = format!("--env {name}: the variable is a secret of the sandbox");
            return Err(
                CommandError::message(Code::PolicyDenied, message).hint("leave it out: every command has it")
            );
        }
        plan.env.retain(|variable| variable.name != name);
        // One that the caller does not have is not passed.
        plan.env.extend(value.map(|value| Variable { name, value }));
    }
    Ok(())
}
