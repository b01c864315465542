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

#[test]
fn a_file_that_cannot_be_changed_says_why_and_what_to_add_is_printed_all_the_same() {
    let Some(place) = native("a broken configuration of an MCP client") else { return };
    place.write("workspace/.mcp.json", "{ broken");
    let install =
        |words: &[&str]| ours(&place, &[&["mcp", "install", "--client", "claude-code"], words].concat());
    let refused = install(&["-y"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not changed"), "{refused:?}");
    let printed = install(&["--print"]);
    assert!(printed.status.success(), "{printed:?}");
    assert!(String::from_utf8_lossy(&printed.stdout).contains("\"mcpServers\""), "{printed:?}");
    for name in ["", "two words", "a.b"] {
        let refused = install(&["--print", "--name", name]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--name"), "{refused:?}");
    }
}

#[test]
fn the_file_that_a_link_leads_to_is_named_and_changed_and_keeps_its_form() {
    let Some(place) = native("a linked configuration of an MCP client") else { return };
    let content = "\u{feff}{\r\n  \"mcpServers\": {}\r\n}\r\n";
    let real = place.write("workspace/config/real.json", content);
    std::os::unix::fs::symlink("config/real.json", place.workspace().join(".mcp.json")).unwrap();
    let made = ours(&place, &["mcp", "install", "--client", "claude-code", "-y"]);
    assert!(made.status.success(), "{made:?}");
    assert!(String::from_utf8_lossy(&made.stderr).contains("config/real.json"), "{made:?}");
    let text = fs::read_to_string(&real).unwrap();
    assert!(text.starts_with('\u{feff}') && text.contains("\"sandboxctl\""), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    assert!(fs::symlink_metadata(place.workspace().join(".mcp.json")).unwrap().is_symlink());
}

#[test]
fn a_link_that_leads_out_of_the_project_is_not_followed_and_named_by_hand_its_file_is_changed() {
    let Some(place) = native("a configuration of an MCP client that leads out") else { return };
    let real = place.write("home/.cursor/mcp.json", "{\"mcpServers\": {}}\n");
    std::os::unix::fs::symlink("../home/.cursor", place.workspace().join(".cursor")).unwrap();
    let install =
        |words: &[&str]| ours(&place, &[&["mcp", "install", "--client", "cursor", "-y"], words].concat());
    let there = place.workspace().join(".cursor/mcp.json");
    for words in [&[][..], &["--file", ".cursor/mcp.json"], &["--file", there.to_str().unwrap()]] {
        let refused = install(words);
        assert!(!refused.status.success(), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(
            said.contains("out of the working directory") && said.contains("home/.cursor/mcp.json"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&real).unwrap(), "{\"mcpServers\": {}}\n");
    }
    let made = install(&["--file", real.to_str().unwrap()]);
    assert!(made.status.success(), "{made:?}");
    assert!(fs::read_to_string(&real).unwrap().contains("\"sandboxctl\""));
}
