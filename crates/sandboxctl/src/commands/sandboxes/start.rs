//! `start`: makes sandboxes again that have ended, from what they were made from.

use sandbox::state::sandboxes::{Phase, SandboxError};
use serde_json::json;

use super::super::create;
use crate::cli::NamesArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn start(ui: &Ui, mut context: Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    let find = |name: &String| -> Result<_, CommandError> {
        let found = super::lookup_made(&context, name)?;
        Ok(found.ok_or_else(|| SandboxError::NotFound(name.clone()))?)
    };
    let found: Vec<_> = args.names.iter().map(find).collect::<Result<_, _>>()?;
    let mut names = Vec::new();
    for sandbox in &found {
        let name = sandbox.name().to_owned();
        match sandbox.phase {
            // As `docker start`, which has nothing to do then.
            Phase::Running => {}
            Phase::Stopped => drop(create::restart(ui, &mut context, sandbox)?),
            phase @ (Phase::Creating | Phase::Paused | Phase::Ending) => {
                return Err(SandboxError::Phase { name, phase, action: "be started" }.into());
            }
        }
        if !ui.is_json() {
            ui.raw(format!("{name}\n").as_bytes())?;
        }
        names.push(name);
    }
    if ui.is_json() {
        ui.json(&json!({ "started": names }))?;
    }
    Ok(ExitCode::Success)
}
