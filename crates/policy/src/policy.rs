//! The policy: settings that hold together, ready to be queried and to be lowered into a plan.
//!
//! Making a policy finds everything that is wrong with the settings themselves; making a plan of it finds
//! everything that stands against them on this host. Neither reads the host: the caller gathers the [`HostFacts`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

pub use self::boundary::{BoundaryRequest, Presence, Purpose};
pub use self::facts::{
    HostDirectory, HostFacts, HostHome, LinkedWorktree, NotShared, ToolchainParts, Unavailable,
};
pub use self::sockets::SocketRequest;
pub use self::workers::{ProjectSays, WorkerRequest};
use crate::commands::CommandRules;
use crate::config::defaults::{DEPTH, IMAGE, POOL_AGE};
use crate::config::effective::Effective;
use crate::config::key;
use crate::config::problem::{self, Located, Problem};
use crate::config::{Config, Expose};
use crate::plan::{self, Init, Layer, Need, Provider};
use crate::protect::RelativePath;
use crate::rules::children::Children;
use crate::rules::env::{self, EnvRule, EnvRules};
use crate::rules::git::RepositoryAccess;
use crate::rules::home::Home;
use crate::rules::limits::Limits;
use crate::rules::network::{HostRules, Request, Wanted};
use crate::rules::path::{GuestBoundaries, GuestPath, PathAccess};
use crate::rules::verdict::{Origin, Verdict};
use crate::subset::ExplicitVariables;

mod boundary;
mod check;
mod children;
mod commands;
mod environment;
mod facts;
mod lower;
mod rootfs;
mod sockets;
mod workdir;
mod workers;
mod worktree;

/// The rules of one sandbox. A policy that exists holds together.
#[derive(Clone, Debug)]
pub struct Policy {
    name: Option<Located<String>>,
    provider: Provider,
    provider_reason: Option<String>,
    argv: Vec<OsString>,
    /// Whether somebody has said what runs.
    has_command: bool,
    workdir: Located<GuestPath>,
    init: Init,
    home: Home,
    env: EnvRules,
    secrets: Vec<plan::Secret>,
    routes: Vec<plan::Route>,
    wanted: Vec<BoundaryRequest>,
    sockets: Vec<SocketRequest>,
    boundaries: GuestBoundaries,
    repository: RepositoryAccess,
    expose: Vec<Located<Expose>>,
    container: Option<plan::Container>,
    network: plan::Network,
    hosts: HostRules,
    limits: Limits,
    lifecycle: plan::Lifecycle,
    pool: Option<plan::Pool>,
    children: Option<Children>,
    commands: CommandRules,
    workers: Vec<WorkerRequest>,
    project_says: ProjectSays,
    /// Where each decision about commands stands, by its key.
    command_origins: BTreeMap<String, Origin>,
    protect: plan::Protect,
    /// The built-in protected paths that were given up.
    given_up: Vec<RelativePath>,
    layers: BTreeMap<Layer, Need>,
}

impl Policy {
    /// Checks settings together; every problem is returned at once.
    ///
    /// Where no file has `[shared_dirs]`, `working_directory` becomes the boundary `workspace`.
    pub fn new(effective: &Effective, working_directory: &Path) -> Result<Self, Vec<Problem>> {
        let config = effective.settings();
        let mut problems = Vec::new();
        let (provider, provider_reason) = effective.provider();
        check::supported(config, provider, &mut problems);
        check::local(config, &mut problems);
        check::mounted(config, provider, &mut problems);
        let (env, secrets, routes) = environment::rules(config, &mut problems);
        let protected = check::protected(config, &mut problems);
        let wanted = boundary::wanted(config, working_directory, &mut problems);
        check::home(config, provider, &wanted, &mut problems);
        let sockets = sockets::wanted(config, &mut problems);
        let boundaries = boundary::rules(&wanted, protected.clone());
        let commands = commands::rules(config, &mut problems);
        let (limits, children) = children::divided(config, provider, &wanted, &mut problems);
        let workers = workers::wanted(config, &mut problems);
        let workdir = boundary::start(config, &wanted, working_directory, &mut problems);
        problem::sort(&mut problems);
        let Some(boundaries) = boundaries.filter(|_| problems.is_empty()) else { return Err(problems) };

        let (network, hosts) = check::network(config);
        let init = config.agent.init.as_ref().is_none_or(|init| init.value);
        Ok(Self {
            name: config.name.clone(),
            provider,
            provider_reason,
            argv: config
                .agent
                .command
                .as_ref()
                .map_or_else(|| vec!["bash".into(), "-l".into()], |command| command.value.clone()),
            has_command: config.agent.command.is_some(),
            workdir,
            init: if init { Init::Supervise } else { Init::Exec },
            home: Home::of(config),
            env,
            secrets,
            routes,
            wanted,
            sockets,
            boundaries,
            repository: config.git.repository.as_ref().map(|one| one.value).unwrap_or_default(),
            expose: config
                .native
                .expose
                .as_ref()
                .filter(|_| !provider.runs_containers())
                .map(|list| list.value.clone())
                .unwrap_or_default(),
            container: provider.runs_containers().then(|| container(config)),
            network,
            hosts,
            limits,
            lifecycle: plan::Lifecycle {
                idle_timeout: config.lifecycle.idle_timeout.as_ref().and_then(|one| one.value),
                max_duration: config.lifecycle.max_duration.as_ref().and_then(|one| one.value),
            },
            pool: pool(config).filter(|_| provider.runs_containers()),
            children,
            commands,
            workers,
            project_says: ProjectSays::of(config),
            command_origins: commands::origins(config),
            protect: plan::Protect {
                paths: protected.paths().iter().cloned().map(RelativePath::into_text).collect(),
                of_git: Vec::new(),
                read_only: check::read_only(config),
                allow: check::names(config),
                unread: Vec::new(),
                depth: config.protect.depth.as_ref().map_or(DEPTH, |depth| depth.value),
                on_replaced: config
                    .protect
                    .on_replaced
                    .as_ref()
                    .map_or_else(Default::default, |one| one.value),
            },
            given_up: config.protect.given_up(),
            layers: layers(config, provider),
        })
    }

    /// Returns the name of the sandbox, if it was asked for.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.value.as_str())
    }

    /// Returns whether somebody has said what it runs.
    pub fn has_command(&self) -> bool {
        self.has_command
    }

    /// Returns who will run it.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Returns what the agent's home directory is.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the directories to look up on the host.
    pub fn boundaries(&self) -> &[BoundaryRequest] {
        &self.wanted
    }

    /// Returns where a decision about commands stands, by its key.
    pub fn command_origin(&self, key: &str) -> Origin {
        self.command_origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// Answers whether a shell text may run that a model asks for.
    #[cfg(feature = "commands")]
    pub fn command(&self, text: &str) -> Verdict {
        use crate::commands::Shell;
        let verdict = self.commands.decide(text, Shell::Bash);
        let origin = self.command_origin(&verdict.key());
        let rule = format!("`{}`: {}", verdict.command, verdict.reason);
        Verdict { decision: verdict.decision, rule, origin }
    }

    /// Returns the workers whose settings are to be read.
    pub fn workers(&self) -> &[WorkerRequest] {
        &self.workers
    }

    /// Returns what the project's own file says, and no layer beneath it.
    pub fn project_says(&self) -> ProjectSays {
        self.project_says
    }

    /// Returns what the settings say of variables.
    pub fn explicit_variables(&self) -> ExplicitVariables {
        let names = |is: fn(&EnvRule) -> bool| self.env.named(is).map(ToString::to_string).collect();
        ExplicitVariables {
            passed: names(|rule| *rule == EnvRule::Pass),
            set: names(|rule| matches!(rule, EnvRule::Set(_))),
        }
    }

    /// Returns the sockets to look up on the host.
    pub fn sockets(&self) -> &[SocketRequest] {
        &self.sockets
    }

    /// Returns where an egress proxy adds credentials.
    pub fn routes(&self) -> &[plan::Route] {
        &self.routes
    }

    /// Returns the toolchains to look up on the host.
    pub fn expose(&self) -> impl Iterator<Item = &Expose> {
        self.expose.iter().map(|exposed| &exposed.value)
    }

    /// Decides about a path as the sandbox sees it.
    pub fn guest_path(&self, path: &Path, access: PathAccess) -> Verdict {
        self.of_rootfs(path, access).unwrap_or_else(|| self.boundaries.decide(path, access))
    }

    /// Decides about a path of the host: absolute, and spelled as the boundaries are.
    ///
    /// Links are not resolved. Ask with the resolved path and the boundaries of a [`plan::Plan`] where that
    /// matters.
    pub fn host_path(&self, path: &Path, access: PathAccess) -> Verdict {
        boundary::decide_host(&self.wanted, &self.boundaries, path, access)
    }

    /// Returns where a path of the host is inside, if it is shared; spelled as for [`Policy::host_path`].
    pub fn inside(&self, path: &Path) -> Option<PathBuf> {
        boundary::inside(&self.wanted, path)
    }

    /// Returns what stays read-only inside writable boundaries.
    pub fn protect(&self) -> &plan::Protect {
        &self.protect
    }

    /// Decides about a host and a port.
    pub fn host(&self, host: &str, port: u16) -> Verdict {
        self.hosts.decide(host, port)
    }

    /// Decides about a request of HTTP to a host and a port.
    pub fn request(&self, host: &str, port: u16, request: Request) -> Verdict {
        self.hosts.decide_wanted(host, None, port, &Wanted::Request(request))
    }

    /// Decides about a variable of the caller's environment.
    pub fn variable(&self, name: &str) -> Verdict {
        env::decide(name, &self.env)
    }
}

/// Lists what was asked for and only containers have, where the provider starts none. It is no mistake in a file: elsewhere there may be
/// an engine.
pub fn without_containers(effective: &Effective) -> Vec<Problem> {
    let mut problems = Vec::new();
    check::containers(effective, effective.provider().0, &mut problems);
    problems
}

/// Returns what containers are made from.
fn container(config: &Config) -> plan::Container {
    let prefix = config.container.host_path_prefix.as_ref().map(|prefix| prefix.value.clone());
    plan::Container {
        image: config.image.name.as_ref().map_or_else(|| IMAGE.to_owned(), |name| name.value.clone()),
        pull: config.container.pull.as_ref().map(|pull| pull.value).unwrap_or_default(),
        platform: config.platform.as_ref().map(|platform| platform.value.clone()),
        runtime: config.container.runtime.as_ref().map(|runtime| runtime.value.clone()),
        host_path_prefix: prefix.filter(|prefix| !prefix.as_os_str().is_empty()),
    }
}

/// Returns the pool, where containers are made ahead.
fn pool(config: &Config) -> Option<plan::Pool> {
    let size = NonZeroU32::new(config.pool.size.as_ref()?.value)?;
    let max_age = config.pool.max_age.as_ref().map_or(POOL_AGE, |age| age.value);
    Some(plan::Pool { size, max_age })
}

fn layers(config: &Config, provider: Provider) -> BTreeMap<Layer, Need> {
    let need = |layer: Layer, default: Need| match (&config.native.require, provider) {
        // This provider isolates nothing, so no layer can be required.
        (_, Provider::Local) => Need::Preferred,
        // An engine that runs as root makes no user namespace. The agent is then the caller, without any right.
        (_, Provider::Docker | Provider::Podman) if layer == Layer::User => Need::Preferred,
        (None, _) | (_, Provider::Docker | Provider::Podman) => default,
        (Some(list), _) if list.value.iter().any(|required| required.value == layer) => Need::Required,
        (Some(_), _) => Need::Preferred,
    };
    let all = key::LAYERS.iter().map(|(layer, default)| (*layer, need(*layer, *default)));
    all.chain([(Layer::Disk, Need::Preferred)]).collect()
}
