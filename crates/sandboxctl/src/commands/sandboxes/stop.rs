//! `stop`: ends sandboxes.

use std::time::Duration;

use policy::rules::limits;

use crate::cli::StopArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn stop(ui: &Ui, context: &Context, args: &StopArgs) -> Result<ExitCode, CommandError> {
    let grace = grace(&args.time)?;
    let code = super::each(ui, context, &args.names.names, "stopped", |_, sandbox| {
        if sandbox.phase.can_stop() {
            super::warn_shown(ui, sandbox);
        }
        super::warn_unrecorded(ui, &sandbox.stop(grace)?);
        Ok(())
    })?;
    super::clear_up_after(ui, context)?;
    Ok(code)
}

/// Reads how long everything inside may take to end.
fn grace(text: &str) -> Result<Duration, CommandError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    limits::duration(text).map_err(|error| {
        CommandError::message(Code::UsageInvalid, format_args!("--time: {error}"))
            .hint("such as `--time 30s`; `--time 0` kills everything inside at once")
    })
}
