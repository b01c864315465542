//! `rm` and `prune`: remove sandboxes that have ended.

use std::time::Duration;

use confine::protocol::Attachment;
use sandbox::state::sandboxes::SandboxError;
use serde_json::json;

use crate::cli::RemoveArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn rm(ui: &Ui, context: &Context, args: &RemoveArgs) -> Result<ExitCode, CommandError> {
    let code = super::each(ui, context, &args.names.names, "removed", |sandboxes, sandbox| {
        let name = sandbox.name().to_owned();
        match sandbox.phase {
            phase if args.force && phase.can_stop() => {
                super::warn_unrecorded(ui, &sandbox.stop(Duration::ZERO)?);
            }
            phase if !phase.can_be_removed() => {
                return Err(SandboxError::Phase { name, phase, action: "be removed" }.into());
            }
            _ => {}
        }
        match sandboxes.remove(sandbox) {
            // Its own client was faster.
            Err(SandboxError::NotFound(_)) if sandbox.record.stay.attachment == Attachment::Attached => {}
            removed => super::warn_unrecorded(ui, &removed?),
        }
        Ok(())
    })?;
    super::clear_up_after(ui, context)?;
    Ok(code)
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
