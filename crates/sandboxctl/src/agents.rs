//! Agent profiles on this machine: what of the caller's goes into one.

use std::path::{Path, PathBuf};

use policy::agents::{AgentProfile, ProfileContext};
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile};

use crate::context::Context;
use crate::error::CommandError;
use crate::files;

/// Returns the settings that a profile stands for here, beneath these.
pub(crate) fn layer(
    context: &Context,
    profile: &'static AgentProfile,
    effective: &Effective,
) -> Result<Config, CommandError> {
    let text = profile.settings(&gather(context, profile, effective));
    let label = format!("profile {}", profile.name);
    let file = ConfigFile {
        scope: Scope::Profile,
        label: label.as_str().into(),
        base: files::base(context, &context.cwd),
    };
    Config::parse(&text, &file).map_err(CommandError::problems)
}

/// Collects what of the caller's decides what a profile stands for.
pub(crate) fn gather(
    context: &Context,
    profile: &'static AgentProfile,
    effective: &Effective,
) -> ProfileContext {
    let is_set =
        |(name, value): (&std::ffi::OsString, &std::ffi::OsString)| (!value.is_empty()).then(|| name.clone());
    ProfileContext {
        variables: context.env.iter().filter_map(is_set).collect(),
        files: profile.reads.iter().copied().filter(|path| in_home(context, path).is_file()).collect(),
        expose: Vec::new(),
        proxied: effective.proxied(),
    }
}

/// Returns a path that is written beneath `~`.
fn in_home(context: &Context, path: &str) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| Path::new(path).to_owned(), |rest| context.home.join(rest))
}
