//! GitHub Copilot CLI.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

/// Returns a token that the agent sees: which of the several servers of Copilot want it is not documented.
const fn token(variable: &'static str) -> ProfileCredential {
    ProfileCredential { variable, handling: Handling::Inject, arguments: &[], env: &[] }
}

pub(super) const COPILOT_CLI: AgentProfile = AgentProfile {
    name: "copilot-cli",
    title: "GitHub Copilot CLI",
    program: "copilot",
    arguments: &[],
    env: &[("COPILOT_AUTO_UPDATE", "false")],
    // `GH_TOKEN` and `GITHUB_TOKEN` may do more than Copilot: who wants to give these says so.
    credentials: &[token("COPILOT_GITHUB_TOKEN")],
    allow: &["github.com:443", "api.github.com:443", "*.githubcopilot.com:443"],
    reads: &["~/.copilot/copilot-instructions.md"],
    writes: &["~/.copilot", "~/.cache/copilot"],
    own_sandbox: "it has none",
    install: "npm install -g @github/copilot",
    sources: &[
        Source {
            url: "https://docs.github.com/en/copilot/how-tos/copilot-cli/set-up-copilot-cli/authenticate-copilot-cli",
            date: "2026-11-24",
        },
        Source {
            url: "https://docs.github.com/en/copilot/reference/copilot-allowlist-reference",
            date: "2026-11-24",
        },
    ],
};
