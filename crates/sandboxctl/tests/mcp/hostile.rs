//! Files and arguments that would end the server, or keep it busy without an end.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::native;

/// How long a call takes at most here: none of these has a reason for more.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn braces_end_no_server() {
    let Some(place) = native("nested braces by MCP") else { return };
    let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
    place.write("workspace/.gitignore", &format!("{}\n{}\n*.o\n", nested(16_000), nested(400)));
    place.write("workspace/a", "found\n");
    place.write("workspace/b.o", "found\n");
    let mut client = Client::new(&place, &[]);
    for (tool, arguments) in
        [("list", json!({ "gitignore": true })), ("search", json!({ "pattern": "found", "gitignore": true }))]
    {
        let answer = client.does(tool, arguments);
        assert_eq!(answer["stopped"], "rules", "the longest line is not read: {answer:#}");
        let paths = answer.to_string();
        assert!(paths.contains("\"a\"") && !paths.contains("b.o"), "the others are obeyed: {answer:#}");
    }
    for depth in [33, 250, 1000] {
        let said = client.fails("list", json!({ "glob": nested(depth) }));
        assert!(said.contains("more than 32 opening braces"), "{said}");
    }
    assert_eq!(client.does("list", json!({ "glob": "{a,{b,c}}" }))["total"], 1);
}

#[test]
fn an_edit_of_what_is_nearly_everywhere_ends() {
    let Some(place) = native("an edit that matches everywhere by MCP") else { return };
    let text = "a".repeat(4 << 20);
    place.write("workspace/a", &text);
    let mut client = Client::new(&place, &[]);
    let began = Instant::now();
    let edit = |old: &str| json!({ "path": "a", "edits": [{ "old": old, "new": "b" }] });
    let said = client.fails("edit", edit(&text[..1 << 19]));
    assert!(said.contains("edit 1 matches at least 9 times, at lines 1, 1, "), "{said}");
    let said = client.fails("edit", edit(&(text[..1 << 19].to_owned() + "b")));
    assert!(said.contains("matches nothing"), "{said}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(fs::read_to_string(place.workspace().join("a")).unwrap(), text);
}

#[test]
fn the_search_of_a_file_that_grows_ends() {
    let Some(place) = native("a file that grows by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell_start", json!({ "command": "yes 'a line that does not match' >growing" }));
    let began = Instant::now();
    while fs::metadata(place.workspace().join("growing")).map_or(0, |metadata| metadata.len()) < 1 << 20 {
        assert!(began.elapsed() < SOON, "nobody writes");
    }
    let began = Instant::now();
    let found = client.does("search", json!({ "pattern": "nowhere" }));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!((&found["matches"], &found["too_large"]), (&json!(0), &json!(1)), "{found:#}");
    client.does("sandbox_stop", json!({ "grace_seconds": 0 }));
    fs::remove_file(place.workspace().join("growing")).unwrap();
}

#[test]
fn what_is_asked_before_is_what_the_tool_says() {
    let Some(place) = native("questions and tools by MCP") else { return };
    place.write(
        "workspace/sandbox.toml",
        "[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\", hide = [\"*.pem\"], suffixes = [\".md\"] }\n",
    );
    place.write("workspace/a.key", "");
    let mut client = Client::new(&place, &["--trust"]);
    for (tool, path) in [
        ("read", "/etc/shadow"),
        ("read", "key.pem"),
        ("read", "a.key"),
        ("read", "~/x"),
        ("write", "a.key"),
        ("write", "/usr/x"),
        ("write", ".git/config"),
        ("write", "../x"),
    ] {
        let asked = client.does("query", json!({ "ask": tool, "target": path }));
        let arguments =
            if tool == "read" { json!({ "path": path }) } else { json!({ "path": path, "content": "x" }) };
        let said = client.fails(tool, arguments);
        assert_eq!((&asked["decision"], &asked["rule"]), (&json!("deny"), &json!(said)), "{tool} {path}");
        assert!(!said.contains("[protect]"), "{said}");
    }
    let long = client.fails("read", json!({ "path": "~".repeat(6000) }));
    assert!(long.len() < 400, "{long}");
}

#[test]
fn messages_take_no_more_memory_than_a_server_has_for_them() {
    let Some(place) = native("large messages by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("write", json!({ "path": "large", "content": "{\"a\": [1, 2]},\n".repeat(200_000) }));
    assert_eq!(fs::metadata(place.workspace().join("large")).unwrap().len(), 3_000_000);
    // Others wait for their turn.
    for _ in 0..16 {
        client.request("tools/call", json!({ "name": "shell", "arguments": { "command": "sleep 999" } }));
    }
    let before = peak(client.server.id());
    let objects = vec![r#"{"a":{}}"#; 450_000].join(",");
    for _ in 0..3 {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"objects","method":"tools/call","params":{{"name":"shell","arguments":{{"command":"true","x":[{objects}]}}}}}}"#
        );
        client.write(call.as_bytes());
        client.write(b"\n");
    }
    // It is read when the three are.
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let of_objects = peak(client.server.id()) - before;
    assert!(of_objects < 64, "{of_objects} MiB more than {before}");
    for _ in 0..3 {
        let refused =
            client.wait_for("a refusal", |value| value["id"].is_null() && value.get("error").is_some());
        assert_eq!(refused["error"]["code"], -32600, "{refused:#}");
    }
    let stdin = "x".repeat(4_000_000);
    let calls: Vec<_> = (0..48)
        .map(|_| {
            let arguments = json!({ "command": "cat", "stdin": stdin });
            client.request("tools/call", json!({ "name": "shell", "arguments": arguments }))
        })
        .collect();
    let refused = client.answer(*calls.last().unwrap());
    assert_eq!(refused["error"]["code"], -32000, "{refused:#}");
    // What is small goes on.
    assert_eq!(client.does("sandbox_list", json!({}))["sandboxes"].as_array().unwrap().len(), 1);
}

/// Returns the most memory that a process has had, in MiB.
pub(crate) fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}
