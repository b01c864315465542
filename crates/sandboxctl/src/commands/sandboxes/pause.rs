//! `pause` and `unpause`: stop the processes of sandboxes, and let them go on.

use crate::cli::NamesArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn pause(ui: &Ui, context: &Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    super::each(ui, context, &args.names, "paused", |_, sandbox| {
        super::warn_unrecorded(ui, &sandbox.pause()?);
        Ok(())
    })
}

pub(crate) fn unpause(ui: &Ui, context: &Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    super::each(ui, context, &args.names, "unpaused", |_, sandbox| {
        super::warn_unrecorded(ui, &sandbox.unpause()?);
        Ok(())
    })
}
