//! `agent`: the profiles of published agents.

use policy::agents::{AgentProfile, Handling, PROFILES, ProfileContext};
use policy::config::overrides::Overrides;
use serde_json::{Value, json};

use crate::agents;
use crate::cli::AgentCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

pub(crate) fn agent(ui: &Ui, context: &Context, command: &AgentCommand) -> Result<ExitCode, CommandError> {
    let settings = load::settings(context, None, &Overrides::default())?.effective;
    match command {
        AgentCommand::Ls => {
            let all = PROFILES.iter().map(|one| (*one, agents::gather(context, one, &settings)));
            let all: Vec<_> = all.collect();
            let objects: Vec<_> = all.iter().map(|(profile, context)| object(profile, context)).collect();
            ui.data(&json!({ "agents": objects }), |_| table(&all))?;
        }
        AgentCommand::Show { profile } => {
            let here = agents::gather(context, profile.0, &settings);
            ui.data(&object(profile.0, &here), |_| text(profile.0, &here))?;
        }
    }
    Ok(ExitCode::Success)
}

/// Formats all profiles as aligned columns.
fn table(all: &[(&'static AgentProfile, ProfileContext)]) -> String {
    let head = format!("{:<12}  {:<9}  CREDENTIAL\n", "NAME", "PROGRAM");
    all.iter().fold(head, |text, (profile, context)| {
        text + &format!("{:<12}  {:<9}  {}\n", profile.name, profile.program, credential(profile, context))
    })
}

/// Says which credential the agent gets, and how.
fn credential(profile: &'static AgentProfile, context: &ProfileContext) -> String {
    let Some(found) = profile.credential(context) else {
        let names: Vec<_> = profile.credentials.iter().map(|one| one.variable).collect();
        return format!("none ({} is not set): the agent logs in inside", names.join(" or "));
    };
    match found.handling {
        Handling::Proxy(_) | Handling::Intercepted { .. } => {
            format!("{}, which never enters", found.variable)
        }
        Handling::Inject => format!("{}, which the agent sees", found.variable),
    }
}

/// Formats a profile: what it stands for as a `sandbox.toml`, and what is known beside that.
fn text(profile: &'static AgentProfile, context: &ProfileContext) -> String {
    let sources: Vec<_> =
        profile.sources.iter().map(|source| format!("#   {} ({})\n", source.url, source.date)).collect();
    format!(
        "# {}: `sandboxctl run --agent {}`\n# credential: {}\n# stays in its home directory: {}\n# its own sandbox: {}\n# in \
         an image: {}\n# sources:\n{}\n{}",
        profile.title,
        profile.name,
        credential(profile, context),
        profile.writes.join(", "),
        profile.own_sandbox,
        profile.install,
        sources.concat(),
        profile.settings(context)
    )
}

fn object(profile: &'static AgentProfile, context: &ProfileContext) -> Value {
    let sources: Vec<_> =
        profile.sources.iter().map(|source| json!({ "url": source.url, "date": source.date })).collect();
    json!({
        "name": profile.name,
        "title": profile.title,
        "program": profile.program,
        "command": profile.command(context),
        "credential": profile.credential(context).map(|credential| credential.variable),
        "credentials": profile.credentials.iter().map(|credential| credential.variable).collect::<Vec<_>>(),
        "writes": profile.writes,
        "own_sandbox": profile.own_sandbox,
        "install": profile.install,
        "settings": profile.settings(context),
        "sources": sources,
    })
}
