//! Providers: who carries a plan out.

use policy::plan::{Plan, Provider};

use self::launch::{Exec, Launch, Launched};
use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::session::outcome::Outcome;

pub mod container;
mod idmap;
pub(crate) mod init_spec;
pub mod launch;
mod local;
mod masks;
mod mount_plan;
pub mod native;

/// Runs the command of a plan in a sandbox that runs already.
pub fn exec(exec: Exec<'_>) -> Result<Outcome, StartError> {
    container::exec::run(exec)
}

/// Runs a plan to its end, or until its sandbox stays.
pub fn run(launch: Launch<'_>) -> Result<Launched, StartError> {
    refuse_under_sudo(launch.plan, launch.caller)?;
    match (launch.plan.provider, launch.stay) {
        (Provider::Native, _) => native::run(launch),
        (Provider::Local, None) => local::run(launch).map(Box::new).map(Launched::Ended),
        (Provider::Docker | Provider::Podman, None) => {
            container::run(launch).map(Box::new).map(Launched::Ended)
        }
        (provider, Some(_)) => Err(StartError::refused(
            format!("a sandbox of the provider {provider} that stays"),
            "this is not built yet",
            "--provider native, or `run` without --detach",
        )),
    }
}

/// Refuses what would give the user behind sudo more than they have: with these, they say what root runs.
fn refuse_under_sudo(plan: &Plan, caller: Identity) -> Result<(), StartError> {
    if !rustix::process::geteuid().is_root() || caller.uid == 0 {
        return Ok(());
    }
    let has_prefix = plan.container.as_ref().is_some_and(|container| container.host_path_prefix.is_some());
    if plan.provider == Provider::Local {
        Err(StartError::refused(
            "the provider local under sudo",
            "it isolates nothing, so the command would run as root for the user behind sudo",
            "run it without sudo; as root alone, `env -u SUDO_UID sandboxctl …`",
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
