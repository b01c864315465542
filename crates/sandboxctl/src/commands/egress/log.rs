//! `egress log`: what the egress proxy of a sandbox has recorded.

use std::io::{self, Write};

use anyhow::Context as _;
use sandbox::session::egress;

use super::change::failure;
use crate::cli::EgressLogArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::text::json_for_stdout;
use crate::ui::Ui;

/// Prints it: a line of JSON for each connection, the oldest first.
pub(super) fn log(ui: &Ui, context: &Context, args: &EgressLogArgs) -> Result<ExitCode, CommandError> {
    if args.follow {
        let print = |lines: &[u8]| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(shown(lines).as_bytes()).and_then(|()| stdout.flush())
        };
        return match egress::follow(&context.state(), context.caller, &args.name, print) {
            Ok(()) => Ok(ExitCode::Success),
            Err(egress::LiveError::Lost(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(CommandError::new(Code::OutputClosed, error))
            }
            Err(error) => Err(failure(context, &args.name, error)),
        };
    }
    let lines = egress::log(&context.state(), context.caller, &args.name);
    match lines.context("cannot read the log of the egress proxy")? {
        lines if !lines.is_empty() => {
            ui.raw(shown(&lines).as_bytes())?;
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

/// Returns lines as standard output gets them.
fn shown(lines: &[u8]) -> String {
    json_for_stdout(&String::from_utf8_lossy(lines)).into_owned()
}
