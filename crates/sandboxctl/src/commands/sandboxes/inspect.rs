//! `inspect`: shows everything that is known of persistent sandboxes.

use sandbox::state::sandboxes::{Phase, StayingSandbox};
use serde_json::{Value, json};

use crate::cli::NamesArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn inspect(ui: &Ui, context: &Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    let found: Vec<_> = args.names.iter().map(|name| sandboxes.find(name)).collect::<Result<_, _>>()?;
    // As `docker inspect`, which prints JSON to people too.
    let objects: Vec<_> = found.iter().map(object).collect::<Result<_, _>>()?;
    ui.json(&objects)?;
    Ok(ExitCode::Success)
}

fn object(sandbox: &StayingSandbox) -> Result<Value, CommandError> {
    let record = &sandbox.record;
    let status = if sandbox.phase == Phase::Running { sandbox.status().ok() } else { None };
    let end = if sandbox.phase.has_ended() { Some(super::end_object(sandbox.end()?)) } else { None };
    Ok(json!({
        "name": record.name,
        "id": record.id,
        "state": sandbox.phase,
        "created": record.created,
        "owner": record.owner,
        "stay": record.stay,
        "pid": record.started.as_ref().and_then(|started| started.pid),
        "report": record.started.as_ref().map(|started| &started.report),
        "status": status,
        "end": end,
        "plan": record.plan,
    }))
}
