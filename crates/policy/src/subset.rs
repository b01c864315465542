//! Workers that have no more than their sandbox.
//!
//! What narrows the sandbox narrows the worker without being said: limits, what is hidden, denied, protected and required. What gives something,
//! a directory, a host, a credential, has to be given to the sandbox, too: a difference is refused, and named.

use std::collections::BTreeSet;
use std::path::Path;

use crate::child::{is_allowed, is_internal};
use crate::plan::{
    Boundary, BoundaryKind, BoundaryMode, Execution, Lifecycle, Network, OnReplaced, Plan, Protect,
};
use crate::rules::limits::Limits;
use crate::rules::network::HostPattern;
use crate::rules::verdict::listing;
use crate::text::escape;
use crate::text::json_object::Mistake;

/// What settings say of variables, by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ExplicitVariables {
    /// Those of which the caller's values pass.
    pub passed: BTreeSet<String>,
    /// Those that have a value of their own.
    pub set: BTreeSet<String>,
}

impl Plan {
    /// Narrows a worker's plan by what narrows this one. `explicit` is what the worker's own settings say of variables.
    pub fn narrow(&self, worker: &mut Self, explicit: &ExplicitVariables) {
        narrow_limits(&self.limits, &mut worker.limits);
        narrow_variables(self, worker, explicit);
        let Lifecycle { idle_timeout, max_duration } = &mut worker.lifecycle;
        lower(self.lifecycle.idle_timeout, idle_timeout);
        lower(self.lifecycle.max_duration, max_duration);
        if let (Network::Allowlist { deny: own, .. }, Network::Allowlist { deny, .. }) =
            (&self.network, &mut worker.network)
        {
            deny.extend(own.clone());
        }
        for (layer, need) in &self.layers {
            let theirs = worker.layers.entry(*layer).or_insert(*need);
            *theirs = (*theirs).max(*need);
        }
        for boundary in &mut worker.boundaries {
            if let Some(own) = self.boundaries.iter().find(|own| own.host == boundary.host) {
                add(&own.hide, &mut boundary.hide);
            }
        }
        let Protect { paths, of_git, read_only, allow, unread, depth, on_replaced } = &mut worker.protect;
        add(&self.protect.paths, paths);
        add(&self.protect.of_git, of_git);
        add(&self.protect.read_only, read_only);
        add(&self.protect.unread, unread);
        allow.retain(|name| self.protect.allows(name.as_ref()));
        *depth = self.protect.depth.max(*depth);
        if self.protect.on_replaced == OnReplaced::End {
            *on_replaced = OnReplaced::End;
        }
    }

    /// Returns what a worker's plan has that this one does not have.
    pub fn exceeded_by(&self, worker: &Self) -> Vec<Mistake> {
        let mut found = Vec::new();
        if self.container != worker.container {
            let image =
                |plan: &Self| plan.container.as_ref().map_or("none", |one| one.image.as_str()).to_owned();
            found.push(mistake(
                format!(
                    "its image is `{}`, or it is run in another way; that of this sandbox is `{}`",
                    image(worker),
                    image(self)
                ),
                "leave `[image]` and `[container]` out, and it has those of this sandbox",
            ));
        }
        boundaries(self, worker, &mut found);
        sockets_and_toolchains(self, worker, &mut found);
        credentials(self, worker, &mut found);
        network(&self.network, &worker.network, &mut found);
        if worker.children.is_some() {
            found.push(mistake("it may start sandboxes of its own", "leave `[children]` out"));
        }
        found
    }
}

/// Adds the entries that are not there yet.
fn add<T: Clone + PartialEq>(own: &[T], theirs: &mut Vec<T>) {
    let new: Vec<_> = own.iter().filter(|one| !theirs.contains(one)).cloned().collect();
    theirs.extend(new);
}

/// Lowers a limit.
fn lower<T: Copy + Ord>(own: Option<T>, theirs: &mut Option<T>) {
    *theirs = own.into_iter().chain(*theirs).min();
}

fn narrow_limits(own: &Limits, theirs: &mut Limits) {
    let Limits { memory, cpus, pids, timeout, output_bytes, tmp_size, network_bytes, cpu_time, file_size } =
        theirs;
    lower(own.memory, memory);
    lower(own.cpus, cpus);
    lower(own.pids, pids);
    lower(own.timeout, timeout);
    lower(own.network_bytes, network_bytes);
    lower(own.cpu_time, cpu_time);
    lower(own.file_size, file_size);
    *output_bytes = own.output_bytes.min(*output_bytes);
    *tmp_size = own.tmp_size.min(*tmp_size);
}

/// Gives a worker of the caller's variables those that the sandbox has, as that has them, and takes away what is taken away from the sandbox.
fn narrow_variables(parent: &Plan, worker: &mut Plan, explicit: &ExplicitVariables) {
    let ExplicitVariables { passed, set } = explicit;
    let own = |name: &String| parent.env.iter().find(|own| own.name == *name);
    let is_taken_away = |name: &String| parent.unset.contains(name) && !set.contains(name);
    worker.env.retain(|variable| {
        let is_given = !passed.contains(&variable.name) || own(&variable.name).is_some();
        is_given && !is_taken_away(&variable.name)
    });
    for variable in worker.env.iter_mut().filter(|variable| passed.contains(&variable.name)) {
        if let Some(own) = own(&variable.name) {
            variable.value.clone_from(&own.value);
        }
    }
    let unset: Vec<_> = parent.unset.iter().filter(|name| is_taken_away(name)).cloned().collect();
    add(&unset, &mut worker.unset);
}

/// Makes a mistake with what to do about it.
fn mistake(message: impl Into<String>, hint: impl Into<String>) -> Mistake {
    Mistake::new(message).hint(hint)
}

fn boundaries(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    for boundary in &worker.boundaries {
        let (name, host) = (&boundary.name, escape::path(&boundary.host));
        if boundary.kind == BoundaryKind::Home {
            if !parent.boundaries.contains(boundary) {
                found.push(mistake(
                    "it has a persistent home directory, which is not that of this sandbox",
                    "leave `[home]` out",
                ));
            }
            uncovered(parent, &boundary.guest, "the home directory", found);
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
        part(boundary, outer, found);
        worktrees(boundary, outer, found);
        covered(parent, worker, boundary, outer, found);
    }
    beside_hidden(parent, worker, found);
}

/// Returns the innermost directory of the parent that has one of the worker.
fn outer<'p>(parent: &'p Plan, boundary: &Boundary) -> Option<&'p Boundary> {
    let has = |own: &&Boundary| own.kind != BoundaryKind::Home && boundary.host.starts_with(&own.host);
    parent.boundaries.iter().filter(has).max_by_key(|own| own.host.components().count())
}

/// Refuses a part of a directory where what is hidden or protected is found from the top of the whole.
fn part(boundary: &Boundary, outer: &Boundary, found: &mut Vec<Mistake>) {
    if boundary.host == outer.host {
        return;
    }
    let (name, whole) = (&boundary.name, escape::path(&outer.host));
    if !outer.hide.is_empty() {
        found.push(mistake(
            format!("`{name}` is a part of {whole}, in which this sandbox hides {}", listing(&outer.hide)),
            format!("share the whole of {whole}, with `mode = \"ro\"` if that will do"),
        ));
    } else if (boundary.mode, outer.mode) == (BoundaryMode::ReadWrite, BoundaryMode::ReadWrite) {
        found.push(mistake(
            format!("`{name}` is writable and a part of {whole}: protected paths are found from the top of that, so a part of it cannot be writable"),
            "set `mode = \"ro\"`, or share the whole",
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
        // Mounted on itself, it covers nothing where it narrows nothing.
        let narrows = cover.execution == Execution::Refused || !cover.hide.is_empty();
        if !is_covered && (cover.host != place || narrows) {
            let (name, shown, by) = (&boundary.name, escape::path(&place), &cover.name);
            found.push(mistake(
                format!("`{name}` shows {shown}, which `{by}` covers in this sandbox"),
                format!("share {} there, too", escape::path(&cover.host)),
            ));
        }
    }
}

/// Refuses what is no shared directory where this sandbox has one within it, which covers a part.
fn uncovered(parent: &Plan, guest: &Path, what: &str, found: &mut Vec<Mistake>) {
    let within = |own: &&Boundary| own.guest != *guest && own.guest.starts_with(guest);
    if let Some(cover) = parent.boundaries.iter().find(within) {
        found.push(mistake(
            format!("`{}` covers a part of {what} in this sandbox, and not in it", cover.name),
            "leave that out of its settings",
        ));
    }
}

/// Refuses a directory without one that hides files: its patterns hide the same files wherever they are shared.
fn beside_hidden(parent: &Plan, worker: &Plan, found: &mut Vec<Mistake>) {
    let mut shared = worker.boundaries.iter().filter(|theirs| theirs.kind != BoundaryKind::Home);
    let Some(some) = shared.next() else { return };
    let has = |own: &Boundary| worker.boundaries.iter().any(|theirs| theirs.host == own.host);
    let is_part = |own: &Boundary| worker.boundaries.iter().any(|theirs| theirs.host.starts_with(&own.host));
    // A part of it was refused already.
    for missing in parent.boundaries.iter().filter(|own| !own.hide.is_empty() && !has(own) && !is_part(own)) {
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
        let mut trees = parent.expose.iter().map(|own| &own.host);
        if !trees.any(|own| exposed.host.starts_with(own)) {
            found.push(mistake(
                format!("it sees {}, and this sandbox does not", escape::path(&exposed.host)),
                format!("leave `{}` out of `native.expose`", exposed.name),
            ));
        }
        uncovered(parent, &exposed.guest, &exposed.name, found);
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
                format!("`secrets.{name}` routes its requests, and not those of this sandbox"),
                format!("leave `secrets.{name}` out, or give it to both"),
            ));
        }
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
            Network::Allowlist { allow: own_allow, intercept: own_intercept, .. },
            Network::Allowlist { allow, intercept, .. },
        ) => {
            let own_hosts = || listing(own_allow.iter().map(|rule| &rule.pattern));
            for rule in allow.iter().filter(|rule| !is_allowed(&rule.pattern, own_allow)) {
                found.push(mistake(
                    format!("it may reach `{}`, and this sandbox may not", rule.pattern),
                    format!("this sandbox may reach {}", own_hosts()),
                ));
            }
            let reaches = |host: &HostPattern| {
                let mut hosts = allow.iter().map(|rule| rule.pattern.hosts());
                hosts.any(|allowed| allowed.overlaps(host))
            };
            let sees = |host: &HostPattern| intercept.iter().any(|theirs| theirs.covers(host));
            for host in own_intercept.iter().filter(|host| !sees(host) && reaches(host)) {
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
