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
    let files = egress::log(&context.state(), context.caller, &args.name);
    let mut files: Vec<Vec<u8>> =
        files.context("cannot read the log of the egress proxy")?.into_iter().flatten().collect();
    // They are written in turn, so the one that begins earlier is the older one.
    files.sort_by_key(|lines| began(lines));
    match files.concat() {
        lines if !lines.is_empty() => {
            ui.raw(&lines)?;
            Ok(ExitCode::Success)
        }
        _ => Err(CommandError::message(
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

/// Returns when the first connection of these lines was made, in milliseconds since the epoch.
fn began(lines: &[u8]) -> Option<u64> {
    let first = lines.split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice::<serde_json::Value>(first).ok()?.get("time")?.as_u64()
}
