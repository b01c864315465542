//! The commands, one file each. The help of a command stands on its arguments in [`crate::cli`].

use crate::cli::Command;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

mod completions;
mod config;
mod doctor;
mod init;
mod man;
mod plan;
mod policy;
mod run;
mod shell;
mod trust;

/// Does what the command line says.
pub(crate) fn run(ui: &Ui, context: &Context, command: Command) -> Result<ExitCode, CommandError> {
    match command {
        Command::Init(args) => init::init(ui, context, &args),
        Command::Run(args) => run::run(ui, context, args),
        Command::Shell(args) => shell::shell(ui, context, &args),
        Command::Plan(args) => plan::plan(ui, context, args),
        Command::Trust(args) => trust::trust(ui, context, &args),
        Command::Untrust(args) => trust::untrust(ui, context, &args),
        Command::Config(command) => config::config(ui, context, &command),
        Command::Policy(command) => policy::policy(ui, context, &command),
        Command::Doctor => doctor::doctor(ui, context),
        Command::Completions(args) => completions::completions(ui, &args),
        Command::Man(args) => man::man(ui, &args),
    }
}
