//! `mcp install`.

use std::fs;

use crate::{native, ours};

#[test]
fn the_change_is_shown_and_nothing_is_written_unless_somebody_agrees() {
    let Some(place) = native("entering the MCP server") else { return };
    let file = place.workspace().join(".mcp.json");
    let refused = ours(&place, &["mcp", "install", "--client", "claude-code"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("+    \"sandbox\""), "{refused:?}");
    assert!(!file.exists());
    let printed = ours(&place, &["mcp", "install", "--client", "claude-code", "--print"]);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("\"mcpServers\""));
    assert!(!file.exists());
    let made = ours(&place, &["mcp", "install", "--client", "claude-code", "-y", "--", "--network", "none"]);
    assert!(made.status.success(), "{made:?}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"--network\""), "{text}");
    let again = ours(&place, &["mcp", "install", "--client", "claude-code", "-y", "--", "--network", "none"]);
    assert!(again.status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    place.write("home/.codex/config.toml", "# mine\n");
    assert!(ours(&place, &["mcp", "install", "--client", "codex", "-y"]).status.success());
    let text = fs::read_to_string(place.home().join(".codex/config.toml")).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("[mcp_servers.sandbox]"), "{text}");
}
