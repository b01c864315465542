//! Published agents as clients: the server is installed for them as the documentation says, and their model calls its tools.

use std::fs;
use std::path::PathBuf;

use crate::machine::{Feature, is_there};
use crate::model::Model;
use crate::place::Place;
use crate::{listed, native, ours, until};

/// Runs a published agent on the host, whose server of MCP was installed as the documentation says.
fn client(place: &Place, agent: &str, model: &Model) -> String {
    let bin = PathBuf::from(std::env::var("SANDBOX_TEST_AGENTS").unwrap()).join("js/node_modules/.bin");
    let provider = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\nenv_key = \"OPENAI_API_KEY\"\nbase_url = \"{}/v1\"\n",
        model.address
    );
    let _ = fs::remove_dir_all(place.path("home/.claude"));
    place.write("home/.codex/config.toml", &provider);
    let installed = ours(place, &["mcp", "install", "--client", agent, "-y"]);
    assert!(installed.status.success(), "{installed:?}");
    let words: Vec<&str> = if agent == "claude-code" {
        let config = ["--mcp-config", ".mcp.json", "--strict-mcp-config"];
        [&["claude", "-p", "go", "--allowedTools", "mcp__sandbox__shell"], &config[..]].concat()
    } else {
        let flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
        [&["codex", "exec", "--model", "gpt-5"], &flags[..], &["go"]].concat()
    };
    // The server is found as `sandboxctl`.
    let own = place.path("sandboxctl").parent().unwrap().display().to_string();
    let path = format!("{}:{own}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = place.outside(&[&["env", &format!("PATH={path}")][..], &words].concat());
    model.asked_by(&mut command)
}

#[test]
fn published_agents_use_the_server_that_was_installed_for_them() {
    let test = "published clients of MCP";
    if !is_there(Feature::Agents, test) || !is_there(Feature::Node, test) {
        return;
    }
    let Some(place) = native(test) else { return };
    place.write("workspace/look.sh", "hostname >/workspace/seen\n");
    let model = Model::start(&place);
    let there = |name: &str| fs::read_to_string(place.workspace().join(name)).unwrap_or_default();
    for name in ["claude-code", "codex"] {
        let said = client(&place, name, &model);
        let requests = there("../model/requests");
        assert_eq!(
            (there("made.txt").as_str(), there("seen").as_str()),
            ("written by the model", "sandbox\n"),
            "{name}: {said} {requests}"
        );
        for made in ["made.txt", "seen"] {
            fs::remove_file(place.workspace().join(made)).unwrap();
        }
        // The sandbox ends with the client.
        until("it has ended", || listed(&place).as_array().unwrap().is_empty());
    }
}
