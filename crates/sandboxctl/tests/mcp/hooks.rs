//! Hooks of agents: what the shell tool is asked for runs in a sandbox of the session, or not at all.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::machine::{Feature, is_there};
use crate::model::Model;
use crate::place::Place;
use crate::{listed, native, natively, ours};

/// Answers a call of a tool.
fn answer(place: &Place, agent: &str, call: &Value) -> Value {
    let program = place.path("sandboxctl");
    let mut hook = place.outside(&[program.to_str().unwrap(), "hook", agent]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    let output = hook.wait_with_output().unwrap();
    assert!(output.status.success(), "{call}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{call}: {output:?}"))
}

/// A call of the shell tool.
fn call(place: &Place, command: &str) -> Value {
    json!({
        "session_id": "s-1",
        "transcript_path": "/nowhere",
        "cwd": place.workspace(),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command, "description": "a test", "timeout": 5000 },
    })
}

/// What is decided about a command, and why.
fn decided(place: &Place, agent: &str, command: &str) -> (String, String) {
    let answer = answer(place, agent, &call(place, command));
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse", "{answer}");
    let text = |key: &str| output[key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

/// Runs the command that stands in place of another one, as the shell of an agent does.
fn instead(place: &Place, agent: &str, command: &str) -> Output {
    let answer = answer(place, agent, &call(place, command));
    let instead = answer["hookSpecificOutput"]["updatedInput"]["command"].as_str();
    let instead = instead.unwrap_or_else(|| panic!("{answer}"));
    place.outside(&["bash", "-c", instead]).output().unwrap()
}

#[test]
fn a_command_runs_in_the_sandbox_of_its_session_as_it_was_written() {
    for place in natively("hooks") {
        place.write("workspace/sub/here", "");
        let text = "printf '%s\\n' \"it's\" '$HOME' \"$(hostname)\" a\\ b\nfalse || exit 3 # \u{e9}";
        for agent in ["claude-code", "codex"] {
            let output = instead(&place, agent, text);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(
                (output.status.code(), said.as_str()),
                (Some(3), "it's\n$HOME\nsandbox\na b\n"),
                "{output:?}"
            );
        }
        // All commands of a session have one sandbox, and another session has another one.
        let names = |place: &Place| {
            let all = listed(place);
            let mut names: Vec<_> =
                all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        instead(&place, "codex", "echo kept >/tmp/kept");
        assert_eq!(instead(&place, "codex", "cat /tmp/kept").stdout, b"kept\n");
        assert_eq!(instead(&place, "claude-code", "cat /tmp/kept").stdout, b"");
        assert_eq!(names(&place), ["claude-code-s-1", "codex-s-1"]);
        // What else the tool was called with stays, where the agent wants that.
        let claude = answer(&place, "claude-code", &call(&place, "true"));
        assert_eq!(claude["hookSpecificOutput"]["updatedInput"]["timeout"], 5000, "{claude}");
        // The command starts where the agent is.
        let mut elsewhere = call(&place, "pwd");
        elsewhere["cwd"] = json!(place.workspace().join("sub"));
        let command =
            answer(&place, "codex", &elsewhere)["hookSpecificOutput"]["updatedInput"]["command"].take();
        let output = place.outside(&["bash", "-c", command.as_str().unwrap()]).output().unwrap();
        assert_eq!(output.stdout, b"/workspace/sub\n", "{output:?}");
        // One that has ended is made again.
        ours(&place, &["stop", "codex-s-1"]);
        assert_eq!(instead(&place, "codex", "cat /tmp/kept; echo again").stdout, b"again\n");
        ours(&place, &["rm", "--force", "claude-code-s-1", "codex-s-1"]);
    }
}

/// Agents show the standard error of a hook that succeeds to nobody.
#[test]
fn what_a_session_has_left_is_said_to_the_person_of_the_next_one() {
    for place in natively("what sessions leave") {
        let in_session = |session: &str, command: &str| {
            let mut call = call(&place, command);
            call["session_id"] = json!(session);
            answer(&place, "claude-code", &call)
        };
        let first = in_session("first", "echo export X=1 >.envrc; ln -s /etc out");
        assert!(first.get("systemMessage").is_none(), "nothing was to be said yet: {first}");
        let command = first["hookSpecificOutput"]["updatedInput"]["command"].as_str().unwrap();
        assert!(place.outside(&["bash", "-c", command]).output().unwrap().status.success());
        // As it ends when it was idle: whoever comes next looks at what was made.
        let seen = ours(&place, &["inspect", "claude-code-first"]).stdout;
        let pid = serde_json::from_slice::<Value>(&seen).unwrap()[0]["pid"].to_string();
        assert!(place.outside(&["kill", "-KILL", &pid]).output().unwrap().status.success());
        let next = in_session("next", "true");
        assert_eq!(next["hookSpecificOutput"]["permissionDecision"], "allow", "{next}");
        let message = next["systemMessage"].as_str().unwrap_or_else(|| panic!("{next}"));
        assert!(message.contains(".envrc") && message.contains("quarantine"), "{message}");
        assert!(message.contains("/etc"), "{message}");
        assert!(in_session("next", "true").get("systemMessage").is_none(), "it is said once");
        ours(&place, &["rm", "--force", "claude-code-first", "claude-code-next"]);
    }
}

#[test]
fn rules_about_commands_decide_and_an_agent_that_cannot_ask_is_refused() {
    let Some(place) = native("rules about commands of hooks") else { return };
    place.write(
        "workspace/sandbox.toml",
        "[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n[commands]\nnetwork = \"ask\"\n\
         [commands.rules.push]\npattern = [\"git\", \"push\"]\ndecision = \"deny\"\nreason = \"a person pushes\"\n",
    );
    for agent in ["claude-code", "codex"] {
        let (decision, why) = decided(&place, agent, "cd sub && git push -f");
        assert_eq!(decision, "deny");
        let expected = "cannot run `git push -f`: the rule `push` is about `git push` (a person pushes), and denies it. This is policy: \
                        trying again changes nothing";
        assert_eq!(why, expected);
        assert_eq!(listed(&place), json!([]), "nothing is made for what does not run");
    }
    let (decision, why) = decided(&place, "codex", "curl https://example.org");
    assert!(decision == "deny" && why.contains("nobody can be asked here"), "{why}");
    let (decision, why) = decided(&place, "claude-code", "curl https://example.org");
    assert!(decision == "ask" && why.contains("use the network"), "{why}");
    assert_eq!(decided(&place, "claude-code", "ls").0, "allow");
    ours(&place, &["rm", "--force", "claude-code-s-1"]);
}

#[test]
fn whatever_fails_is_a_denial() {
    let Some(place) = native("hooks that fail") else { return };
    let mut unshared = call(&place, "true");
    unshared["cwd"] = json!("/");
    let mut strange = call(&place, "true");
    strange["session_id"] = json!("../x");
    let mut without = call(&place, "true");
    without["tool_input"] = json!({});
    for (call, expected) in [
        (unshared, "the sandbox has no directory `/`"),
        (strange, "cannot name a sandbox"),
        (without, "has no `command`"),
        (json!("text"), "no call of a hook"),
        (json!({ "hook_event_name": "PreToolUse" }), "no call of a hook"),
    ] {
        let answer = answer(&place, "claude-code", &call);
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "deny", "{call}: {answer}");
        assert!(output["permissionDecisionReason"].as_str().unwrap().contains(expected), "{call}: {answer}");
    }
    place.write("workspace/sandbox.toml", "commands = 5\n");
    let (decision, why) = decided(&place, "codex", "true");
    assert!(decision == "deny" && why.contains("commands"), "{why}");
    fs::remove_file(place.workspace().join("sandbox.toml")).unwrap();
    // A tool that nobody knows could run its command on the host.
    let mut unknown = call(&place, "true");
    unknown["tool_name"] = json!("PowerShell");
    let answered = answer(&place, "claude-code", &unknown);
    assert_eq!(answered["hookSpecificOutput"]["permissionDecision"], "deny", "{answered}");
    let mut monitor = call(&place, "true");
    monitor["tool_name"] = json!("Monitor");
    let answered = answer(&place, "claude-code", &monitor);
    assert_eq!(answered["hookSpecificOutput"]["permissionDecision"], "allow", "{answered}");
    ours(&place, &["rm", "--force", "claude-code-s-1"]);
    // Texts that a grammar may read for years, or with more stack than there is.
    for text in [
        format!("[[ {}a ]]; true", "! ".repeat(4000)),
        format!("echo {}1{}; true", "${x[".repeat(8), "]}".repeat(8)),
        format!("echo {}", "x".repeat(101 << 10)),
    ] {
        let (decision, why) = decided(&place, "codex", &text);
        assert!(decision == "allow" || !why.is_empty(), "{decision}: {why}");
    }
    ours(&place, &["rm", "--force", "codex-s-1"]);
    // An answer that nobody gets is no permission either.
    let program = place.path("sandboxctl");
    let mut deaf = place.outside(&[program.to_str().unwrap(), "hook", "codex"]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(deaf.stdout(full).status().unwrap().code(), Some(2));
    // Other tools and events are none of its business.
    let mut other = call(&place, "true");
    other["tool_name"] = json!("Read");
    other["tool_input"] = json!({ "file_path": "/etc/hosts" });
    assert_eq!(answer(&place, "claude-code", &other), json!({}));
    let mut after = call(&place, "true");
    after["hook_event_name"] = json!("PostToolUse");
    assert_eq!(answer(&place, "claude-code", &after), json!({}));
    assert_eq!(listed(&place), json!([]));
}

#[test]
fn calls_that_come_at_once_share_one_sandbox() {
    let Some(place) = native("hooks at once") else { return };
    // The first time, and when it has ended.
    for _ in 0..2 {
        std::thread::scope(|scope| {
            let calls: Vec<_> =
                (0..8).map(|_| scope.spawn(|| instead(&place, "codex", "echo here"))).collect();
            for call in calls {
                let output = call.join().unwrap();
                assert_eq!(output.stdout, b"here\n", "{output:?}");
            }
        });
        ours(&place, &["stop", "codex-s-1"]);
    }
    assert_eq!(listed(&place).as_array().unwrap().len(), 1);
    ours(&place, &["rm", "--force", "codex-s-1"]);
}

/// Runs a published agent on the host, with its hook or without.
fn agent(place: &Place, agent: &str, hook: Option<&str>, model: &Model) -> String {
    let bin = PathBuf::from(std::env::var("SANDBOX_TEST_AGENTS").unwrap()).join("js/node_modules/.bin");
    let (claude, codex) = (bin.join("claude"), bin.join("codex"));
    let hook = hook.map(|agent| format!("{} hook {agent}", place.path("sandboxctl").display()));
    let words = if agent == "claude-code" {
        let hook = hook.map(|hook| json!([{ "type": "command", "command": hook }]));
        let settings = hook.map_or(
            json!({}),
            |hook| json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": hook }] } }),
        );
        place.write("home/.claude/settings.json", &settings.to_string());
        vec![
            claude.to_str().unwrap().to_owned(),
            "-p".into(),
            "go".into(),
            "--allowedTools".into(),
            "Bash".into(),
        ]
    } else {
        let hook = hook.map_or(String::new(), |hook| {
            format!("[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"{hook}\"\n")
        });
        let provider = format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\nenv_key = \"OPENAI_API_KEY\"\nbase_url = \"{}/v1\"\n",
            model.address
        );
        place.write("home/.codex/config.toml", &format!("{provider}{hook}"));
        let flags = [
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        ];
        let words =
            [codex.to_str().unwrap(), "exec", "--model", "gpt-5"].into_iter().chain(flags).chain(["go"]);
        words.map(str::to_owned).collect()
    };
    let mut command = place.outside(&words);
    model.asked_by(&mut command)
}

#[test]
fn published_agents_run_their_commands_in_the_sandbox() {
    let test = "hooks of published agents";
    if !is_there(Feature::Agents, test) || !is_there(Feature::Node, test) {
        return;
    }
    let Some(place) = native(test) else { return };
    place.write("workspace/look.sh", "hostname >/workspace/seen\n");
    let model = Model::start(&place);
    let there = |name: &str| fs::read_to_string(place.workspace().join(name)).unwrap_or_default();
    let clear = || {
        for name in ["made.txt", "seen"] {
            fs::remove_file(place.workspace().join(name)).unwrap_or_default();
        }
    };
    for name in ["claude-code", "codex"] {
        // The control: without a hook it runs on the host, where there is no such script.
        clear();
        let said = agent(&place, name, None, &model);
        assert_eq!(
            (there("made.txt").as_str(), there("seen").as_str()),
            ("written by the model", ""),
            "{name}: {said}"
        );
        clear();
        let said = agent(&place, name, Some(name), &model);
        let made = (there("made.txt"), there("seen"));
        assert_eq!(made, ("written by the model".into(), "sandbox\n".into()), "{name}: {said}");
        // What a rule denies does not run, and the model hears why.
        clear();
        place.write("workspace/sandbox.toml", "[commands]\nwrite = \"deny\"\n");
        let said = agent(&place, name, Some(name), &model);
        assert_eq!((there("made.txt"), there("seen")), (String::new(), String::new()), "{name}: {said}");
        let requests = there("../model/requests");
        assert!(requests.contains("is about commands that change files"), "{name}: {said}");
        // Nor does anything without a sandbox.
        place.write("workspace/sandbox.toml", "provider = \"nowhere\"\n");
        let said = agent(&place, name, Some(name), &model);
        assert_eq!((there("made.txt"), there("seen")), (String::new(), String::new()), "{name}: {said}");
        fs::remove_file(place.workspace().join("sandbox.toml")).unwrap();
    }
    let all = listed(&place);
    for one in all.as_array().unwrap() {
        ours(&place, &["rm", "--force", one["name"].as_str().unwrap()]);
    }
}
