//! Gemini CLI.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const GEMINI_CLI: AgentProfile = AgentProfile {
    name: "gemini-cli",
    title: "Gemini CLI",
    program: "gemini",
    arguments: &[],
    // What a project has it run, it runs inside; without the second it does nothing where nobody can be asked.
    env: &[("GEMINI_SANDBOX", "false"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")],
    credentials: &[ProfileCredential {
        variable: "GEMINI_API_KEY",
        // Version 0.61 takes an address from the environment for a gateway, and then refuses a key.
        handling: Handling::Intercepted {
            name: "gemini",
            host: "generativelanguage.googleapis.com",
            header: "x-goog-api-key",
        },
        arguments: &[],
        env: &[],
    }],
    allow: &[
        "generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443",
        "accounts.google.com:443", "oauth2.googleapis.com:443",
    ],
    reads: &["~/.gemini/GEMINI.md"],
    writes: &["~/.gemini"],
    own_sandbox: "`GEMINI_SANDBOX=false`",
    install: "npm install -g @google/gemini-cli",
    sources: &[
        Source { url: "https://geminicli.com/docs/reference/configuration.md", date: "2026-11-24" },
        Source { url: "https://geminicli.com/docs/get-started/authentication", date: "2026-11-24" },
    ],
};
