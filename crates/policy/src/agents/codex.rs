//! Codex.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const CODEX: AgentProfile = AgentProfile {
    name: "codex",
    title: "Codex",
    program: "codex",
    arguments: &["-c", "sandbox_mode=\"danger-full-access\""],
    env: &[],
    credentials: &[ProfileCredential {
        variable: "OPENAI_API_KEY",
        handling: Handling::Proxy("openai"),
        // Without a login its own provider shows no key; one that is configured reads the variable.
        arguments: &[
            "-c",
            "model_provider=\"sandbox\"",
            "-c",
            "model_providers.sandbox={name=\"OpenAI\",base_url=\"{url}/v1\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}",
        ],
        env: &[],
    }],
    allow: &["preset:openai"],
    reads: &["~/.codex/AGENTS.md"],
    writes: &["~/.codex"],
    own_sandbox: "`-c sandbox_mode=\"danger-full-access\"`, behind the name of the program",
    install: "npm install -g @openai/codex",
    sources: &[
        Source { url: "https://developers.openai.com/codex/config-reference", date: "2026-11-24" },
        Source { url: "https://developers.openai.com/codex/auth", date: "2026-11-23" },
    ],
};
