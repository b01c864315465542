//! Trust: what a project's file would widen, and so may not do before its owner has seen it.
//!
//! A cloned repository may carry a hostile `sandbox.toml`. Without trust a file may only narrow what holds
//! without it, which is the defaults and the user's own file. The rules, by key, stand in [`crate::config::schema`].
//!
//! A limit widens when it is higher than what holds without the file, unlimited being the highest. Memory,
//! processors and time are unlimited by default, so there a file only widens what the user has set; processes,
//! tmpfs and captured output have defaults, because they take the whole machine or the caller with them.
//!
//! A boundary may be the directory that holds the file itself, read and write: inside, the file is read-only. It may not
//! be a protected path, nor lie in one: what programs outside obey there would be the agent's to write.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::agents::Profile;
use crate::config::defaults::{CHILD_DEPTH, DEPTH, POOL_AGE, is_stock_base};
use crate::config::key;
use crate::config::problem::Located;
use crate::config::show::Show;
use crate::config::{Config, Expose, ProviderChoice, SecretMode, SecretProvider, SecretTable};
use crate::plan::{BoundaryMode, Layer, Need, OnReplaced, Provider, Pull, SecretSource};
use crate::protect::covering::covering;
use crate::rules::env;
use crate::rules::git::RepositoryAccess;
use crate::rules::home::Home;
use crate::rules::network;
use crate::rules::path::normalise;
use crate::rules::socket::{SocketSource, controls};
use crate::rules::worker::Inherit;
use crate::text::{escape, time};

use self::widening::Widenings;
pub use self::widening::{Applies, ResolvedPath, TrustContext, Widening};

mod commands;
mod own_directories;
mod widening;

/// Lists every path of the host that a file names and that leads somewhere, whose links have to be resolved for
/// [`widenings`].
pub fn paths(config: &Config) -> impl Iterator<Item = &Path> {
    let secrets = config.secrets.values().filter_map(|secret| match &secret.value.source.as_ref()?.value {
        SecretSource::File(path) => Some(path),
        SecretSource::Env(_) | SecretSource::Command(_) => None,
    });
    let exposed =
        config.native.expose.iter().flat_map(|list| &list.value).filter_map(|one| match &one.value {
            Expose::Path(path) => Some(path),
            Expose::Preset(_) => None,
        });
    let image = [&config.image.dockerfile, &config.image.ca_certificates].into_iter().flatten();
    let settings = image.map(|setting| &setting.value);
    let sockets = config.sockets.values().filter_map(|socket| match &socket.value.host.as_ref()?.value {
        SocketSource::Path(path) => Some(path),
        SocketSource::Variable(_) => None,
    });
    shared_directories(config)
        .chain(settings.chain(secrets).chain(exposed).chain(sockets).map(PathBuf::as_path))
}

/// Lists the directories that a file shares, as it writes them. Those of the user's own file have to be resolved for [`widenings`], too.
pub fn shared_directories(config: &Config) -> impl Iterator<Item = &Path> {
    config.shared_dirs.values().filter_map(|dir| Some(dir.value.host.as_ref()?.value.as_path()))
}

/// Lists everything that a project's file would widen, from top to bottom. Nothing means that it needs no trust.
pub fn widenings(config: &Config, context: &TrustContext<'_>) -> Vec<Widening> {
    let mut found = Widenings(Vec::new());
    provider(config, context.without.settings(), &mut found);
    agent(config, context.without.settings(), &mut found);
    home(config, context.without.settings(), &mut found);
    containers(config, context, &mut found);
    boundaries(config, context, &mut found);
    own_directories::own_directories(config, context, &mut found);
    sockets(config, context, &mut found);
    credentials(config, context, &mut found);
    hosts(config, context.without.settings(), &mut found);
    limits(config, context.without.settings(), &mut found);
    repository(config, context.without.settings(), &mut found);
    protection(config, context.without.settings(), &mut found);
    native(config, context, &mut found);
    pool(config, context.without.settings(), &mut found);
    children(config, context.without.settings(), &mut found);
    lifecycle(config, context.without.settings(), &mut found);
    commands::commands(config, context.without.settings(), &mut found);
    workers(config, context.without.settings(), &mut found);
    found.0.sort_by(|a, b| a.location.cmp(&b.location));
    found.0
}

fn provider(config: &Config, without: &Config, found: &mut Widenings) {
    let held = without.general.provider.as_ref().map(|held| held.value);
    match &config.general.provider {
        Some(Located { value: ProviderChoice::Named(Provider::Local), location }) => {
            found.add("provider", location, "runs the agent on this machine without any isolation");
        }
        Some(Located { value, location }) => {
            if let Some(own @ ProviderChoice::Named(_)) = held.filter(|own| own != value) {
                let what = format!("has the agent run by {value}, where your own settings say {own}");
                found.add("provider", location, what);
            }
        }
        None => {}
    }
    if let Some(Located { value: false, location }) = &config.general.require_os_sandbox {
        found.add("require_os_sandbox", location, "lets the agent start where nothing can isolate it");
    }
}

fn agent(config: &Config, without: &Config, found: &mut Widenings) {
    if let Some(Located { value: Profile(profile), location }) = &config.agent.profile {
        if without.agent.profile.as_ref().map(|held| held.value) != Some(Profile(profile)) {
            let what = format!(
                "sets the sandbox up for {}, as `sandboxctl agent show {}` says",
                profile.title, profile.name
            );
            found.add("agent.profile", location, what);
        }
    }
    if let Some(Located { value: user, location }) = &config.agent.user {
        if user.names_root() {
            found.add("agent.user", location, "runs the agent as root");
        }
    }
    // Elsewhere these act within the sandbox. Without isolation the file would run anything on the host.
    if let Some(Located { value, location }) = &config.agent.command {
        found.add_locally("agent.command", location, format!("runs {} on this machine", value.show()));
    }
    for (name, Located { value, location }) in &config.env.set {
        let what = format!("sets {name} to {} for what runs on this machine", value.show());
        found.add_locally(format!("env.set.{name}"), location, what);
    }
}

fn home(config: &Config, without: &Config, found: &mut Widenings) {
    let held = Home::of(without);
    let keep = config.home.keep.as_ref().filter(|keep| keep.value && held == Home::Temporary);
    if let Some(Located { location, .. }) = keep {
        let what = "keeps what the agent leaves in its home directory, for the next sandbox of this project";
        found.add("home.keep", location, what);
    }
    if let Some(Located { value, location }) = &config.home.name {
        if held != Home::Named(value.clone()) {
            let what = format!(
                "gives the agent the home directory {value:?}, with what other sandboxes have left in it, and keeps it"
            );
            found.add("home.name", location, what);
        }
    }
}

fn containers(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    let paths = [
        ("image.dockerfile", &config.image.dockerfile, "builds an image by a Dockerfile of the project"),
        ("image.ca_certificates", &config.image.ca_certificates, "makes the build trust more certificates"),
    ];
    for (key, setting, what) in paths {
        if let Some(Located { value, location }) = setting {
            found.add_path(key, location, &format!("{what}: {}", escape::path(value)), value, context);
        }
    }
    if let Some(Located { value, location }) = &config.image.name {
        // To run it takes no trust: an image is as untrusted as the command.
        found.add(
            "image.name",
            location,
            format!("has a build take the place of what is called {value:?} here"),
        );
        if let Some(added) = found.0.last_mut() {
            added.applies = Applies::Building;
        }
    }
    // Packages come from the distribution's archive, whatever their names.
    if let Some(Located { value, location }) = &config.image.base {
        if !is_stock_base(value) {
            found.add(
                "image.base",
                location,
                format!("has a build start from {value:?}, and run what that says"),
            );
        }
    }
    for (name, Located { value, location }) in &config.build_args {
        let what = format!("sets {name} to {value:?} for a build, which decides what that runs");
        found.add(format!("image.build_args.{name}"), location, what);
    }
    if let Some(Located { value, location }) = &config.container.runtime {
        found.add("container.runtime", location, format!("has containers run by another runtime: {value:?}"));
    }
    let own_pull = context.without.settings().container.pull.as_ref().map(|own| own.value);
    if let (Some(Located { value, location }), Some(Pull::Never)) = (&config.container.pull, own_pull) {
        if *value != Pull::Never {
            found.add(
                "container.pull",
                location,
                "lets the engine fetch images, which your own settings do not",
            );
        }
    }
    if let Some(Located { value, location }) = &config.container.host_path_prefix {
        let what = format!("moves every shared path: \"{}\"", escape::path(value));
        found.add("container.host_path_prefix", location, what);
    }
}

fn boundaries(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    let directory = normalise(context.directory);
    let given_up = context.without.settings().protect.given_up();
    for (name, dir) in &config.shared_dirs {
        let Some(Located { value: host, location }) = &dir.value.host else { continue };
        let written = normalise(host);
        let shown = escape::path(&written);
        let lead = context.leads.get(host);
        let mut add = |what: String| {
            found.add_path(format!("shared_dirs.{name}.host"), location, &what, host, context);
        };
        match lead {
            _ if !written.starts_with(&directory) => {
                add(format!("shares {shown}, which is outside the project"));
            }
            Some(lead) if lead.path.starts_with(context.resolved_directory) => {}
            Some(_) => add(format!("shares {shown} through a link out of the project")),
            None => add(format!("shares {shown}, and where that leads cannot be told")),
        }
        let mode = dir.value.mode.as_ref().map(|mode| mode.value).unwrap_or_default();
        if mode == BoundaryMode::ReadWrite {
            let resolved = lead.map_or(written.as_path(), |lead| lead.path.as_path());
            let covered = [resolved, &written].into_iter().find_map(|path| covering(path, &given_up));
            let repository = lead.and_then(|lead| lead.repository.as_ref());
            let inside = covered.map(|covered| covered.to_string()).or_else(|| {
                repository.map(|repository| format!("part of the repository {}", escape::path(repository)))
            });
            let inside = inside.or_else(|| lead?.named.clone());
            if let Some(inside) = inside {
                add(format!("lets the agent write {shown}, {inside}, which programs outside obey"));
            }
        }
    }
}

/// Writes a value, or that there is none.
fn shown<T: fmt::Display>(setting: Option<&Located<T>>) -> String {
    setting.map_or_else(|| "?".to_owned(), |setting| setting.value.to_string())
}

/// Describes the server that a secret in proxy mode is shown to.
fn proxied_to(secret: &SecretTable) -> Option<String> {
    secret.mode.as_ref().filter(|mode| mode.value == SecretMode::Proxy)?;
    Some(match secret.provider.as_ref().map(|provider| provider.value) {
        Some(SecretProvider::Custom) | None => {
            let template =
                secret.template.as_ref().map(|template| template.value.clone()).unwrap_or_default();
            format!(
                "{} (header {}: {template})",
                shown(secret.upstream.as_ref()),
                shown(secret.header.as_ref())
            )
        }
        Some(provider) => provider.to_string(),
    })
}

fn sockets(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    for (name, socket) in &config.sockets {
        let key = format!("sockets.{name}");
        match socket.value.host.as_ref().map(|host| &host.value) {
            Some(SocketSource::Path(path)) => {
                let resolved = context.leads.get(path).map_or(path, |lead| &lead.path);
                let more =
                    controls(resolved).map(|what| format!(", which controls {what}")).unwrap_or_default();
                let shown = escape::path(&normalise(path));
                let what = format!("lets the agent connect to the socket {shown}{more}");
                found.add_path(key, &socket.location, &what, path, context);
            }
            Some(SocketSource::Variable(variable)) => {
                let what =
                    format!("lets the agent connect to the socket that your variable {variable} names");
                found.add(key, &socket.location, what);
            }
            None => {}
        }
    }
}

fn credentials(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    for (name, secret) in &config.secrets {
        let source = secret.value.source.as_ref().map_or_else(String::new, |source| source.value.show());
        let env_var = secret.value.env_var.as_ref().map_or("", |name| name.value.as_str());
        let what = match proxied_to(&secret.value) {
            None => format!("hands the agent the secret {source} as {env_var}"),
            Some(upstream) => {
                format!(
                    "sends {upstream} what the agent asks, with the secret {source}, which it does not see"
                )
            }
        };
        let key = format!("secrets.{name}");
        match secret.value.source.as_ref().map(|source| &source.value) {
            Some(SecretSource::File(path)) => found.add_path(key, &secret.location, &what, path, context),
            _ => found.add(key, &secret.location, what),
        }
    }
    for name in config.env.pass.iter().flat_map(|list| &list.value) {
        if !env::HARMLESS.contains(&name.value.as_str()) {
            found.add("env.pass", &name.location, format!("shows the agent your variable {}", name.value));
        }
    }
}

fn hosts(config: &Config, without: &Config, found: &mut Widenings) {
    match &config.network.mode {
        Some(Located { value: network::NetworkMode::Open, location }) => {
            found.add("network.mode", location, "lets the agent reach everything that this machine reaches");
        }
        Some(Located { value: network::NetworkMode::Allowlist, location }) => {
            found.add("network.mode", location, "lets the agent reach the hosts that the file names");
        }
        _ => {}
    }
    for hosts in config.network.allow.iter().flat_map(|list| &list.value) {
        // Every host by itself: a preset that has got another one since asks again for that one.
        for rule in hosts.value.rules(hosts.location.origin()) {
            let preset = rule.preset.map(|preset| format!(", of {preset}")).unwrap_or_default();
            let what = match &rule.pattern {
                network::Pattern::Hosts(hosts) => format!("lets the agent reach {hosts}{preset}"),
                network::Pattern::Requests(requests) => format!("lets the agent send {requests}"),
            };
            found.add("network.allow", &hosts.location, what);
        }
    }
    for host in config.network.intercept.iter().flat_map(|list| &list.value) {
        let what = format!("lets the egress proxy see what the agent sends to {} by TLS", host.value);
        found.add("network.intercept", &host.location, what);
    }
    not_intercepted(config, without, found);
    if let Some(list) = &config.network.deny {
        // A list replaces the one beneath.
        let kept = |denied: &network::Pattern| list.value.iter().any(|pattern| pattern.value == *denied);
        let denied = without.network.deny.iter().flat_map(|list| &list.value);
        for pattern in denied.filter(|pattern| !kept(&pattern.value)) {
            found.add("network.deny", &list.location, format!("no longer denies {}", pattern.value));
        }
    }
}

/// Adds the hosts to which TLS is intercepted without the file and not with it, where the agent can reach them.
fn not_intercepted(config: &Config, without: &Config, found: &mut Widenings) {
    let Some(list) = &config.network.intercept else { return };
    let mode = config.network.mode.as_ref().map(|mode| mode.value);
    if mode == Some(network::NetworkMode::None) {
        return;
    }
    let allow = config.network.allow.as_ref().or(without.network.allow.as_ref());
    let allow: Vec<_> = allow
        .iter()
        .flat_map(|list| &list.value)
        .flat_map(|hosts| hosts.value.rules(hosts.location.origin()))
        .collect();
    let is_lost = |host: &&network::HostPattern| {
        !list.value.iter().any(|kept| kept.value.covers(host))
            && allow.iter().any(|rule| rule.pattern.hosts().overlaps(host))
    };
    let own = without.network.intercept.iter().flat_map(|list| &list.value).map(|host| &host.value);
    for host in own.filter(is_lost) {
        let what =
            format!("sends {host} what the egress proxy no longer sees, which your own settings intercept");
        found.add("network.intercept", &list.location, what);
    }
}

fn limits(config: &Config, without: &Config, found: &mut Widenings) {
    let file = &config.limits;
    let held = without.limits.or_default();
    raised(found, "limits.memory", file.memory.as_ref(), held.memory, unlimited_is_highest);
    raised(found, "limits.cpus", file.cpus.as_ref(), held.cpus, unlimited_is_highest);
    raised(found, "limits.pids", file.pids.as_ref(), held.pids, unlimited_is_highest);
    raised(found, "limits.timeout", file.timeout.as_ref(), held.timeout, unlimited_is_highest);
    raised(found, "limits.output_bytes", file.output_bytes.as_ref(), held.output_bytes, |a, b| a > b);
    raised(found, "limits.tmp_size", file.tmp_size.as_ref(), held.tmp_size, |a, b| a > b);
    raised(found, "limits.cpu_time", file.cpu_time.as_ref(), held.cpu_time, unlimited_is_highest);
    raised(found, "limits.file_size", file.file_size.as_ref(), held.file_size, unlimited_is_highest);
    raised(
        found,
        "limits.network_bytes",
        file.network_bytes.as_ref(),
        held.network_bytes,
        unlimited_is_highest,
    );
}

fn raised<T: Copy + Show>(
    found: &mut Widenings,
    key: &str,
    file: Option<&Located<T>>,
    held: T,
    is_higher: impl Fn(T, T) -> bool,
) {
    let Some(Located { value, location }) = file else { return };
    if is_higher(*value, held) {
        let what = format!("raises the limit to {}; without the file it is {}", value.show(), held.show());
        found.add(key, location, what);
    }
}

fn unlimited_is_highest<T: Ord>(a: Option<T>, b: Option<T>) -> bool {
    match (a, b) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
    }
}

fn protection(config: &Config, without: &Config, found: &mut Widenings) {
    for path in config.protect.allow.iter().flat_map(|list| &list.value) {
        let what = if path.value.may_be_unknown() {
            format!("lets the agent make {} without a report", path.value)
        } else {
            format!("lets the agent change {}", path.value)
        };
        found.add("protect.allow", &path.location, what);
    }
    if let Some(Located { value, location }) = &config.protect.depth {
        let held = without.protect.depth.as_ref().map_or(DEPTH, |depth| depth.value);
        if *value < held {
            let what = format!("looks for nested repositories and sockets {value} deep in place of {held}");
            found.add("protect.depth", location, what);
        }
    }
    if let Some(Located { value: OnReplaced::Warn, location }) = &config.protect.on_replaced {
        if without.protect.on_replaced.as_ref().map(|held| held.value) != Some(OnReplaced::Warn) {
            found.add("protect.on_replaced", location, "lets a sandbox run on that has lost a protection");
        }
    }
}

fn repository(config: &Config, without: &Config, found: &mut Widenings) {
    let Some(Located { value, location }) = &config.git.repository else { return };
    if *value > without.git.repository.as_ref().map(|held| held.value).unwrap_or_default() {
        let what = match value {
            RepositoryAccess::ReadWrite => "lets the agent write to the repository of a linked worktree",
            RepositoryAccess::ReadOnly | RepositoryAccess::None => {
                "shows the agent the repository of a linked worktree"
            }
        };
        found.add("git.repository", location, what);
    }
}

fn native(config: &Config, context: &TrustContext<'_>, found: &mut Widenings) {
    let without = context.without.settings();
    if let Some(list) = &config.native.require {
        let kept: BTreeSet<Layer> = list.value.iter().map(|layer| layer.value).collect();
        for layer in required(without).difference(&kept) {
            let what = format!("lets the agent start where {layer} cannot be enforced");
            found.add("native.require", &list.location, what);
        }
    }
    for exposed in config.native.expose.iter().flat_map(|list| &list.value) {
        if let Expose::Path(path) = &exposed.value {
            let what = format!("shows the agent {}", escape::path(path));
            found.add_path("native.expose", &exposed.location, &what, path, context);
        }
    }
}

fn pool(config: &Config, without: &Config, found: &mut Widenings) {
    if let Some(Located { value: size, location }) = &config.pool.size {
        if *size > without.pool.size.as_ref().map_or(0, |size| size.value) {
            found.add("pool.size", location, format!("keeps {size} containers waiting on this machine"));
        }
    }
    if let Some(Located { value: age, location }) = &config.pool.max_age {
        if *age > without.pool.max_age.as_ref().map_or(POOL_AGE, |age| age.value) {
            let what = format!("keeps containers waiting for {}", time::duration(*age));
            found.add("pool.max_age", location, what);
        }
    }
}

fn children(config: &Config, without: &Config, found: &mut Widenings) {
    if let Some(Located { value: max, location }) = &config.children.max {
        if *max > without.children.max.as_ref().map_or(0, |held| held.value) {
            found.add(
                "children.max",
                location,
                format!("lets the agent start {max} sandboxes beside its own"),
            );
        }
    }
    if let Some(Located { value: depth, location }) = &config.children.depth {
        if *depth > without.children.depth.as_ref().map_or(CHILD_DEPTH, |held| held.value) {
            let what =
                format!("lets sandboxes that the agent starts have children, {depth} generations in all");
            found.add("children.depth", location, what);
        }
    }
    let (file, held) = (&config.children, &without.children);
    raised(found, "children.memory", file.memory.as_ref(), limit(held.memory.as_ref()), unlimited_is_highest);
    raised(found, "children.cpus", file.cpus.as_ref(), limit(held.cpus.as_ref()), unlimited_is_highest);
    raised(found, "children.pids", file.pids.as_ref(), limit(held.pids.as_ref()), unlimited_is_highest);
    raised(
        found,
        "children.timeout",
        file.timeout.as_ref(),
        limit(held.timeout.as_ref()),
        unlimited_is_highest,
    );
}

fn lifecycle(config: &Config, without: &Config, found: &mut Widenings) {
    let (file, held) = (&config.lifecycle, &without.lifecycle);
    for (key, file, held) in [
        ("lifecycle.idle_timeout", &file.idle_timeout, &held.idle_timeout),
        ("lifecycle.max_duration", &file.max_duration, &held.max_duration),
    ] {
        raised(found, key, file.as_ref(), limit(held.as_ref()), unlimited_is_highest);
    }
}

/// Returns a limit that holds unless something sets it: none.
fn limit<T: Copy>(held: Option<&Located<Option<T>>>) -> Option<T> {
    held.and_then(|held| held.value)
}

fn workers(config: &Config, without: &Config, found: &mut Widenings) {
    for (name, table) in &config.workers {
        let worker = &table.value;
        if without.workers.contains_key(name) {
            let what = format!("takes the place of your worker `{name}`");
            found.add(format!("workers.{name}"), &table.location, what);
        }
        if let Some(Located { value: Inherit::None, location }) = &worker.inherit {
            let file = worker.config.iter().map(|file| format!(", as {} says", escape::path(&file.value)));
            let file: String = file.collect();
            let what = format!("lets the worker `{name}` have what this sandbox does not have{file}");
            found.add(format!("workers.{name}.inherit"), location, what);
        }
        if let Some(Located { value: max @ 2.., location }) = &worker.max {
            let what = format!("lets {max} of the worker `{name}` live at once");
            found.add(format!("workers.{name}.max"), location, what);
        }
    }
}

/// Returns the layers that are required without the file.
fn required(without: &Config) -> BTreeSet<Layer> {
    if let Some(list) = &without.native.require {
        return list.value.iter().map(|layer| layer.value).collect();
    }
    key::LAYERS.iter().filter(|(_, need)| *need == Need::Required).map(|(layer, _)| *layer).collect()
}

impl Serialize for Widening {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Widening", 3)?;
        out.serialize_field("key", &self.key)?;
        out.serialize_field("place", &self.location.to_string())?;
        out.serialize_field("what", &self.what)?;
        out.end()
    }
}
