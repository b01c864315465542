//! A client that goes in the middle: nothing is left behind.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::{PATIENCE, native};

/// Waits until the server has ended.
pub(crate) fn ended(server: &mut Child) -> ExitStatus {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = server.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < until, "the server goes on");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_client_that_goes_in_the_middle_leaves_nothing_behind() {
    let Some(place) = native("a client of MCP that goes") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell", json!({ "command": "true" }));
    client.does("shell_start", json!({ "command": ["sleep", "5555"] }));
    client.request(
        "tools/call",
        json!({ "name": "shell", "arguments": { "command": "touch /workspace/begun; sleep 5555" } }),
    );
    let begun = place.workspace().join("begun");
    let until = Instant::now() + PATIENCE;
    while !begun.exists() {
        assert!(Instant::now() < until, "the command does not begin");
        thread::sleep(Duration::from_millis(10));
    }
    assert!(client.leave().success());
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_server_that_is_asked_to_end_leaves_nothing_behind() {
    let Some(place) = native("a server of MCP that is ended") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("shell", json!({ "command": "true" }));
    client.request("tools/call", json!({ "name": "shell", "arguments": { "command": ["sleep", "5555"] } }));
    let id = rustix::process::Pid::from_child(&client.server);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(ended(&mut client.server).success());
    assert_eq!(crate::listed(&place), json!([]));
}
