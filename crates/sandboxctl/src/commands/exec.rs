//! `exec`: another command in a sandbox that runs.

use std::io;

use policy::plan::Provider;
use sandbox::session::attendance::Parent;
use sandbox::session::passed::PassedDescriptor;
use sandbox::state::sandboxes::{SandboxError, StayingSandbox};

use crate::cli::ExecArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// What engines call the container of a sandbox, before its name.
const CONTAINER: &str = "sandboxctl-";

pub(crate) fn exec(
    ui: &Ui,
    context: Context,
    parent: io::Result<Parent>,
    args: ExecArgs,
) -> Result<ExitCode, CommandError> {
    args.habits.check()?;
    let parent = super::run::parent(args.life, parent)?;
    if args.detach && !args.pass.numbers.is_empty() {
        let message = "--pass-fd with --detach: a pipe is relayed, which ends with this process";
        return Err(CommandError::message(Code::UsageInvalid, message)
            .hint("leave one of them out; what a command in the background writes, `> FILE` inside keeps"));
    }
    let passed = PassedDescriptor::inherited(&args.pass.numbers)?;
    let sandbox = find(&context, &args)?;
    super::sandboxes::exec::exec(ui, context, parent.as_ref(), sandbox, passed, args)
}

/// Finds a sandbox by its name, its id, or the name that `docker ps` shows.
fn find(context: &Context, args: &ExecArgs) -> Result<StayingSandbox, CommandError> {
    let provider = args.provider.map(Provider::from);
    for name in [Some(args.name.as_str()), args.name.strip_prefix(CONTAINER)].into_iter().flatten() {
        let found = super::sandboxes::lookup_made(context, name)?;
        if let Some(found) =
            found.filter(|found| provider.is_none_or(|one| one == found.record.plan.provider))
        {
            return Ok(found);
        }
    }
    Err(SandboxError::NotFound(args.name.clone()).into())
}
