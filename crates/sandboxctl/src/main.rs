//! `sandboxctl`: gives people and programs one way to run commands in a sandbox.

use std::env;
use std::ffi::OsString;
use std::process;

use clap::error::ErrorKind;
use confine::Clearing;
use confine::process::reap;
use policy::config::variables::LOG;
use sandbox::session::attendance::Parent;

use crate::cli::Global;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

mod agents;
mod as_caller;
mod cli;
mod commands;
mod consent;
mod context;
mod directories;
mod error;
mod exit_code;
mod facts;
mod files;
mod git_identity;
mod home;
mod linked_boundaries;
mod load;
mod log;
mod output;
mod outward_links;
mod own_files;
mod own_git;
mod precedence;
mod report;
mod request;
mod shell_words;
mod sockets;
mod text;
mod ui;
mod workers;
mod working_directory;
mod worktrees;

#[cfg(test)]
mod reference;

/// musl's own maps and unmaps pages for most of what it is asked for, which was a fifth of a sandbox's start.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: Clearing<dlmalloc::GlobalDlmalloc> = Clearing(dlmalloc::GlobalDlmalloc);

#[cfg(not(target_env = "musl"))]
#[global_allocator]
static ALLOCATOR: Clearing<std::alloc::System> = Clearing(std::alloc::System);

fn main() -> process::ExitCode {
    // First of all: it may end at any moment, and what is asked later is somebody else.
    let parent = Parent::of_this_process();
    // Before anything is printed, and before there is another thread.
    let given_up = context::write_as_users_do();
    // Children are ended by their numbers.
    reap::keep_ended_children();
    let args: Vec<OsString> = env::args_os().collect();
    // See no-color.org; and a terminal without any capability, see term(7).
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let no_colour = is_dumb || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (ui, result) = match cli::parse::parse(&args) {
        Ok(cli) => {
            let ui = Ui::new(&cli.global, no_colour);
            let log = log::start(cli.global.verbose, env::var_os(LOG).as_deref());
            let result = log.and(given_up).and_then(|()| commands::run(&ui, parent, cli.command));
            (ui, result)
        }
        Err(error) => {
            let ui =
                Ui::new(&Global { format: cli::format_asked(&args), quiet: false, verbose: 0 }, no_colour);
            let result = given_up.and_then(|()| answer_without_command(&ui, &error, &args));
            (ui, result)
        }
    };
    let code = result.unwrap_or_else(|error| {
        ui.failure(&error);
        error.code.exit_code()
    });
    code.into()
}

/// Prints `--help` and `--version`, which are data; everything else that ends the parser is an error.
fn answer_without_command(ui: &Ui, error: &clap::Error, args: &[OsString]) -> Result<ExitCode, CommandError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ui.text(&error.render().to_string())?;
            Ok(ExitCode::Success)
        }
        _ => Err(cli::usage::error_of(error, args)),
    }
}
