//! The entry of the server, in the forms of the clients. What else is in a configuration stays as it is, comments included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::cli::{McpClient, McpInstallArgs};
use crate::error::{Code, CommandError};

/// What clients start. They find it as the user does, so that the file can be shared with others.
pub(super) const PROGRAM: &str = "sandboxctl";

/// The longest name of a server.
const LONGEST_NAME: usize = 64;

/// The key of a server that is reached by an address, and not started.
const ADDRESS: &str = "url";

/// The entry of the server.
pub(super) struct Entry {
    name: String,
    arguments: Vec<String>,
}

impl Entry {
    /// Makes the entry that was asked for.
    pub(super) fn new(args: &McpInstallArgs) -> Result<Self, CommandError> {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if !(1..=LONGEST_NAME).contains(&args.name.len()) || !args.name.chars().all(is_allowed) {
            let message = format!("--name {:?}: no client takes this as the name of a server", args.name);
            let hint = format!("a name has from 1 to {LONGEST_NAME} ASCII letters, digits, `-` and `_`");
            return Err(CommandError::message(Code::UsageInvalid, message).hint(hint));
        }
        let mut arguments = vec!["mcp".to_owned(), "serve".to_owned()];
        for flag in &args.flags {
            let flag = flag.to_str().ok_or_else(|| {
                CommandError::message(
                    Code::UsageInvalid,
                    "a flag that is not UTF-8 cannot be added to a configuration",
                )
            })?;
            arguments.push(flag.to_owned());
        }
        Ok(Self { name: args.name.clone(), arguments })
    }

    /// Returns a configuration with the entry in it. One of the same name gets its command and arguments, and keeps what else it has.
    pub(super) fn added(&self, client: McpClient, text: &str) -> Result<String, String> {
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
        refuse_repeated(&object, key)?;
        let servers =
            object.object_value_or_create(key).ok_or_else(|| format!("`{key}` in it is no object"))?;
        refuse_repeated(&servers, &self.name)?;
        let arguments = self.arguments.iter().map(|argument| string(argument)).collect();
        let mut fields: Vec<_> = more.iter().map(|(name, value)| (*name, string(value))).collect();
        fields.push(("command", string(PROGRAM)));
        fields.push(("args", CstInputValue::Array(arguments)));
        let Some(there) = servers.get(&self.name) else {
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            servers.append(&self.name, CstInputValue::Object(fields));
            return Ok(root.to_string());
        };
        let there =
            there.object_value().ok_or_else(|| format!("`{key}.{}` in it is no object", self.name))?;
        if there.get(ADDRESS).is_some() {
            return Err(self.has_address());
        }
        for (name, value) in fields {
            refuse_repeated(&there, name)?;
            match there.get(name) {
                Some(field) => field.set_value(value),
                None => drop(there.append(name, value)),
            }
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
        if entry.contains_key(ADDRESS) {
            return Err(self.has_address());
        }
        entry.insert("command", value(PROGRAM));
        entry.insert("args", value(self.arguments.iter().collect::<Array>()));
        Ok(document.to_string())
    }

    fn has_address(&self) -> String {
        format!(
            "the server `{}` in it has a `{ADDRESS}`, so it is another one: choose another `--name`",
            self.name
        )
    }
}

/// Refuses an object that has a name twice: one client takes the first, and another one the last.
fn refuse_repeated(object: &CstObject, name: &str) -> Result<(), String> {
    let is_named = |decoded: Option<String>| decoded.as_deref() == Some(name);
    let named = object.properties().into_iter().filter_map(|property| property.name());
    let count = named.filter(|found| is_named(found.decoded_value().ok())).count();
    if count > 1 { Err(format!("`{name}` stands in it {count} times: leave one")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        Entry { name: "sandbox".to_owned(), arguments: vec!["mcp".to_owned(), "serve".to_owned()] }
    }

    #[test]
    fn what_else_is_in_json_stays_with_its_comments() {
        let before = "// mine\n{\n  \"inputs\": [], // kept\n  \"servers\": {\n    \"other\": { \"command\": \"x\" },\n  }\n}\n";
        let after = entry().added(McpClient::Vscode, before).unwrap();
        for kept in ["// mine", "\"inputs\": [], // kept", "\"other\": { \"command\": \"x\" }"] {
            assert!(after.contains(kept), "{after}");
        }
        assert!(after.contains("\"type\": \"stdio\""), "{after}");
        assert_eq!(
            entry().added(McpClient::Vscode, &after).unwrap(),
            after,
            "the second time nothing changes"
        );
    }

    #[test]
    fn an_empty_file_and_none_become_one_with_the_entry() {
        let made = entry().added(McpClient::ClaudeCode, "").unwrap();
        let made: serde_json::Value = serde_json::from_str(&made).unwrap();
        assert_eq!(
            made,
            json!({ "mcpServers": { "sandbox": { "command": "sandboxctl", "args": ["mcp", "serve"] } } })
        );
        let made = entry().added(McpClient::Codex, "").unwrap();
        assert_eq!(made, "[mcp_servers.sandbox]\ncommand = \"sandboxctl\"\nargs = [\"mcp\", \"serve\"]\n");
    }

    #[test]
    fn what_else_is_in_toml_stays_with_its_comments() {
        let before = "# mine\nmodel = \"x\" # kept\n\n[mcp_servers.sandbox]\ncommand = \"old\"\ntool_timeout_sec = 9\n\n[other]\na = 1\n";
        let after = entry().added(McpClient::Codex, before).unwrap();
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
            assert!(entry().added(client, text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_entry_of_the_same_name_keeps_what_else_it_has() {
        let before = "{ \"mcpServers\": { \"sandbox\": { \"command\": \"old\", \"env\": { \"A\": \"b\" } /* mine */ } } }\n";
        let after = entry().added(McpClient::Cursor, before).unwrap();
        assert!(after.contains("\"env\": { \"A\": \"b\" }") && after.contains("/* mine */"), "{after}");
        assert!(after.contains("\"sandboxctl\"") && !after.contains("old"), "{after}");
    }

    #[test]
    fn what_clients_read_differently_is_not_changed() {
        for (client, text) in [
            (McpClient::Cursor, "{\"mcpServers\": {}, \"mcpServers\": {}}"),
            (McpClient::Cursor, "{\"mcpServers\": {\"sandbox\": {}, \"s\\u0061ndbox\": {}}}"),
            (McpClient::Cursor, "{\"mcpServers\": {\"sandbox\": {\"args\": [], \"args\": []}}}"),
            (McpClient::Cursor, "{\"mcpServers\": {\"sandbox\": {\"url\": \"http://localhost\"}}}"),
            (McpClient::Codex, "[mcp_servers.sandbox]\nurl = \"http://localhost\"\n"),
        ] {
            assert!(entry().added(client, text).is_err(), "{text}");
        }
    }
}
