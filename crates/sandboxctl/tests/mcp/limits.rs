//! Limits that hold whatever comes at once, and numbers that are out of range.

use serde_json::json;

use crate::client::Client;
use crate::native;

/// Calls a tool so many times at once, and returns how many did what was asked; the others say why not.
fn at_once(client: &mut Client, tool: &str, arguments: serde_json::Value, times: usize, says: &str) -> usize {
    let calls: Vec<_> = (0..times)
        .map(|_| client.request("tools/call", json!({ "name": tool, "arguments": arguments })))
        .collect();
    let mut done = 0;
    for call in calls {
        let result = client.answer(call)["result"].clone();
        if result["isError"] == false {
            done += 1;
        } else {
            assert!(result["content"][0]["text"].as_str().unwrap().contains(says), "{result:#}");
        }
    }
    done
}

#[test]
fn as_many_sandboxes_and_jobs_as_there_may_be_are_made_and_not_one_more() {
    let Some(place) = native("limits of MCP") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell", json!({ "command": "true" }));
    assert_eq!(
        at_once(&mut client, "shell_start", json!({ "command": ["sleep", "9999"] }), 48, "32 jobs"),
        32
    );
    assert_eq!(at_once(&mut client, "sandbox_create", json!({}), 16, "8 sandboxes"), 7);
    assert!(client.leave().success());
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_number_that_is_out_of_range_is_an_error_and_not_another_number() {
    let Some(place) = native("numbers of MCP") else { return };
    let mut client = Client::new(&place, &[]);
    for (tool, arguments, says) in [
        (
            "shell",
            json!({ "command": "true", "timeout_seconds": 0 }),
            "`timeout_seconds` is 0, and has to be from 1 to 86400",
        ),
        (
            "shell",
            json!({ "command": "true", "max_output_bytes": 2_000_000 }),
            "`max_output_bytes` is 2000000",
        ),
        ("shell_start", json!({ "command": "true", "timeout_seconds": 0 }), "`timeout_seconds` is 0"),
        (
            "shell_poll",
            json!({ "job": 1, "wait_seconds": 61 }),
            "`wait_seconds` is 61, and has to be from 0 to 60",
        ),
        (
            "shell_poll",
            json!({ "job": 1, "max_output_bytes": 3 }),
            "`max_output_bytes` is 3, and has to be from 4",
        ),
        ("sandbox_stop", json!({ "grace_seconds": 61 }), "`grace_seconds` is 61"),
    ] {
        let said = client.fails(tool, arguments.clone());
        assert!(said.contains(says), "{tool} {arguments}: {said}");
    }
    assert_eq!(crate::listed(&place), json!([]), "no sandbox was made for them");
}

#[test]
fn two_servers_with_one_name_have_a_sandbox_each() {
    let Some(place) = native("one name for two servers of MCP") else { return };
    let mut first = Client::new(&place, &["--name", "twin"]);
    let mut second = Client::new(&place, &["--name", "twin"]);
    first.does("shell", json!({ "command": "echo first > /tmp/f" }));
    let done = second.does("shell", json!({ "command": "cat /tmp/f" }));
    assert_eq!(done["exit_code"], 1, "{done:#}");
    assert!(done["notice"].as_str().unwrap().contains("another sandbox has the name \"twin\""), "{done:#}");
    let done = second.does("shell", json!({ "command": "true" }));
    assert_eq!(done["notice"], json!(null), "{done:#}");
    assert!(second.leave().success());
    let names: Vec<_> =
        crate::listed(&place).as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["twin"]);
    assert!(first.leave().success());
}
