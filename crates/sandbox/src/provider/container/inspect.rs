//! A container as its engine describes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::Error as _;

use crate::engine::Engine;
use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;
use crate::engine::image::{describes, or_none};
use crate::provider::container::arguments::{self, Run};
use crate::provider::container::rendezvous;
use crate::state::record::RunId;

/// What the keys of the annotations begin with that Podman itself gives every container.
const PODMANS: [&str; 3] = ["io.container.manager", "io.kubernetes.cri-o.TTY", "io.podman.annotations."];

/// What an engine says of a container that it has made. Labels may be an image's; this is not.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ContainerInspect {
    /// Docker's begins with a slash.
    name: String,
    #[serde(default)]
    mounts: Vec<ContainerMount>,
    state: ContainerState,
    config: ContainerConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContainerState {
    status: ContainerPhase,
}

/// How far a container is, by the words of both engines' interfaces.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
pub(super) enum ContainerPhase {
    /// It runs, or its processes are held up.
    #[serde(rename = "running", alias = "paused")]
    Runs,
    /// It has ended.
    #[serde(rename = "exited", alias = "stopped", alias = "dead")]
    Ended,
    /// It has not started yet, or is between two of these.
    #[serde(other)]
    Starts,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContainerMount {
    source: Option<PathBuf>,
    destination: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContainerConfig {
    /// What Podman hands to the runtime.
    #[serde(default, deserialize_with = "or_none")]
    annotations: BTreeMap<String, serde_json::Value>,
}

impl ContainerInspect {
    /// Returns the run whose rendezvous directory the container has mounted; `None` where it has another's, or none.
    pub(crate) fn run_id(&self, own: &Path) -> Option<RunId> {
        self.mounts.iter().find_map(|mount| {
            let run = rendezvous::run_at(Path::new(&mount.destination))?;
            let source = mount.source.as_deref()?;
            // The engine may see the place by a longer path.
            let place = rendezvous::path_of(own, &run);
            source.ends_with(place.strip_prefix("/").unwrap_or(&place)).then_some(run)
        })
    }

    /// Returns whether this process's user has created it for this run: by what no image can bring, and nobody but the
    /// engine's own users can choose.
    pub(super) fn is_of(&self, run: Run<'_>) -> bool {
        self.run_id(run.own).as_ref() == Some(run.id)
            || self.name.strip_prefix('/').unwrap_or(&self.name)
                == arguments::inspection_container_name(run.id)
    }

    /// Returns an annotation that neither describes its image nor is Podman's own.
    pub(super) fn unexpected_annotation(&self) -> Option<&str> {
        let is_podmans = |key: &str| PODMANS.iter().any(|beginning| key.starts_with(beginning));
        self.config.annotations.keys().map(String::as_str).find(|key| !describes(key) && !is_podmans(key))
    }

    /// Returns how far it is.
    pub(super) fn phase(&self) -> ContainerPhase {
        self.state.status
    }
}

/// Inspects a container; `None` where it has gone.
pub(crate) fn inspect(engine: &Engine, container: &str) -> Result<Option<ContainerInspect>, EngineError> {
    let text = match engine.query(["inspect", "--type", "container", container]) {
        Err(EngineError::Refused { cause: Some(FailureCause::NoContainer), .. }) => return Ok(None),
        text => text?,
    };
    let all: Result<Vec<ContainerInspect>, _> = serde_json::from_str(&text);
    let first =
        all.and_then(|all| all.into_iter().next().ok_or_else(|| serde_json::Error::custom("it is empty")));
    first.map(Some).map_err(|source| EngineError::Answer {
        kind: engine.kind(),
        what: format!("the inspect output of container {container}"),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_known_by_the_words_of_both_engines() {
        let phase = |word: &str| serde_json::from_value::<ContainerPhase>(word.into()).unwrap();
        for (words, meant) in [
            (&["running", "paused"][..], ContainerPhase::Runs),
            (&["exited", "stopped", "dead"], ContainerPhase::Ended),
            (
                &["created", "configured", "initialized", "restarting", "removing", "stopping"],
                ContainerPhase::Starts,
            ),
        ] {
            assert!(words.iter().all(|word| phase(word) == meant), "{meant:?}");
        }
    }
}
