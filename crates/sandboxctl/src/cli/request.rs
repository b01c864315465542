//! The flags that a plan is made from.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use policy::plan::Provider;

use super::keys::KeyFlags;
use super::source::ConfigSource;

/// What a plan is made from: where the configuration is, and the flags that go before it.
#[derive(Args, Debug, Default)]
pub(crate) struct PlanRequest {
    #[command(flatten)]
    pub(crate) source: ConfigSource,
    /// Name the sandbox, for `exec`, plans and JSON; the host name inside is always `sandbox`
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set a variable inside, or let the caller's pass
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Take a variable away that would be there, such as LANG
    #[arg(long, value_name = "NAME")]
    pub(crate) unset_env: Vec<String>,
    /// Set variables from a file of KEY=VALUE lines
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    /// Share a directory, or a file with `:ro`; options after a comma: noexec, optional
    #[arg(short, long, value_name = "HOST:GUEST[:ro]")]
    pub(crate) volume: Vec<String>,
    /// Let the command connect to a Unix socket of the host; HOST is a path, or env:NAME for the one that a variable names
    #[arg(long, value_name = "HOST[:GUEST]")]
    pub(crate) socket: Vec<String>,
    #[command(flatten)]
    pub(crate) keys: KeyFlags,
    /// The platform of the image, where it is not the engine's own
    #[arg(long, value_name = "OS/ARCH")]
    pub(crate) platform: Option<String>,
    /// Create shared directories that do not exist
    #[arg(long)]
    pub(crate) create_dirs: bool,
}

impl PlanRequest {
    /// Returns the provider that was typed: no file and no variable says otherwise.
    pub(crate) fn provider(&self) -> Option<Provider> {
        let (_, typed) = self.keys.0.iter().find(|(key, _)| key.path == "provider")?;
        // Anything else is for the configuration to decide.
        (typed.as_slice() == [Provider::Native.to_string()]).then_some(Provider::Native)
    }
}
