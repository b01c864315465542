//! `exec`: another command in a sandbox that runs.

use std::io;
use std::path::Path;

use policy::plan::Provider;
use policy::rules::guest::StartDirectory;
use policy::rules::path::GuestPath;
use sandbox::engine::kind::EngineKind;
use sandbox::provider;
use sandbox::provider::container::find::{SandboxQuery, find};
use sandbox::provider::launch::Exec;
use sandbox::session::attendance::Parent;
use sandbox::session::outcome::Notice;
use sandbox::session::passed::PassedDescriptor;
use sandbox::session::streams::Stdio;
use sandbox::state::sandboxes::SandboxError;

use super::run::Sources;
use crate::cli::{self, ExecArgs, Format, KeyFlags, PlanRequest};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{directories, load, output};

pub(crate) fn exec(
    ui: &Ui,
    mut context: Context,
    parent: io::Result<Parent>,
    args: ExecArgs,
) -> Result<ExitCode, CommandError> {
    args.habits.check()?;
    let parent = super::run::parent(args.life, parent)?;
    if args.detach && !args.pass.numbers.is_empty() {
        let message = "--pass-fd with --detach: a pipe is relayed, which ends with this process";
        return Err(CommandError::message(Code::UsageInvalid, message)
            .hint("leave one of them out; what a command in the background writes, `> FILE` inside keeps"));
    }
    let passed = PassedDescriptor::inherited(&args.pass.numbers)?;
    // A sandbox that stays is found without asking an engine.
    let named = args.provider.map(Provider::from);
    let stays = super::sandboxes::open(&context)?.lookup(&args.name)?;
    match stays.filter(|sandbox| named.is_none_or(|named| named == sandbox.record.plan.provider)) {
        Some(sandbox) => {
            return super::sandboxes::exec::exec(ui, context, parent.as_ref(), sandbox, passed, args);
        }
        None if matches!(named, Some(Provider::Native | Provider::Local)) => {
            return Err(SandboxError::NotFound(args.name).into());
        }
        None => {}
    }
    let ExecArgs { source, env, workdir, timeout, provider, detach, name, argv, .. } = args;
    if detach {
        return Err(CommandError::unsupported("exec --detach in the container of a `run`")
            .hint("without it, `exec` waits until the command has ended"));
    }
    if !passed.is_empty() {
        return Err(CommandError::unsupported("exec --pass-fd in the container of a `run`")
            .hint("its standard streams are passed; in a sandbox that stays (`sandboxctl create`), other descriptors are, too"));
    }

    // 1. Where it runs, no configuration has to know.
    let sandbox = find(&SandboxQuery {
        name: &name,
        engine: provider.and_then(|provider| match provider {
            cli::ExecProvider::Docker => Some(EngineKind::Docker),
            cli::ExecProvider::Podman => Some(EngineKind::Podman),
            cli::ExecProvider::Native | cli::ExecProvider::Local => None,
        }),
        owner: context.caller,
        own: &context.own(),
        engines: &context.engines(context.programs(directories::around(&context))),
    })?;

    // 2. The command and its variables, for the provider that it was found in. It starts where the first command did.
    let workdir = start(sandbox.workdir(), workdir);
    let request = PlanRequest {
        source,
        name: Some(sandbox.name().to_owned()),
        env,
        keys: KeyFlags::default()
            .and("agent.workdir", workdir)
            .and("limits.timeout", timeout)
            .and("provider", Some(sandbox.provider().to_string())),
        ..PlanRequest::default()
    };
    let variables =
        sandbox::session::egress::variables(&context.state(), context.caller, sandbox.name(), sandbox.run())
            .map_err(|error| CommandError::new(Code::ToolFailed, error))?;
    let mut loaded = load::for_exec(ui, &context, &request, argv, &variables)?;
    let mut sources = Some(Sources {
        env: std::mem::take(&mut context.env),
        programs: std::mem::take(&mut loaded.programs),
        caller: context.caller,
    });
    let plan = &loaded.plan;

    // 3. The command.
    let mut warnings = Vec::new();
    let outcome = provider::exec(Exec {
        plan,
        sandbox: &sandbox,
        caller: context.caller,
        secrets: &mut || {
            sources.take().map_or_else(|| Ok(Vec::new()), |sources| sources.read(ui, plan, parent.as_ref()))
        },
        variables,
        parent: parent.as_ref(),
        streams: match ui.format() {
            Format::Text => Stdio::Inherit,
            Format::Json => Stdio::Capture,
        },
        notice: &mut |notice| {
            if let Notice::Warning(warning) = notice {
                warnings.push(warning);
            }
        },
    })?;
    warnings.extend(super::run::reached_limit(&outcome.end, &loaded.plan.limits));
    for warning in &warnings {
        ui.warning(warning);
    }
    let (code, failure) = super::run::exit_of(&outcome.end, loaded.plan.provider);
    match (ui.format(), &failure) {
        (Format::Json, _) => {
            ui.json(&output::run(
                &loaded.plan,
                loaded.config.as_deref(),
                &outcome,
                code,
                failure.as_ref(),
                &warnings,
            ))?;
        }
        (Format::Text, Some(failure)) => ui.failure(failure),
        (Format::Text, None) => {}
    }
    Ok(code)
}

/// Returns where the command starts: where the first one did, or where was typed, which may be relative to that. What is malformed is left
/// for the policy to refuse.
fn start(first: Option<&str>, typed: Option<String>) -> Option<String> {
    let Some(first) = first.and_then(|first| GuestPath::new(Path::new(first)).ok()) else { return typed };
    let Some(typed) = typed else { return Some(first.to_string()) };
    let relative = typed.parse::<StartDirectory>().and_then(|start| start.from(&first));
    Some(relative.map_or(typed, |path| path.to_string()))
}
