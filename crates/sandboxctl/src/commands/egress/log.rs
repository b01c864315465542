//! `egress log`: what the egress proxy of a sandbox has recorded.

use anyhow::Context as _;
use sandbox::session::egress;

use crate::cli::EgressLogArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// Prints it: a line of JSON for each connection, the oldest first.
pub(super) fn log(ui: &Ui, context: &Context, args: &EgressLogArgs) -> Result<ExitCode, CommandError> {
    let log = egress::log(&context.state(), context.caller, &args.name);
    match log.context("cannot read the log of the egress proxy")? {
        Some(lines) => {
            ui.raw(&lines)?;
            Ok(ExitCode::Success)
        }
        None => Err(CommandError::message(
            Code::SandboxNotFound,
            format_args!(
                "no egress proxy of a sandbox \"{}\" has recorded anything",
                args.name.escape_debug()
            ),
        )
        .hint(
            "only sandboxes whose network is an allow-list of hosts have one; `run --name` names a sandbox",
        )),
    }
}
