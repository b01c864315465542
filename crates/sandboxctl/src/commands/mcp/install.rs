//! `mcp install`: the entry of the server in the configuration of a client.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow};
use policy::text::escape;
use serde_json::json;
use similar::TextDiff;

use self::entry::{Entry, PROGRAM};
use self::file::ConfigurationFile;
use crate::cli::{McpClient, McpInstallArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::{self, Ui};

mod entry;
mod file;

pub(crate) fn install(ui: &Ui, context: &Context, args: &McpInstallArgs) -> Result<ExitCode, CommandError> {
    let given = match &args.file {
        Some(file) => context.absolute(file),
        None => usual(context, args.client),
    };
    let entry = Entry::new(args)?;
    if args.print {
        // Whatever is in the file, and whether it can be read.
        let alone = entry.added(args.client, "").map_err(|reason| anyhow!(reason))?;
        ui.data(&json!({ "file": escape::path(&given), "text": alone }), |_| alone.clone())?;
        return Ok(ExitCode::Success);
    }
    let file = context.path_to(&given).and_then(|path| ConfigurationFile::read(&path));
    let file = file.with_context(|| format!("cannot read {}", escape::path(&given)))?;
    refuse_outside(context, &given, file.path())?;
    // Where a link leads to is what changes.
    let name = escape::path(file.path());
    let new = entry.added(args.client, file.text()).map_err(|reason| {
        CommandError::message(Code::ConfigInvalid, format_args!("{name} is not changed: {reason}"))
            .hint("`--print` prints what is to be added by hand")
    })?;
    if new == file.text() {
        ui.note(format_args!("{name} has it already"));
        return Ok(ExitCode::Success);
    }
    let diff = TextDiff::from_lines(file.text(), &new).unified_diff().header(&name, &name).to_string();
    ui::print(diff.trim_end());
    if !args.answers.yes {
        if args.answers.no_input || !ui::can_ask() {
            return Err(CommandError::message(
                Code::UsageInvalid,
                format_args!("{name} is not changed: nobody was asked"),
            )
            .hint("`--yes` agrees to what is shown; `--print` only prints what is to be added"));
        }
        if !ui::confirm("Change it?")? {
            ui.note("nothing was changed");
            return Ok(ExitCode::Success);
        }
    }
    file.replace(&new).with_context(|| format!("cannot write {name}"))?;
    if context
        .variable("PATH")
        .is_none_or(|path| !std::env::split_paths(path).any(|directory| directory.join(PROGRAM).is_file()))
    {
        ui.warning(format_args!("`{PROGRAM}` is not in PATH: the client will not find it until it is"));
    }
    ui.data(&json!({ "file": name }), |_| format!("{name}\n"))?;
    Ok(ExitCode::Success)
}

/// Refuses what a link in the working directory has led out of it: whoever may write there, as an agent may, chooses where that is.
fn refuse_outside(context: &Context, given: &Path, found: &Path) -> Result<(), CommandError> {
    let is_within =
        given.starts_with(&context.cwd) && !given.components().any(|part| part == Component::ParentDir);
    if !is_within || found.starts_with(&context.cwd) {
        return Ok(());
    }
    let (given, found) = (escape::path(given), escape::path(found));
    let message = format!("{given} is not changed: a link leads out of the working directory, to {found}");
    Err(CommandError::message(Code::PolicyDenied, message)
        .hint(format!("if the link is yours, name what it leads to: `--file {found}`")))
}

/// Returns where a client keeps its configuration.
fn usual(context: &Context, client: McpClient) -> PathBuf {
    let codex = || context.variable("CODEX_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    match client {
        // https://code.claude.com/docs/en/mcp, "Project scope".
        McpClient::ClaudeCode => context.cwd.join(".mcp.json"),
        // https://developers.openai.com/codex/mcp: `config.toml` of CODEX_HOME, which is `~/.codex` without the variable.
        McpClient::Codex => codex().unwrap_or_else(|| context.home.join(".codex")).join("config.toml"),
        // https://cursor.com/docs/mcp, "Configuration locations".
        McpClient::Cursor => context.cwd.join(".cursor/mcp.json"),
        // https://code.visualstudio.com/docs/copilot/customization/mcp-servers: the key is `servers`, and comments may be there.
        McpClient::Vscode => context.cwd.join(".vscode/mcp.json"),
    }
}
