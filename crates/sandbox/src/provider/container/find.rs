//! Finding a sandbox that runs by its name: in every engine that answers, unless one was named.

use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::Provider;

use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::engine::{self, Engine};
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::provider::container::inspect::{ContainerInspect, ContainerPhase, inspect};
use crate::provider::container::{arguments, rendezvous};
use crate::state::pool::Pool;
use crate::state::record::RunId;

/// How long an engine may take to call a container running whose agent has started.
pub(super) const STARTING: Duration = Duration::from_secs(5);

/// Between two looks at it.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What a sandbox is looked for by.
pub struct SandboxQuery<'a> {
    /// Its name, or that of its container.
    pub name: &'a str,
    /// The only engine to query; `None` queries each that answers.
    pub engine: Option<EngineKind>,
    /// Whose sandbox it has to be.
    pub owner: Identity,
    /// The directory of this process's own user, see [`crate::provider::Launch`].
    pub own: &'a Path,
    /// What leads to container engines.
    pub engines: &'a engine::surroundings::Surroundings,
}

/// A sandbox that runs, as it was found.
pub struct FoundSandbox {
    pub(crate) engine: Engine,
    pub(crate) id: String,
    pub(crate) run: RunId,
    /// The directory of its rendezvous.
    pub(crate) place: PathBuf,
    pub(super) inspected: ContainerInspect,
    name: String,
    /// Where its first command started, if it was made ahead and its label says nothing of that.
    workdir: Option<String>,
}

/// Why none was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The one engine that was to be queried does not answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No engine has it.
    #[error("no sandbox named \"{name}\" of yours runs {}", answers(queried, unreachable))]
    Nowhere {
        name: String,
        /// The engines that have answered.
        queried: Vec<EngineKind>,
        /// Why others have not.
        unreachable: Vec<EngineError>,
    },
    /// More than one engine has it.
    #[error("sandboxes named \"{name}\" of yours run in {}", listed(engines, "and"))]
    Several { name: String, engines: Vec<EngineKind> },
}

impl FoundSandbox {
    /// Returns the provider that runs it.
    pub fn provider(&self) -> Provider {
        match self.engine.kind() {
            EngineKind::Docker => Provider::Docker,
            EngineKind::Podman => Provider::Podman,
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the run that it is of.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the directory in which its first command started, if that is known.
    pub fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref().or_else(|| self.inspected.workdir())
    }
}

/// Finds a sandbox.
pub fn find(query: &SandboxQuery<'_>) -> Result<FoundSandbox, FindError> {
    let (mut queried, mut unreachable, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for kind in EngineKind::ALL.into_iter().filter(|kind| query.engine.is_none_or(|only| only == *kind)) {
        match Engine::find(kind, query.engines).and_then(|engine| find_in(&engine, query)) {
            Ok(more) => {
                queried.push(kind);
                found.extend(more);
            }
            Err(error) if query.engine.is_some() => return Err(error.into()),
            Err(error) => unreachable.push(error),
        }
    }
    let name = query.name.to_owned();
    if found.len() > 1 {
        return Err(FindError::Several { name, engines: queried });
    }
    found.pop().ok_or(FindError::Nowhere { name, queried, unreachable })
}

/// Searches one engine.
fn find_in(engine: &Engine, query: &SandboxQuery<'_>) -> Result<Option<FoundSandbox>, EngineError> {
    // `docker ps` shows the name of the container.
    let names = [Some(query.name), query.name.strip_prefix(arguments::CONTAINER)];
    for name in names.into_iter().flatten() {
        if let Some(found) = find_by(engine, query, name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn find_by(
    engine: &Engine,
    query: &SandboxQuery<'_>,
    name: &str,
) -> Result<Option<FoundSandbox>, EngineError> {
    if let Some(found) = find_labelled(engine, query, name, (arguments::NAME, name))? {
        return Ok(Some(found));
    }
    // The label of one that was made ahead is not the name that it has got since.
    let taken = || Pool::open(query.own, query.owner).and_then(|pool| pool.taken_as(name));
    let taken = if Pool::is_usable(query.owner) { taken().unwrap_or_default() } else { Vec::new() };
    for (run, workdir) in taken {
        if let Some(found) = find_labelled(engine, query, name, (arguments::ID, run.as_str()))? {
            return Ok(Some(FoundSandbox { workdir: Some(workdir), ..found }));
        }
    }
    Ok(None)
}

/// Searches for a container of the owner's with a label.
fn find_labelled(
    engine: &Engine,
    query: &SandboxQuery<'_>,
    name: &str,
    (label, value): (&str, &str),
) -> Result<Option<FoundSandbox>, EngineError> {
    let labels = [
        format!("label={}", arguments::MANAGED),
        format!("label={}={}", arguments::OWNER, query.owner.uid),
        format!("label={label}={value}"),
    ];
    let filters = labels.iter().flat_map(|label| ["--filter", label]);
    let words = ["ps", "--all", "--no-trunc", "--quiet"];
    let until = Deadline::after(STARTING);
    loop {
        let mut starting = false;
        for id in engine.query(words.into_iter().chain(filters.clone()))?.lines() {
            // An image brings labels of its own; where the rendezvous of its containers is, it cannot say.
            let Some(inspected) = inspect(engine, id)? else { continue };
            let Some(run) = inspected.run_id(query.own) else { continue };
            match inspected.phase() {
                ContainerPhase::Runs => {
                    let (id, name) = (id.to_owned(), name.to_owned());
                    let (engine, place) = (engine.clone(), rendezvous::path_of(query.own, &run));
                    let workdir = None;
                    return Ok(Some(FoundSandbox { engine, id, run, place, inspected, name, workdir }));
                }
                // Our PID 1 is faster than the engine's books.
                ContainerPhase::Starts => starting = true,
                ContainerPhase::Ended => {}
            }
        }
        if !starting || until.is_over() {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Describes which engines have answered, for the end of a sentence.
fn answers(queried: &[EngineKind], unreachable: &[EngineError]) -> String {
    let reasons: Vec<String> = unreachable.iter().map(ToString::to_string).collect();
    match (queried, reasons.join("; ")) {
        (queried, reasons) if reasons.is_empty() => format!("in {}", listed(queried, "or")),
        ([], reasons) => format!("in an engine that answers: {reasons}"),
        (queried, reasons) => format!("in {}, and others do not answer: {reasons}", listed(queried, "or")),
    }
}

fn listed(kinds: &[EngineKind], last: &str) -> String {
    kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(&format!(" {last} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_named_with_what_it_has_answered() {
        let nowhere = |queried: &[EngineKind], unreachable: &[EngineKind]| {
            let absent =
                |kind: &EngineKind| EngineError::NotInstalled { kind: *kind, left_out: String::new() };
            let unreachable = unreachable.iter().map(absent).collect();
            FindError::Nowhere { name: "w".to_owned(), queried: queried.to_vec(), unreachable }.to_string()
        };
        assert_eq!(
            nowhere(&EngineKind::ALL, &[]),
            "no sandbox named \"w\" of yours runs in docker or podman"
        );
        assert_eq!(
            nowhere(&[EngineKind::Docker], &[EngineKind::Podman]),
            "no sandbox named \"w\" of yours runs in docker, and others do not answer: there is no `podman` command in PATH"
        );
        assert_eq!(
            nowhere(&[], &EngineKind::ALL),
            "no sandbox named \"w\" of yours runs in an engine that answers: there is no `docker` command in PATH; there \
             is no `podman` command in PATH"
        );
    }
}
