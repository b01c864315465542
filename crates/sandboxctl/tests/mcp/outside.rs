//! What a sandbox has of the host: hosts by the network, secrets of its egress proxy, a home directory; and what it leaves there.

use std::fs;

use serde_json::json;

use crate::client::{Client, serve};
use crate::internet::{Internet, SERVER};
use crate::machine::{Feature, is_there};
use crate::place::Place;
use crate::{native, natively};

/// The real credential, which must not be seen.
const VALUE: &str = "sk-the-real-one-77ab";

/// A command that speaks to the egress proxy as a program would.
fn request(what: &str) -> [String; 3] {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/61080; printf '{what} HTTP/1.1\\r\\nHost: x\\r\\nx-api-key: %s\\r\\nConnection: close\\r\\n\\r\\n' \"$MODEL_KEY\" >&3; \
         timeout 10 cat <&3"
    );
    ["bash".to_owned(), "-c".to_owned(), script]
}

#[test]
fn a_tool_reaches_the_hosts_that_are_allowed_and_no_other_and_sees_no_secret_of_the_proxy() {
    let test = "the network of MCP";
    if !is_there(Feature::Root, test) {
        return;
    }
    for place in natively(test) {
        let settings = format!(
            "[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"http://{SERVER}:8080/api\"\nheader = \"x-api-key\"\n\
             url_var = \"MODEL_URL\"\nenv_var = \"MODEL_KEY\"\nsource = \"env:REAL_KEY\"\n"
        );
        place.write("home/.config/sandboxctl/sandbox.toml", &settings);
        let internet = Internet::of(&place);
        let mut command = serve(&place, &["--allow-host", "up.example.org:8080"]);
        command.env("REAL_KEY", VALUE);
        let mut client = Client::of(internet.command(&command));
        let page = client.does("shell", json!({ "command": request("GET http://up.example.org:8080/page") }));
        assert!(page["stdout"].as_str().unwrap().contains("served GET /page"), "{page:#}");
        let refused =
            client.does("shell", json!({ "command": request("GET http://other.example.org:8080/page") }));
        assert!(!refused["stdout"].as_str().unwrap().contains("served"), "{refused:#}");
        let model = client.does("shell", json!({ "command": request("GET /model/echo") }));
        assert!(model["stdout"].as_str().unwrap().contains("served GET /api/echo"), "{model:#}");
        let seen = client.does(
            "shell",
            json!({ "command": "env; tr '\\0' '\\n' < /proc/1/environ; cat /proc/[0-9]*/cmdline" }),
        );
        assert!(seen["stdout"].as_str().unwrap().contains("MODEL_KEY="), "{seen:#}");
        for name in ["MODEL_KEY", "MODEL_URL"] {
            let refused = client.fails("shell", json!({ "command": "true", "env": { name: "mine" } }));
            assert!(refused.contains(name) && refused.contains("cannot be set"), "{refused}");
        }
        let inspected = client.does("sandbox_inspect", json!({}));
        for shown in [&page, &refused, &model, &seen, &inspected] {
            assert!(!shown.to_string().contains(VALUE), "{shown:#}");
        }
        assert!(client.leave().success());
        let came = internet.requests();
        assert!(came.contains(&format!("key {VALUE}")), "the proxy adds it: {came:?}");
    }
}

#[test]
fn the_default_sandbox_has_the_home_directory_that_was_asked_for() {
    for place in natively("a home by MCP") {
        for said in ["1\n", "2\n"] {
            let mut client = Client::new(&place, &["--home", "mine"]);
            let done = client.does("shell", json!({ "command": "echo x >> ~/there; grep -c x ~/there" }));
            assert_eq!(done["stdout"], said, "{done:#}");
            assert!(client.leave().success());
        }
    }
}

#[test]
fn what_would_run_on_the_host_is_quarantined_and_named_by_its_path_inside() {
    let Some(place) = native("what MCP quarantines") else { return };
    let mut client = Client::new(&place, &[]);
    client.does("sandbox_create", json!({ "name": "second" }));
    client.does(
        "shell",
        json!({ "command": "echo 'touch ran' > .envrc; echo plain > plain", "sandbox": "second" }),
    );
    let removed = client.does("sandbox_remove", json!({ "sandbox": "second" }));
    assert_eq!(removed["quarantined"], json!(["/workspace/.envrc"]), "{removed:#}");
    assert!(!place.workspace().join(".envrc").exists());
    assert_eq!(fs::read_to_string(place.workspace().join("plain")).unwrap(), "plain\n");
}

fn remove_outside(place: &Place, client: &mut Client, name: &str) {
    client.does("sandbox_list", json!({}));
    assert!(crate::ours(place, &["rm", "--force", name]).status.success());
}

#[test]
fn a_sandbox_that_somebody_else_has_removed_is_made_again_or_said_to_be_gone() {
    let Some(place) = native("a sandbox of MCP that is removed outside") else { return };
    let mut client = Client::new(&place, &["--name", "mine"]);
    client.does("shell", json!({ "command": "true" }));
    client.does("sandbox_create", json!({ "name": "second" }));
    remove_outside(&place, &mut client, "mine");
    remove_outside(&place, &mut client, "second");
    let again = client.does("shell", json!({ "command": "echo again" }));
    assert_eq!(again["stdout"], "again\n");
    let notice = again["notice"].as_str().unwrap();
    assert!(notice.contains("removed by somebody else") && notice.contains("made again"), "{notice}");
    let gone = client.fails("shell", json!({ "command": "true", "sandbox": "second" }));
    assert!(gone.contains("removed by somebody else") && gone.contains("`sandbox_create`"), "{gone}");
    client.does("sandbox_remove", json!({ "sandbox": "second" }));
    client.does("sandbox_create", json!({ "name": "second" }));
    // And the default one by the tool.
    client.does("sandbox_remove", json!({ "sandbox": "mine" }));
    let read = client.does("write", json!({ "path": "f", "content": "text" }));
    assert_eq!(read["created"], true);
    assert_eq!(client.does("shell", json!({ "command": "cat f" }))["stdout"], "text");
    // A stop is no idle time.
    client.does("sandbox_stop", json!({}));
    let stopped = client.does("shell", json!({ "command": "true" }));
    let notice = stopped["notice"].as_str().unwrap();
    assert!(notice.contains("was stopped") && !notice.contains("idle"), "{notice}");
    assert!(client.leave().success());
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_directory_that_is_not_there_is_a_mistake_of_the_call() {
    let Some(place) = native("a wrong directory by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    for tool in ["shell", "shell_start"] {
        let said = client.fails(tool, json!({ "command": "true", "cwd": "/workspace/none" }));
        assert!(said.contains("`cwd`") && said.contains("/workspace/none"), "{said}");
        assert!(!said.contains("failed on the host"), "{said}");
    }
    place.write("workspace/data", "no program");
    let said = client.does("shell", json!({ "command": ["./data"] }));
    assert_eq!(said["exit_code"], 126, "{said:#}");
    let long = client.does("shell", json!({ "command": [format!("/{}", "x/".repeat(2000))] }));
    assert_eq!(long["exit_code"], 127, "{long:#}");
    assert!(long["reason"].as_str().unwrap().len() < 300, "the answer does not repeat all of it: {long:#}");
}
