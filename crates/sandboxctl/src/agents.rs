//! Agent profiles on this machine: what of the caller's goes into one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::agents::{AgentProfile, ProfileContext};
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile};
use policy::plan::Provider;
use policy::rules::shared_dir::PathKind;
use sandbox::boundary::resolve::Lead;
use sandbox::host::toolchain::locate::Availability;

use crate::context::Context;
use crate::directories;
use crate::error::CommandError;
use crate::facts;
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
        files: files(context, profile),
        expose: match effective.provider().0 {
            Provider::Native => expose(context, profile),
            // An image has its own, and without isolation everything is there.
            Provider::Docker | Provider::Podman | Provider::Local => Vec::new(),
        },
        proxied: effective.proxied(),
    }
}

/// Lists which of the caller's files there are, of those that the agent reads. Links lead there by the caller's rights: under sudo,
/// root's would tell what there is in directories that are closed to the caller.
fn files(context: &Context, profile: &AgentProfile) -> BTreeSet<&'static str> {
    let is_file = |path: &&str| match Lead::of(&in_home(context, path), context.caller) {
        Ok(Lead::Found(found)) => found.kind == PathKind::File,
        Ok(Lead::Missing(_)) | Err(_) => false,
    };
    profile.reads.iter().copied().filter(is_file).collect()
}

/// Lists what shows the program of an agent to a native sandbox, where the host has it outside of what every sandbox sees.
fn expose(context: &Context, profile: &AgentProfile) -> Vec<String> {
    let programs = context.programs(directories::around(context));
    match facts::locate(context, &programs, profile.program) {
        Availability::Exposable { by, .. } => by.iter().map(ToString::to_string).collect(),
        Availability::System(_) | Availability::Hidden { .. } | Availability::Nowhere => Vec::new(),
    }
}

/// Returns a path that is written beneath `~`.
fn in_home(context: &Context, path: &str) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| Path::new(path).to_owned(), |rest| context.home.join(rest))
}
