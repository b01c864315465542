//! A container as its engine describes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::engine::Engine;
use crate::engine::error::EngineError;
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
    mounts: Vec<Mount>,
    host_config: HostConfig,
    config: Config,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Mount {
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
    /// What was asked for, and not by the image. Podman has none of it.
    mounts: Option<Vec<Asked>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Asked {
    target: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    #[serde(default)]
    user: String,
    /// What Podman hands to the runtime.
    #[serde(default, deserialize_with = "or_none")]
    annotations: BTreeMap<String, serde_json::Value>,
}

impl ContainerInspect {
    /// Returns the run whose rendezvous directory the container has mounted; `None` where it has another's, or none.
    pub(crate) fn met(&self, own: &Path) -> Option<RunId> {
        self.mounts.iter().find_map(|mount| {
            let run = rendezvous::run_at(Path::new(&mount.destination))?;
            // The engine may see the place by a longer path.
            let place = rendezvous::path_of(own, &run);
            let place = place.strip_prefix("/").unwrap_or(&place);
            mount.source.as_deref()?.ends_with(place).then_some(run)
        })
    }

    /// Returns whether this process's user has created it for this run: by what no image can bring, and nobody but the
    /// engine's own users can choose.
    pub(super) fn is_of(&self, run: Run<'_>) -> bool {
        self.met(run.own).as_ref() == Some(run.id)
            || self.name.strip_prefix('/').unwrap_or(&self.name) == arguments::name_of_look(run.id)
    }

    /// Returns an annotation that neither describes its image nor is Podman's own.
    pub(super) fn order(&self) -> Option<&str> {
        let is_podmans = |key: &str| PODMANS.iter().any(|beginning| key.starts_with(beginning));
        self.config.annotations.keys().map(String::as_str).find(|key| !describes(key) && !is_podmans(key))
    }

    /// Lists where it may be written to. What is mounted there later, for the owner of a directory, is itself read-only
    /// where it is to be.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &str> {
        // What the image wants of its own is not the agent's: nothing bounds it.
        let is_asked_for = move |mount: &Mount| {
            self.host_config.mounts.iter().flatten().any(|asked| asked.target == mount.destination)
        };
        let is_the_agents =
            move |mount: &&Mount| mount.writable && (mount.r#type != "volume" || is_asked_for(mount));
        let mounts = self.mounts.iter().filter(is_the_agents).map(|mount| &mount.destination);
        let tmpfs = self.host_config.tmpfs.iter().flat_map(BTreeMap::keys);
        mounts.chain(tmpfs).map(String::as_str)
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

/// Returns whether an engine's message says that a container does not exist.
pub(super) fn is_gone(message: &str) -> bool {
    message.to_lowercase().contains("no such ")
}

/// Looks at a container.
pub(crate) fn look(engine: &Engine, container: &str) -> Result<ContainerInspect, EngineError> {
    let text = engine.ask(["inspect", "--type", "container", container])?;
    let unread = |reason: String| EngineError::Refused {
        kind: engine.kind(),
        message: format!("the inspect output of container {container} cannot be read: {reason}"),
    };
    let all: Vec<ContainerInspect> =
        serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    all.into_iter().next().ok_or_else(|| unread("it is empty".to_owned()))
}
