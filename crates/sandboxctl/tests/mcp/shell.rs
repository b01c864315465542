//! The tool `shell`.

use serde_json::json;

use crate::client::Client;
use crate::{everywhere, native};

#[test]
fn tools_are_listed_with_schemas_and_annotations() {
    let Some(place) = native("the tools of the MCP server") else { return };
    let mut client = Client::new(&place, &[]);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    let shell = tools.iter().find(|tool| tool["name"] == "shell").unwrap();
    assert_eq!(shell["inputSchema"]["required"], json!(["command"]));
    assert_eq!(shell["annotations"]["readOnlyHint"], false);
    assert_eq!(shell["outputSchema"]["type"], "object");
    let list = tools.iter().find(|tool| tool["name"] == "sandbox_list").unwrap();
    assert_eq!(list["annotations"]["readOnlyHint"], true);
    // Nothing was made for that.
    assert_eq!(crate::listed(&place), json!([]));
    assert!(client.leave().success());
}

#[test]
fn a_command_runs_in_the_sandbox_and_its_files_stay_there_until_the_client_goes() {
    for place in everywhere("a command by MCP") {
        let mut client = Client::new(&place, &[]);
        let done = client.does(
            "shell",
            json!({ "command": "echo out; echo err >&2; echo kept > /tmp/kept; pwd; exit 3" }),
        );
        assert_eq!(done["exit_code"], 3, "{done:#}");
        assert_eq!(done["stdout"], "out\n/workspace\n");
        assert_eq!(done["stderr"], "err\n");
        assert_eq!(done["timed_out"], false);
        assert_eq!(done["note"], json!(null));
        let again = client.does("shell", json!({
            "command": ["sh", "-c", "cat kept; echo $GIVEN; cat"], "cwd": "/tmp", "env": { "GIVEN": "given" }, "stdin": "read" }));
        assert_eq!(again["stdout"], "kept\ngiven\nread");
        assert_eq!(crate::listed(&place).as_array().unwrap().len(), 1);
        assert!(client.leave().success());
        assert_eq!(crate::listed(&place), json!([]), "nothing is left behind");
    }
}

#[test]
fn output_is_bounded_and_nothing_of_what_is_no_text_is_lost() {
    let Some(place) = native("binary output by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let binary = client.does("shell", json!({ "command": r"printf 'a\377\000b'" }));
    assert_eq!(binary["stdout"], "a\u{fffd}\u{0}b");
    assert_eq!(binary["stdout_base64"], "Yf8AYg==");
    assert_eq!(binary["stderr_base64"], json!(null));
    let long = client.does(
        "shell",
        json!({ "command": "head -c 3000000 /dev/zero | tr '\\0' x", "max_output_bytes": 10 }),
    );
    assert_eq!(
        (&long["stdout"], &long["truncated"], &long["stdout_bytes"]),
        (&json!("xxxxxxxxxx"), &json!(true), &json!(3_000_000))
    );
}

#[test]
fn a_timeout_ends_all_that_was_started_and_the_sandbox_lives_on() {
    let Some(place) = native("a timeout by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let late = client
        .does("shell", json!({ "command": "echo begun; sleep 9999 & sleep 9999", "timeout_seconds": 1 }));
    assert_eq!(
        (&late["timed_out"], &late["exit_code"], &late["stdout"]),
        (&json!(true), &json!(null), &json!("begun\n"))
    );
    let left = client.does("shell", json!({ "command": "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -c '^sleep 9999' || true" }));
    assert_eq!(left["stdout"], "0\n");
}

#[test]
fn a_note_says_what_the_policy_has_refused_and_an_ordinary_error_has_none() {
    let Some(place) = native("notes by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let denied = client.does("shell", json!({ "command": "echo x > /usr/x" }));
    let note = denied["note"].as_str().unwrap_or_else(|| panic!("{denied:#}"));
    assert!(note.contains("`/usr/x` cannot be written") && note.contains("retrying will not help"), "{note}");
    assert!(note.contains("writable: `/workspace`"), "{note}");
    assert!(!note.contains(place.workspace().to_str().unwrap()), "{note}");
    let network = client.does("shell", json!({ "command": ["python3", "-c", "import socket; socket.create_connection(('example.org', 80))"] }));
    assert!(
        network["note"].as_str().unwrap_or_default().contains("network of this sandbox is off"),
        "{network:#}"
    );
    // The control: a file that nobody may read is an ordinary error.
    let ordinary = client.does(
        "shell",
        json!({ "command": "echo x > /workspace/f; chmod 000 /workspace/f; cat /workspace/f" }),
    );
    assert!(ordinary["stderr"].as_str().unwrap().contains("Permission denied"), "{ordinary:#}");
    assert_eq!(ordinary["note"], json!(null));
}

#[test]
fn a_call_that_takes_long_says_so_and_ends_when_it_is_cancelled() {
    let Some(place) = native("cancellation by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell", json!({ "command": "true" }));
    let id = client.request("tools/call", json!({
        "name": "shell", "arguments": { "command": "sleep 7777 & sleep 7777" }, "_meta": { "progressToken": "long" } }));
    let told = client.wait_for("progress", |value| value["method"] == "notifications/progress");
    assert_eq!(told["params"]["progressToken"], "long");
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    // Everything of it ends, and there is no answer.
    let script = "for n in $(seq 400); do running=; for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f 2>/dev/null | grep -q '^sleep 7777' && running=1; \
                  done; [ $running ] || { echo gone; exit; }; sleep 0.05; done";
    let gone = client.does("shell", json!({ "command": script }));
    assert_eq!(gone["stdout"], "gone\n", "{gone:#}");
    assert!(client.seen.iter().all(|value| value["id"] != id));
}

#[test]
fn the_policy_and_the_report_can_be_read() {
    let Some(place) = native("resources by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let uris = client.ask("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(uris.as_array().unwrap().len(), 3);
    let read = |client: &mut Client, uri: &str| {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    };
    let policy: serde_json::Value = serde_json::from_str(&read(&mut client, "sandbox://policy")).unwrap();
    assert_eq!(policy["network"]["mode"], "none");
    assert_eq!(policy["shared_directories"][0]["path"], "/workspace");
    assert!(!policy.to_string().contains(place.workspace().to_str().unwrap()));
    assert!(read(&mut client, "sandbox://policy.txt").contains("retrying does not help"));
    let report: serde_json::Value = serde_json::from_str(&read(&mut client, "sandbox://report")).unwrap();
    assert!(report["layers"].as_array().is_some_and(|layers| layers.len() > 5), "{report:#}");
    let none = client.ask("resources/read", json!({ "uri": "sandbox://no" }));
    assert_eq!(none["error"]["code"], -32002);
}
