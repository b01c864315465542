//! From the plan of a sandbox to the plan of a child that its agent asks for: never wider than the sandbox itself.
//!
//! The child is made by the host beside its parent. Nothing is inherited that the request does not name, but what shows the agent
//! nothing new: the image, toolchains, protected paths, variables that are no secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::request::{ChildRequest, MAX_REQUEST};
use crate::config::defaults::HOME;
use crate::plan::{
    AgentProcess, Boundary, BoundaryKind, BoundaryMode, Init, Lifecycle, Network, Plan, Variable,
};
use crate::rules::limits::Limits;
use crate::rules::network::{HostPattern, HostRule, Pattern, egress};
use crate::rules::rootfs::{HOST_SYSTEM, TMPFS_PATHS};
use crate::rules::verdict::{Origin, listing};
use crate::text::escape;
use crate::text::json_object::Mistake;

mod request;

impl Plan {
    /// Makes the plan of a child with this name.
    ///
    /// # Errors
    ///
    /// Everything that the request asks for and this sandbox does not have itself, with what it could have.
    pub fn child(&self, request: &ChildRequest, name: String) -> Result<Self, Vec<Mistake>> {
        let Some(children) = &self.children else {
            return Err(vec![Mistake::new("this sandbox may have no children")]);
        };
        let mut refused = Vec::new();
        let boundaries = boundaries(self, request, &mut refused);
        let secrets = chosen(&self.secrets, |secret| &secret.name, request);
        let routes = chosen(&self.routes, |route| &route.name, request);
        unknown_secrets(self, request, &mut refused);
        let network = network(self, request, !routes.is_empty(), &mut refused);
        let (limits, grandchildren) = match children.of_child(&self.limits) {
            Ok((own, children)) => (narrowed(&own, request, &mut refused), children),
            Err(problems) => {
                refused.extend(problems.iter().map(|problem| Mistake::new(problem.to_string())));
                (self.limits.clone(), None)
            }
        };
        let workdir = workdir(self, request, &boundaries, &mut refused);
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(Self {
            name,
            provider: self.provider,
            provider_reason: None,
            agent: AgentProcess {
                argv: request.command.iter().map(OsString::from).collect(),
                workdir,
                init: Init::Supervise,
                pass_fd: Vec::new(),
            },
            env: environment(self, request, &network),
            unset: self.unset.clone(),
            git: self.git.clone(),
            secrets,
            routes,
            boundaries,
            sockets: Vec::new(),
            expose: self.expose.clone(),
            links: self.links.clone(),
            container: self.container.clone(),
            network,
            limits,
            lifecycle: Lifecycle::default(),
            pool: None,
            children: grandchildren,
            commands: self.commands.clone(),
            workers: Vec::new(),
            protect: self.protect.clone(),
            layers: self.layers.clone(),
        })
    }
}

/// Returns those of a kind of credential that the request names.
fn chosen<T: Clone>(all: &[T], name: impl Fn(&T) -> &String, request: &ChildRequest) -> Vec<T> {
    all.iter().filter(|one| request.secrets.contains(name(one))).cloned().collect()
}

fn unknown_secrets(plan: &Plan, request: &ChildRequest, refused: &mut Vec<Mistake>) {
    let own = plan.secrets.iter().map(|secret| &secret.name);
    let own: Vec<_> = own.chain(plan.routes.iter().map(|route| &route.name)).collect();
    for name in request.secrets.iter().filter(|name| !own.contains(name)) {
        refused.push(Mistake::new(format!("this sandbox has no secret `{name}`")).hint(there_are(&own)));
    }
}

/// Says what could have been asked for.
fn there_are(names: &[&String]) -> String {
    if names.is_empty() { "there is none".to_owned() } else { format!("there are {}", listing(names.iter())) }
}

fn boundaries(plan: &Plan, request: &ChildRequest, refused: &mut Vec<Mistake>) -> Vec<Boundary> {
    // The persistent home directory is its sandbox's alone.
    let shared: Vec<&Boundary> =
        plan.boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::Home).collect();
    let mut boundaries = Vec::new();
    for (name, mode) in &request.shared_dirs {
        let Some(boundary) = shared.iter().find(|boundary| boundary.name == *name) else {
            let names: Vec<_> = shared.iter().map(|boundary| &boundary.name).collect();
            let message = format!("this sandbox has no shared directory `{name}`");
            refused.push(Mistake::new(message).hint(there_are(&names)));
            continue;
        };
        if (*mode, boundary.mode) == (BoundaryMode::ReadWrite, BoundaryMode::ReadOnly) {
            let message = format!("`{name}` is read-only in this sandbox, so a child cannot write to it");
            refused.push(Mistake::new(message).hint("ask for \"ro\""));
        }
        let mut boundary = (*boundary).clone();
        if *mode == BoundaryMode::ReadOnly {
            boundary.mode = *mode;
            boundary.obeyed_as = None;
        }
        boundaries.push(boundary);
    }
    covered(&shared, request, refused);
    boundaries
}

/// Refuses a shared directory without what keeps parts of it from being seen: patterns of another one hide the same files wherever they are
/// shared, and what is mounted in it covers what it has there.
fn covered(shared: &[&Boundary], request: &ChildRequest, refused: &mut Vec<Mistake>) {
    let is_asked = |boundary: &&&Boundary| request.shared_dirs.contains_key(&boundary.name);
    let Some(some) = shared.iter().find(is_asked) else { return };
    for missing in shared.iter().filter(|boundary| !is_asked(boundary)) {
        let outer = shared.iter().filter(is_asked).find(|outer| missing.guest.starts_with(&outer.guest));
        let message = if let Some(outer) = outer {
            format!("`{}` is mounted in `{}`, so a child has both or neither", missing.name, outer.name)
        } else if missing.hide.is_empty() {
            continue;
        } else {
            format!(
                "`{}` hides files, which may be in `{}` too, so a child has both or neither",
                missing.name, some.name
            )
        };
        refused.push(Mistake::new(message).hint(format!("ask for `{}`, \"ro\" will do", missing.name)));
    }
}

/// Returns the hosts that a child may reach: those that it asks for, each of which its sandbox may reach.
fn network(plan: &Plan, request: &ChildRequest, has_routes: bool, refused: &mut Vec<Mistake>) -> Network {
    if request.allow.is_empty() && !has_routes {
        return Network::None;
    }
    let (deny, intercept) = match &plan.network {
        Network::None => {
            let message = "this sandbox has no network, so a child has none";
            refused.push(Mistake::new(message).hint("leave `allow` out"));
            return Network::None;
        }
        Network::Open => {
            // The proxy of a child is on the host, whose own addresses the sandbox does not reach.
            for pattern in request.allow.iter().filter(|pattern| is_internal(pattern)) {
                let message =
                    format!("`{pattern}` leads inwards, where the network of this sandbox does not");
                refused.push(Mistake::new(message).hint("ask for hosts of the internet"));
            }
            (Vec::new(), Vec::new())
        }
        Network::Allowlist { allow, deny, intercept } => {
            for pattern in request.allow.iter().filter(|pattern| !is_allowed(pattern, allow)) {
                let own = listing(allow.iter().map(|rule| &rule.pattern));
                let message = format!("this sandbox may not reach `{pattern}`, so a child may not");
                refused.push(Mistake::new(message).hint(format!("it may reach {own}")));
            }
            (deny.clone(), intercept.clone())
        }
    };
    let origin = || Origin::Default;
    let allow = request.allow.iter().map(|pattern| HostRule::new(pattern.clone(), origin())).collect();
    Network::Allowlist { allow, deny, intercept }
}

/// Returns whether a pattern names a host that leads inwards.
pub(crate) fn is_internal(pattern: &Pattern) -> bool {
    matches!(pattern.hosts(), HostPattern::Exact { host, .. } if host.is_internal() || host.is_metadata())
}

/// Returns whether all that a pattern allows is allowed by one rule.
pub(crate) fn is_allowed(pattern: &Pattern, allow: &[HostRule]) -> bool {
    // A wildcard never reaches an internal host, which a rule that names it does.
    let is_internal = is_internal(pattern);
    allow.iter().any(|rule| match (&rule.pattern, pattern) {
        (Pattern::Hosts(own), _) => own.covers(pattern.hosts()) && (!is_internal || own.is_exact()),
        (own @ Pattern::Requests(_), asked @ Pattern::Requests(_)) => own == asked,
        (Pattern::Requests(_), Pattern::Hosts(_)) => false,
    })
}

/// Lowers limits to what the request asks for.
fn narrowed(own: &Limits, request: &ChildRequest, refused: &mut Vec<Mistake>) -> Limits {
    let ChildRequest { timeout, memory, cpus, pids, .. } = request;
    let memory = lower("memory", *memory, own.memory, refused);
    let cpus = lower("cpus", *cpus, own.cpus, refused);
    let pids = lower("pids", *pids, own.pids, refused);
    Limits { memory, cpus, pids, timeout: timeout.iter().copied().chain(own.timeout).min(), ..own.clone() }
}

fn lower<T: Copy + Ord + std::fmt::Display>(
    key: &str,
    asked: Option<T>,
    own: Option<T>,
    refused: &mut Vec<Mistake>,
) -> Option<T> {
    if let (Some(asked), Some(own)) = (asked, own) {
        if asked > own {
            refused.push(Mistake::new(format!("`{key}`: a child has at most {own}, and {asked} is more")));
        }
    }
    asked.or(own)
}

/// Returns where a child starts: where it asks to, else where its sandbox's command started, if it has that directory.
fn workdir(
    plan: &Plan,
    request: &ChildRequest,
    boundaries: &[Boundary],
    refused: &mut Vec<Mistake>,
) -> PathBuf {
    let is_shared = |path: &Path| boundaries.iter().any(|boundary| path.starts_with(&boundary.guest));
    let is_tmpfs = |path: &Path| TMPFS_PATHS.iter().any(|own| path == Path::new(own));
    if let Some(asked) = &request.workdir {
        let path = asked.as_path();
        let is_of_the_system = HOST_SYSTEM.iter().any(|tree| path.starts_with(tree));
        // What else an image has is known only inside.
        let may_be_there =
            plan.provider.runs_containers() || is_shared(path) || is_tmpfs(path) || is_of_the_system;
        if !may_be_there && path != Path::new("/") {
            let message = format!("`workdir`: the child has no directory {}", escape::path(path));
            let shared: Vec<_> = boundaries.iter().map(|boundary| escape::path(&boundary.guest)).collect();
            let there = if shared.is_empty() { format!("`{HOME}`") } else { listing(shared) };
            refused.push(Mistake::new(message).hint(format!("it may start in {there}")));
        }
        return path.to_owned();
    }
    let own = &plan.agent.workdir;
    if is_shared(own) || is_tmpfs(own) { own.clone() } else { PathBuf::from(HOME) }
}

/// Returns the variables of a child: those of its sandbox, without what only that has, and its own.
fn environment(plan: &Plan, request: &ChildRequest, network: &Network) -> Vec<Variable> {
    let of_network = |network: &Network| {
        let proxy = matches!(network, Network::Allowlist { .. }).then(egress::variables);
        let authority = (!network.intercepted().is_empty()).then(egress::authority_variables);
        let all = proxy.into_iter().flatten().chain(authority.into_iter().flatten());
        all.map(|(name, value)| (name.to_owned(), OsString::from(value))).collect::<BTreeMap<_, _>>()
    };
    let of_sandbox = of_network(&plan.network);
    let is_socket = |variable: &Variable| plan.sockets.iter().any(|socket| variable.value == *socket.guest);
    let kept = plan
        .env
        .iter()
        .filter(|variable| of_sandbox.get(&variable.name) != Some(&variable.value) && !is_socket(variable))
        .map(|variable| (variable.name.clone(), variable.value.clone()));
    let mut all = of_network(network);
    all.extend(kept);
    all.extend(request.env.iter().map(|(name, value)| (name.to_string(), OsString::from(value))));
    all.into_iter().map(|(name, value)| Variable { name, value }).collect()
}
