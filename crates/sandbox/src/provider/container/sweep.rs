//! Clearing up after clients that were killed: told by label, owner and liveness, and never by name.
//!
//! A container whose PID 1 met its client goes by itself. What may stay is one that was made and not started, when the
//! client and the engine's command were killed in between.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::Plan;
use serde::Deserialize;

use super::{arguments, meeting};
use crate::engine::{Engine, EngineError};
use crate::provider::{Notice, StartError, boundaries};
use crate::record::{Client, Placed, RecordError, RunId, Runs};

/// How long an engine may take to remove a container.
const REMOVAL: Duration = Duration::from_secs(20);

/// Clears up after the runs of this engine and this owner.
pub(super) fn sweep(
    runs: &Runs,
    plan: &Plan,
    engine: &Engine,
    state: &Path,
    notice: &mut dyn FnMut(Notice),
) -> Result<(), StartError> {
    // 1. Runs that have a record: their containers, and what their agents made. While the engine's command is at work,
    //    the container may still be on its way.
    let mut gone = |placed: &Placed, id: &RunId| {
        let here = placed.engine == engine.kind().command() && placed.socket == engine.address();
        here && !meeting::is_held(state, runs.owner(), id)
            && remove(engine, id).is_ok()
            && meeting::forget(state, runs.owner(), id).is_ok()
    };
    let failed = |error: RecordError| super::recorded(error);
    boundaries::sweep(runs, plan, notice, &mut gone).map_err(failed)?;

    // 2. Containers that came to be after that, because an engine goes on with what it has begun.
    for (container, id) in abandoned(engine, runs.owner().uid)? {
        // One that has gone meanwhile cannot be looked at.
        if !meeting::is_held(state, runs.owner(), &id)
            && look(engine, &container).is_ok_and(|seen| seen.met(state) == Some(id))
        {
            // The engine may just be removing it. What stays, the next command removes.
            let _ = engine.call(["rm", "--force", "--volumes", &container], REMOVAL);
        }
    }
    Ok(())
}

/// Removes the container of a run, if the engine has one.
pub(super) fn remove(engine: &Engine, id: &RunId) -> Result<(), EngineError> {
    let label = format!("label={}={}", arguments::ID, id.as_str());
    let managed = format!("label={}", arguments::MANAGED);
    let found =
        engine.ask(["ps", "--all", "--quiet", "--no-trunc", "--filter", &managed, "--filter", &label])?;
    for container in found.lines() {
        match engine.call(["rm", "--force", "--volumes", container], REMOVAL) {
            // It is just removing it by itself.
            Err(EngineError::Refused { message, .. }) if message.contains("already in progress") => {}
            removed => drop(removed?),
        }
    }
    Ok(())
}

/// What an engine says of a container that it has made. Labels may be an image's; this is not.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Seen {
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
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    #[serde(default)]
    user: String,
}

impl Seen {
    /// The run whose place in this state directory is where PID 1 has met its client; `None` where it has met somebody
    /// else, or nobody.
    pub(super) fn met(&self, state: &Path) -> Option<RunId> {
        self.mounts.iter().find_map(|mount| {
            let run = meeting::run_at(Path::new(&mount.destination))?;
            // The engine may see the place by a longer path.
            let place = meeting::path_of(state, &run);
            let place = place.strip_prefix("/").unwrap_or(&place);
            mount.source.as_deref()?.ends_with(place).then_some(run)
        })
    }

    /// Where it may be written to. What is mounted there later, for the owner of a directory, is itself read-only where it is
    /// to be.
    pub(super) fn writable(&self) -> impl Iterator<Item = &str> {
        let mounts =
            // What the image wants of its own is not the agent's: nothing bounds it.
            self.mounts.iter().filter(|mount| mount.writable && mount.r#type != "volume").map(|mount| mount.destination.as_str());
        let tmpfs = self.host_config.tmpfs.iter().flat_map(BTreeMap::keys).map(String::as_str);
        mounts.chain(tmpfs)
    }

    /// Who the agent is there: user and group.
    pub(super) fn user(&self) -> &str {
        &self.config.user
    }
}

/// Looks at a container.
pub(super) fn look(engine: &Engine, container: &str) -> Result<Seen, EngineError> {
    let text = engine.ask(["inspect", "--type", "container", container])?;
    let unread = |reason: String| EngineError::Refused {
        kind: engine.kind(),
        message: format!("what it says of container {container} cannot be read: {reason}"),
    };
    let all: Vec<Seen> = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    all.into_iter().next().ok_or_else(|| unread("it is empty".to_owned()))
}

/// The containers of an owner whose clients are dead. Only a daemon makes any after the command that asked for them is
/// gone, and a daemon has a socket.
fn abandoned(engine: &Engine, owner: u32) -> Result<Vec<(String, RunId)>, EngineError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Listed {
        id: String,
        labels: BTreeMap<String, String>,
    }
    let Some(socket) = engine.socket() else { return Ok(Vec::new()) };
    let filters = format!(r#"{{"label":["{}","{}={owner}"]}}"#, arguments::MANAGED, arguments::OWNER);
    let listed: Vec<Listed> =
        socket.get(&format!("/containers/json?all=true&filters={}", escaped(&filters)))?.unwrap_or_default();
    let dead = listed.into_iter().filter_map(|Listed { id, labels }| {
        let client: Client = labels.get(arguments::CLIENT)?.parse().ok()?;
        let run = RunId::try_from(labels.get(arguments::ID)?.clone()).ok()?;
        client.is_dead().then_some((id, run))
    });
    Ok(dead.collect())
}

/// Text as a part of an address.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
