//! Clearing up after clients that were killed: identified by label, owner and liveness, and never by name.
//!
//! A container whose PID 1 has connected to the rendezvous goes by itself. What may stay is one that was made and not started, when the
//! client and the engine's command were killed in between.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::arguments::{Life, Run};
use super::{arguments, rendezvous};
use crate::engine::Engine;
use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;
use crate::engine::kind::EngineKind;
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::provider::container::inspect::inspect;
use crate::provider::launch::EndedSandboxes;
use crate::session::boundaries;
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::state::client::Client;
use crate::state::pool::Pool;
use crate::state::record::{Placed, RecordError, RunId};
use crate::state::runs::Runs;
use crate::state::sandboxes::Sandboxes;

/// How long an engine may take to remove a container.
pub(super) const REMOVAL: Duration = Duration::from_secs(20);

/// How long the engine's command may take to end once its container is removed.
const ENDING: Duration = Duration::from_secs(5);

/// Between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// Clears up after the runs of this engine and this owner.
pub(super) fn sweep(
    runs: &Runs,
    engine: &Engine,
    state: &Path,
    own: &Path,
    notice: &mut dyn FnMut(Notice),
) -> Result<boundaries::OtherRuns, StartError> {
    // 1. Runs that have a record: their containers, and what their agents made. While the engine's command is at work,
    //    the container may still be on its way; or it runs, and its PID 1 is stopped and does not see that its client is gone:
    //    then the command ends with the container.
    let mut gone = |placed: &Placed, id: &RunId| {
        is_removed(engine, placed, Run { id, owner: runs.owner().uid, state, own })
    };
    let failed = |error: RecordError| StartError::recorded(error);
    let others = boundaries::sweep(runs, notice, &mut gone).map_err(failed)?;

    // 2. Containers that came to be after that, because an engine goes on with what it has begun.
    for (container, id) in abandoned(engine, runs.owner(), state, own)? {
        // One that has gone meanwhile cannot be inspected.
        if !rendezvous::is_held(own, &id)
            && inspect(engine, &container)
                .is_ok_and(|inspected| inspected.is_some_and(|inspected| inspected.run_id(own) == Some(id)))
        {
            // The engine may just be removing it. What stays, the next command removes.
            let _ = engine.call(["rm", "--force", "--volumes", &container], REMOVAL);
        }
    }

    // 3. What containers that were made ahead have left of ours.
    if Pool::is_usable(runs.owner()) {
        let ended = Pool::open(state, runs.owner()).and_then(|pool| pool.sweep());
        for id in ended? {
            let forgotten = rendezvous::forget(own, &id);
            forgotten.map_err(StartError::step("removing a rendezvous directory"))?;
        }
    }
    Ok(others)
}

/// Returns what removes the container of a run that has ended, whichever engine has it, and says whether it is gone. An engine is queried when
/// the first run of its is found.
pub(in crate::provider) fn remover<'a>(
    ended: &'a EndedSandboxes<'_>,
) -> impl FnMut(&Placed, &RunId) -> bool + 'a {
    let mut engines: Vec<(EngineKind, Option<Engine>)> = Vec::new();
    move |placed, id| {
        let Some(kind) = EngineKind::ALL.into_iter().find(|kind| kind.command() == placed.engine) else {
            return false;
        };
        if !engines.iter().any(|(found, _)| *found == kind) {
            engines.push((kind, Engine::find(kind, ended.engines).ok()));
        }
        let engine = engines.iter().find(|(found, _)| *found == kind).and_then(|(_, engine)| engine.as_ref());
        let run = Run { id, owner: ended.caller.uid, state: ended.state, own: ended.own };
        engine.is_some_and(|engine| is_removed(engine, placed, run))
    }
}

/// Has the engine kill the container of a sandbox whose PID 1 does not answer, as after `docker pause`, and remove it.
pub(in crate::provider) fn kill(
    ended: &EndedSandboxes<'_>,
    kind: EngineKind,
    id: &RunId,
) -> Result<(), StartError> {
    let engine = Engine::find(kind, ended.engines)?;
    let run = Run { id, owner: ended.caller.uid, state: ended.state, own: ended.own };
    Ok(remove(&engine, run).map(drop)?)
}

/// Removes the container of a run whose record says where it is, with what else the run has left, and returns whether all is gone.
fn is_removed(engine: &Engine, placed: &Placed, run: Run<'_>) -> bool {
    *placed == self::placed(engine)
        && (!rendezvous::is_held(run.own, run.id) || ends_with_its_container(engine, run))
        && remove(engine, run).is_ok()
        && rendezvous::forget(run.own, run.id).is_ok()
}

/// Describes, for the record, where this process creates a container of this engine.
pub(super) fn placed(engine: &Engine) -> Placed {
    let by = rustix::process::geteuid().as_raw();
    Placed { engine: engine.kind().command().to_owned(), socket: engine.address(), by }
}

/// Removes the container of a run whose client is dead, and returns whether the engine's command for it has then ended.
fn ends_with_its_container(engine: &Engine, run: Run<'_>) -> bool {
    if !matches!(remove(engine, run), Ok(Removed::Some)) {
        return false;
    }
    let until = Deadline::after(ENDING);
    while rendezvous::is_held(run.own, run.id) && !until.is_over() {
        std::thread::sleep(PAUSE);
    }
    !rendezvous::is_held(run.own, run.id)
}

/// Removes the containers of a run that the engine has. A record is a file of its owner's, who may name another's run in it:
/// all labels have to be the run's. And an image brings labels of its own: so the container has to be one that was made here.
pub(super) fn remove(engine: &Engine, run: Run<'_>) -> Result<Removed, EngineError> {
    let filters = run.labels().map(|label| format!("--filter=label={label}"));
    let words = ["ps", "--all", "--quiet", "--no-trunc"].map(str::to_owned);
    let found = engine.query(words.into_iter().chain(filters))?;
    let mut removed = Removed::None;
    for container in found.lines() {
        if !inspect(engine, container)?.is_some_and(|inspected| inspected.is_of(run)) {
            continue;
        }
        removed = Removed::Some;
        match engine.call(["rm", "--force", "--volumes", container], REMOVAL) {
            // It is just removing it by itself. Until it has, another container cannot have its name.
            Err(EngineError::Refused { cause: Some(FailureCause::BeingRemoved), .. }) => {
                wait_until_gone(engine, container)?;
            }
            removed => drop(removed?),
        }
    }
    Ok(removed)
}

/// Waits until an engine that is removing a container has removed it.
fn wait_until_gone(engine: &Engine, container: &str) -> Result<(), EngineError> {
    let until = Deadline::after(REMOVAL);
    while inspect(engine, container)?.is_some() {
        if until.is_over() {
            return Err(EngineError::Timeout { kind: engine.kind(), waited: REMOVAL });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Whether there was anything to remove.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Removed {
    None,
    Some,
}

/// Lists the containers of an owner whose clients are dead. Only a daemon creates any after the command that requested
/// them is gone, and a daemon has a socket.
///
/// One of a persistent sandbox is abandoned when its PID 1 is, which only who has its state directory can see.
fn abandoned(
    engine: &Engine,
    owner: Identity,
    state: &Path,
    own: &Path,
) -> Result<Vec<(String, RunId)>, EngineError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct ListedContainer {
        id: String,
        labels: BTreeMap<String, String>,
    }
    let Some(socket) = engine.socket() else { return Ok(Vec::new()) };
    let filters = format!(r#"{{"label":["{}","{}={}"]}}"#, arguments::MANAGED, arguments::OWNER, owner.uid);
    let listed: Vec<ListedContainer> =
        socket.get(&format!("/containers/json?all=true&filters={}", escaped(&filters)))?.unwrap_or_default();
    let dead = listed.into_iter().filter_map(|ListedContainer { id, labels }| {
        let client: Client = labels.get(arguments::CLIENT)?.parse().ok()?;
        let run = RunId::try_from(labels.get(arguments::ID)?.clone()).ok()?;
        let lives_alone = [Life::Stays, Life::Waits].map(Life::label);
        let stays = labels.get(arguments::LIFE).is_some_and(|life| lives_alone.contains(&life.as_str()));
        let is_over = || {
            let of_state = Run { id: &run, owner: owner.uid, state, own }.state_label();
            let is_here = labels.get(arguments::STATE).is_some_and(|digest| *digest == of_state);
            let of_sandbox = Sandboxes::open(state, owner).map(|sandboxes| sandboxes.lives(&run));
            let of_pool = Pool::open(state, owner).map(|pool| pool.lives(&run));
            is_here && matches!((of_sandbox, of_pool), (Ok(Ok(false)), Ok(Ok(false))))
        };
        (client.is_dead() && (!stays || is_over())).then_some((id, run))
    });
    Ok(dead.collect())
}

/// Escapes text as a part of an address.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
