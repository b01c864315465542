//! The rules about commands, and the questions to a person.

use serde_json::{Value, json};

use crate::client::{Client, serve};
use crate::native;
use crate::place::Place;

const RULES: &str = r#"
[commands]
network = "ask"

[commands.rules.push]
pattern = ["git", "push"]
decision = "deny"
reason = "a person pushes"

[commands.rules.touch]
pattern = ["touch"]
decision = "ask"
"#;

/// A place where rules hold.
fn ruled(test: &str) -> Option<Place> {
    let place = native(test)?;
    place.configure(RULES);
    Some(place)
}

/// A client that can ask its person.
fn asking(place: &Place, flags: &[&str]) -> Client {
    Client::with(serve(place, flags), json!({ "elicitation": {} }))
}

/// Calls a tool, and returns the number of the call.
fn calls(client: &mut Client, tool: &str, arguments: Value) -> i64 {
    client.request("tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Waits for the question, and returns its number and its message.
fn question(client: &mut Client) -> (Value, String) {
    let asked = client.wait_for("a question", |value| value["method"] == "elicitation/create");
    let schema = &asked["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["answer"]["enum"], json!(["allow_once", "deny"]), "{asked:#}");
    assert_eq!(schema["required"], json!(["answer"]));
    (asked["id"].clone(), asked["params"]["message"].as_str().unwrap().to_owned())
}

/// Answers a question.
fn says(client: &mut Client, question: &Value, result: Value) {
    client.send(&json!({ "jsonrpc": "2.0", "id": question, "result": result }));
}

fn allowed() -> Value {
    json!({ "action": "accept", "content": { "answer": "allow_once" } })
}

/// What a call was refused with.
fn refusal(result: &Value) -> &Value {
    assert_eq!(result["isError"], true, "{result:#}");
    &result["_meta"]["denial"]
}

#[test]
fn a_rule_that_denies_refuses_text_argv_and_what_is_within_them_and_no_sandbox_is_made() {
    let Some(place) = ruled("commands that are denied by MCP") else { return };
    let mut client = asking(&place, &[]);
    let said = client.fails("shell", json!({ "command": "git push origin main" }));
    assert_eq!(
        said,
        "cannot run `git push origin main`: the rule `push` is about `git push` (a person pushes), and denies it. This is policy: trying again changes nothing"
    );
    for (tool, command) in [
        ("shell", json!(["git", "push"])),
        ("shell", json!("true && cd / | git -C /workspace push --force")),
        ("shell", json!(["sh", "-c", "git push"])),
        ("shell", json!("sh -c 'touch a; git push'")),
        ("shell_start", json!("git push")),
        ("shell_start", json!(["timeout", "5", "git", "push"])),
    ] {
        let result = client.call(tool, json!({ "command": command }));
        assert_eq!(refusal(&result)["reason"], "command", "{command}: {result:#}");
    }
    assert_eq!(crate::listed(&place), json!([]));
    assert!(client.seen.is_empty(), "nobody was asked: {:#?}", client.seen);
    // What no rule is about runs.
    assert_eq!(client.does("shell", json!({ "command": "echo git push" }))["stdout"], "git push\n");
}

#[test]
fn a_person_is_asked_and_their_answer_decides_about_one_call() {
    let Some(place) = ruled("questions by MCP") else { return };
    let mut client = asking(&place, &["--name", "work"]);
    let call = calls(
        &mut client,
        "shell",
        json!({ "command": "touch one && ls\necho done", "cwd": "/tmp", "env": { "A": "1" }, "stdin": "read" }),
    );
    let (id, message) = question(&mut client);
    assert_eq!(
        message,
        "May this command run in the sandbox `work`?\n\n    touch one && ls\n    echo done\n\nIt starts in:\n\n    /tmp\n\nIts variables:\n\n    A=\"1\"\n\n\
         It reads:\n\n    read\n\nThe reason to ask is `touch one`: the rule `touch` is about `touch`."
    );
    says(&mut client, &id, allowed());
    let done = client.answer(call);
    assert_eq!(done["result"]["structuredContent"]["stdout"], "one\ndone\n", "{done:#}");
    // The next call is asked about again.
    for (answer, reason) in [
        (json!({ "result": { "action": "accept", "content": { "answer": "deny" } } }), "refused"),
        (json!({ "result": { "action": "accept", "content": {} } }), "refused"),
        (json!({ "result": { "action": "decline" } }), "refused"),
        (json!({ "result": { "action": "cancel" } }), "refused"),
        (json!({ "result": "allow_once" }), "unanswered"),
        (json!({ "error": { "code": -32000, "message": "no" } }), "unanswered"),
        (json!({ "error": { "code": -32601, "message": "no such method" } }), "nobody_to_ask"),
    ] {
        let call = calls(&mut client, "shell", json!({ "command": ["touch", "/tmp/two"] }));
        let (id, message) = question(&mut client);
        assert!(message.contains("\n\n    [\"touch\",\"/tmp/two\"]\n\n"), "{message}");
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id;
        client.send(&answer);
        let result = client.answer(call)["result"].clone();
        let denial = refusal(&result);
        assert_eq!(
            (&denial["reason"], &denial["answer"]),
            (&json!("not_approved"), &json!(reason)),
            "{answer}"
        );
    }
    assert_eq!(client.does("shell", json!({ "command": "ls /tmp/two" }))["exit_code"], 2);
}

#[test]
fn a_job_is_asked_about_before_it_starts() {
    let Some(place) = ruled("questions about jobs by MCP") else { return };
    let mut client = asking(&place, &[]);
    let call =
        calls(&mut client, "shell_start", json!({ "command": "echo begun | tee /tmp/f; touch /tmp/g" }));
    let (id, _) = question(&mut client);
    assert_eq!(client.does("shell_list", json!({}))["jobs"], json!([]));
    says(&mut client, &id, json!({ "action": "decline" }));
    assert_eq!(refusal(&client.answer(call)["result"])["answer"], "refused");
    let call = calls(&mut client, "shell_start", json!({ "command": "touch /tmp/g; sleep 9999" }));
    let (id, _) = question(&mut client);
    says(&mut client, &id, allowed());
    assert_eq!(client.answer(call)["result"]["structuredContent"]["job"], 1);
    assert_eq!(client.does("shell", json!({ "command": "ls /tmp/f" }))["exit_code"], 2);
}

#[test]
fn nobody_is_asked_by_a_client_that_cannot_or_with_no_input() {
    let Some(place) = ruled("questions that nobody is asked by MCP") else { return };
    for mut client in [Client::new(&place, &[]), asking(&place, &["--no-input"])] {
        for tool in ["shell", "shell_start"] {
            let result = client.call(tool, json!({ "command": "touch one" }));
            assert_eq!(refusal(&result)["answer"], "nobody_to_ask", "{result:#}");
        }
        assert!(client.seen.is_empty(), "{:#?}", client.seen);
        let denied = client.call("shell", json!({ "command": "git push" }));
        assert_eq!(refusal(&denied)["reason"], "command");
        assert_eq!(client.does("shell", json!({ "command": "ls" }))["stdout"], "");
    }
}

#[test]
fn other_calls_are_served_while_a_question_is_open_and_its_call_can_be_cancelled() {
    let Some(place) = ruled("open questions by MCP") else { return };
    let mut client = asking(&place, &[]);
    let mut open = Vec::new();
    // As many as are open at once, which is as many as there are calls at once that run no command.
    for number in 0..8 {
        let call = calls(&mut client, "shell_start", json!({ "command": format!("touch /tmp/{number}") }));
        open.push((call, question(&mut client).0));
    }
    assert!(client.fails("shell", json!({ "command": "touch /tmp/8" })).starts_with("busy: "));
    assert_eq!(client.does("shell", json!({ "command": "ls /tmp" }))["stdout"], "");
    assert_eq!(client.does("list", json!({ "path": "/tmp" }))["entries"], json!([]));
    let (cancelled, asked) = open.remove(0);
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": cancelled } }),
    );
    let taken_back =
        client.wait_for("the end of a question", |value| value["method"] == "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked);
    // Too late: nothing runs, and the call has no answer.
    says(&mut client, &asked, allowed());
    for (call, id) in &open {
        says(&mut client, id, allowed());
        assert_eq!(client.answer(*call)["result"]["isError"], false);
    }
    let there = "for n in $(seq 400); do [ $(ls /tmp | wc -l) -ge 7 ] && break; sleep 0.05; done; ls /tmp";
    let there = client.does("shell", json!({ "command": there }));
    assert_eq!(there["stdout"], "1\n2\n3\n4\n5\n6\n7\n");
    assert!(client.seen.iter().all(|value| value["id"] != cancelled), "{:#?}", client.seen);
}

#[test]
fn a_client_that_waits_is_notified_and_one_that_goes_leaves_nothing() {
    let Some(place) = ruled("progress of questions by MCP") else { return };
    let mut client = asking(&place, &[]);
    client.request(
        "tools/call",
        json!({
        "name": "shell", "arguments": { "command": "touch one" }, "_meta": { "progressToken": "asked" } }),
    );
    question(&mut client);
    let told = client.wait_for("progress", |value| value["method"] == "notifications/progress");
    assert_eq!(told["params"]["progressToken"], "asked");
    assert!(told["params"]["message"].as_str().unwrap().contains("not answered"), "{told:#}");
    assert!(client.leave().success());
    assert!(!place.workspace().join("one").exists());
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_question_to_nowhere_is_not_asked() {
    let Some(place) = ruled("questions about wrong calls by MCP") else { return };
    let mut client = asking(&place, &[]);
    for (arguments, said) in [
        (json!({ "command": "touch a", "sandbox": "other" }), "no sandbox \"other\""),
        (json!({ "command": "touch a", "timeout_seconds": 0 }), "`timeout_seconds`"),
        (json!({ "command": ["touch", "a\u{0}"] }), "NUL"),
        (json!({ "command": [] }), "empty"),
    ] {
        assert!(client.fails("shell", arguments.clone()).contains(said), "{arguments}");
    }
    assert!(client.seen.is_empty(), "{:#?}", client.seen);
}

#[test]
fn what_is_decided_can_be_asked_before() {
    let Some(place) = ruled("queries about commands by MCP") else { return };
    let mut client = asking(&place, &[]);
    for (command, decision, rule) in [
        (
            "git status && git push",
            "deny",
            "`git push`: the rule `push` is about `git push` (a person pushes)",
        ),
        ("curl https://example.org", "ask", "`[commands] network` is about commands that use the network"),
        ("ls", "allow", "`[commands] read` is about commands that read"),
    ] {
        let answer = client.does("query", json!({ "ask": "run", "target": command }));
        assert_eq!(answer["decision"], decision, "{answer:#}");
        assert!(answer["rule"].as_str().unwrap().ends_with(rule), "{answer:#}");
    }
}
