//! Whether a plan is no wider than another one.
//!
//! What is protected in the directories of the other plan is protected in the same directories here, without being said. Everything else has to be in the
//! worker's own settings, so that whoever reads them sees what holds: a difference is refused, and named.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::child::{is_allowed, is_internal};
use crate::plan::{
    Boundary, BoundaryKind, BoundaryMode, Execution, Layer, Network, OnReplaced, Plan, Protect, ToolRules,
};
use crate::rules::children::Children;
use crate::rules::limits::Limits;
use crate::rules::network::Pattern;
use crate::rules::verdict::listing;
use crate::text::json_object::Mistake;
use crate::text::{escape, time};

impl Plan {
    /// Returns what a worker's plan has beyond this one. `passed` are the variables that the worker gets from the caller's environment.
    pub fn exceeded_by(&self, worker: &Self, passed: &BTreeSet<String>) -> Vec<Mistake> {
        let mut found = Vec::new();
        providers(self, worker, &mut found);
        boundaries(self, worker, &mut found);
        sockets_and_toolchains(self, worker, &mut found);
        credentials(self, worker, &mut found);
        variables(self, worker, passed, &mut found);
        network(&self.network, &worker.network, &mut found);
        limits(&self.limits, &worker.limits, &mut found);
        children(self.children.as_ref(), worker.children.as_ref(), &mut found);
        protection(&self.protect, &worker.protect, &mut found);
        layers(self, worker, &mut found);
        found
    }

    /// Protects in the directories of a worker what is protected in them here.
    pub fn protect_in(&self, worker: &mut Self) {
        let Self { boundaries, protect, .. } = worker;
        let mut within = vec![PathBuf::new()];
        for boundary in boundaries.iter().filter(|boundary| boundary.mode == BoundaryMode::ReadWrite) {
            let outer = self.boundaries.iter().filter_map(|own| boundary.host.strip_prefix(&own.host).ok());
            for relative in outer {
                // A repository may begin at each directory on the way, and paths are protected in each.
                let parts: Vec<_> = relative.components().collect();
                within.extend((0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>()));
            }
        }
        let take_over = |own: &[String], theirs: &mut Vec<String>| {
            for path in own {
                let there = within.iter().filter_map(|outer| Path::new(path).strip_prefix(outer).ok());
                for path in there.filter_map(Path::to_str).filter(|path| !path.is_empty()) {
                    if !theirs.iter().any(|one| one == path) {
                        theirs.push(path.to_owned());
                    }
                }
            }
        };
        take_over(&self.protect.paths, &mut protect.paths);
        take_over(&self.protect.of_git, &mut protect.of_git);
        take_over(&self.protect.read_only, &mut protect.read_only);
    }
}

/// Makes a mistake with what to do about it.
fn mistake(message: impl Into<String>, hint: impl Into<String>) -> Mistake {
    Mistake::new(message).hint(hint)
}

fn providers(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    let (own, theirs) = (parent.provider, worker.provider);
    if own != theirs {
        found.push(mistake(
            format!("its provider is {theirs}, and that of this sandbox is {own}"),
            format!("set `provider = \"{own}\"`, or leave it out"),
        ));
    } else if parent.container != worker.container {
        found.push(mistake(
            "its image, or how that is run, is another one",
            "use the same `[image]` and `[container]`",
        ));
    }
}

fn boundaries(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    for boundary in &worker.boundaries {
        let (name, host) = (&boundary.name, escape::path(&boundary.host));
        if boundary.kind == BoundaryKind::Home {
            if !parent.boundaries.contains(boundary) {
                found.push(mistake(
                    "it has a home directory that stays, which is not that of this sandbox",
                    "leave `[home]` out",
                ));
            }
            continue;
        }
        let Some(outer) = outer(parent, boundary) else {
            let shared = listing(parent.boundaries.iter().map(|own| escape::path(&own.host)));
            found.push(mistake(
                format!("`{name}` shares {host}, which this sandbox does not have"),
                format!("this sandbox shares {shared}"),
            ));
            continue;
        };
        if (boundary.mode, outer.mode) == (BoundaryMode::ReadWrite, BoundaryMode::ReadOnly) {
            let message = format!("`{name}` is writable, and {host} is read-only in this sandbox");
            found.push(mistake(message, "set `mode = \"ro\"`"));
        }
        if (boundary.execution, outer.execution) == (Execution::Allowed, Execution::Refused) {
            let message = format!("programs in `{name}` can be executed, which they cannot in this sandbox");
            found.push(mistake(message, "set `exec = false`"));
        }
        hidden(boundary, outer, found);
        worktrees(boundary, outer, found);
        tools(boundary, &outer.tools, found);
        covered(parent, worker, boundary, outer, found);
    }
    beside_hidden(parent, worker, found);
}

/// Returns the innermost directory of the parent that has one of the worker.
fn outer<'p>(parent: &'p Plan, boundary: &Boundary) -> Option<&'p Boundary> {
    let has = |own: &&Boundary| own.kind != BoundaryKind::Home && boundary.host.starts_with(&own.host);
    parent.boundaries.iter().filter(has).max_by_key(|own| own.host.components().count())
}

fn hidden(boundary: &Boundary, outer: &Boundary, found: &mut Vec<Mistake>) {
    let name = &boundary.name;
    let missing: Vec<_> = outer.hide.iter().filter(|pattern| !boundary.hide.contains(pattern)).collect();
    // Such a pattern means another file in a directory further down.
    let is_anchored = |pattern: &String| pattern.trim_end_matches('/').contains('/');
    if !missing.is_empty() {
        let message = format!("`{name}` shows what this sandbox hides: {}", listing(missing));
        found.push(mistake(message, "name the same patterns in `hide`"));
    } else if boundary.host != outer.host && outer.hide.iter().any(is_anchored) {
        found.push(mistake(
            format!("`{name}` is a part of a directory in which this sandbox hides paths from its top on"),
            format!("share the whole of {}", escape::path(&outer.host)),
        ));
    }
}

fn worktrees(boundary: &Boundary, outer: &Boundary, found: &mut Vec<Mistake>) {
    if outer.worktrees.is_empty() || boundary.mode == BoundaryMode::ReadOnly {
        return;
    }
    let within = |tree: &String| outer.worktrees.contains(tree);
    if boundary.host != outer.host || boundary.worktrees.is_empty() || !boundary.worktrees.iter().all(within)
    {
        found.push(mistake(
            format!("`{}` has data of linked worktrees that this sandbox cannot write", boundary.name),
            "share the same worktrees, or set `git.repository = \"ro\"`",
        ));
    }
}

fn tools(boundary: &Boundary, own: &ToolRules, found: &mut Vec<Mistake>) {
    let (ToolRules { suffixes, max_file_bytes }, name) = (&boundary.tools, &boundary.name);
    let is_wider = |suffix: &String| !own.suffixes.contains(suffix);
    if !own.suffixes.is_empty() && (suffixes.is_empty() || suffixes.iter().any(is_wider)) {
        found.push(mistake(
            format!("the file tools touch more suffixes in `{name}` than in this sandbox"),
            format!("name `suffixes` of {}", listing(&own.suffixes)),
        ));
    }
    let is_lower = |own| max_file_bytes.is_none_or(|theirs| theirs > own);
    if let Some(limit) = own.max_file_bytes.filter(|own| is_lower(*own)) {
        found.push(mistake(
            format!("the file tools touch larger files in `{name}` than in this sandbox"),
            format!("set `max_file_bytes = {}`", limit.0),
        ));
    }
}

/// Refuses a directory of which this sandbox sees a part covered by another one that the worker does not have there.
fn covered(parent: &Plan, worker: &Plan, boundary: &Boundary, outer: &Boundary, found: &mut Vec<Mistake>) {
    for cover in parent.boundaries.iter().filter(|own| own.guest != outer.guest) {
        let Ok(relative) = cover.guest.strip_prefix(&outer.guest) else { continue };
        let place = outer.host.join(relative);
        let is_covered = match place.strip_prefix(&boundary.host) {
            Ok(rest) => worker.boundaries.iter().any(|theirs| {
                theirs.host == cover.host && theirs.guest.strip_prefix(&boundary.guest) == Ok(rest)
            }),
            Err(_) => !boundary.host.starts_with(&place),
        };
        // Mounted on itself, it covers nothing.
        if !is_covered && cover.host != place {
            let (name, shown, by) = (&boundary.name, escape::path(&place), &cover.name);
            found.push(mistake(
                format!("`{name}` shows {shown}, which `{by}` covers in this sandbox"),
                format!("share {} there, too", escape::path(&cover.host)),
            ));
        }
    }
}

/// Refuses a directory without one that hides files: its patterns hide the same files wherever they are shared.
fn beside_hidden(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    let mut shared = worker.boundaries.iter().filter(|theirs| theirs.kind != BoundaryKind::Home);
    let Some(some) = shared.next() else { return };
    let has = |own: &Boundary| worker.boundaries.iter().any(|theirs| theirs.host == own.host);
    for missing in parent.boundaries.iter().filter(|own| !own.hide.is_empty() && !has(own)) {
        // Of a part of it, that was said.
        if worker.boundaries.iter().any(|theirs| theirs.host.starts_with(&missing.host)) {
            continue;
        }
        let (hiding, other) = (&missing.name, &some.name);
        found.push(mistake(
            format!("this sandbox hides files in `{hiding}`, which may be in `{other}` too, so a worker has both or neither"),
            format!("share {} with the same `hide`; `mode = \"ro\"` will do", escape::path(&missing.host)),
        ));
    }
}

fn sockets_and_toolchains(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    for socket in &worker.sockets {
        if !parent.sockets.iter().any(|own| own.host == socket.host) {
            found.push(mistake(
                format!("it can connect to {}, and this sandbox cannot", escape::path(&socket.host)),
                format!("leave `sockets.{}` out", socket.name),
            ));
        }
    }
    for exposed in &worker.expose {
        let boundaries = parent.boundaries.iter().map(|own| &own.host);
        let mut trees = parent.expose.iter().map(|own| &own.host).chain(boundaries);
        if !trees.any(|own| exposed.host.starts_with(own)) {
            found.push(mistake(
                format!("it sees {}, and this sandbox does not", escape::path(&exposed.host)),
                format!("leave `{}` out of `native.expose`", exposed.name),
            ));
        }
    }
}

fn credentials(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    for secret in &worker.secrets {
        if parent.secrets.iter().any(|own| own.source == secret.source) {
            continue;
        }
        let name = &secret.name;
        let message = if parent.credentials().any(|own| own.source == secret.source) {
            format!("it sees the secret `{name}`, which stays with the egress proxy for this sandbox")
        } else {
            format!("it has the secret `{name}`, which this sandbox does not have")
        };
        found.push(mistake(message, format!("leave `secrets.{name}` out, or give it to both")));
    }
    for route in &worker.routes {
        let source = route.credential.as_ref().map(|secret| &secret.source);
        let has = parent.routes.iter().any(|own| {
            own.upstream == route.upstream && own.credential.as_ref().map(|secret| &secret.source) == source
        });
        if !has {
            let name = &route.name;
            found.push(mistake(
                format!("the egress proxy adds the secret `{name}` to its requests, and not to those of this sandbox"),
                format!("leave `secrets.{name}` out, or give it to both"),
            ));
        }
    }
    if worker.git.is_some() && worker.git != parent.git {
        found.push(Mistake::new("it commits in the name of the caller, and this sandbox does not"));
    }
}

fn variables(parent: &Plan, worker: &Plan, passed: &BTreeSet<String>, found: &mut Vec<Mistake>) {
    for variable in worker.env.iter().filter(|variable| passed.contains(&variable.name)) {
        if !parent.env.contains(variable) {
            let name = escape::line(&variable.name);
            found.push(mistake(
                format!("it sees the caller's value of the variable {name}, and this sandbox does not"),
                format!("leave {name} out of `env.pass`"),
            ));
        }
    }
    // The image may set one.
    let is_set = |name: &String| worker.env.iter().any(|variable| variable.name == *name);
    for name in parent.unset.iter().filter(|name| !worker.unset.contains(name) && !is_set(name)) {
        let name = escape::line(name);
        found.push(mistake(
            format!("the variable {name} is taken away from this sandbox, and not from it"),
            "name it in `env.unset`",
        ));
    }
}

fn network(own: &Network, theirs: &Network, found: &mut Vec<Mistake>) {
    match (own, theirs) {
        (_, Network::None) | (Network::Open, Network::Open) => {}
        (Network::None, _) => {
            found.push(mistake(
                "it has a network, and this sandbox has none",
                "set `network.mode = \"none\"`",
            ));
        }
        (Network::Allowlist { .. }, Network::Open) => {
            found.push(mistake(
                "it reaches every host, and this sandbox only some",
                "set `network.mode = \"allowlist\"`",
            ));
        }
        (Network::Open, Network::Allowlist { allow, .. }) => {
            // The proxy of a worker is on the host, whose own addresses the sandbox does not reach.
            for rule in allow.iter().filter(|rule| is_internal(&rule.pattern)) {
                let message = format!("`{}` leads inwards, where this sandbox does not", rule.pattern);
                found.push(mistake(message, "leave it out of `network.allow`"));
            }
        }
        (
            Network::Allowlist { allow: own_allow, deny: own_deny, intercept: own_intercept },
            Network::Allowlist { allow, deny, intercept },
        ) => {
            let own_hosts = || listing(own_allow.iter().map(|rule| &rule.pattern));
            for rule in allow.iter().filter(|rule| !is_allowed(&rule.pattern, own_allow)) {
                found.push(mistake(
                    format!("it may reach `{}`, and this sandbox may not", rule.pattern),
                    format!("this sandbox may reach {}", own_hosts()),
                ));
            }
            let denies = |pattern: &Pattern| deny.iter().any(|theirs| theirs.pattern == *pattern);
            for rule in own_deny.iter().filter(|rule| !denies(&rule.pattern)) {
                found.push(mistake(
                    format!("`{}` is denied to this sandbox, and not to it", rule.pattern),
                    "name it in `network.deny`, too",
                ));
            }
            for host in own_intercept.iter().filter(|host| !intercept.contains(host)) {
                found.push(mistake(
                    format!(
                        "the egress proxy reads what this sandbox sends to `{host}`, and not what it sends"
                    ),
                    "name it in `network.intercept`, too",
                ));
            }
        }
    }
}

fn limits(own: &Limits, theirs: &Limits, found: &mut Vec<Mistake>) {
    let mut check = |key: &str, higher: Option<(String, String)>| {
        let Some((own, theirs)) = higher else { return };
        found.push(mistake(
            format!("`limits.{key}` is {theirs}, and {own} in this sandbox"),
            format!("set at most {own}"),
        ));
    };
    check("memory", higher(own.memory, theirs.memory));
    check("cpus", higher(own.cpus, theirs.cpus));
    check("pids", higher(own.pids, theirs.pids));
    check("network_bytes", higher(own.network_bytes, theirs.network_bytes));
    check("file_size", higher(own.file_size, theirs.file_size));
    check("tmp_size", higher(Some(own.tmp_size), Some(theirs.tmp_size)));
    check("timeout", higher_by(own.timeout, theirs.timeout, |limit| time::duration(*limit)));
    check("cpu_time", higher_by(own.cpu_time, theirs.cpu_time, |limit| time::duration(*limit)));
}

/// Returns both limits in words where the second one is higher.
fn higher<T: Ord + Display>(own: Option<T>, theirs: Option<T>) -> Option<(String, String)> {
    higher_by(own, theirs, ToString::to_string)
}

fn higher_by<T: Ord>(
    own: Option<T>,
    theirs: Option<T>,
    shown: impl Fn(&T) -> String,
) -> Option<(String, String)> {
    let own = own?;
    match theirs {
        Some(theirs) if theirs <= own => None,
        Some(theirs) => Some((shown(&own), shown(&theirs))),
        None => Some((shown(&own), "unlimited".to_owned())),
    }
}

fn children(own: Option<&Children>, theirs: Option<&Children>, found: &mut Vec<Mistake>) {
    let Some(theirs) = theirs else { return };
    if !own.is_some_and(|own| theirs.max <= own.max && theirs.depth <= own.depth) {
        found.push(mistake("it may start more sandboxes than this sandbox may", "leave `[children]` out"));
    }
}

fn protection(own: &Protect, theirs: &Protect, found: &mut Vec<Mistake>) {
    let more: Vec<_> = theirs.allow.iter().filter(|name| !own.allows(name.as_ref())).collect();
    if !more.is_empty() {
        let message = format!("new names are not reported that this sandbox reports: {}", listing(more));
        found.push(mistake(message, "leave them out of `protect.allow`"));
    }
    if theirs.depth < own.depth {
        let message = format!("`protect.depth` is {}, and {} in this sandbox", theirs.depth, own.depth);
        found.push(mistake(message, format!("set at least {}", own.depth)));
    }
    if (own.on_replaced, theirs.on_replaced) == (OnReplaced::End, OnReplaced::Warn) {
        found.push(mistake(
            "it is not ended when a protected file is replaced, and this sandbox is",
            "leave `protect.on_replaced` out",
        ));
    }
}

fn layers(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    let is_less = |(layer, need): &(&Layer, _)| worker.layers.get(layer).is_none_or(|theirs| theirs < *need);
    let less: Vec<_> = parent.layers.iter().filter(is_less).map(|(layer, _)| layer).collect();
    if !less.is_empty() {
        let message = format!("it starts without layers that this sandbox requires: {}", listing(less));
        found.push(mistake(message, "name them in `native.require`, too"));
    }
}
