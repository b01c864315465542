//! The end of a server or a session, whenever it comes and however: nothing is left behind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::client::{Client, serve};
use crate::hang_up::ended;
use crate::{everywhere, listed, native, natively, until};

/// A process: its number, and when it began, so that nobody is taken for another one.
type Process = (u32, String);

/// What has begun when, of the processes whose parent this is.
fn children(parent: u32) -> Vec<Process> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers: Vec<u32> = lists
        .flat_map(|list| list.split(' ').filter_map(|word| word.trim().parse().ok()).collect::<Vec<_>>())
        .collect();
    numbers.into_iter().filter_map(|number| Some((number, stat(number)?.1))).collect()
}

/// The state of a process, and when it began.
fn stat(number: u32) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    Some((fields[0].clone(), fields[19].clone()))
}

/// Every process beneath this one.
fn descendants(parent: u32) -> Vec<Process> {
    let mut all = children(parent);
    let mut at = 0;
    while at < all.len() {
        all.extend(children(all[at].0));
        at += 1;
    }
    all
}

fn is_there((number, began): &Process) -> bool {
    stat(*number).is_some_and(|(state, since)| since == *began && state != "Z")
}

#[test]
fn a_server_that_is_killed_leaves_no_process_and_no_sandbox() {
    for place in natively("a server of MCP that is killed") {
        let mut client = Client::new(&place, &["--allow-host", "example.org"]);
        client.does("shell", json!({ "command": "true" }));
        client.does("sandbox_create", json!({ "name": "kept", "keep": true }));
        client.does("shell_start", json!({ "command": ["sleep", "9999"] }));
        let kept = json!({ "sandbox": "kept", "command": "sleep 9998 & echo $!", "detach": true });
        client.does("shell_start", kept);
        let before = descendants(client.server.id());
        assert!(before.len() >= 4, "PID 1 and the egress proxy, twice: {before:?}");
        client.server.kill().unwrap();
        client.server.wait().unwrap();
        // What was to stay stays, and nothing else.
        until("sandboxes are left", || listed(&place).as_array().unwrap().len() == 1);
        assert_eq!(listed(&place)[0]["name"], "kept");
        assert!(crate::ours(&place, &["rm", "--force", "kept"]).status.success());
        until("processes are left", || !before.iter().any(is_there));
        let state = place.home().join(".local/state/sandboxctl/sandboxes");
        assert!(crate::ours(&place, &["prune"]).status.success());
        let left = fs::read_dir(state).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
        assert_eq!(left, 0, "the next command has removed its files");
    }
}

#[test]
fn sandboxes_that_are_kept_are_counted_over_sessions_and_servers() {
    let Some(place) = native("sandboxes that servers of MCP keep") else { return };
    for server in 0..4 {
        let mut client = Client::new(&place, &[]);
        for number in 0..8 {
            client.does("sandbox_create", json!({ "name": format!("kept-{server}-{number}"), "keep": true }));
        }
        assert!(client.leave().success());
    }
    let mut client = Client::new(&place, &[]);
    let one_more = json!({ "name": "one-more", "keep": true });
    let refusal = client.fails("sandbox_create", one_more.clone());
    assert!(refusal.contains("there are 32 persistent sandboxes"), "{refusal}");
    client.does("sandbox_create", json!({ "name": "ends-with-the-session" }));
    // One that has ended has files still.
    assert!(crate::ours(&place, &["stop", "--time", "0", "kept-0-0"]).status.success());
    client.fails("sandbox_create", one_more.clone());
    assert!(crate::ours(&place, &["prune"]).status.success());
    client.does("sandbox_create", one_more);
    assert!(client.leave().success());
    let left = listed(&place);
    let names: Vec<_> = left.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 32, "{names:?}");
    assert!(crate::ours(&place, &[&["rm", "--force"][..], &names].concat()).status.success());
}

#[test]
fn a_sandbox_ends_with_a_server_that_is_killed_whoever_carries_it_out() {
    for place in everywhere("a server of MCP that is killed, everywhere") {
        let mut client = Client::new(&place, &[]);
        client.does("shell", json!({ "command": "true" }));
        assert_eq!(listed(&place).as_array().unwrap().len(), 1);
        client.server.kill().unwrap();
        client.server.wait().unwrap();
        until("sandboxes are left", || listed(&place) == json!([]));
    }
}

#[test]
fn a_server_that_ends_while_it_makes_a_sandbox_leaves_nothing() {
    let Some(place) = native("a server of MCP that ends early") else { return };
    for delay in (0..60).step_by(4) {
        let mut client = Client::new(&place, &[]);
        client.request("tools/call", json!({ "name": "shell", "arguments": { "command": "true" } }));
        thread::sleep(Duration::from_millis(delay));
        kill_process(Pid::from_child(&client.server), Signal::TERM).unwrap();
        let status = ended(&mut client.server);
        assert!(status.success(), "after {delay} ms: {status}");
        assert_eq!(listed(&place), json!([]), "after {delay} ms");
    }
}

#[test]
fn what_has_ended_of_a_sandbox_stays_no_zombie_of_the_server() {
    let Some(place) = native("zombies of a server of MCP") else { return };
    let mut client = Client::new(&place, &["--allow-host", "example.org"]);
    client.does("sandbox_create", json!({ "name": "one" }));
    let made = children(client.server.id());
    assert!(made.len() >= 2, "PID 1 and the egress proxy: {made:?}");
    client.does("sandbox_remove", json!({ "sandbox": "one" }));
    let server = client.server.id();
    until("children are left", || children(server).is_empty());
    assert!(client.leave().success());
}

#[test]
fn the_state_directory_may_lie_elsewhere() {
    for place in natively("the state directory of MCP") {
        let state = place.write("state/none", "").parent().unwrap().to_owned();
        let mut command = serve(&place, &[]);
        command.env("XDG_STATE_HOME", &state);
        let mut client = Client::of(command);
        assert_eq!(client.does("shell", json!({ "command": "echo made" }))["stdout"], "made\n");
        assert_eq!(client.does("shell", json!({ "command": "echo again" }))["stdout"], "again\n");
        let has_sandbox = |state: &Path| {
            let sandboxes = fs::read_dir(state.join("sandboxctl/sandboxes")).into_iter().flatten().flatten();
            sandboxes.filter(|entry| entry.path().is_dir()).count()
        };
        assert_eq!(has_sandbox(&state), 1);
        assert!(client.leave().success());
        assert_eq!(has_sandbox(&state), 0);
        assert!(!place.home().join(".local/state").exists(), "nothing was made elsewhere");
    }
}
