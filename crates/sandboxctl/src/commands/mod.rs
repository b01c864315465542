//! The commands, one file each. The help of a command stands on its arguments in [`crate::cli`].

use std::io;

use sandbox::session::attendance::Parent;

use crate::cli::{CliCommand, Deferred};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

mod agent;
mod batch;
mod build;
mod carry_out;
mod child;
mod children;
mod completions;
mod config;
mod create;
mod doctor;
mod egress;
mod ending;
mod exec;
mod fs;
mod git_config;
mod home;
mod hook;
mod init;
mod man;
mod mcp;
mod not_found;
mod plan;
mod policy;
mod pool;
mod run;
mod run_process;
mod sandboxes;
mod shell;
mod socket_relay;
mod trust;

/// Runs the command of a command line for `parent`, the process that has started this one.
pub(crate) fn run(
    ui: &Ui,
    parent: io::Result<Parent>,
    command: CliCommand,
) -> Result<ExitCode, CommandError> {
    match command {
        // These two say the same to every caller, and must work where a caller has not even a home.
        CliCommand::Completions(args) => completions::completions(ui, &args),
        CliCommand::Man(args) => man::man(ui, &args),
        CliCommand::Init(args) => init::init(ui, &Context::gather()?, &args),
        // No part of it needs root: whoever may use the engine may build, and reads and writes their own files.
        CliCommand::Build(Deferred(args)) => build::build(ui, &Context::gather_as_caller()?, &args),
        CliCommand::Run(Deferred(args)) => run::run(ui, Context::gather()?, parent, args),
        CliCommand::Batch(Deferred(args)) => batch::batch(ui, &Context::gather()?, args),
        CliCommand::Create(Deferred(args)) => create::create(ui, Context::gather()?, &args),
        CliCommand::Ls(args) => sandboxes::ls::ls(ui, &Context::gather()?, &args),
        CliCommand::Inspect(args) => sandboxes::inspect::inspect(ui, &Context::gather()?, &args),
        CliCommand::Logs(args) => sandboxes::logs::logs(ui, &Context::gather()?, &args),
        CliCommand::Events(args) => sandboxes::events::events(ui, &Context::gather()?, &args),
        CliCommand::Cp(args) => sandboxes::cp::cp(ui, &Context::gather()?, &args),
        CliCommand::Fs(command) => fs::fs(ui, &Context::gather()?, &command),
        CliCommand::Wait(args) => sandboxes::wait::wait(ui, &Context::gather()?, &args),
        CliCommand::Stats(args) => sandboxes::stats::stats(ui, &Context::gather()?, &args),
        CliCommand::Pause(args) => sandboxes::pause::pause(ui, &Context::gather()?, &args),
        CliCommand::Unpause(args) => sandboxes::pause::unpause(ui, &Context::gather()?, &args),
        CliCommand::Touch(args) => sandboxes::touch::touch(ui, &Context::gather()?, &args),
        CliCommand::Start(args) => sandboxes::start::start(ui, Context::gather()?, &args),
        CliCommand::Stop(args) => sandboxes::stop::stop(ui, &Context::gather()?, &args),
        CliCommand::Rm(args) => sandboxes::rm::rm(ui, &Context::gather()?, &args),
        CliCommand::Prune => sandboxes::rm::prune(ui, &Context::gather()?),
        CliCommand::Pool(command) => pool::pool(ui, command),
        CliCommand::Exec(Deferred(args)) => exec::exec(ui, Context::gather()?, parent, args),
        CliCommand::Shell(Deferred(args)) => shell::shell(ui, Context::gather()?, parent, &args),
        CliCommand::Plan(Deferred(args)) => plan::plan(ui, &Context::gather()?, args),
        CliCommand::Trust(args) => trust::trust(ui, &Context::gather()?, &args),
        CliCommand::Untrust(args) => trust::untrust(ui, &Context::gather()?, &args),
        CliCommand::Config(command) => config::config(ui, &Context::gather()?, &command),
        CliCommand::Policy(command) => policy::policy(ui, &Context::gather()?, &command),
        CliCommand::Egress(command) => egress::egress(ui, &command),
        CliCommand::Agent(command) => agent::agent(ui, &Context::gather()?, &command),
        CliCommand::Home(command) => home::home(ui, &Context::gather()?, &command),
        CliCommand::SocketRelay => socket_relay::serve(),
        CliCommand::Children => children::serve(ui),
        CliCommand::Child => child::child(ui, Context::gather()?, parent),
        CliCommand::Hook(Deferred(args)) => hook::hook(ui, args),
        CliCommand::Mcp(command) => mcp::mcp(ui, command),
        CliCommand::Doctor => doctor::doctor(ui, &Context::gather()?),
    }
}
