//! What `hook` takes.

use clap::{Args, ValueEnum};

use super::request::PlanRequest;

#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    /// Whose hook it is
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) agent: HookAgent,
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    /// The shell in the sandbox that gets the command with `-c`
    #[arg(long, value_name = "PROGRAM", default_value = "bash")]
    pub(crate) shell: String,
    /// Answer in this process; the hook starts this by itself
    #[arg(long, hide = true)]
    pub(crate) answer: bool,
}

/// An agent that runs hooks before it uses a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum HookAgent {
    /// Claude Code, for the tools Bash and Monitor
    ClaudeCode,
    /// Codex, for the tool Bash; it cannot ask a person, so what is to be asked is denied
    Codex,
}
