//! `egress`: the egress proxy of a sandbox, and what it has recorded.

use crate::cli::EgressCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

mod ask;
mod change;
mod init_socket;
mod log;
mod renewals;
mod requests;
mod routes;
mod serve;

pub(crate) use self::ask::Asker;
pub(crate) use self::serve::{ARGUMENTS, VARIABLES};

pub(crate) fn egress(ui: &Ui, command: &EgressCommand) -> Result<ExitCode, CommandError> {
    match command {
        EgressCommand::Allow(args) => change::allow(ui, &Context::gather()?, args),
        EgressCommand::Ask { name } => ask::ask(ui, &Context::gather()?, name),
        EgressCommand::Deny(args) => change::deny(ui, &Context::gather()?, args),
        EgressCommand::Forget(args) => change::forget(ui, &Context::gather()?, args),
        EgressCommand::List { name } => change::list(ui, &Context::gather()?, name.as_deref()),
        EgressCommand::Log(args) => log::log(ui, &Context::gather()?, args),
        EgressCommand::Serve => serve::serve(),
    }
}
