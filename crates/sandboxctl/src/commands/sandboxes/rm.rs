//! `rm` and `prune`: remove sandboxes that have ended.

use std::time::Duration;

use sandbox::provider;
use sandbox::provider::launch::EndedSandboxes;
use sandbox::session::error::StartError;
use sandbox::state::journal::Recorded;
use sandbox::state::sandboxes::{SandboxError, Sandboxes, StayingSandbox};
use serde_json::json;

use crate::cli::RemoveArgs;
use crate::context::Context;
use crate::directories;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn rm(ui: &Ui, context: &Context, args: &RemoveArgs) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    let names = &args.names.names;
    // All are looked up before anything is done with the first.
    let found: Vec<_> =
        names.iter().map(|name| Found::look_up(&sandboxes, name, args.force)).collect::<Result<_, _>>()?;
    let mut removed = Vec::new();
    for one in &found {
        match one {
            Found::Readable(sandbox) => remove(ui, context, &sandboxes, sandbox, args.force)?,
            Found::Unreadable(id) => sandboxes.remove_unreadable(id)?,
        }
        if !ui.is_json() {
            ui.raw(format!("{}\n", one.name()).as_bytes())?;
        }
        removed.push(one.name());
    }
    if ui.is_json() {
        ui.json(&json!({ "removed": removed }))?;
    }
    super::clear_up_after(ui, context)?;
    Ok(ExitCode::Success)
}

/// What is to be removed.
enum Found {
    Readable(Box<StayingSandbox>),
    /// A sandbox of which this version knows no more than its id.
    Unreadable(String),
}

impl Found {
    fn look_up(sandboxes: &Sandboxes, name: &str, force: bool) -> Result<Self, CommandError> {
        match sandboxes.find(name) {
            Err(SandboxError::Unreadable { id, .. }) if force => Ok(Self::Unreadable(id)),
            found => Ok(Self::Readable(Box::new(found?))),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Readable(sandbox) => sandbox.name(),
            Self::Unreadable(id) => id,
        }
    }
}

fn remove(
    ui: &Ui,
    context: &Context,
    sandboxes: &Sandboxes,
    sandbox: &StayingSandbox,
    force: bool,
) -> Result<(), CommandError> {
    let name = sandbox.name().to_owned();
    match sandbox.phase {
        phase if force && phase.can_stop() => {
            super::warn_shown(ui, sandbox);
            super::warn_unrecorded(ui, &kill(context, sandbox)?);
        }
        phase if !phase.can_be_removed() => {
            return Err(SandboxError::Phase { name, phase, action: "be removed" }.into());
        }
        _ => {}
    }
    super::warn_unrecorded(ui, &sandboxes.remove(sandbox)?);
    Ok(())
}

/// Ends a sandbox at once, or says which process stands in the way.
fn kill(context: &Context, sandbox: &StayingSandbox) -> Result<Recorded, CommandError> {
    let engines = context.engines(context.programs(directories::around(context)));
    let (state, own) = (context.state(), context.own());
    let ended = EndedSandboxes { caller: context.caller, state: &state, own: &own, engines: &engines };
    provider::end(&ended, sandbox, Duration::ZERO).map_err(|error| match &error {
        StartError::Sandbox(SandboxError::Unreachable { .. }) => {
            let pid = sandbox.record.started.as_ref().and_then(|started| started.pid);
            let failure = CommandError::message(Code::SandboxUnreachable, &error);
            match pid {
                Some(pid) => failure.hint(format!(
                    "process {pid} is its PID 1 on this host: end that with `kill -KILL {pid}`"
                )),
                None => failure.hint("end its container with the engine that runs it"),
            }
        }
        _ => error.into(),
    })
}

pub(crate) fn prune(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    sandboxes.sweep()?;
    let mut removed = Vec::new();
    for found in sandboxes.list()? {
        match found {
            Ok(sandbox) if sandbox.phase.can_be_removed() => {
                super::warn_unrecorded(ui, &sandboxes.remove(&sandbox)?);
                removed.push(sandbox.name().to_owned());
            }
            Ok(_) => {}
            Err(error) => ui.warning(error),
        }
    }
    super::clear_up_after(ui, context)?;
    ui.data(&json!({ "removed": removed }), |_| {
        removed.iter().flat_map(|name| [name.as_str(), "\n"]).collect()
    })?;
    Ok(ExitCode::Success)
}
