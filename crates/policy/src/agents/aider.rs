//! Aider.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const AIDER: AgentProfile = AgentProfile {
    name: "aider",
    title: "Aider",
    program: "aider",
    arguments: &[],
    env: &[("AIDER_ANALYTICS", "false"), ("AIDER_CHECK_UPDATE", "false")],
    // The variables that name the proxy's address for a provider are enough.
    credentials: &[
        ProfileCredential {
            variable: "ANTHROPIC_API_KEY",
            handling: Handling::Proxy("anthropic"),
            arguments: &[],
            env: &[],
        },
        ProfileCredential {
            variable: "OPENAI_API_KEY",
            handling: Handling::Proxy("openai"),
            arguments: &[],
            env: &[],
        },
    ],
    allow: &[],
    // `~/.aider.conf.yml` may have keys in it.
    reads: &[],
    writes: &["~/.aider", "~/.cache"],
    own_sandbox: "it has none",
    install: "python3 -m pip install aider-chat",
    sources: &[
        Source { url: "https://aider.chat/docs/config/api-keys.html", date: "2026-11-24" },
        Source { url: "https://aider.chat/docs/config/dotenv.html", date: "2026-11-24" },
    ],
};
