//! `exec` in a persistent sandbox: the command gets what the sandbox was made with, whatever is configured by now.

use std::collections::BTreeSet;
use std::ffi::OsString;

use confine::protocol::{Attachment, EndCause};
use policy::config::overrides::Overrides;
use policy::plan::{Network, Plan, Provider, Variable};
use policy::rules::guest::StartDirectory;
use policy::rules::limits;
use policy::rules::path::GuestPath;
use sandbox::host::deadline::Deadline;
use sandbox::provider::local::NO_ISOLATION;
use sandbox::session::attendance::Parent;
use sandbox::session::egress;
use sandbox::session::outcome::{End, Notice};
use sandbox::session::passed::PassedDescriptor;
use sandbox::session::staying::exec::{StayingExec, exec as exec_in};
use sandbox::session::streams::Stdio;
use sandbox::state::sandboxes::{Phase, StayingSandbox};
use serde_json::json;

use super::super::carry_out::Sources;
use super::super::{create, ending, not_found};
use crate::cli::{ExecArgs, Format};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::facts;
use crate::files;
use crate::output;
use crate::ui::Ui;

pub(crate) fn exec(
    ui: &Ui,
    mut context: Context,
    parent: Option<&Parent>,
    sandbox: StayingSandbox,
    passed: Vec<PassedDescriptor>,
    args: ExecArgs,
) -> Result<ExitCode, CommandError> {
    let mut warnings = Vec::new();
    let sandbox = &revived(ui, &mut context, sandbox, &mut warnings)?;
    if sandbox.record.plan.provider == Provider::Local {
        ui.warn_always(NO_ISOLATION);
        warnings.push(NO_ISOLATION.to_owned());
    }
    let printed = warnings.len();
    let attachment = if args.detach { Attachment::Detached } else { Attachment::Attached };
    let plan = &plan(&context, sandbox, args)?;
    let writable = plan.boundaries.iter().map(|boundary| boundary.host.clone());
    let programs = context.programs(writable.collect());
    let locating = programs.without(&plan.credential_variables());
    let mut sources =
        Some(Sources { env: std::mem::take(&mut context.env), programs, caller: context.caller });
    let variables = match &plan.network {
        Network::Allowlist { .. } => {
            egress::variables(&context.state(), context.caller, sandbox.name(), &sandbox.record.id)
                .map_err(|error| CommandError::new(Code::ToolFailed, error))?
        }
        Network::None | Network::Open => Vec::new(),
    };
    let outcome = exec_in(StayingExec {
        sandbox,
        plan,
        variables,
        caller: context.caller,
        secrets: &mut || {
            sources.take().map_or_else(|| Ok(Vec::new()), |sources| sources.read(ui, plan, parent))
        },
        streams: match (attachment, ui.format()) {
            (Attachment::Detached, _) => Stdio::Null,
            (Attachment::Attached, Format::Text) => Stdio::Inherit,
            (Attachment::Attached, Format::Json) => Stdio::Capture,
        },
        passed,
        attachment,
        parent,
        notice: &mut |notice| {
            if let Notice::Warning(warning) = notice {
                warnings.push(warning);
            }
        },
    })?;
    let Some(outcome) = outcome else {
        for warning in &warnings[printed..] {
            ui.warning(warning);
        }
        if ui.is_json() {
            ui.json(&json!({ "sandbox": { "name": sandbox.name() }, "detached": true }))?;
        }
        return Ok(ExitCode::Success);
    };
    warnings.extend(ending::reached_limit(&outcome.end, &plan.limits));
    for warning in &warnings[printed..] {
        ui.warning(warning);
    }
    let (code, failure) = ending::exit_code(&outcome.end, plan.provider);
    let failure = failure.map(|failure| match &outcome.end {
        End::NotFound(command) if plan.provider == Provider::Native => {
            failure.hint(not_found::elsewhere(command, &facts::locate(&context, &locating, command)))
        }
        _ => failure,
    });
    match (ui.format(), &failure) {
        (Format::Json, _) => {
            ui.json(&output::run(plan, None, &outcome, code, failure.as_ref(), &warnings))?;
        }
        (Format::Text, Some(failure)) => ui.failure(failure),
        (Format::Text, None) => {}
    }
    Ok(code)
}

/// Makes a sandbox again whose idle time was over, and says so. Where another client has made it again, its idle time may be over once more.
fn revived(
    ui: &Ui,
    context: &mut Context,
    mut sandbox: StayingSandbox,
    warnings: &mut Vec<String>,
) -> Result<StayingSandbox, CommandError> {
    let until = Deadline::after(super::MAKING);
    let mut is_revived = false;
    while sandbox.phase == Phase::Stopped && !until.is_over() {
        match sandbox.end()?.map(|end| end.cause) {
            Some(EndCause::Idle) => {
                let record = create::restart(ui, context, &sandbox)?;
                sandbox = super::open(context)?.find(record.id.as_str())?;
                is_revived = true;
            }
            Some(_) => break,
            // Nobody has said how it ended, or another client has made it again since it was found.
            None => match super::lookup_made(context, sandbox.name())? {
                Some(found) if found.record.id != sandbox.record.id => sandbox = found,
                _ => break,
            },
        }
    }
    if is_revived {
        let warning = format!(
            "sandbox \"{}\" had ended because its idle time was over, and was started again: what it had outside of shared directories is gone",
            sandbox.name()
        );
        ui.warning(&warning);
        warnings.push(warning);
    }
    Ok(sandbox)
}

/// Makes the plan of a command: that of the sandbox, with what was typed.
fn plan(context: &Context, sandbox: &StayingSandbox, args: ExecArgs) -> Result<Plan, CommandError> {
    let mut plan = sandbox.record.plan.clone();
    // Its egress proxy has the credentials, and says what commands have instead.
    plan.routes.clear();
    plan.agent.pass_fd = args.pass.numbers;
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
