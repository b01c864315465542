//! Workers: what they have, what they are handed, and that nobody else reaches them.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::place::Place;
use crate::{everywhere, listed, native, ours, until};

const SANDBOX: &str = r#"
[workers.reviewer]
config = "workers/reviewer.toml"
description = "says what it has"
max_attachments = 2
max_attachment_bytes = 100
attachment_suffixes = [".txt"]
"#;

/// Says what it has, and tries what it has not.
const REVIEWER: &str = r#"
[agent]
command = ["sh", "-c", "cat; cat /tmp/attachments/* && echo >>/tmp/attachments/a.txt; ls /workspace; echo x >/workspace/made; echo end"]
[shared_dirs]
code = { host = "../sub", guest = "/workspace", mode = "ro" }
"#;

fn prepared(place: &Place) -> Client {
    configured(place, SANDBOX, REVIEWER)
}

fn configured(place: &Place, sandbox: &str, worker: &str) -> Client {
    place.write("workspace/sandbox.toml", sandbox);
    place.write("workspace/workers/reviewer.toml", worker);
    place.write("workspace/sub/inner", "");
    place.write("workspace/a.txt", "attached\n");
    Client::new(place, &["--trust"])
}

#[test]
fn a_worker_has_what_its_own_file_says_and_copies_of_what_it_is_handed() {
    for place in everywhere("delegation by MCP") {
        let mut client = prepared(&place);
        let tools = client.ask("tools/list", json!({}));
        assert!(tools["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "delegate"));
        let done = client
            .does("delegate", json!({ "worker": "reviewer", "task": "a task\n", "attachments": ["a.txt"] }));
        let (stdout, stderr) = (done["stdout"].as_str().unwrap(), done["stderr"].as_str().unwrap());
        assert_eq!(stdout, "a task\nattached\ninner\nend\n", "{done:#}");
        assert!(stderr.contains("a.txt: Permission denied"), "{stderr}");
        assert!(stderr.contains("made: Read-only file system"), "{stderr}");
        assert_eq!(done["exit_code"], 0);
        assert_eq!(done["attachments"], json!(["/tmp/attachments/a.txt"]));
        // The next one is another one.
        let done = client.does("delegate", json!({ "worker": "reviewer", "task": "" }));
        assert!(!done["stdout"].as_str().unwrap().contains("attached"), "{done:#}");
        drop(client);
        until("all has ended", || listed(&place).as_array().unwrap().is_empty());
    }
}

#[test]
fn nobody_who_may_write_the_directory_changes_what_a_worker_may() {
    let Some(place) = native("files of workers") else { return };
    let worker = |other: &str| {
        format!(
            "[agent]\ncommand = [\"sh\", \"-c\", \"echo changed >/workspace/workers/{other}.toml\"]\n[shared_dirs]\ncode = {{ host = \"..\", guest = \"/workspace\" }}\n"
        )
    };
    place.write("workspace/workers/one.toml", &worker("two"));
    let two = worker("one");
    place.write("workspace/workers/two.toml", &two);
    place.write(
        "workspace/sandbox.toml",
        "[workers.one]\nconfig = \"workers/one.toml\"\n[workers.two]\nconfig = \"workers/two.toml\"\n",
    );
    let mut client = Client::new(&place, &["--trust"]);
    for worker in ["one", "two"] {
        let done = client.does("delegate", json!({ "worker": worker, "task": "" }));
        assert!(done["stderr"].as_str().unwrap().contains("Read-only file system"), "{done:#}");
    }
    let done = client.does(
        "shell",
        json!({ "command": "echo changed >workers/two.toml || mv workers/two.toml workers/other" }),
    );
    assert_ne!(done["exit_code"], 0, "{done:#}");
    assert_eq!(fs::read_to_string(place.path("workspace/workers/two.toml")).unwrap(), two);
    drop(client);
    // Every other command protects them, too, and does not classify them.
    let wide = format!("{two}[network]\nmode = \"allowlist\"\nallow = [\"example.org\"]\n");
    place.write("workspace/workers/two.toml", &wide);
    let ran = ours(&place, &["run", "--", "sh", "-c", "echo changed >workers/two.toml"]);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("Read-only file system"), "{ran:?}");
    // A link is changed by whoever may write where it is.
    std::os::unix::fs::symlink("one.toml", place.path("workspace/workers/link.toml")).unwrap();
    place.write("workspace/sandbox.toml", "[workers.one]\nconfig = \"workers/link.toml\"\n");
    let refused = ours(&place, &["plan", "--trust"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("leads through a link to"), "{refused:?}");
}

#[test]
fn a_worker_in_the_users_own_file_is_one_of_every_project_and_of_no_worker() {
    let Some(place) = native("workers of the user") else { return };
    place.write("home/.config/sandboxctl/own.toml", "[agent]\ncommand = [\"cat\"]\n[shared_dirs]\n");
    place.configure("[workers.own]\nconfig = \"own.toml\"\n");
    place.write("workspace/worker.toml", "[agent]\ncommand = [\"cat\"]\n[shared_dirs]\n");
    place.write("workspace/sandbox.toml", "[workers.here]\nconfig = \"worker.toml\"\n");
    let mut client = Client::new(&place, &[]);
    for worker in ["own", "here"] {
        let done = client.does("delegate", json!({ "worker": worker, "task": "said" }));
        assert_eq!(done["stdout"], "said", "{done:#}");
    }
}

#[test]
fn what_is_handed_over_is_checked_and_said_in_words() {
    let Some(place) = native("attachments by MCP") else { return };
    let mut client = prepared(&place);
    place.write("workspace/b.txt", "");
    place.write("workspace/sub/b.txt", "");
    place.write("workspace/c.txt", "");
    place.write("workspace/large.txt", &"x".repeat(101));
    place.write("outside.txt", "the host's");
    std::os::unix::fs::symlink("../outside.txt", place.path("workspace/leads-out.txt")).unwrap();
    let policy = "This is policy: trying again changes nothing";
    for (attachments, said) in [
        (json!(["a.txt", "b.txt", "c.txt"]), format!("cannot attach 3 files: the worker takes 2 at most. Leave some out, or put them into one. {policy}")),
        (json!(["sandbox.toml"]), format!("cannot attach `/workspace/sandbox.toml`: its suffix is not allowed. Allowed suffixes: `.txt`. {policy}")),
        (json!(["large.txt"]), format!("cannot attach `/workspace/large.txt`: 101 bytes are too large. Maximum allowed: 100 bytes. {policy}")),
        (json!(["b.txt", "sub/b.txt"]), "cannot attach `/workspace/sub/b.txt`: another attachment is called `b.txt`, too. Copy one of them to another name".to_owned()),
    ] {
        let said_here = client.fails("delegate", json!({ "worker": "reviewer", "task": "", "attachments": attachments }));
        assert_eq!(said_here, said, "{attachments}");
    }
    for path in ["leads-out.txt", "../outside.txt", "/etc/hostname", "sub", "nowhere.txt"] {
        let said =
            client.fails("delegate", json!({ "worker": "reviewer", "task": "", "attachments": [path] }));
        assert!(said.starts_with("cannot ") || said.contains("is no path"), "{path}: {said}");
        assert!(!said.contains("the host's"), "{path}: {said}");
    }
    let said = client.fails("delegate", json!({ "worker": "nobody", "task": "" }));
    assert_eq!(said, "there is no worker \"nobody\"; there are: `reviewer`");
}

#[test]
fn a_worker_that_would_have_more_is_refused_before_anything_starts() {
    let Some(place) = native("wider workers") else { return };
    place.write("other/secret", "");
    for (more, said) in [
        ("[shared_dirs]\nx = { host = \"../../other\", guest = \"/x\" }", "which this sandbox does not have"),
        (
            "[network]\nmode = \"allowlist\"\nallow = [\"example.org\"]",
            "it has a network, and this sandbox has none",
        ),
        ("[workers.again]\nconfig = \"reviewer.toml\"", "has workers, and a worker has none"),
    ] {
        let worker = format!("[agent]\ncommand = [\"true\"]\n{more}");
        place.write("workspace/sandbox.toml", SANDBOX);
        place.write("workspace/workers/reviewer.toml", &worker);
        place.write("workspace/sub/inner", "");
        let refused = ours(&place, &["plan", "--trust"]);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && stderr.contains(said), "{more}: {stderr}");
        assert!(stderr.contains("sandbox.toml:3"), "the place: {stderr}");
    }
    // Without a command it would run what the model gives it.
    place.write("workspace/workers/reviewer.toml", "[shared_dirs]\n");
    let refused = ours(&place, &["plan", "--trust"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("says nothing of what the worker runs"),
        "{refused:?}"
    );
    // What its owner trusts may have more.
    place.write("workspace/sandbox.toml", &format!("{SANDBOX}inherit = \"none\"\n"));
    place.write(
        "workspace/workers/reviewer.toml",
        "[agent]\ncommand = [\"true\"]\n[network]\nmode = \"allowlist\"\nallow = [\"example.org\"]\n",
    );
    let refused = ours(&place, &["plan"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr)
            .contains("lets the worker `reviewer` have what this sandbox does not have"),
        "{refused:?}"
    );
    assert!(ours(&place, &["plan", "--trust"]).status.success());
}

#[test]
fn nobody_reaches_a_worker_and_as_many_are_at_work_as_may_be() {
    let Some(place) = native("workers at once") else { return };
    let worker = "[agent]\ncommand = [\"sh\", \"-c\", \"echo started >/workspace/sub/started; cat /workspace/sub/fifo; echo done\"]\n[shared_dirs]\ncode = { host = \"..\", guest = \"/workspace\" }\n";
    let mut client = configured(&place, SANDBOX, worker);
    let made = std::process::Command::new("mkfifo")
        .arg("-m")
        .arg("666")
        .arg(place.path("workspace/sub/fifo"))
        .status();
    assert!(made.unwrap().success());
    let call = client.request(
        "tools/call",
        json!({ "name": "delegate", "arguments": { "worker": "reviewer", "task": "" } }),
    );
    until("the worker works", || place.path("workspace/sub/started").exists());
    let busy = client.fails("delegate", json!({ "worker": "reviewer", "task": "" }));
    assert!(busy.starts_with("busy: as many of this worker are at work"), "{busy}");
    // It is there for the owner, and for no call of the model.
    let all = listed(&place);
    let own = client.does("sandbox_list", json!({})).to_string();
    let mut names = all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    let name = names.find(|name| !own.contains(name)).unwrap();
    let said = client.fails("shell", json!({ "command": "true", "sandbox": name }));
    assert!(said.contains("there is no sandbox"), "{said}");
    fs::write(place.path("workspace/sub/fifo"), "go\n").unwrap();
    let result = client.answer(call)["result"].take();
    assert_eq!(result["structuredContent"]["stdout"], "go\ndone\n", "{result:#}");
    // The end of the client is that of its workers.
    fs::remove_file(place.path("workspace/sub/started")).unwrap();
    client.request(
        "tools/call",
        json!({ "name": "delegate", "arguments": { "worker": "reviewer", "task": "" } }),
    );
    until("another one works", || place.path("workspace/sub/started").exists());
    drop(client);
    until("all has ended", || listed(&place).as_array().unwrap().is_empty());
}

#[test]
fn workers_count_once_among_the_sandboxes_of_a_session() {
    let Some(place) = native("many workers at once") else { return };
    let worker = "[agent]\ncommand = [\"sh\", \"-c\", \"until [ -e /workspace/sub/go ]; do sleep 0.05; done\"]\n[shared_dirs]\ncode = { host = \"..\", guest = \"/workspace\" }\n";
    let mut client = configured(&place, &format!("{SANDBOX}max = 16\n"), worker);
    client.does("shell", json!({ "command": "true" }));
    let delegate = json!({ "name": "delegate", "arguments": { "worker": "reviewer", "task": "" } });
    // Eight in all, with the default one; they are made at the same time.
    let calls: Vec<_> = (0..7).map(|_| client.request("tools/call", delegate.clone())).collect();
    until("all are at work", || listed(&place).as_array().unwrap().len() == 8);
    let busy = client.fails("delegate", json!({ "worker": "reviewer", "task": "" }));
    assert!(busy.starts_with("busy: as many sandboxes of this session"), "{busy}");
    place.write("workspace/sub/go", "");
    for call in calls {
        let result = client.answer(call)["result"].take();
        assert_eq!(result["structuredContent"]["exit_code"], 0, "{result:#}");
    }
}

#[test]
fn what_a_worker_makes_that_would_run_outside_is_quarantined() {
    let Some(place) = native("what workers make") else { return };
    let worker = "[agent]\ncommand = [\"sh\", \"-c\", \"mkdir -p /workspace/.vscode; cp /workspace/sub/tasks /workspace/.vscode/tasks.json\"]\n[shared_dirs]\ncode = { host = \"..\", guest = \"/workspace\" }\n";
    let tasks = r#"{"tasks": [{"label": "x", "type": "shell", "command": "x", "runOptions": {"runOn": "folderOpen"}}]}"#;
    place.write("workspace/sub/tasks", tasks);
    let mut client = configured(&place, SANDBOX, worker);
    let done: Value = client.does("delegate", json!({ "worker": "reviewer", "task": "" }));
    assert!(done["quarantined"].as_array().is_some_and(|moved| !moved.is_empty()), "{done:#}");
    assert!(!place.path("workspace/.vscode/tasks.json").exists());
}
