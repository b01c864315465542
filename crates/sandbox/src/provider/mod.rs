//! Providers: who carries a plan out.

use std::path::Path;
use std::time::Duration;

use policy::plan::{Plan, Provider};

use self::launch::{EndedSandboxes, Fill, Filled, Launch, Launched, StayLaunch};
use crate::engine::kind::EngineKind;
use crate::host::identity::Identity;
use crate::session::boundaries;
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::state::directory::StateDir;
use crate::state::journal::Recorded;
use crate::state::runs::Runs;
use crate::state::sandboxes::{SandboxError, StayingSandbox};

pub mod container;
pub mod create;
mod foreground;
mod idmap;
pub(crate) mod init_spec;
pub mod launch;
pub mod local;
mod masks;
mod mount_plan;
pub mod native;
mod staying;

/// Clears up after sandboxes that have ended: what their agents made that would run on the host is quarantined. Whoever starts
/// the next one does the same.
///
/// # Errors
///
/// The state directory cannot be used.
pub fn clear_up(ended: &EndedSandboxes<'_>, notice: &mut dyn FnMut(Notice)) -> Result<(), StartError> {
    let state = StateDir::open(ended.state, ended.caller)?;
    let runs = Runs::open(&state).map_err(StartError::recorded)?;
    let mut remove = container::remover(ended);
    boundaries::sweep(&runs, notice, &mut remove).map(drop).map_err(StartError::recorded)
}

/// Ends a sandbox: everything inside gets SIGTERM, and SIGKILL where it has not ended within `grace`. Where PID 1 does not answer, its engine is asked, if
/// it has one.
///
/// # Errors
///
/// It is not running, or does not end.
pub fn end(
    ended: &EndedSandboxes<'_>,
    sandbox: &StayingSandbox,
    grace: Duration,
) -> Result<Recorded, StartError> {
    let provider = sandbox.record.plan.provider;
    let unreachable = match sandbox.stop(grace) {
        Err(error @ SandboxError::Unreachable { .. }) if provider.runs_containers() => error,
        stopped => return Ok(stopped?),
    };
    container::kill(ended, EngineKind::of(provider), &sandbox.record.id)?;
    if sandbox.ends_now()? { Ok(Recorded::Yes) } else { Err(unreachable.into()) }
}

/// Makes containers ahead, until as many wait as the plan wants.
///
/// # Errors
///
/// The plan has no pool, its provider has none, or a container cannot be made.
pub fn fill(fill: Fill<'_>) -> Result<Filled, StartError> {
    match fill.plan.provider {
        Provider::Docker | Provider::Podman => container::fill(fill),
        provider @ (Provider::Native | Provider::Local) => Err(StartError::refused(
            format!("a pool of {provider} sandboxes"),
            "they start in milliseconds, most of which is this program, so that one made ahead would save next to nothing",
            "`--provider docker` or `podman`, or no pool",
        )),
    }
}

/// Ends every container that was made ahead for this caller and that nobody has taken, and returns how many that were. Paths are those of a [`Fill`].
///
/// # Errors
///
/// The state directory cannot be used, or one of them does not end.
pub fn drain(caller: Identity, state: &Path, own: &Path) -> Result<usize, StartError> {
    container::drain(caller, state, own)
}

/// Runs a plan to its end, or until its sandbox stays.
pub fn run(launch: Launch<'_>) -> Result<Launched, StartError> {
    refuse_under_sudo(launch.plan, launch.caller)?;
    refuse_children_of_none(launch.plan)?;
    match launch.plan.provider {
        Provider::Native => native::run(launch),
        Provider::Docker | Provider::Podman => container::run(launch),
        // Nobody serves others beside a command that is a process of this one.
        Provider::Local => match StayLaunch::split(launch.stay) {
            (Some(stay), _) => local::stay(launch, stay),
            (None, _) => local::run(launch).map(Launched::ended),
        },
    }
}

/// Refuses children where there is no isolation.
fn refuse_children_of_none(plan: &Plan) -> Result<(), StartError> {
    if plan.provider != Provider::Local || plan.children.is_none() {
        return Ok(());
    }
    Err(StartError::refused(
        "children with the provider local",
        "it isolates nothing, so a child would be no sandbox",
        "choose native, docker or podman",
    ))
}

/// Refuses what would give the user behind sudo more than they have: with these, they say what root runs.
fn refuse_under_sudo(plan: &Plan, caller: Identity) -> Result<(), StartError> {
    if !rustix::process::geteuid().is_root() || caller.uid == 0 {
        return Ok(());
    }
    let has_path = plan
        .container
        .as_ref()
        .is_some_and(|container| container.runtime.as_ref().is_some_and(|runtime| runtime.contains('/')));
    let has_prefix = plan.container.as_ref().is_some_and(|container| container.host_path_prefix.is_some());
    if plan.provider == Provider::Local {
        Err(StartError::refused(
            "the provider local under sudo",
            "it isolates nothing, so the command would run as root for the user behind sudo",
            "run it without sudo; as root alone, `env -u SUDO_UID -u DOAS_USER -u PKEXEC_UID sandboxctl …`",
        ))
    } else if plan.children.is_some() {
        Err(StartError::refused(
            "children under sudo",
            "a process of root's would do what the agent asks it for",
            "run it without sudo; as root alone, `env -u SUDO_UID -u DOAS_USER -u PKEXEC_UID sandboxctl …`",
        ))
    } else if has_path {
        Err(StartError::refused(
            "a path as `container.runtime` under sudo",
            "root's engine would run the program that is there",
            "name a runtime that the engine knows",
        ))
    } else if has_prefix {
        Err(StartError::refused(
            "`container.host_path_prefix` under sudo",
            "root's engine would mount what the user behind sudo puts at that prefix",
            "leave it out, or run sandboxctl without sudo",
        ))
    } else {
        Ok(())
    }
}
