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
    /// The image, by its digest.
    image: String,
    #[serde(default)]
    mounts: Vec<ContainerMount>,
    state: ContainerState,
    host_config: HostConfig,
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
    #[serde(default, rename = "RW")]
    writable: bool,
    #[serde(default)]
    r#type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostConfig {
    tmpfs: Option<BTreeMap<String, String>>,
    /// What was requested, and not by the image. Podman has none of it.
    mounts: Option<Vec<RequestedMount>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RequestedMount {
    target: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContainerConfig {
    #[serde(default)]
    user: String,
    /// What Podman hands to the runtime.
    #[serde(default, deserialize_with = "or_none")]
    annotations: BTreeMap<String, serde_json::Value>,
    #[serde(default, deserialize_with = "or_none")]
    labels: BTreeMap<String, String>,
}

impl ContainerInspect {
    /// Returns the run whose rendezvous directory the container has mounted; `None` where it has another's, or none.
    pub(crate) fn run_id(&self, own: &Path) -> Option<RunId> {
        self.mounts.iter().find_map(|mount| {
            let run = rendezvous::run_at(Path::new(&mount.destination))?;
            let source = mount.source.as_deref()?;
            // The engine may see the place by a longer path.
            let is_source = |place: &PathBuf| source.ends_with(place.strip_prefix("/").unwrap_or(place));
            rendezvous::places(own, &run).iter().any(is_source).then_some(run)
        })
    }

    /// Returns whether this process's user has created it for this run: by what no image can bring, and nobody but the
    /// engine's own users can choose.
    pub(super) fn is_of(&self, run: Run<'_>) -> bool {
        self.run_id(run.own).as_ref() == Some(run.id)
            || self.name.strip_prefix('/').unwrap_or(&self.name)
                == arguments::inspection_container_name(run.id)
    }

    /// Returns the directory in which its first command started, if the client that made it noted that.
    pub(super) fn workdir(&self) -> Option<&str> {
        self.config.labels.get(arguments::WORKDIR).map(String::as_str)
    }

    /// Returns an annotation that neither describes its image nor is Podman's own.
    pub(super) fn unexpected_annotation(&self) -> Option<&str> {
        let is_podmans = |key: &str| PODMANS.iter().any(|beginning| key.starts_with(beginning));
        self.config.annotations.keys().map(String::as_str).find(|key| !describes(key) && !is_podmans(key))
    }

    /// Lists where it may be written to. What is mounted there later, for the owner of a directory, is itself read-only
    /// where it is to be.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &str> {
        // What the image wants of its own is not the agent's: nothing bounds it.
        let is_requested = move |mount: &ContainerMount| {
            self.host_config.mounts.iter().flatten().any(|requested| requested.target == mount.destination)
        };
        let is_the_agents = move |mount: &&ContainerMount| {
            mount.writable && (mount.r#type != "volume" || is_requested(mount))
        };
        let mounts = self.mounts.iter().filter(is_the_agents).map(|mount| &mount.destination);
        let tmpfs = self.host_config.tmpfs.iter().flat_map(BTreeMap::keys);
        mounts.chain(tmpfs).map(String::as_str)
    }

    /// Returns how far it is.
    pub(super) fn phase(&self) -> ContainerPhase {
        self.state.status
    }

    /// Returns user and group of the agent there.
    pub(crate) fn user(&self) -> Option<(u32, u32)> {
        let (uid, gid) = self.config.user.split_once(':')?;
        Some((uid.parse().ok()?, gid.parse().ok()?))
    }

    /// Returns the image that it was created from.
    pub(crate) fn image(&self) -> &str {
        &self.image
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
