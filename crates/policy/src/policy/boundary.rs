//! Which directories are shared, and whether their places inside go together.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::config::defaults::{HOME, WORKSPACE};
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::plan::{BoundaryMode, Execution, ToolRules};
use crate::protect::Protected;
use crate::rules::hide::HidePattern;
use crate::rules::path::{self, GuestBoundaries, GuestPath, Obeyed, PathAccess};
use crate::rules::verdict::{Origin, Verdict, listing};
use crate::text::escape;

/// A directory that is to be shared. The caller has to look it up on the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BoundaryRequest {
    /// Its name in the configuration.
    pub name: String,
    /// The directory on the host: absolute, links not resolved.
    pub host: PathBuf,
    pub guest: GuestPath,
    pub mode: BoundaryMode,
    pub execution: Execution,
    pub presence: Presence,
    pub hide: Vec<HidePattern>,
    pub tools: ToolRules,
    pub purpose: Purpose,
    /// Where it was asked for; the default where it was not.
    pub location: Location,
}

/// Whether a directory that is to be shared has to be there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    /// Without it the sandbox does not start.
    Required,
    /// Where it is not there, it is not shared.
    Optional,
}

/// What a directory is shared for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Purpose {
    Asked,
    /// It is the repository of linked worktrees, which are shared: by the names of their data in it.
    Repository(Vec<String>),
    /// It is the `.git` file of a linked worktree, shown where the repository looks for it.
    Pointer,
}

impl BoundaryRequest {
    /// Lists the worktrees that it is the repository of, by the names of their data.
    pub fn worktrees(&self) -> &[String] {
        match &self.purpose {
            Purpose::Repository(worktrees) => worktrees,
            Purpose::Asked | Purpose::Pointer => &[],
        }
    }

    /// Returns its key in the configuration.
    pub fn key(&self) -> String {
        format!("shared_dirs.{}", self.name)
    }
}

/// How to share something else than the working directory, which is shared by default.
pub(super) const INSTEAD: &str = "the working directory becomes `/workspace` unless you say otherwise; `-v DIR:/workspace` shares DIR in its place";

/// The same, where it also helps that it cannot be written.
pub(super) const OR_READ_ONLY: &str = "the working directory becomes `/workspace` unless you say otherwise; \
     `-v DIR:/workspace` shares DIR in its place, `-v .:/workspace:ro` makes it read-only";

/// What to do about a file that lies in a writable directory which is shared, too.
pub(super) const ALREADY_SHARED: &str = "what lies in a shared directory is shared with it; to keep a file there read-only, name it in \
     `[protect] paths`";

pub(super) fn wanted(
    config: &Config,
    working_directory: &Path,
    problems: &mut Vec<Problem>,
) -> Vec<BoundaryRequest> {
    let mut all = Vec::new();
    let is_shared_otherwise = config.shared_dirs.iter().any(|(name, dir)| {
        let holds = |host: &Path| match dir.value.mode.as_ref().map(|mode| mode.value).unwrap_or_default() {
            BoundaryMode::ReadWrite => working_directory.starts_with(host),
            BoundaryMode::ReadOnly => working_directory == host,
        };
        name == "workspace"
            || dir.value.host.as_ref().is_some_and(|host| holds(&path::normalise(&host.value)))
    });
    if config.has_shared_dirs.is_none() && !is_shared_otherwise {
        all.push(BoundaryRequest {
            name: "workspace".to_owned(),
            host: working_directory.to_owned(),
            guest: built_in(WORKSPACE),
            mode: BoundaryMode::ReadWrite,
            execution: Execution::Allowed,
            presence: Presence::Required,
            hide: patterns(config.protect.hide.as_ref()).collect(),
            tools: ToolRules::default(),
            purpose: Purpose::Asked,
            location: Location::Default,
        });
    }
    for (name, dir) in &config.shared_dirs {
        let (Some(host), Some(guest)) = (&dir.value.host, &dir.value.guest) else { continue };
        let place = guest.value.of(&host.value).and_then(|place| place.as_mount_point().cloned());
        let place = match place {
            Ok(place) => place,
            Err(error) => {
                let key = format!("shared_dirs.{name}.guest");
                problems.push(Problem::new(
                    &guest.location,
                    key,
                    ProblemCode::InvalidValue,
                    error.to_string(),
                ));
                continue;
            }
        };
        all.push(BoundaryRequest {
            name: name.clone(),
            host: host.value.clone(),
            guest: place,
            mode: dir.value.mode.as_ref().map(|mode| mode.value).unwrap_or_default(),
            execution: match dir.value.exec.as_ref().map(|exec| exec.value) {
                Some(false) => Execution::Refused,
                Some(true) | None => Execution::Allowed,
            },
            presence: match dir.value.optional.as_ref().map(|optional| optional.value) {
                Some(true) => Presence::Optional,
                Some(false) | None => Presence::Required,
            },
            hide: patterns(config.protect.hide.as_ref()).chain(patterns(dir.value.hide.as_ref())).collect(),
            tools: ToolRules {
                suffixes: dir
                    .value
                    .suffixes
                    .iter()
                    .flat_map(|list| &list.value)
                    .map(|one| one.value.clone())
                    .collect(),
                max_file_bytes: dir.value.max_file_bytes.as_ref().map(|limit| limit.value),
            },
            purpose: Purpose::Asked,
            location: dir.location.clone(),
        });
    }
    for (index, second) in all.iter().enumerate() {
        if let Some(first) = all[..index].iter().find(|first| first.guest == second.guest) {
            let message = format!("`{}` ({}) is already at {}", first.name, first.location, first.guest);
            problems.push(
                Problem::new(&second.location, second.key(), ProblemCode::Conflict, message)
                    .hinting("give each boundary a place of its own"),
            );
        }
    }
    all
}

/// Lists the patterns of a setting.
fn patterns(list: Option<&Located<Vec<Located<HidePattern>>>>) -> impl Iterator<Item = HidePattern> + '_ {
    list.into_iter().flat_map(|list| &list.value).map(|pattern| pattern.value.clone())
}

/// Returns the rules about paths inside; `None` when two boundaries are in the same place.
pub(super) fn rules(wanted: &[BoundaryRequest], protected: Protected) -> Option<GuestBoundaries> {
    let boundaries = wanted.iter().map(|wanted| path::GuestBoundary {
        name: wanted.name.clone(),
        guest: wanted.guest.clone(),
        mode: wanted.mode,
        hidden: wanted.hide.iter().cloned().collect(),
        worktrees: wanted.worktrees().to_vec(),
        obeyed: Obeyed::ByPrograms,
        origin: wanted.location.origin(),
    });
    GuestBoundaries::new(boundaries.collect(), protected).ok()
}

/// Returns where a path of the host is inside: in the innermost boundary that holds it.
pub(super) fn inside(wanted: &[BoundaryRequest], path: &Path) -> Option<PathBuf> {
    let path = path::normalise(path);
    let within = |wanted: &BoundaryRequest| {
        path.strip_prefix(path::normalise(&wanted.host)).ok().map(|rest| wanted.guest.as_path().join(rest))
    };
    let holders = wanted.iter().filter_map(|wanted| Some((wanted, within(wanted)?)));
    holders
        .max_by_key(|(wanted, _)| path::normalise(&wanted.host).components().count())
        .map(|(_, guest)| guest)
}

/// Returns where the agent starts: by default where the caller stands, if that is shared.
pub(super) fn start(
    config: &Config,
    wanted: &[BoundaryRequest],
    working_directory: &Path,
    problems: &mut Vec<Problem>,
) -> Located<GuestPath> {
    let workspace = || wanted.iter().any(|boundary| boundary.guest.as_path() == Path::new(WORKSPACE));
    let mapped = inside(wanted, working_directory).and_then(|path| GuestPath::new(&path).ok());
    let otherwise = mapped.unwrap_or_else(|| built_in(if workspace() { WORKSPACE } else { HOME }));
    let Some(asked) = &config.agent.workdir else { return Located::new(otherwise, Location::Default) };
    let path = asked.value.from(&otherwise).unwrap_or_else(|error| {
        problems.push(Problem::new(
            &asked.location,
            "agent.workdir",
            ProblemCode::InvalidValue,
            error.to_string(),
        ));
        otherwise
    });
    Located::new(path, asked.location.clone())
}

/// Decides about a path of the host by the path inside that it leads to.
pub(super) fn decide_host(
    wanted: &[BoundaryRequest],
    rules: &GuestBoundaries,
    path: &Path,
    access: PathAccess,
) -> Verdict {
    if let Some(guest) = inside(wanted, path) {
        return rules.decide(&guest, access);
    }
    let path = path::normalise(path);
    let shared = listing(wanted.iter().map(|wanted| escape::path(&wanted.host)));
    Verdict::deny(
        format!("`{}` is not shared with the sandbox; shared: {shared}", escape::path(&path)),
        Origin::Default,
    )
}

/// Makes a path inside that is built in.
pub(super) fn built_in(path: &'static str) -> GuestPath {
    GuestPath::new(Path::new(path)).expect("built-in paths are absolute and plain")
}
