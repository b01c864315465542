//! Trust: what a project's file would widen, and so may not do before its owner has seen it.
//!
//! A cloned repository may carry a hostile `sandbox.toml`. Without trust a file may only narrow what holds
//! without it, which is the defaults and the user's own file. The rules, by key, stand in [`crate::schema`].
//!
//! A limit widens when it is higher than what holds without the file, unlimited being the highest. Memory,
//! processors and time are unlimited by default, so there a file only widens what the user has set; processes,
//! tmpfs and captured output have defaults, because they take the whole machine or the caller with them.
//!
//! A boundary may be the directory that holds the file itself, read and write: inside, the file is read-only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::config::show::Show;
use crate::config::{Config, Exposed, ProviderChoice};
use crate::env;
use crate::layer::Effective;
use crate::network::{self, HostPattern};
use crate::path::normalise;
use crate::plan::{Layer, Need, Provider};
use crate::policy::{self, DEPTH};
use crate::problem::{Located, Place};
use crate::{recipe, schema};

/// What a file is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What holds without the file: the user's own file over the defaults.
    pub without: &'a Effective,
    /// The directory of the file as its paths are written: absolute, links not resolved.
    pub directory: &'a Path,
    /// The same directory with every link resolved.
    pub resolved_directory: &'a Path,
    /// What each boundary leads to with every link resolved, by name; for one that does not exist, what its
    /// nearest directory leads to, and the rest of the path. One that is not here counts as leading out.
    pub resolved: &'a BTreeMap<String, PathBuf>,
    /// Who would run the sandbox, all layers taken together.
    pub provider: Provider,
}

/// One thing that a file would widen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Widening {
    /// The key that does it.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// What it widens, as a sentence without a full stop.
    pub what: String,
}

/// Everything that a project's file would widen, from top to bottom. Nothing means that it needs no trust.
pub fn widenings(config: &Config, context: &Context<'_>) -> Vec<Widening> {
    let mut found = Found(Vec::new());
    provider(config, &mut found);
    agent(config, context.provider, &mut found);
    containers(config, &mut found);
    boundaries(config, context, &mut found);
    credentials(config, &mut found);
    hosts(config, context.without.settings(), &mut found);
    limits(config, context.without.settings(), &mut found);
    protection(config, context.without.settings(), &mut found);
    native(config, context.without.settings(), &mut found);
    found.0.sort_by(|a, b| a.place.cmp(&b.place));
    found.0
}

struct Found(Vec<Widening>);

impl Found {
    fn add(&mut self, key: impl Into<String>, place: &Place, what: impl Into<String>) {
        self.0.push(Widening { key: key.into(), place: place.clone(), what: what.into() });
    }
}

fn provider(config: &Config, found: &mut Found) {
    if let Some(Located { value: ProviderChoice::Named(Provider::Local), place }) = &config.general.provider {
        found.add("provider", place, "runs the agent on this machine without any isolation");
    }
    if let Some(Located { value: false, place }) = &config.general.require_os_sandbox {
        found.add("require_os_sandbox", place, "lets the agent start where nothing can isolate it");
    }
}

fn agent(config: &Config, provider: Provider, found: &mut Found) {
    if let Some(Located { value: user, place }) = &config.agent.user {
        if user.names_root() {
            found.add("agent.user", place, "runs the agent as root");
        }
    }
    // Elsewhere these act within walls. Here there are none, and the file would run what it likes.
    if provider == Provider::Local {
        if let Some(Located { value, place }) = &config.agent.command {
            found.add("agent.command", place, format!("runs {} on this machine", value.show()));
        }
        for (name, Located { value, place }) in &config.env.set {
            let what = format!("sets {name} to {} for what runs on this machine", value.show());
            found.add(format!("env.set.{name}"), place, what);
        }
    }
}

fn containers(config: &Config, found: &mut Found) {
    let paths = [
        ("image.dockerfile", &config.image.dockerfile, "builds an image by a Dockerfile of the project"),
        ("image.ca_certificates", &config.image.ca_certificates, "makes the build trust more certificates"),
    ];
    for (key, setting, what) in paths {
        if let Some(Located { value, place }) = setting {
            found.add(key, place, format!("{what}: {}", value.display()));
        }
    }
    // Packages come from the distribution's archive, whatever their names.
    if let Some(Located { value, place }) = &config.image.base {
        if !recipe::is_stock_base(value) {
            found.add(
                "image.base",
                place,
                format!("has a build start from {value:?}, and run what that says"),
            );
        }
    }
    for (name, Located { value, place }) in &config.build_args {
        let what = format!("sets {name} to {value:?} for a build, which decides what that runs");
        found.add(format!("image.build_args.{name}"), place, what);
    }
    if let Some(Located { value, place }) = &config.container.runtime {
        found.add("container.runtime", place, format!("has containers run by another runtime: {value:?}"));
    }
    if let Some(Located { value, place }) = &config.container.host_path_prefix {
        let what = format!("moves every shared path: {:?}", value.display());
        found.add("container.host_path_prefix", place, what);
    }
}

fn boundaries(config: &Config, context: &Context<'_>, found: &mut Found) {
    let directory = normalise(context.directory);
    for (name, dir) in &config.shared_dirs {
        let Some(host) = &dir.value.host else { continue };
        let written = normalise(&host.value);
        let shown = written.display();
        let what = match context.resolved.get(name) {
            _ if !written.starts_with(&directory) => format!("shares {shown}, which is outside the project"),
            Some(resolved) if resolved.starts_with(context.resolved_directory) => continue,
            Some(resolved) => {
                format!("shares {shown}, which leads out of the project to {}", resolved.display())
            }
            None => format!("shares {shown}, and where that leads cannot be told"),
        };
        found.add(format!("shared_dirs.{name}.host"), &host.place, what);
    }
}

fn credentials(config: &Config, found: &mut Found) {
    for (name, secret) in &config.secrets {
        let source = secret.value.source.as_ref().map_or_else(String::new, |source| source.value.show());
        let env_var = secret.value.env_var.as_ref().map_or("", |name| name.value.as_str());
        let what = format!("hands the agent the secret {source} as {env_var}");
        found.add(format!("secrets.{name}"), &secret.place, what);
    }
    for name in config.env.pass.iter().flat_map(|list| &list.value) {
        if !env::HARMLESS.contains(&name.value.as_str()) {
            found.add("env.pass", &name.place, format!("shows the agent your variable {}", name.value));
        }
    }
}

fn hosts(config: &Config, without: &Config, found: &mut Found) {
    match &config.network.mode {
        Some(Located { value: network::Mode::Open, place }) => {
            found.add("network.mode", place, "lets the agent reach everything that this machine reaches");
        }
        Some(Located { value: network::Mode::Allowlist, place }) => {
            found.add("network.mode", place, "lets the agent reach the hosts that the file names");
        }
        _ => {}
    }
    for pattern in config.network.allow.iter().flat_map(|list| &list.value) {
        found.add("network.allow", &pattern.place, format!("lets the agent reach {}", pattern.value));
    }
    if let Some(list) = &config.network.deny {
        // A list replaces the one beneath.
        let kept = |denied: &HostPattern| list.value.iter().any(|pattern| pattern.value == *denied);
        let denied = without.network.deny.iter().flat_map(|list| &list.value);
        for pattern in denied.filter(|pattern| !kept(&pattern.value)) {
            found.add("network.deny", &list.place, format!("no longer denies {}", pattern.value));
        }
    }
}

fn limits(config: &Config, without: &Config, found: &mut Found) {
    let file = &config.limits;
    let held = policy::limits(without);
    raised(found, "memory", file.memory.as_ref(), held.memory, unlimited_is_highest);
    raised(found, "cpus", file.cpus.as_ref(), held.cpus, unlimited_is_highest);
    raised(found, "pids", file.pids.as_ref(), held.pids, unlimited_is_highest);
    raised(found, "timeout", file.timeout.as_ref(), held.timeout, unlimited_is_highest);
    raised(found, "output_bytes", file.output_bytes.as_ref(), held.output_bytes, |a, b| a > b);
    raised(found, "tmp_size", file.tmp_size.as_ref(), held.tmp_size, |a, b| a > b);
}

fn raised<T: Copy + Show>(
    found: &mut Found,
    name: &str,
    file: Option<&Located<T>>,
    held: T,
    is_higher: impl Fn(T, T) -> bool,
) {
    let Some(Located { value, place }) = file else { return };
    if is_higher(*value, held) {
        let what = format!("raises the limit to {}; without the file it is {}", value.show(), held.show());
        found.add(format!("limits.{name}"), place, what);
    }
}

fn unlimited_is_highest<T: Ord>(a: Option<T>, b: Option<T>) -> bool {
    match (a, b) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
    }
}

fn protection(config: &Config, without: &Config, found: &mut Found) {
    for path in config.protect.allow.iter().flat_map(|list| &list.value) {
        found.add("protect.allow", &path.place, format!("lets the agent change {}", path.value));
    }
    if let Some(Located { value, place }) = &config.protect.depth {
        let held = without.protect.depth.as_ref().map_or(DEPTH, |depth| depth.value);
        if *value < held {
            let what = format!("looks for nested repositories and sockets {value} deep in place of {held}");
            found.add("protect.depth", place, what);
        }
    }
}

fn native(config: &Config, without: &Config, found: &mut Found) {
    if let Some(list) = &config.native.require {
        let kept: BTreeSet<Layer> = list.value.iter().map(|layer| layer.value).collect();
        for layer in required(without).difference(&kept) {
            let what = format!("lets the agent start where {layer} cannot be enforced");
            found.add("native.require", &list.place, what);
        }
    }
    for exposed in config.native.expose.iter().flat_map(|list| &list.value) {
        if let Exposed::Path(path) = &exposed.value {
            found.add("native.expose", &exposed.place, format!("shows the agent {}", path.display()));
        }
    }
}

/// The layers that are required without the file.
fn required(without: &Config) -> BTreeSet<Layer> {
    if let Some(list) = &without.native.require {
        return list.value.iter().map(|layer| layer.value).collect();
    }
    schema::LAYERS.iter().filter(|(_, need)| *need == Need::Required).map(|(layer, _)| *layer).collect()
}

impl Serialize for Widening {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Widening", 3)?;
        out.serialize_field("key", &self.key)?;
        out.serialize_field("place", &self.place.to_string())?;
        out.serialize_field("what", &self.what)?;
        out.end()
    }
}
