//! `completions`: a completion script for a shell.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs, Format};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn completions(ui: &Ui, args: &CompletionsArgs) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sandboxctl", &mut script);
    match ui.format() {
        Format::Text => ui.raw(&script)?,
        Format::Json => ui.json(&serde_json::json!({
            "shell": args.shell.to_string(),
            "script": String::from_utf8_lossy(&script),
        }))?,
    }
    Ok(ExitCode::Success)
}
