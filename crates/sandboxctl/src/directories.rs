//! Directories of the host that are to be shared: what they are, and making those that are missing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use policy::config::problem::{Problem, ProblemCode};
use policy::config::trust;
use policy::config::{Config, SharedDirTable};
use policy::plan::{BoundaryMode, FileId};
use policy::rules::shared_dir::{self, Caller, PathKind, ShareCandidate, ShareRefusal};
use policy::text::escape;
use policy::{BoundaryRequest, HostDirectory, HostFacts, Policy, Presence, Unavailable};
use sandbox::boundary::error::BoundaryError;
use sandbox::boundary::resolve::{Found, Lead};
use sandbox::host::acting::ActingAs;
use sandbox::host::identity::Identity;

use crate::cli::PlanRequest;
use crate::context::Context;
use crate::error::CommandError;
use crate::files;
use crate::ui::{self, Ui};

/// Where the paths that a command names lead. Each is followed once, and what it led to is held open: what trust is
/// decided on is what is validated is what is mounted, whoever swaps a directory for a link meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    leads: BTreeMap<PathBuf, io::Result<Lead>>,
    /// The project's, which the working directory lies in.
    around: Option<PathBuf>,
}

impl Directories {
    /// Follows the paths of a project, beneath this directory from the working directory.
    pub(crate) fn of_project(directory: Option<&Path>) -> Self {
        Self { around: directory.map(Path::to_owned), ..Self::default() }
    }

    /// Follows a path, unless that was done.
    pub(crate) fn follow(&mut self, context: &Context, path: &Path) -> &io::Result<Lead> {
        let Self { leads, around } = self;
        let follow = || {
            let around = around.as_deref().filter(|around| context.cwd.starts_with(around));
            let path = context.path_beneath(around.unwrap_or(&context.cwd), path)?;
            Lead::of(&path, context.caller)
        };
        leads.entry(path.to_owned()).or_insert_with(follow)
    }

    /// Returns where a path leads, for the question whether that widens what a sandbox may do.
    pub(crate) fn lead(&mut self, context: &Context, path: &Path) -> Option<trust::ResolvedPath> {
        let lead = self.follow(context, path).as_ref().ok()?;
        let repository =
            if let Lead::Found(found) = lead { found.enclosing_repository(context.caller) } else { None };
        Some(trust::ResolvedPath { path: lead.path(), repository, named: None })
    }

    /// Resolves a directory that is to be shared. Whether it may be shared is for the policy to decide.
    pub(crate) fn resolve(
        &mut self,
        context: &Context,
        wanted: &BoundaryRequest,
    ) -> Result<HostDirectory, Unavailable> {
        match self.follow(context, &wanted.host) {
            Ok(Lead::Found(found)) => Ok(directory(found, context.caller)),
            Ok(Lead::Missing(part)) => Err(missing(context, wanted, Some(&part.path()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(context, wanted, None)),
            Err(error) => Err(Unavailable { reason: format!("cannot be examined: {error}"), hint: None }),
        }
    }

    /// Returns whether a directory is not there and need not be. Where it could not be shared anyway, it is none to leave out.
    pub(crate) fn is_absent(&mut self, context: &Context, wanted: &BoundaryRequest) -> bool {
        wanted.presence == Presence::Optional
            && match self.follow(context, &wanted.host) {
                Ok(Lead::Missing(part)) => refusal(context, wanted, &part.path()).is_none(),
                Ok(Lead::Found(_)) => false,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
    }

    /// Lists the directories that may be created because they are missing.
    pub(crate) fn to_make<'p>(&self, request: &PlanRequest, policy: &'p Policy) -> Vec<&'p BoundaryRequest> {
        let answers = &request.source.answers;
        if request.create_dirs || answers.yes || !answers.no_input && ui::can_ask() {
            let is_missing = |wanted: &&BoundaryRequest| {
                wanted.presence == Presence::Required
                    && matches!(self.leads.get(&wanted.host), Some(Ok(Lead::Missing(_))))
            };
            policy.boundaries().iter().filter(is_missing).collect()
        } else {
            Vec::new()
        }
    }

    /// Returns the facts as they will be once these directories are created.
    pub(crate) fn as_if_made(
        &self,
        context: &Context,
        missing: &[&BoundaryRequest],
        facts: &HostFacts,
    ) -> HostFacts {
        let mut facts = facts.clone();
        for wanted in missing {
            if let Some(Ok(lead)) = self.leads.get(&wanted.host) {
                let directory = HostDirectory {
                    host: lead.path(),
                    kind: PathKind::Directory,
                    owner: context.caller.uid,
                    file_id: FileId { device: 0, inode: 0 },
                    is_repository: false,
                    repository: None,
                };
                facts.directories.insert(wanted.name.clone(), Ok(directory));
            }
        }
        facts
    }

    /// Makes the directories that are missing, where the caller said so or says so when asked. Two may be the same.
    pub(crate) fn make(
        &mut self,
        ui: &Ui,
        context: &Context,
        request: &PlanRequest,
        missing: &[&BoundaryRequest],
    ) -> Result<(), CommandError> {
        for wanted in missing {
            let host = escape::path(&wanted.host);
            let agreed = request.create_dirs
                || request.source.answers.yes
                || ui::confirm(&format!("{host} does not exist; create it?"))?;
            if !agreed {
                continue;
            }
            if let Some(Ok(Lead::Missing(part))) = self.leads.remove(&wanted.host) {
                let BoundaryRequest { host, mode, location, .. } = wanted;
                let resolved = part.path();
                let candidate = candidate(context, host, &resolved, *mode);
                let made = part.create(&candidate, &caller(context, &context.homes()), context.caller);
                let found = made.map_err(|error| {
                    let code = if let BoundaryError::Refused(_) = error {
                        ProblemCode::Refused
                    } else {
                        ProblemCode::Host
                    };
                    CommandError::problems(vec![Problem::new(
                        location,
                        wanted.key(),
                        code,
                        error.to_string(),
                    )])
                })?;
                self.leads.insert(host.clone(), Ok(Lead::Found(found)));
                ui.note(format_args!("created {}", escape::path(host)));
            }
        }
        Ok(())
    }
}

/// Lists where sandboxes with these settings may write, in every spelling.
pub(crate) fn writable(context: &Context, settings: &Config) -> Vec<PathBuf> {
    let own = (settings.has_shared_dirs.is_none() && !settings.shared_dirs.contains_key("workspace"))
        .then(|| context.cwd.clone());
    let is_writable =
        |dir: &&SharedDirTable| dir.mode.as_ref().is_none_or(|mode| mode.value == BoundaryMode::ReadWrite);
    let shared = settings.shared_dirs.values().map(|dir| &dir.value).filter(is_writable);
    let shared = shared.filter_map(|dir| Some(dir.host.as_ref()?.value.clone()));
    spelled(context, shared.chain(own))
}

/// Lists where sandboxes may be expected to write before any settings are known: the working directory and the project's.
pub(crate) fn around(context: &Context) -> Vec<PathBuf> {
    let project = files::find(context).ok().and_then(|searched| searched.file);
    let project = project.as_deref().and_then(Path::parent).map(Path::to_owned);
    spelled(context, [context.cwd.clone()].into_iter().chain(project))
}

/// Lists both spellings of directories. Directories that cannot be shared are left out: what lies in them is not an
/// agent's.
fn spelled(context: &Context, directories: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let may_be_shared = |path: &Path| {
        let candidate = candidate(context, path, path, BoundaryMode::ReadWrite);
        shared_dir::validate(&candidate, &caller(context, &context.homes())).is_ok()
    };
    let mut all = Vec::new();
    for given in directories {
        all.extend(context.resolve(&given).filter(|resolved| *resolved != given));
        all.push(given);
    }
    all.retain(|path| may_be_shared(path));
    all
}

fn directory(found: &Found, caller: Identity) -> HostDirectory {
    HostDirectory {
        host: found.path.clone(),
        kind: found.kind,
        owner: found.owner.uid,
        file_id: found.file_id,
        is_repository: found.is_repository(caller),
        repository: found.enclosing_repository(caller),
    }
}

/// Checks that the directory of the host behind the agent's working directory exists. Where a link is on the way to it,
/// only the sandbox can tell, and so where the caller may not enter one: under sudo root could say which names are there.
pub(crate) fn check_workdir(context: &Context, policy: &Policy) -> Result<(), Unavailable> {
    let Some((wanted, below)) = policy.behind(policy.workdir().as_path()) else { return Ok(()) };
    let Ok(_acting) = ActingAs::user(context.caller) else { return Ok(()) };
    let mut path = wanted.host.clone();
    for name in below.components() {
        path.push(name);
        let reason = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(metadata) if !metadata.is_symlink() => "is no directory",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist",
            Ok(_) | Err(_) => return Ok(()),
        };
        return Err(Unavailable {
            reason: reason.to_owned(),
            hint: Some(format!("on this machine it is {}", escape::path(&path))),
        });
    }
    Ok(())
}

/// Explains why a directory is unavailable. A missing directory where nothing may be shared is refused at once: creating
/// it would not help.
fn missing(context: &Context, wanted: &BoundaryRequest, resolved: Option<&Path>) -> Unavailable {
    match resolved.and_then(|resolved| refusal(context, wanted, resolved)) {
        Some(refusal) => Unavailable { reason: format!("cannot be shared: {}", refusal.rule), hint: None },
        None => Unavailable {
            reason: "does not exist".to_owned(),
            hint: Some("create it, or let `--create-dirs` do that".to_owned()),
        },
    }
}

/// Explains why a directory could not be shared even if it were there.
fn refusal(context: &Context, wanted: &BoundaryRequest, resolved: &Path) -> Option<ShareRefusal> {
    let candidate = candidate(context, &wanted.host, resolved, wanted.mode);
    shared_dir::validate(&candidate, &caller(context, &context.homes())).err()
}

/// Makes a candidate of a directory of the caller's.
fn candidate<'a>(
    context: &Context,
    given: &'a Path,
    resolved: &'a Path,
    mode: BoundaryMode,
) -> ShareCandidate<'a> {
    ShareCandidate { given, resolved, kind: PathKind::Directory, owner: context.caller.uid, mode }
}

/// Returns who asks to share something.
pub(crate) fn caller<'a>(context: &'a Context, homes: &'a [&'a Path]) -> Caller<'a> {
    Caller { uid: context.caller.uid, homes, other_homes: context.other_homes(), allowed_root: None }
}
