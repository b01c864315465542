//! `touch`: restarts the idle time of sandboxes.

use crate::cli::NamesArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn touch(ui: &Ui, context: &Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    super::each(ui, context, &args.names, "touched", |_, sandbox| Ok(sandbox.touch()?))
}
