//! `config`: check, show or describe the configuration.

use policy::Policy;
use policy::config::overrides::Overrides;
use policy::config::problem::ProblemCode;
use policy::config::reference;
use policy::rules::verdict::Origin;
use policy::text::json_bytes::JsonBytes;
use serde_json::json;

use crate::cli::ConfigCommand;
use crate::consent;
use crate::context::Context;
use crate::directories::{self, Directories};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::facts;
use crate::files;
use crate::load;
use crate::ui::Ui;

pub(crate) fn config(ui: &Ui, context: &Context, command: &ConfigCommand) -> Result<ExitCode, CommandError> {
    match command {
        ConfigCommand::Validate { file } => {
            let file = files::required(context, file.as_deref())?;
            let settings = load::settings(context, Some(&file), &Overrides::default())?;
            let policy = load::policy(context, &settings)?;
            refuse_what_no_trust_allows(context, &policy)?;
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

/// Refuses what a rule forbids on this host, whoever trusts the file. That something is missing is no mistake: it may come to be.
fn refuse_what_no_trust_allows(context: &Context, policy: &Policy) -> Result<(), CommandError> {
    let programs = context.programs(directories::around(context));
    let facts = facts::gather(context, policy, &mut Directories::default(), &programs, String::new());
    let mut problems = policy.plan(&facts).err().unwrap_or_default();
    problems.retain(|problem| problem.code == ProblemCode::Refused);
    if problems.is_empty() { Ok(()) } else { Err(CommandError::problems(problems)) }
}
