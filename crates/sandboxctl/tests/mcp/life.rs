//! The tools for the life of sandboxes.

use std::fs;

use serde_json::json;

use crate::client::Client;
use crate::{native, ours};

#[test]
fn sandboxes_are_made_used_stopped_and_removed_and_those_of_others_are_none_of_it() {
    let Some(place) = native("sandboxes by MCP") else { return };
    assert!(ours(&place, &["create", "--name", "foreign"]).status.success());
    let mut client = Client::new(&place, &[]);
    let made = client.does("sandbox_create", json!({ "name": "second" }));
    assert_eq!(
        (&made["name"], &made["provider"], &made["kept"]),
        (&json!("second"), &json!("native"), &json!(false))
    );
    client.does("shell", json!({ "command": "echo one > /tmp/f" }));
    client.does("shell", json!({ "command": "echo two > /tmp/f", "sandbox": "second" }));
    assert_eq!(client.does("shell", json!({ "command": "cat /tmp/f" }))["stdout"], "one\n");
    let all = client.does("sandbox_list", json!({}))["sandboxes"].clone();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all:#}");
    assert!(!all.to_string().contains("foreign"));
    for tool in ["shell", "sandbox_stop", "sandbox_remove", "sandbox_inspect"] {
        let mut arguments = json!({ "sandbox": "foreign" });
        if tool == "shell" {
            arguments["command"] = json!("true");
        }
        assert!(
            client.fails(tool, arguments).contains("there is no sandbox \"foreign\" of this session"),
            "{tool}"
        );
    }
    let seen = client.does("sandbox_inspect", json!({ "sandbox": "second" }));
    assert_eq!(seen["policy"]["working_directory"], "/workspace");
    client.does("sandbox_stop", json!({ "sandbox": "second", "grace_seconds": 0 }));
    client.does("sandbox_remove", json!({ "sandbox": "second" }));
    assert!(client.fails("sandbox_create", json!({ "name": "-bad" })).contains("is no name for a sandbox"));
    assert!(
        client
            .fails("sandbox_create", json!({ "name": "foreign" }))
            .contains("there is a sandbox named \"foreign\" already")
    );
    // The default one is made again, and that is said.
    client.does("sandbox_stop", json!({}));
    let again = client.does("shell", json!({ "command": "cat /tmp/f" }));
    assert_eq!(again["exit_code"], 1);
    assert!(again["notice"].as_str().unwrap().contains("made again"), "{again:#}");
    client.does("sandbox_create", json!({ "name": "kept", "keep": true }));
    assert!(client.leave().success());
    let left: Vec<_> =
        crate::listed(&place).as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(left, ["foreign", "kept"]);
    assert!(ours(&place, &["rm", "--force", "foreign", "kept"]).status.success());
}

/// Nobody watches what a session hides, so it is looked at before each call.
#[test]
fn what_was_hidden_and_is_replaced_is_shown_to_no_call() {
    let Some(place) = native("replaced hidden files by MCP") else { return };
    place.write("workspace/.env", "KEY=1\n");
    let mut client = Client::new(&place, &["--hide", ".env"]);
    let read = json!({ "command": "cat .env; echo done" });
    assert_eq!(client.does("shell", read.clone())["stdout"], "done\n");
    client.does("list", json!({}));
    place.write("workspace/saved", "KEY=new\n");
    fs::rename(place.workspace().join("saved"), place.workspace().join(".env")).unwrap();
    let files = json!({ "pattern": "KEY" });
    for (tool, arguments) in
        [("shell", read.clone()), ("shell_start", read.clone()), ("list", json!({})), ("search", files)]
    {
        let said = client.fails(tool, arguments);
        assert!(said.contains("does not hide /workspace/.env any more"), "{tool}: {said}");
        assert!(said.contains("`sandbox_stop`"), "{tool}: {said}");
        assert!(!said.contains(place.path("").to_str().unwrap()), "a path of the host, {tool}: {said}");
    }
    client.does("sandbox_stop", json!({}));
    let again = client.does("shell", read);
    assert_eq!(again["stdout"], "done\n", "{again:#}");
    assert!(client.leave().success());
}
