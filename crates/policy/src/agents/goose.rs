//! goose.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const GOOSE: AgentProfile = AgentProfile {
    name: "goose",
    title: "goose",
    program: "goose",
    arguments: &[],
    // There is no keyring inside.
    env: &[("GOOSE_DISABLE_KEYRING", "1")],
    // The variables that name the proxy's address for a provider are enough.
    credentials: &[
        ProfileCredential {
            variable: "ANTHROPIC_API_KEY",
            handling: Handling::Proxy("anthropic"),
            arguments: &[],
            env: &[("GOOSE_PROVIDER", "anthropic")],
        },
        ProfileCredential {
            variable: "OPENAI_API_KEY",
            handling: Handling::Proxy("openai"),
            arguments: &[],
            env: &[("GOOSE_PROVIDER", "openai")],
        },
    ],
    allow: &[],
    reads: &["~/.config/goose/.goosehints"],
    writes: &["~/.config/goose", "~/.local/share/goose", "~/.local/state/goose"],
    own_sandbox: "it has none",
    install: "curl -fsSL https://github.com/aaif-goose/goose/releases/download/stable/download_cli.sh | CONFIGURE=false bash",
    sources: &[
        Source { url: "https://mintlify.com/block/goose/guides/environment-variables", date: "2026-11-24" },
        Source {
            url: "https://raw.githubusercontent.com/aaif-goose/goose/main/download_cli.sh",
            date: "2026-11-24",
        },
    ],
};
