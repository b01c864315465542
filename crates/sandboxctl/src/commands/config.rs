//! `config`: check, show or describe the configuration.

use policy::config::overrides::Overrides;
use policy::config::reference;
use policy::rules::verdict::Origin;
use policy::text::json_bytes::JsonBytes;
use serde_json::json;

use crate::cli::ConfigCommand;
use crate::consent;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::files;
use crate::load;
use crate::ui::Ui;

pub(crate) fn config(ui: &Ui, context: &Context, command: &ConfigCommand) -> Result<ExitCode, CommandError> {
    match command {
        ConfigCommand::Validate { file } => {
            let file = files::required(context, file.as_deref())?;
            let settings = load::settings(context, Some(&file), &Overrides::default())?;
            load::policy(context, &settings)?;
            let widenings = &settings.needed();
            ui.data(&json!({ "file": JsonBytes::from(file.candidate.path.as_path()), "valid": true, "widens": widenings }), |_| {
                let trust = if widenings.is_empty() {
                    "needs no trust".to_owned()
                } else {
                    format!(
                        "needs trust, because it widens what a sandbox may do:\n{}",
                        consent::list(widenings.iter().copied())
                    )
                };
                format!("{} is valid and {trust}\n", file.label)
            })?;
        }
        ConfigCommand::Show { origin, source } => {
            let file = files::project(context, source.config.as_deref())?;
            let settings = load::settings(context, file.as_ref(), &Overrides::default())?;
            let rows = settings.effective.rows();
            ui.data(&json!({ "file": file.as_ref().map(|file| JsonBytes::from(file.candidate.path.as_path())), "settings": rows }), |_| {
                let origin = |from: &Origin| if *origin { format!("  # {from}") } else { String::new() };
                rows.iter()
                    .map(|row| format!("{} = {}{}\n", row.key, row.value, origin(&row.origin)))
                    .collect::<Vec<_>>()
                    .concat()
            })?;
        }
        // The schema is JSON whoever asks.
        ConfigCommand::Schema => ui.raw(reference::json_schema().as_bytes())?,
    }
    Ok(ExitCode::Success)
}
