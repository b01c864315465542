//! `man`: the manual pages.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use anyhow::Context as _;
use clap::CommandFactory;
use policy::text::escape;
use sandbox::host::acting::ActingAs;
use sandbox::host::make;
use serde_json::json;

use crate::cli::{Cli, Format, ManArgs};
use crate::context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn man(ui: &Ui, args: &ManArgs) -> Result<ExitCode, CommandError> {
    if let Some(directory) = &args.output_dir {
        // Under sudo, where the user behind it may write and nowhere else: they may put links there.
        let (user, working_directory) = context::caller_alone()?;
        ActingAs::user(user)
            .and_then(|_acting| {
                let reached = working_directory.path_beneath(
                    user,
                    &working_directory.path,
                    &working_directory.absolute(directory),
                )?;
                let mut command = Cli::command().disable_help_subcommand(true);
                command.build();
                write(&command, &make::directory(&reached, 0o777)?)
            })
            .with_context(|| format!("cannot write manual pages into {}", escape::path(directory)))
            .map_err(|error| context::as_user(error, user))?;
        ui.data(&json!({ "directory": directory }), |_| String::new())?;
        return Ok(ExitCode::Success);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).context("cannot write the manual page")?;
    match ui.format() {
        Format::Text => ui.raw(&page)?,
        Format::Json => ui.json(&json!({ "page": String::from_utf8_lossy(&page) }))?,
    }
    Ok(ExitCode::Success)
}

/// Writes the page of a command and those of its subcommands into a directory.
fn write(command: &clap::Command, directory: &OwnedFd) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write(subcommand, directory)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut file = make::file(directory, page.get_filename().as_ref())?;
    page.render(&mut file)?;
    file.flush()
}
