//! `mcp install`: the entry of the server in the configuration of a client. What else is in the file stays as it is, comments included.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use policy::text::escape;
use sandbox::state::record::RunId;
use serde_json::json;
use similar::TextDiff;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::cli::{McpClient, McpInstallArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::{self, Ui};

/// The longest file that is taken for a configuration.
const MOST: u64 = 4 << 20;

pub(crate) fn install(ui: &Ui, context: &Context, args: &McpInstallArgs) -> Result<ExitCode, CommandError> {
    let file = match &args.file {
        Some(file) => context.absolute(file),
        None => usual(context, args.client),
    };
    let name = escape::path(&file);
    let entry = Entry::new(args)?;
    let before = read(&file).with_context(|| format!("cannot read {name}"))?;
    let old = before.as_deref().unwrap_or_default();
    let new = entry.entered(args.client, old).map_err(|reason| {
        CommandError::message(Code::ConfigInvalid, format_args!("{name} is not changed: {reason}"))
            .hint("`--print` prints what is to be entered by hand")
    })?;
    if args.print {
        let alone = entry.entered(args.client, "").map_err(|reason| anyhow!(reason))?;
        ui.data(&json!({ "file": name, "text": alone }), |_| alone.clone())?;
        return Ok(ExitCode::Success);
    }
    if new == old {
        ui.note(format_args!("{name} has it already"));
        return Ok(ExitCode::Success);
    }
    ui::print(TextDiff::from_lines(old, &new).unified_diff().header(&name, &name).to_string().trim_end());
    if !args.answers.yes {
        if args.answers.no_input || !ui::can_ask() {
            return Err(CommandError::message(
                Code::UsageInvalid,
                format_args!("{name} is not changed: nobody was asked"),
            )
            .hint("`--yes` agrees to what is shown; `--print` only prints what is to be entered"));
        }
        if !ui::confirm("Change it?")? {
            ui.note("nothing was changed");
            return Ok(ExitCode::Success);
        }
    }
    write(&file, &new).with_context(|| format!("cannot write {name}"))?;
    if context
        .variable("PATH")
        .is_none_or(|path| !std::env::split_paths(path).any(|directory| directory.join(PROGRAM).is_file()))
    {
        ui.warning(format_args!("`{PROGRAM}` is not in PATH: the client will not find it until it is"));
    }
    ui.data(&json!({ "file": name }), |_| format!("{name}\n"))?;
    Ok(ExitCode::Success)
}

/// What clients start. They find it as the user does, so that the file can be shared with others.
const PROGRAM: &str = "sandboxctl";

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

/// The entry of the server.
struct Entry {
    name: String,
    arguments: Vec<String>,
}

impl Entry {
    fn new(args: &McpInstallArgs) -> Result<Self, CommandError> {
        let mut arguments = vec!["mcp".to_owned(), "serve".to_owned()];
        for flag in &args.flags {
            let flag = flag.to_str().ok_or_else(|| {
                CommandError::message(
                    Code::UsageInvalid,
                    "a flag that is not UTF-8 cannot be entered into a configuration",
                )
            })?;
            arguments.push(flag.to_owned());
        }
        Ok(Self { name: args.name.clone(), arguments })
    }

    /// Returns a configuration with the entry in it, in place of one of the same name.
    fn entered(&self, client: McpClient, text: &str) -> Result<String, String> {
        match client {
            McpClient::ClaudeCode | McpClient::Cursor => self.in_json("mcpServers", &[], text),
            McpClient::Vscode => self.in_json("servers", &[("type", "stdio")], text),
            McpClient::Codex => self.in_toml(text),
        }
    }

    fn in_json(&self, key: &str, more: &[(&str, &str)], text: &str) -> Result<String, String> {
        let string = |text: &str| CstInputValue::String(text.to_owned());
        let start = if text.trim().is_empty() { "{\n}\n" } else { text };
        let root = CstRootNode::parse(start, &ParseOptions::default()).map_err(|error| error.to_string())?;
        let object = root.object_value_or_create().ok_or("it is no JSON object")?;
        let servers =
            object.object_value_or_create(key).ok_or_else(|| format!("`{key}` in it is no object"))?;
        let arguments = self.arguments.iter().map(|argument| string(argument)).collect();
        let mut entry: Vec<_> =
            more.iter().map(|(name, value)| ((*name).to_owned(), string(value))).collect();
        entry.push(("command".to_owned(), string(PROGRAM)));
        entry.push(("args".to_owned(), CstInputValue::Array(arguments)));
        let entry = CstInputValue::Object(entry);
        match servers.get(&self.name) {
            Some(there) => there.set_value(entry),
            None => drop(servers.append(&self.name, entry)),
        }
        Ok(root.to_string())
    }

    fn in_toml(&self, text: &str) -> Result<String, String> {
        let mut document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        // A comment at the end of the file stays before what is added.
        let is_there = document.get("mcp_servers").and_then(|servers| servers.get(&self.name)).is_some();
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        let mut added = Table::new();
        if !is_there && !trailing.trim().is_empty() {
            added.decor_mut().set_prefix(format!("{trailing}\n"));
            document.set_trailing("");
        }
        let servers = document.entry("mcp_servers").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or("`mcp_servers` in it is no table")?;
        let entry = servers.entry(&self.name).or_insert_with(|| Item::Table(added));
        let entry = entry
            .as_table_like_mut()
            .ok_or_else(|| format!("`mcp_servers.{}` in it is no table", self.name))?;
        // What else stands there, such as timeouts, stays.
        entry.insert("command", value(PROGRAM));
        entry.insert("args", value(self.arguments.iter().collect::<Array>()));
        Ok(document.to_string())
    }
}

/// Reads a configuration; `None` where there is none.
fn read(path: &Path) -> io::Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    if !metadata.is_file() || metadata.len() > MOST {
        return Err(io::Error::other("it is no regular file of a usual size"));
    }
    fs::read_to_string(path).map(Some)
}

/// Replaces a file as a whole. Where it is a link, what it leads to is replaced.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().ok_or_else(|| anyhow!("it has no directory"))?;
    fs::create_dir_all(directory)?;
    let mode = fs::metadata(&path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
    let draft = directory.join(format!(".sandboxctl-{}", RunId::generate()?.as_str()));
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).mode(mode).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { name: "sandbox".to_owned(), arguments: vec!["mcp".to_owned(), "serve".to_owned()] }
    }

    #[test]
    fn what_else_is_in_json_stays_with_its_comments() {
        let before = "// mine\n{\n  \"inputs\": [], // kept\n  \"servers\": {\n    \"other\": { \"command\": \"x\" },\n  }\n}\n";
        let after = entry().entered(McpClient::Vscode, before).unwrap();
        for kept in ["// mine", "\"inputs\": [], // kept", "\"other\": { \"command\": \"x\" }"] {
            assert!(after.contains(kept), "{after}");
        }
        assert!(after.contains("\"type\": \"stdio\""), "{after}");
        assert_eq!(
            entry().entered(McpClient::Vscode, &after).unwrap(),
            after,
            "the second time nothing changes"
        );
    }

    #[test]
    fn an_empty_file_and_none_become_one_with_the_entry() {
        let made = entry().entered(McpClient::ClaudeCode, "").unwrap();
        let made: serde_json::Value = serde_json::from_str(&made).unwrap();
        assert_eq!(
            made,
            json!({ "mcpServers": { "sandbox": { "command": "sandboxctl", "args": ["mcp", "serve"] } } })
        );
        let made = entry().entered(McpClient::Codex, "").unwrap();
        assert_eq!(made, "[mcp_servers.sandbox]\ncommand = \"sandboxctl\"\nargs = [\"mcp\", \"serve\"]\n");
    }

    #[test]
    fn what_else_is_in_toml_stays_with_its_comments() {
        let before = "# mine\nmodel = \"x\" # kept\n\n[mcp_servers.sandbox]\ncommand = \"old\"\ntool_timeout_sec = 9\n\n[other]\na = 1\n";
        let after = entry().entered(McpClient::Codex, before).unwrap();
        for kept in [
            "# mine\nmodel = \"x\" # kept\n", "tool_timeout_sec = 9", "[other]\na = 1\n",
            "command = \"sandboxctl\"",
        ] {
            assert!(after.contains(kept), "{after}");
        }
    }

    #[test]
    fn what_is_no_configuration_is_not_changed() {
        for (client, text) in [
            (McpClient::Cursor, "[]"),
            (McpClient::Cursor, "{"),
            (McpClient::Vscode, "{\"servers\": 1}"),
            (McpClient::Codex, "mcp_servers = 1"),
            (McpClient::Codex, "a ="),
        ] {
            assert!(entry().entered(client, text).is_err(), "{text}");
        }
    }
}
