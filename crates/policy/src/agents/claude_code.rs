//! Claude Code.

use super::profile::{AgentProfile, Handling, ProfileCredential, Source};

pub(super) const CLAUDE_CODE: AgentProfile = AgentProfile {
    name: "claude-code",
    title: "Claude Code",
    program: "claude",
    arguments: &[],
    // It downloads other versions of itself into a home directory that has no place for its program.
    env: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
    credentials: &[
        ProfileCredential {
            variable: "ANTHROPIC_API_KEY",
            handling: Handling::Proxy("anthropic"),
            arguments: &[],
            env: &[],
        },
        ProfileCredential {
            variable: "CLAUDE_CODE_OAUTH_TOKEN",
            handling: Handling::Proxy("anthropic"),
            arguments: &[],
            env: &[],
        },
    ],
    allow: &["preset:anthropic"],
    reads: &["~/.claude/CLAUDE.md"],
    writes: &["~/.claude", "~/.claude.json"],
    own_sandbox: "off unless its settings turn it on (`sandbox.enabled`); leave it off",
    install: "npm install -g @anthropic-ai/claude-code",
    sources: &[
        Source { url: "https://code.claude.com/docs/en/env-vars", date: "2026-11-24" },
        Source { url: "https://code.claude.com/docs/en/settings", date: "2026-11-24" },
        Source { url: "https://code.claude.com/docs/en/network-config", date: "2026-11-23" },
    ],
};
