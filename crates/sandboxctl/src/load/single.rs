//! One plan, without those of its workers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use policy::agents::Profile;
use policy::config::Config;
use policy::config::effective::{Effective, EngineAnswer};
use policy::config::overrides::Overrides;
use policy::config::problem::{Located, Location, Problem, Scope};
use policy::config::trust::{
    Applies, ResolvedPath, TrustContext, Widening, paths, shared_directories, widenings,
};
use policy::config::variables;
use policy::plan::{Layer, Plan, Provider};
use policy::rules::socket::controls;
use policy::text::escape;
use policy::{HostFacts, Policy, without_containers};
use sandbox::engine::Engine;
use sandbox::engine::kind::EngineKind;
use sandbox::host::programs::Programs;
use sandbox::image;
use sandbox::state::in_force::Places;
use sandbox::state::record::RunId;
use sandbox::state::trust::Searched;

use crate::cli::PlanRequest;
use crate::context::Context;
use crate::directories::{self, Directories};
use crate::error::CommandError;
use crate::files::{self, FoundFile};
use crate::ui::Ui;
use crate::worktrees::share_repositories;
use crate::{
    agents, consent, facts, home, linked_boundaries, outward_links, own_files, own_git, precedence, request,
};

/// A plan without its workers, and what it was made from.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    pub(crate) policy: Policy,
    /// The project's file that was applied.
    pub(crate) config: Option<PathBuf>,
    pub(super) project: PathBuf,
    pub(super) ignored: Option<String>,
    pub(super) asked: Vec<Layer>,
    pub(super) searched: Searched,
    pub(super) directories: Directories,
    pub(super) programs: Programs,
}

/// The layers of configuration, merged.
pub(crate) struct LoadedSettings {
    /// What holds, with the place of each value.
    pub(crate) effective: Effective,
    /// All that the project's file widens.
    pub(crate) widenings: Vec<Widening>,
    /// Where the paths that it names lead.
    pub(crate) directories: Directories,
}

impl LoadedSettings {
    /// Lists what the project's file widens with the provider that is chosen; nothing means that it needs no trust.
    pub(crate) fn needed(&self) -> Vec<&Widening> {
        let (provider, _) = self.effective.provider();
        self.widenings.iter().filter(|widening| widening.applies_to(provider)).collect()
    }

    /// Lists what it widens where an image is built, under its own name or under one that was typed.
    pub(crate) fn needed_to_build(&self, is_named: bool) -> Vec<&Widening> {
        let counts = |widening: &&Widening| {
            widening.applies_to_builds() && !(is_named && widening.applies == Applies::Building)
        };
        self.widenings.iter().filter(counts).collect()
    }

    /// Lists what its owner is shown and agrees to: what it widens where it runs, and where its image is built.
    pub(crate) fn shown(&self) -> Vec<&Widening> {
        let (provider, _) = self.effective.provider();
        let counts = |widening: &&Widening| widening.applies_to(provider) || widening.applies_to_builds();
        self.widenings.iter().filter(counts).collect()
    }
}

/// Makes the plan for what was typed, without its workers.
pub(crate) fn make(
    ui: &Ui,
    context: &Context,
    request: &PlanRequest,
    argv: Vec<OsString>,
    known: &mut dyn FnMut(Provider),
) -> Result<Made, CommandError> {
    if let Some(provider) = request.provider() {
        known(provider);
    }
    let Rules { file, searched, in_force, mut policy, ignored, asked, mut directories, programs } =
        rules(context, request, argv, known)?;
    let notes =
        share_repositories(context, &mut policy, file.as_ref().map(FoundFile::directory), &mut directories);
    for note in notes {
        ui.note(note);
    }
    let name = RunId::generate().context("cannot make a name for the sandbox")?.as_str().to_owned();
    // Without a file, the project is where the caller stands.
    let project = file.as_ref().map_or(context.cwd.as_path(), FoundFile::directory).to_owned();
    let home = home::find(context, &policy, &project);
    let gather = |directories: &mut Directories| HostFacts {
        home: home.clone(),
        ..facts::gather(context, &policy, directories, &programs, name.clone())
    };
    let mut facts = gather(&mut directories);
    let missing = directories.to_make(request, &policy);
    if !missing.is_empty() {
        // Nothing is made while anything else is wrong.
        lower(context, &policy, &directories.as_if_made(context, &missing, &facts))?;
        directories.make(ui, context, request, &missing)?;
        facts = gather(&mut directories);
    }
    let mut plan = lower(context, &policy, &facts)?;
    for wanted in policy.boundaries().iter().filter(|wanted| facts.absent.contains(&wanted.name)) {
        let (host, name) = (escape::path(&wanted.host), &wanted.name);
        ui.note(format_args!("{host} does not exist, so \"{name}\", which is optional, is not shared"));
    }
    outward_links::warn(ui, context, &policy);
    for socket in &plan.sockets {
        if let Some(what) = controls(&socket.host) {
            let host = escape::path(&socket.host);
            ui.warning(format_args!(
                "the socket {host} controls {what}: whoever can connect to it can run programs outside of the sandbox"
            ));
        }
    }
    if let Some(file) = &file {
        own_files::protect(&file.candidate.path, &mut plan)?;
    }
    own_files::protect_settings(context, &mut plan)?;
    own_files::protect_known(context, &in_force, &mut plan)?;
    own_git::protect(context, &mut plan);
    linked_boundaries::protect(ui, context, &mut plan);
    let config = file.map(|file| file.candidate.path);
    Ok(Made { plan, policy, config, project, ignored, asked, searched, directories, programs })
}

/// What all settings make together.
struct Rules {
    /// The project's file, whose owner agrees.
    file: Option<FoundFile>,
    searched: Searched,
    /// What was in force before.
    in_force: Places,
    policy: Policy,
    ignored: Option<String>,
    asked: Vec<Layer>,
    directories: Directories,
    programs: Programs,
}

/// Makes the rules for what was typed.
fn rules(
    context: &Context,
    request: &PlanRequest,
    argv: Vec<OsString>,
    known: &mut dyn FnMut(Provider),
) -> Result<Rules, CommandError> {
    let mut flags = request::overrides(request, argv);
    let (file, searched) = files::searched(context, request.source.config.as_deref())?;
    let in_force = precedence::require(context, &request.source, &searched)?;
    if !request.env_file.is_empty() {
        let programs = context.programs(writable(context, file.as_ref(), &flags));
        flags.env_file = request::env_files(context, request, programs.writable());
    }
    let settings = settings(context, file.as_ref(), &flags)?;
    known(settings.effective.provider().0);
    if let Some(file) = &file {
        consent::require(context, &request.source, file, &settings.widenings, &settings.needed())?;
    }
    let policy = policy(context, &settings)?;
    let missing = without_containers(&settings.effective);
    if !missing.is_empty() {
        return Err(CommandError::problems(missing));
    }
    let ignored = settings.effective.ignored();
    let asked = settings.effective.requested_layers();
    let programs = context.programs(directories::writable(context, settings.effective.settings()));
    Ok(Rules {
        file,
        searched,
        in_force,
        policy,
        ignored,
        asked,
        directories: settings.directories,
        programs,
    })
}

/// Lowers the policy to a plan, where nothing of this host stands against it.
fn lower(context: &Context, policy: &Policy, facts: &HostFacts) -> Result<Plan, CommandError> {
    let plan = policy.plan(facts).map_err(CommandError::problems)?;
    own_files::refuse_shared_own_files(context, policy, &plan)?;
    Ok(plan)
}

/// Reads every layer and merges them.
///
/// A file that nobody trusts is read like any other. Whether it may be applied is for [`crate::consent`] to say.
pub(crate) fn settings(
    context: &Context,
    project: Option<&FoundFile>,
    flags: &Overrides,
) -> Result<LoadedSettings, CommandError> {
    let mut problems = Vec::new();
    let mut layer = |(config, more): (Config, Vec<Problem>)| {
        problems.extend(more);
        config
    };
    let user = match files::user(context)? {
        Some(found) => layer(Config::read(found.text()?, &found.file(context, Scope::User))),
        None => Config::default(),
    };
    let config = match project {
        Some(found) => layer(Config::read(found.text()?, &found.file(context, Scope::Project))),
        None => Config::default(),
    };
    let base = files::base(context, &context.cwd);
    let environment = layer(variables::read(context.env.clone(), &base));
    let flags = layer(flags.read(&base));
    let mut effective = Effective::merge([user.clone(), config.clone(), environment, flags]);
    let profile = with_profile(context, &mut effective)?;
    if let Some(found) = project {
        effective.with_own_image(image::name_of_project(found.directory()));
    }
    if effective.needs_engine_query() {
        let writable = directories::writable(context, effective.settings());
        effective.with_engine(engine(context, writable));
    }
    let mut directories = Directories::of_project(project.map(FoundFile::directory));
    let widenings = project.map_or_else(Vec::new, |found| {
        let without = Effective::merge([user]);
        let mut all = compare(context, &config, &without, found, &mut directories);
        // What the project has the profile bring is the project's doing.
        if let Some((profile, location)) = profile.filter(|(_, location)| location.is_projects()) {
            let brought = compare(context, &profile, &without, found, &mut directories);
            all.extend(brought.into_iter().map(|widening| Widening {
                key: "agent.profile".to_owned(),
                location: location.clone(),
                ..widening
            }));
            all.sort_by(|a, b| a.location.cmp(&b.location));
        }
        all
    });
    if problems.is_empty() {
        return Ok(LoadedSettings { effective, widenings, directories });
    }
    // A person wants to see everything at once, also what is wrong with the rest.
    problems.extend(Policy::new(&effective, &context.cwd).err().unwrap_or_default());
    Err(CommandError::problems(problems))
}

/// Lists where a sandbox with these settings may write; where they are wrong, which is reported elsewhere, where one usually may.
fn writable(context: &Context, project: Option<&FoundFile>, flags: &Overrides) -> Vec<PathBuf> {
    match settings(context, project, flags) {
        Ok(settings) => directories::writable(context, settings.effective.settings()),
        Err(_) => directories::around(context),
    }
}

/// Lists where sandboxes that are asked for so may write.
pub(crate) fn writable_of(context: &Context, request: &PlanRequest) -> Vec<PathBuf> {
    match files::searched(context, request.source.config.as_deref()) {
        Ok((file, _)) => writable(context, file.as_ref(), &request::overrides(request, Vec::new())),
        Err(_) => directories::around(context),
    }
}

/// Returns how long a command that is asked for so may run, where anything bounds that.
pub(crate) fn timeout_of(context: &Context, request: &PlanRequest) -> Option<Duration> {
    let (file, _) = files::searched(context, request.source.config.as_deref()).ok()?;
    let flags = request::overrides(request, Vec::new());
    settings(context, file.as_ref(), &flags).ok()?.effective.settings().limits.timeout.as_ref()?.value
}

/// Puts the settings of the profile that is asked for beneath all others. Returns them, and where it was asked for.
fn with_profile(
    context: &Context,
    effective: &mut Effective,
) -> Result<Option<(Config, Location)>, CommandError> {
    let Some(Located { value: Profile(profile), location }) = effective.profile().cloned() else {
        return Ok(None);
    };
    let layer = agents::layer(context, profile, effective)?;
    effective.with_profile(layer.clone());
    Ok(Some((layer, location)))
}

/// Finds the first engine that answers.
fn engine(context: &Context, writable: Vec<PathBuf>) -> EngineAnswer {
    let surroundings = context.engines(context.programs(writable));
    let mut reasons = Vec::new();
    for (kind, provider) in [(EngineKind::Docker, Provider::Docker), (EngineKind::Podman, Provider::Podman)] {
        match Engine::find(kind, &surroundings) {
            Ok(_) => return EngineAnswer::By(provider),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    EngineAnswer::None(reasons.join("; "))
}

/// Makes the policy from the settings.
pub(crate) fn policy(context: &Context, settings: &LoadedSettings) -> Result<Policy, CommandError> {
    Policy::new(&settings.effective, &context.cwd).map_err(CommandError::problems)
}

/// Lists what a project's file widens.
fn compare(
    context: &Context,
    config: &Config,
    without: &Effective,
    found: &FoundFile,
    directories: &mut Directories,
) -> Vec<Widening> {
    let mut leads: BTreeMap<PathBuf, ResolvedPath> = paths(config)
        .chain(shared_directories(without.settings()))
        .filter_map(|path| Some((path.to_owned(), directories.lead(context, path)?)))
        .collect();
    // The path of the file has its links resolved, and so has that of its directory.
    let directory = found.directory();
    // The project's own directory is shared without a file, too.
    let shared = shared_directories(config).filter_map(|path| Some(leads.get(path)?.path.clone()));
    let shared: Vec<PathBuf> = shared.filter(|path| path != directory).collect();
    let named = own_git::named(context, &shared);
    for lead in leads.values_mut() {
        lead.named = named.get(&lead.path).cloned();
    }
    widenings(config, &TrustContext { without, directory, resolved_directory: directory, leads: &leads })
}
