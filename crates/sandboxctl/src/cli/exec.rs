//! What `exec` takes.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use policy::plan::Provider;

use super::command::{EngineHabits, LifeArgs, PassArgs};

#[derive(Args, Debug, Default)]
pub(crate) struct ExecArgs {
    /// Set a variable, or let the caller's pass
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Start in this directory inside
    #[arg(short, long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// How long the command may run, such as 90s or 5m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    #[command(flatten)]
    pub(crate) life: LifeArgs,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// Return as soon as the command runs, and let it go on
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Look for the sandbox among those of this provider alone: native, docker, podman or local
    #[arg(long, value_enum, value_name = "PROVIDER")]
    pub(crate) provider: Option<ExecProvider>,
    /// The name of the sandbox, or of its container
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) habits: EngineHabits,
    /// The command and its arguments, after `--` or not; without it, that of the sandbox runs
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) argv: Vec<OsString>,
}

/// A provider whose sandboxes can be entered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ExecProvider {
    /// Sandboxes of this host
    Native,
    /// Containers of Docker
    Docker,
    /// Containers of Podman
    Podman,
    /// What stays without isolation
    Local,
}

impl From<ExecProvider> for Provider {
    fn from(provider: ExecProvider) -> Self {
        match provider {
            ExecProvider::Native => Self::Native,
            ExecProvider::Docker => Self::Docker,
            ExecProvider::Podman => Self::Podman,
            ExecProvider::Local => Self::Local,
        }
    }
}
