//! `man`: the manual pages.

use std::fs;

use anyhow::Context as _;
use clap::CommandFactory;
use policy::text::escape;
use sandbox::host::acting::ActingAs;
use serde_json::json;

use crate::cli::{Cli, Format, ManArgs};
use crate::context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn man(ui: &Ui, args: &ManArgs) -> Result<ExitCode, CommandError> {
    if let Some(directory) = &args.output_dir {
        // Under sudo, where the user behind it may write and nowhere else: they may put links there.
        let user = context::caller_alone()?;
        ActingAs::user(user)
            .and_then(|_acting| {
                fs::create_dir_all(directory)?;
                clap_mangen::generate_to(Cli::command(), directory)
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
