//! What no client should send.

use serde_json::json;

use crate::client::{Client, serve};
use crate::native;

#[test]
fn wrong_messages_have_errors_and_the_server_goes_on() {
    let Some(place) = native("wrong messages by MCP") else { return };
    let mut client = Client::uninitialized(serve(&place, &[]));
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32600);
    drop(client);
    let mut client = Client::new(&place, &[]);
    let code = |client: &mut Client, line: &[u8]| {
        client.write(line);
        client.write(b"\n");
        client.wait_for("an error", |value| value["id"].is_null() && value.get("error").is_some())["error"]["code"].clone()
    };
    assert_eq!(code(&mut client, b"no JSON"), -32700);
    assert_eq!(code(&mut client, b"\xff\xfe\x00"), -32700);
    assert_eq!(code(&mut client, b"[1,2]"), -32600);
    assert_eq!(code(&mut client, &vec![b'x'; 5 << 20]), -32600);
    assert_eq!(client.ask("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(client.ask("tools/call", json!({ "name": "no_such_tool" }))["error"]["code"], -32602);
    assert_eq!(client.ask("tools/call", json!({ "name": 5 }))["error"]["code"], -32602);
    assert_eq!(
        client.ask("tools/call", json!({ "name": "shell", "arguments": [] }))["error"]["code"],
        -32602
    );
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn wrong_arguments_are_said_in_words() {
    let Some(place) = native("wrong arguments by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    for (arguments, says) in [
        (json!({}), "command"),
        (json!({ "command": 5 }), "wrong arguments"),
        (json!({ "command": "" }), "`command` is empty"),
        (json!({ "command": [] }), "`command` is empty"),
        (json!({ "command": "a\u{0}b" }), "NUL"),
        (json!({ "command": "true", "unknown": 1 }), "unknown field `unknown`"),
        (json!({ "command": "true", "timeout_seconds": -1 }), "wrong arguments"),
        (json!({ "command": "true", "cwd": "/a/../b" }), "`..`"),
        (json!({ "command": "true", "env": { "A=B": "c" } }), "no name for a variable"),
        (json!({ "command": "true", "sandbox": "none" }), "there is no sandbox"),
    ] {
        let said = client.fails("shell", arguments.clone());
        assert!(said.contains(says), "{arguments}: {said}");
    }
    assert_eq!(client.does("shell", json!({ "command": "true" }))["exit_code"], 0);
}

#[test]
fn ten_thousand_calls_at_once_are_served_or_refused() {
    let Some(place) = native("ten thousand calls by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell", json!({ "command": "true" }));
    let mut input = client.input.take().unwrap();
    // Whoever sends more than is read has to read meanwhile.
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        for id in 100_000..110_000 {
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "shell", "arguments": { "command": ["true"] } } });
            writeln!(input, "{call}").unwrap();
        }
        input
    });
    let (mut served, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let answer =
            client.wait_for("an answer", |value| value["id"].as_i64().is_some_and(|id| id >= 100_000));
        match (answer.get("error"), &answer["result"]["isError"]) {
            (Some(error), _) if error["message"].as_str().unwrap().starts_with("busy") => refused += 1,
            (None, serde_json::Value::Bool(true))
                if answer["result"]["content"][0]["text"].as_str().unwrap().starts_with("busy") =>
            {
                refused += 1;
            }
            (None, serde_json::Value::Bool(false)) => served += 1,
            _ => panic!("{answer:#}"),
        }
    }
    assert!(served >= 16, "{served} served, {refused} refused");
    client.input = Some(writer.join().unwrap());
    assert_eq!(client.does("shell", json!({ "command": "echo on" }))["stdout"], "on\n");
}
