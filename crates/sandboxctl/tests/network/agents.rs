//! Published clients of models work with their key in proxy mode: answers arrive piece by piece, a tool call writes a file, and the key
//! is nowhere inside. The provider is a mock, which has the names and the paths of the real ones.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::clients::Servers;
use crate::internet::{Internet, bash, text};
use crate::machine::{Feature, is_there};
use crate::place::Place;
use crate::{image_with_clients, in_docker, natively, toolchain};

/// The real credential.
const VALUE: &str = "sk-the-real-one-4f1d9c27";

/// What the mock of a provider writes by a tool.
const WRITTEN: &str = "written by the model";

/// Codex reads no address from the environment.
const CODEX: &str = r#"export CODEX_HOME=$HOME/codex; mkdir "$CODEX_HOME"
printf '%s\n' 'model_provider = "sandbox"' '[model_providers.sandbox]' 'name = "sandbox"' 'env_key = "OPENAI_API_KEY"' \
    "base_url = \"$OPENAI_BASE_URL\"" >"$CODEX_HOME/config.toml"
"$agents"/js/node_modules/.bin/codex exec --model gpt-5 --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox go </dev/null"#;

const CLAUDE: &str = r#"export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
"$agents"/js/node_modules/.bin/claude -p go --dangerously-skip-permissions </dev/null"#;

/// The header that a provider wants the credential in.
fn credential(provider: &str) -> (&'static str, String) {
    match provider {
        "anthropic" => ("x-api-key", VALUE.to_owned()),
        _ => ("authorization", format!("Bearer {VALUE}")),
    }
}

/// Runs a client in a sandbox of each caller whose only way out is a secret in proxy mode.
fn works(provider: &str, script: &str) {
    let test = format!("a client of {provider}");
    if !is_there(Feature::Agents, &test) || !is_there(Feature::Node, &test) {
        return;
    }
    natively(&test, |place, internet, who| {
        let agents = place.home().join("toolchain");
        let script = format!("agents={}\n{script}", agents.display());
        configure(place, provider, "[native]\nexpose = [\"~/toolchain\"]\n");
        let command = toolchain::lend(place, &installed(), &place.inside(&[] as &[&str], &bash(&script)));
        check(place, &internet, who, provider, command);
    });
}

/// Runs a command that is such a client, and looks at what it has done and seen.
fn check(place: &Place, internet: &Internet, who: &str, provider: &str, mut command: Command) {
    let servers = Servers::start(internet, place, &["models"]);
    // The proxy believes the authority of the mock.
    command.env("REAL_KEY", VALUE).env("SSL_CERT_FILE", place.workspace().join("ca.pem"));
    let output = internet.command(&command).output().unwrap();
    let output = format!("{}{}", text(&output), String::from_utf8_lossy(&output.stderr));
    let who = format!("{who}: {output}");
    let made = fs::read_to_string(place.workspace().join("made.txt")).unwrap_or_default();
    assert!(output.contains("all done") && made == WRITTEN, "{who}");

    let found = fs::read_to_string(place.workspace().join("found.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["value"], Value::Array(Vec::new()), "{who}: {found}");
    // The control: what stands for it is found, in the memory of the client too.
    let token = found["token"].to_string();
    assert!(token.contains("environ of") && token.contains("memory of"), "{who}: {found}");

    drop(servers);
    let requests = fs::read_to_string(place.path("servers/requests")).unwrap();
    let requests: Vec<Value> = requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (header, value) = credential(provider);
    for request in requests.iter().filter(|request| request["method"] == "POST") {
        let headers = request["headers"].as_object().unwrap();
        let sent = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(header));
        assert_eq!(sent.map(|(_, sent)| sent), Some(&value.clone().into()), "{who}: {request}");
    }
    assert!(requests.len() >= 2, "{who}: {requests:?}");
}

fn installed() -> PathBuf {
    PathBuf::from(std::env::var("SANDBOX_TEST_AGENTS").unwrap())
}

/// Writes the configuration of the caller, and what the client needs in the workspace.
fn configure(place: &Place, provider: &str, settings: &str) {
    let variable = format!("{}_API_KEY", provider.to_uppercase());
    place.write(
        "home/.config/sandboxctl/sandbox.toml",
        &format!(
            "{settings}[secrets.model]\nmode = \"proxy\"\nprovider = \"{provider}\"\n\
             env_var = \"{variable}\"\nsource = \"env:REAL_KEY\"\n"
        ),
    );
    // Searches when a client has called a tool, and waits for it.
    let reversed: String = VALUE.chars().rev().collect();
    place.write(
        "workspace/look.sh",
        &format!("python3 /workspace/search.py {reversed} >/workspace/found.json\n"),
    );
    place.write("workspace/search.py", include_str!("search.py"));
    for (name, sdk) in SDKS {
        place.write(&format!("workspace/{name}"), sdk);
    }
}

const SDKS: [(&str, &str); 4] = [
    ("anthropic_sdk.py", include_str!("sdks/anthropic_sdk.py")),
    ("anthropic_sdk.mjs", include_str!("sdks/anthropic_sdk.mjs")),
    ("openai_sdk.py", include_str!("sdks/openai_sdk.py")),
    ("openai_sdk.mjs", include_str!("sdks/openai_sdk.mjs")),
];

#[test]
fn claude_code_works_with_a_key_that_it_never_sees() {
    works("anthropic", CLAUDE);
}

/// Runs a client in Docker, which sees those that are published for Node. Libraries of Python are built for that of this machine.
fn works_in_docker(provider: &str, script: &str) {
    let test = format!("a client of {provider} in a container");
    if !is_there(Feature::Agents, &test) {
        return;
    }
    in_docker(&test, |place, internet, who| {
        // The engine has to see them, and the caller.
        let agents = place.write("agents/here", "").with_file_name("");
        let link = Command::new("cp").arg("-rl").arg(installed().join("js")).arg(&agents).status();
        if !link.unwrap().success() {
            let copied = Command::new("cp").arg("-r").arg(installed().join("js")).arg(&agents).status();
            assert!(copied.unwrap().success());
        }
        configure(place, provider, &image_with_clients());
        let flags = [
            format!("--volume={}:/agents:ro", place.path("agents").display()),
            format!("--volume={}:/workspace", place.workspace().display()),
        ];
        let script = format!("agents=/agents\n{script}");
        check(place, &internet, who, provider, place.inside(&flags, &bash(&script)));
    });
}

#[test]
fn claude_code_works_in_a_container_with_a_key_that_it_never_sees() {
    works_in_docker("anthropic", CLAUDE);
}

#[test]
fn codex_works_in_a_container_with_a_key_that_it_never_sees() {
    works_in_docker("openai", CODEX);
}

#[test]
fn sdks_for_node_work_in_a_container_with_a_key_that_they_never_see() {
    works_in_docker("anthropic", "node anthropic_sdk.mjs \"$agents\"/js");
    works_in_docker("openai", "node openai_sdk.mjs \"$agents\"/js");
}

#[test]
fn codex_works_with_a_key_that_it_never_sees() {
    works("openai", CODEX);
}

#[test]
fn sdks_of_anthropic_work_with_a_key_that_they_never_see() {
    works("anthropic", "\"$agents\"/py/bin/python anthropic_sdk.py");
    works("anthropic", "node anthropic_sdk.mjs \"$agents\"/js");
}

#[test]
fn sdks_of_openai_work_with_a_key_that_they_never_see() {
    works("openai", "\"$agents\"/py/bin/python openai_sdk.py");
    works("openai", "node openai_sdk.mjs \"$agents\"/js");
}
