//! The agent `OpenCode`.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const OPENCODE: AgentProfile = AgentProfile {
    name: "opencode",
    title: "OpenCode",
    program: "opencode",
    arguments: &[],
    env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    // It reads the address of a provider from its configuration alone.
    credentials: &[
        ProfileCredential {
            variable: "ANTHROPIC_API_KEY",
            handling: Handling::Proxy("anthropic"),
            arguments: &[],
            env: &[(
                "OPENCODE_CONFIG_CONTENT",
                "{\"provider\":{\"anthropic\":{\"options\":{\"baseURL\":\"{url}/v1\"}}}}",
            )],
        },
        ProfileCredential {
            variable: "OPENAI_API_KEY",
            handling: Handling::Proxy("openai"),
            arguments: &[],
            env: &[(
                "OPENCODE_CONFIG_CONTENT",
                "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":\"{url}/v1\"}}}}",
            )],
        },
    ],
    // The list of models, and packages that it loads for providers and plugins.
    allow: &["models.dev:443", "models.opencode.ai:443", "preset:npm"],
    reads: &["~/.config/opencode/AGENTS.md"],
    writes: &[
        "~/.config/opencode", "~/.local/share/opencode", "~/.local/state/opencode", "~/.cache/opencode",
    ],
    own_sandbox: "it has none",
    install: "npm install -g opencode-ai",
    sources: &[
        Source { url: "https://opencode.ai/docs/cli/", date: "2026-11-24" },
        Source { url: "https://opencode.ai/docs/config/", date: "2026-11-24" },
    ],
};
